"""Candidates in SQLite: rows with one of the digests, rows that the pair plan (pigeonring) finds, and rows with keys.

The pair plan (:mod:`es_simhash.search.pair_plan`) asks for values of a segment and its neighbour. Each pair of
neighbours has an index: four indexes for 64 bits, eight for 128.

- At small distances SQLite looks up each pair value: 68 values for a fingerprint of 64 bits and max_distance 3.
- At larger distances there would be thousands of pair values. Then SQLite reads ranges of pairs: all pairs whose first
  segment is near, 68 ranges again at 64 bits and max_distance 7. A range holds 1 of 65,536 of all documents. Python
  compares the fingerprints of these rows. Measured at max_distance 7 and 200,000 documents: 1 ms, against 17 ms by
  pair values.
"""

from __future__ import annotations

import json
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from es_simhash.contract import Found
from es_simhash.fingerprinting.encoding import segment_count, to_array
from es_simhash.search.blocks import block_keys
from es_simhash.search.hamming import pairs_within
from es_simhash.search.pair_plan import pair_ranges, pairs
from es_simhash.search.times import TimeRanges
from es_simhash.stores.sqlite.key_search import KeySearch, condition_of
from es_simhash.stores.sqlite.schema import long_columns, pair_expressions, row_columns, to_row
from es_simhash.stores.stored_row import excluding_damaged, without_damaged

if TYPE_CHECKING:
    from es_simhash.contract import Candidates, Row
    from es_simhash.stores.sqlite.database import Database

_KEYS_TOGETHER = 100
"""Probes whose keys are read together."""
_BATCH = 16
"""Fingerprints whose ranges are read together. Each is compared with the rows of all of them."""


def find_candidates(request: Candidates, database: Database) -> Found:
    """Return the reply to Candidates."""
    found = _find(request, database)
    while (again := excluding_damaged(request, found)) is not None:
        request = again
        more = _find(request, database)
        found = Found([*more.rows, *(row for row in found.rows if row.damaged)], more.left_out)
        if not any(row.damaged for row in more.rows):
            break
    return Found(without_damaged(found.rows), found.left_out)


def _find(request: Candidates, database: Database) -> Found:
    """Return the reply to Candidates, with the Rows of damaged documents."""
    near, left_out = _near(request, database)
    if request.time_field is not None:
        near = _in_times(near, request)
    rows = {row.id: row for row in near}
    keys = KeySearch(request, database)
    searches = list(request.key_queries().items())
    for start in range(0, len(searches), _KEYS_TOGETHER):
        some = searches[start : start + _KEYS_TOGETHER]
        keys.read(query for (queries, _), _ in some for query in queries)
        for (queries, times), probes in some:
            sharing, more = keys.sharing(queries, times)
            rows |= {row.id: row for row in sharing}
            if more:
                left_out |= {probe: left_out.get(probe, 0) + more for probe in probes}
    return Found(list(rows.values()), left_out)


def _near(request: Candidates, database: Database) -> tuple[list[Row], dict[int, int]]:
    """Return the Rows that a digest or a fingerprint finds, and how many were left out by the index of the Probe."""
    rows: list[Row] = []
    if digests := {probe.digest for probe in request.probes if probe.digest is not None}:
        subquery = "SELECT written FROM documents WHERE digest IN (SELECT value FROM json_each(?))"
        sql, parameters = _rows_of(subquery, [json.dumps(sorted(digests))], request, database)
        with database.use() as connection:
            rows += map(to_row, connection.execute(sql, parameters))
    subquery, parameters = _near_fingerprints(request, database)
    if not subquery:
        return rows, {}
    sql, parameters = _rows_of(subquery, parameters, request, database)
    most = request.per_fingerprint
    if most is None:
        with database.use() as connection:
            return rows + [to_row(values) for values in connection.execute(sql, parameters)], {}
    fingerprint = ", ".join(long_columns(request.bits))
    sql = (
        f"SELECT *, count(*) OVER (PARTITION BY {fingerprint}), "
        f"row_number() OVER (PARTITION BY {fingerprint} ORDER BY written) AS number FROM ({sql})"
    )
    with database.use() as connection:
        found = connection.execute(f"SELECT * FROM ({sql}) WHERE number <= ?", [*parameters, most]).fetchall()
    near = [to_row(values[:-2]) for values in found]
    crowds = {row.fingerprint: values[-2] - most for row, values in zip(near, found, strict=True) if values[-2] > most}
    return rows + near, request.left_out_of(crowds) if most > 1 else {}


def _rows_of(subquery: str, parameters: list[Any], request: Candidates, database: Database) -> tuple[str, list[Any]]:
    """Return a SELECT of the rows with these write orders that match the request; its parameters."""
    columns = row_columns(request.bits, keys=request.with_keys, time_field=request.time_field)
    one_per_digest = request.one_per_digest and request.time_field is None
    if one_per_digest:
        # In SQLite, a column beside min() has its value of the row with the minimum.
        columns = columns.replace("written", "min(written) AS written")
    condition, condition_parameters = condition_of(request, database)
    sql = f"SELECT {columns} FROM documents WHERE written IN ({subquery}) AND {condition}"
    return sql + (" GROUP BY digest" if one_per_digest else ""), [*parameters, *condition_parameters]


def _in_times(rows: list[Row], request: Candidates) -> list[Row]:
    """Return the Rows in the times of a Probe; if ``one_per_digest``, of each digest the first in each part."""
    times = [probe.times for probe in request.probes if probe.fingerprint is not None or probe.digest is not None]
    ranges = TimeRanges(each for each in times if each is not None)
    anywhere = None in times
    found: dict[Any, Row] = {}
    for row in sorted(rows, key=attrgetter("written")):
        part = ranges.part(row.time)
        if part is not None or anywhere:
            found.setdefault((row.digest, part) if request.one_per_digest else row.id, row)
    return list(found.values())


def _near_fingerprints(request: Candidates, database: Database) -> tuple[str, list[Any]]:
    """Return a SELECT of the write orders of candidates by their fingerprints; its parameters. Empty for none."""
    fingerprints = list(dict.fromkeys(request.fingerprints(request.probes)))
    if not fingerprints:
        return "", []
    if request.blocks:
        keys = [key for some in block_keys(fingerprints, request.bits) for key in some]
        return "SELECT written FROM keys WHERE key IN (SELECT value FROM json_each(?))", [json.dumps(keys)]
    if request.max_distance >= segment_count(request.bits):
        near = sorted(_near_by_ranges(fingerprints, request, database))
        return "SELECT value FROM json_each(?)", [json.dumps(near)]
    plan = pairs(fingerprints, request.max_distance, request.bits)
    subqueries = [
        f"SELECT written FROM documents WHERE fp IS NOT NULL AND {pair} IN (SELECT value FROM json_each(?))"
        for pair in pair_expressions(request.bits)
    ]
    return " UNION ".join(subqueries), [json.dumps(values.tolist()) for values in plan]


def _near_by_ranges(fingerprints: list[int], request: Candidates, database: Database) -> set[int]:
    """Return the write orders of all rows within max_distance of a fingerprint. They are found by ranges of pairs."""
    bits, longs = request.bits, ", ".join(long_columns(request.bits))
    integers = " AND ".join(f"typeof({name}) = 'integer'" for name in long_columns(bits))
    near: set[int] = set()
    for start in range(0, len(fingerprints), _BATCH):
        batch = fingerprints[start : start + _BATCH]
        rows: set[tuple[int, ...]] = set()
        ranges = pair_ranges(batch, request.max_distance, bits)
        with database.use() as connection:
            for pair, values in zip(pair_expressions(bits), ranges, strict=True):
                sql = (
                    f"SELECT written, {longs} FROM json_each(?) CROSS JOIN documents "
                    f"WHERE fp IS NOT NULL AND {integers} AND {pair} BETWEEN value AND value + 65535"
                )
                rows.update(connection.execute(sql, [json.dumps(values.tolist())]))
        if rows:
            write_orders, *words = np.array(list(rows), dtype=np.int64).T
            stored = np.stack(words, axis=1).view(np.uint64).reshape((-1,) if bits == 64 else (-1, len(words)))
            found = pairs_within(to_array(batch, bits), stored, request.max_distance)
            near.update(int(write_orders[row]) for _, row, _ in found)
    return near
