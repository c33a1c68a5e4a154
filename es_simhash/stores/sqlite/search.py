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
from typing import TYPE_CHECKING, Any

import numpy as np

from es_simhash.contract import Found
from es_simhash.fingerprinting.encoding import segment_count, to_array
from es_simhash.search.hamming import pairs_within
from es_simhash.search.pair_plan import pair_ranges, pairs
from es_simhash.stores.sqlite.key_search import condition_of, rows_sharing
from es_simhash.stores.sqlite.schema import long_columns, pair_expressions, row_columns, to_row
from es_simhash.stores.stored_row import without_damaged

if TYPE_CHECKING:
    from es_simhash.contract import Candidates, Row
    from es_simhash.stores.sqlite.database import Database

_BATCH = 16
"""Fingerprints whose ranges are read together. Each is compared with the rows of all of them."""


def find_candidates(request: Candidates, database: Database) -> Found:
    """Return the reply to Candidates."""
    rows = {row.id: row for row in _near(request, database)}
    left_out: dict[int, int] = {}
    for queries, probes in request.key_queries().items():
        sharing, more = rows_sharing(queries, request, database)
        rows |= {row.id: row for row in sharing}
        if more:
            left_out |= dict.fromkeys(probes, more)
    return Found(list(rows.values()), left_out)


def _near(request: Candidates, database: Database) -> list[Row]:
    """Return the Rows that a digest or a fingerprint finds."""
    subqueries, parameters = _subqueries(request, database)
    if not subqueries:
        return []
    columns = row_columns(request.bits, keys=request.with_keys)
    if request.one_per_digest:
        # In SQLite, a column beside min() has its value of the row with the minimum.
        columns = columns.replace("written", "min(written)")
    condition, condition_parameters = condition_of(request, database)
    sql = f"SELECT {columns} FROM documents WHERE written IN ({' UNION '.join(subqueries)}) AND {condition}"
    if request.one_per_digest:
        sql += " GROUP BY digest"
    with database.use() as connection:
        return without_damaged(map(to_row, connection.execute(sql, [*parameters, *condition_parameters])))


def _subqueries(request: Candidates, database: Database) -> tuple[list[str], list[Any]]:
    """Return subqueries that select the write orders of candidates, and their parameters."""
    subqueries: list[str] = []
    parameters: list[Any] = []
    if digests := {probe.digest for probe in request.probes if probe.digest is not None}:
        subqueries.append("SELECT written FROM documents WHERE digest IN (SELECT value FROM json_each(?))")
        parameters.append(json.dumps(sorted(digests)))
    fingerprints = list(dict.fromkeys(request.fingerprints(request.probes)))
    if fingerprints and request.max_distance >= segment_count(request.bits):
        subqueries.append("SELECT value FROM json_each(?)")
        parameters.append(json.dumps(sorted(_near_by_ranges(fingerprints, request, database))))
    elif fingerprints:
        plan = pairs(fingerprints, request.max_distance, request.bits)
        for pair, values in zip(pair_expressions(request.bits), plan, strict=True):
            condition = f"fp IS NOT NULL AND {pair} IN (SELECT value FROM json_each(?))"
            subqueries.append(f"SELECT written FROM documents WHERE {condition}")
            parameters.append(json.dumps(values.tolist()))
    return subqueries, parameters


def _near_by_ranges(fingerprints: list[int], request: Candidates, database: Database) -> set[int]:
    """Return the write orders of all rows within max_distance of a fingerprint. They are found by ranges of pairs."""
    bits, longs = request.bits, ", ".join(long_columns(request.bits))
    near: set[int] = set()
    for start in range(0, len(fingerprints), _BATCH):
        batch = fingerprints[start : start + _BATCH]
        rows: set[tuple[int, ...]] = set()
        ranges = pair_ranges(batch, request.max_distance, bits)
        with database.use() as connection:
            for pair, values in zip(pair_expressions(bits), ranges, strict=True):
                sql = (
                    f"SELECT written, {longs} FROM json_each(?) CROSS JOIN documents "
                    f"WHERE fp IS NOT NULL AND {pair} BETWEEN value AND value + 65535"
                )
                rows.update(connection.execute(sql, [json.dumps(values.tolist())]))
        if rows:
            write_orders, *words = np.array(list(rows), dtype=np.int64).T
            stored = np.stack(words, axis=1).view(np.uint64).reshape((-1,) if bits == 64 else (-1, len(words)))
            found = pairs_within(to_array(batch, bits), stored, request.max_distance)
            near.update(int(write_orders[row]) for _, row, _ in found)
    return near
