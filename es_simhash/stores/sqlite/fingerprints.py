"""Near fingerprints in SQLite: memory or the table of segments finds them, and an index finds their documents.

In a large load, :mod:`es_simhash.stores.sqlite.known` knows which fingerprints are near. Otherwise those with equal or
similar segments are read and compared (:mod:`es_simhash.stores.sqlite.segments`).

An index has the fingerprints of all documents. So it takes no reading of documents to see how many have a fingerprint.
There may be very many of one: only the first of them are read.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from es_simhash.fingerprinting.encoding import from_longs, to_array, to_longs
from es_simhash.search.near_index import LARGEST_DISTANCE
from es_simhash.search.nearest import Crowd
from es_simhash.stores.sqlite.longs import long_columns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_simhash.contract import Candidates
    from es_simhash.stores.sqlite.database import Database

    Longs = tuple[int, ...]

_NAMED = 2_000_000
"""The most fingerprints in memory among which the nearest are searched. For each of them the search takes 128 bytes."""
_MANY = 10_000
"""Fingerprints that are read from the index at once."""


def near_crowds(request: Candidates, database: Database) -> tuple[dict[Longs, Crowd], list[int]]:
    """Return the fingerprints that may be near those of the Probes, as signed longs, each with its documents.

    The second value has the fingerprints of Probes for which only the nearest were read.
    """
    fingerprints = list(dict.fromkeys(request.fingerprints(request.probes)))
    known = _known_crowds(fingerprints, request, database)
    return known.crowds | _crowds(known.unknown, request, database), known.done


def _crowds(fingerprints: list[int], request: Candidates, database: Database) -> dict[Longs, Crowd]:
    """Return the fingerprints that the table of segments finds."""
    if not fingerprints:
        return {}
    asked = to_array(fingerprints, request.bits)
    with database.use() as connection:
        near = database.segments.near(asked, request.max_distance, request.bits, connection)
    return _same(near.view(np.int64).reshape(-1, request.bits // 64).tolist(), request, database)


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

    Among near-equal documents nearly every one is near another, and much of the file has similar segments. So where one
    document is enough and the others need not be counted, only the fingerprints that are nearest are read.

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
    named = {value for some in nearest for value in some}
    crowds = _same([to_longs(value, request.bits) for value in named], request, database)
    there = {from_longs(longs) for longs in crowds}
    near = [(value, not there.isdisjoint(some)) for value, some in zip(fingerprints, nearest, strict=True) if some]
    # What was nearest may have been removed, or changed. Then the next ones are needed.
    return _KnownCrowds(crowds, [value for value, done in near if done], [value for value, done in near if not done])


def _excludes(request: Candidates) -> bool:
    """Return whether some documents do not count. The index of fingerprints does not know which."""
    return request.filter is not None or bool(request.without) or request.time_field is not None


def _same(fingerprints: Sequence[Sequence[int]], request: Candidates, database: Database) -> dict[Longs, Crowd]:
    """Return those of the fingerprints, as signed longs, that documents have, each with its documents."""
    names = long_columns(request.bits)
    same = " AND ".join(f"{name} = json_extract(value, '$[{number}]')" for number, name in enumerate(names))
    sql = (
        f"SELECT count(*), min(written), {', '.join(names)} FROM json_each(?) CROSS JOIN documents "
        f"WHERE fp IS NOT NULL AND {same} GROUP BY {', '.join(names)}"
    )
    crowds: dict[Longs, Crowd] = {}
    with database.use() as connection:
        cursor = connection.execute(sql, [json.dumps(fingerprints)])
        while some := cursor.fetchmany(_MANY):
            crowds |= {tuple(longs): Crowd(count, first) for count, first, *longs in some}
    return crowds


def nearest_crowds(
    crowds: dict[Longs, Crowd], request: Candidates, database: Database
) -> tuple[dict[Longs, Crowd], dict[int, int]]:
    """Return the fingerprints whose documents are read, and how many documents the others have by that of the Probe."""
    # The index knows nothing of the filter and of the ids to leave out, so then all are read.
    if request.nearest is None or _excludes(request):
        return crowds, {}
    values = {from_longs(longs): longs for longs in crowds}
    found = request.nearest_of({value: crowds[longs] for value, longs in values.items()}, request.probes)
    return {values[value]: crowds[values[value]] for value in found.fingerprints}, found.left_out


def same_fingerprint(longs: Longs, bits: int) -> tuple[str, list[int]]:
    """Return the condition on the documents with a fingerprint, and its parameters."""
    return " AND ".join(["fp IS NOT NULL", *(f"{name} = ?" for name in long_columns(bits))]), [*longs]
