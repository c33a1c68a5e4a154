"""Near fingerprints in SQLite: the pair plan (pigeonring) finds the fingerprints, and a second query their documents.

The pair plan (:mod:`es_simhash.search.pair_plan`) asks for values of a segment and its neighbour. Each pair of
neighbours has an index: four indexes for 64 bits, eight for 128.

- At small distances SQLite looks up each pair value: 68 values for a fingerprint of 64 bits and max_distance 3.
- At larger distances there would be thousands of pair values. Then SQLite reads ranges of pairs: all pairs whose first
  segment is near, 68 ranges again at 64 bits and max_distance 7. A range holds 1 of 65,536 of all documents. Python
  compares the fingerprints of these rows. Measured at max_distance 7 and 200,000 documents: 1 ms, against 17 ms by
  pair values.

In a large load, :mod:`es_simhash.stores.sqlite.known` knows which fingerprints are near, and only these are looked up.

The indexes hold the fingerprint beside the pair. So it takes no reading of documents to see which fingerprints are near
and how many documents each of them has. There may be very many of one: only the first of them are read.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from es_simhash.fingerprinting.encoding import from_longs, segment_count, to_array, to_longs
from es_simhash.search.hamming import near_of_all
from es_simhash.search.near_index import LARGEST_DISTANCE
from es_simhash.search.nearest import Crowd
from es_simhash.search.pair_plan import pair_ranges, pairs
from es_simhash.stores.sqlite.schema import long_columns, pair_expressions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from es_simhash.contract import Candidates
    from es_simhash.stores.sqlite.database import Database

    Longs = tuple[int, ...]

_BATCH = 16
"""Fingerprints whose ranges are read together. Each is compared with the rows of all of them."""
_NAMED = 2_000_000
"""The most fingerprints in memory among which the nearest are searched. For each of them the search takes 128 bytes."""
_MANY = 10_000
"""Fingerprints that are read from an index at once."""
_FEW = 20
"""If an index finds more fingerprints than this, those that are not near are dropped before their documents are read.
For fewer, this costs more than it saves."""


def near_crowds(request: Candidates, database: Database) -> tuple[dict[Longs, Crowd], list[int]]:
    """Return the fingerprints that may be near those of the Probes, as signed longs, each with its documents.

    The second value has the fingerprints of Probes for which only the nearest were read.
    """
    fingerprints = list(dict.fromkeys(request.fingerprints(request.probes)))
    known = _known_crowds(fingerprints, request, database)
    return known.crowds | _crowds(known.unknown, request, database), known.done


def _crowds(fingerprints: list[int], request: Candidates, database: Database) -> dict[Longs, Crowd]:
    """Return the fingerprints that the indexes of pairs find."""
    crowds: dict[Longs, Crowd] = {}
    if not fingerprints:
        return crowds
    if request.max_distance < segment_count(request.bits):
        for some in _by_pairs(fingerprints, request, database):
            if len(some) > _FEW:
                some = _within(some, fingerprints, request)
            crowds |= {tuple(longs): Crowd(count, first) for count, first, *longs in some}
        return crowds
    for start in range(0, len(fingerprints), _BATCH):
        batch = fingerprints[start : start + _BATCH]
        for some in _by_ranges(batch, request, database):
            near = _within(some, batch, request)
            crowds |= {tuple(longs): Crowd(count, first) for count, first, *longs in near}
    return crowds


class _KnownCrowds(NamedTuple):
    """What memory knows in a large load.

    :param crowds: the fingerprints that are nearest, each with its documents.
    :param done: the fingerprints of Probes to which these are nearest.
    :param unknown: the fingerprints that must be looked up.
    """

    crowds: dict[Longs, Crowd]
    done: list[int]
    unknown: list[int]


def _known_crowds(fingerprints: list[int], request: Candidates, database: Database) -> _KnownCrowds:
    """Drop what is near nothing, and find what is nearest, as far as memory knows it.

    Among near-equal documents nearly every one is near another, and an index of pairs finds much of the file. So where
    one document is enough and the others need not be counted, only the fingerprints that are nearest are read.

    The caller has the connection, so nothing is written meanwhile.
    """
    if request.max_distance > LARGEST_DISTANCE:
        return _KnownCrowds({}, [], fingerprints)
    with database.use() as connection:
        known = database.known_fingerprints.table(len(fingerprints), connection, request.bits)
    if known is None:
        return _KnownCrowds({}, [], fingerprints)
    may_be_near = known.may_be_near(fingerprints).tolist()
    fingerprints = [value for value, near in zip(fingerprints, may_be_near, strict=True) if near]
    if request.counted or request.nearest != 1 or _excludes(request) or len(known) > _NAMED:
        return _KnownCrowds({}, [], fingerprints)
    nearest = known.nearest(fingerprints)
    crowds = _same({value for some in nearest for value in some}, request, database)
    there = {from_longs(longs) for longs in crowds}
    near = [(value, not there.isdisjoint(some)) for value, some in zip(fingerprints, nearest, strict=True) if some]
    # What was nearest may have been removed, or changed. Then the next ones are needed.
    return _KnownCrowds(crowds, [value for value, done in near if done], [value for value, done in near if not done])


def _excludes(request: Candidates) -> bool:
    """Return whether some documents do not count. The indexes of fingerprints do not know which."""
    return request.filter is not None or bool(request.without) or request.time_field is not None


def _same(fingerprints: Iterable[int], request: Candidates, database: Database) -> dict[Longs, Crowd]:
    """Return those of the fingerprints that documents have, as signed longs, each with its documents."""
    names, pair = long_columns(request.bits), pair_expressions(request.bits)[0]
    values = [f"json_extract(value, '$[{number}]')" for number in range(len(names))]
    same = " AND ".join(f"{name} = {value}" for name, value in zip(names, values, strict=True))
    sql = (
        f"SELECT count(*), min(written), {', '.join(names)} FROM json_each(?) CROSS JOIN documents "
        f"WHERE fp IS NOT NULL AND {pair} = {pair.replace('fp', values[0])} AND {same} GROUP BY {', '.join(names)}"
    )
    asked = [to_longs(value, request.bits) for value in fingerprints]
    return {tuple(longs): Crowd(count, first) for page in _pages(sql, asked, database) for count, first, *longs in page}


def nearest_crowds(
    crowds: dict[Longs, Crowd], request: Candidates, database: Database
) -> tuple[dict[Longs, Crowd], dict[int, int]]:
    """Return the fingerprints whose documents are read, and how many documents the others have by that of the Probe."""
    # The indexes know nothing of the filter and of the ids to leave out, so then all are read.
    if request.nearest is None or _excludes(request):
        return crowds, {}
    if not all(type(value) is int for longs in crowds for value in longs):  # one is damaged
        return crowds, {}
    values = {from_longs(longs): longs for longs in crowds}
    found = request.nearest_of({value: crowds[longs] for value, longs in values.items()}, request.probes)
    return {values[value]: crowds[values[value]] for value in found.fingerprints}, found.left_out


def same_fingerprint(longs: Longs, bits: int) -> tuple[str, list[Any]]:
    """Return the condition on the documents with a fingerprint, and its parameters. One index serves it."""
    pair = pair_expressions(bits)[0]
    # If a condition says "fp = ?", SQLite also replaces fp by its value in the expression of the pair. Then no index
    # has this expression, and SQLite reads all documents. It does not do so for IS.
    same = " AND ".join(f"{name} IS ?" for name in long_columns(bits))
    return f"fp IS NOT NULL AND {pair} = {pair.replace('fp', '?')} AND {same}", [longs[0], *longs]


def _by_pairs(fingerprints: list[int], request: Candidates, database: Database) -> Iterator[list[tuple[int, ...]]]:
    """Yield (count, first write order, signed longs …) of fingerprints that pair values find, many at once."""
    longs = ", ".join(long_columns(request.bits))
    plan = pairs(fingerprints, request.max_distance, request.bits)
    for pair, values in zip(pair_expressions(request.bits), plan, strict=True):
        sql = (
            f"SELECT count(*), min(written), {longs} FROM documents "
            f"WHERE fp IS NOT NULL AND {pair} IN (SELECT value FROM json_each(?)) GROUP BY {pair}, {longs}"
        )
        yield from _pages(sql, values.tolist(), database)


def _by_ranges(fingerprints: list[int], request: Candidates, database: Database) -> Iterator[list[tuple[int, ...]]]:
    """Yield (count, first write order, signed longs …) of fingerprints in the ranges of pairs, many at once."""
    names = long_columns(request.bits)
    longs = ", ".join(names)
    integers = " AND ".join(f"typeof({name}) = 'integer'" for name in names)
    ranges = pair_ranges(fingerprints, request.max_distance, request.bits)
    for pair, values in zip(pair_expressions(request.bits), ranges, strict=True):
        sql = (
            f"SELECT count(*), min(written), {longs} FROM json_each(?) CROSS JOIN documents "
            f"WHERE fp IS NOT NULL AND {integers} AND {pair} BETWEEN value AND value + 65535 GROUP BY {longs}"
        )
        yield from _pages(sql, values.tolist(), database)


def _pages(sql: str, values: list[Any], database: Database) -> Iterator[list[tuple[int, ...]]]:
    with database.use() as connection:
        cursor = connection.execute(sql, [json.dumps(values)])
        while some := cursor.fetchmany(_MANY):
            yield some


def _within(rows: list[tuple[int, ...]], fingerprints: list[int], request: Candidates) -> list[tuple[int, ...]]:
    """Return the rows whose fingerprints are near; all rows, if one is damaged."""
    if not all(type(value) is int for row in rows for value in row):
        return rows
    stored = _array([row[2:] for row in rows])
    near = np.zeros(len(rows), dtype=np.bool_)
    for _, some, _ in near_of_all(to_array(fingerprints, request.bits), stored, request.max_distance):
        near[some] = True
    return [rows[index] for index in np.flatnonzero(near).tolist()]


def _array(longs: Sequence[Longs]) -> NDArray[np.uint64]:
    """Return fingerprints of signed longs as ``encoding.to_array`` does."""
    words = np.array(longs, dtype=np.int64).view(np.uint64)
    return words[:, 0] if words.shape[1] == 1 else words
