"""Candidates in SQLite: rows with one of the digests, rows with near fingerprints, and rows with keys."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from es_simhash.contract import Found
from es_simhash.search.times import TimeRanges
from es_simhash.stores.sqlite.fingerprints import near_crowds, nearest_crowds, same_fingerprint
from es_simhash.stores.sqlite.key_search import condition_of, with_keys
from es_simhash.stores.sqlite.schema import row_columns, stored_ids, to_row
from es_simhash.stores.stored_row import find_usable

if TYPE_CHECKING:
    from es_simhash.contract import Candidates, Row
    from es_simhash.stores.sqlite.database import Database


def candidates(database: Database, query: Candidates) -> Found:
    return find_usable(partial(_find, database), query)


def _find(database: Database, request: Candidates) -> Found:
    """Return the reply to Candidates, with the Rows of damaged documents."""
    with database.transaction(write=False) as connection:
        near, left_out = _near(request, database)
        sharing, others = with_keys(request, database, connection)
    if request.time_field is not None:
        near = _in_times(near, request)
    rows = {row.id: row for row in near} | sharing
    left_out = {probe: left_out.get(probe, 0) + others.get(probe, 0) for probe in left_out.keys() | others.keys()}
    if not request.ids:
        return Found(list(rows.values()), left_out)
    with database.use() as connection:
        return Found(list(rows.values()), left_out, stored_ids(request.ids, connection))


def _near(request: Candidates, database: Database) -> tuple[list[Row], dict[int, int]]:
    """Return the Rows that a digest or a fingerprint finds, and how many were left out by the index of the Probe."""
    rows = _with_digests(request, database)
    if not request.fingerprints(request.probes):
        return rows, {}
    crowds, done = near_crowds(request, database)
    crowds, far = nearest_crowds(crowds, request, database)
    far = dict.fromkeys(done, 1) | far  # what else is near these was not counted
    singles = [crowd.first for crowd in crowds.values() if crowd.count == 1]
    several = {longs: crowd for longs, crowd in crowds.items() if crowd.count > 1}
    most = request.per_fingerprint
    if most is None:
        orders = [order for longs in several for order in _write_orders(longs, request, database)]
        return rows + _of_write_orders(singles + orders, request, database), request.left_out_of({}, far)
    rows += _of_write_orders(singles, request, database)
    left_out: dict[int, int] = {}
    for longs, crowd in several.items():
        some = _first_written(longs, most + 1, request, database)
        if len(some) > most > 1 and (value := some[0].fingerprint) is not None:
            left_out[value] = crowd.count - most
        rows += some[:most]
    return rows, request.left_out_of(left_out, far)


def _with_digests(request: Candidates, database: Database) -> list[Row]:
    """Return the Rows with one of the digests."""
    digests = sorted({probe.digest for probe in request.probes if probe.digest is not None})
    if not digests:
        return []
    columns = row_columns(request.bits, keys=request.with_keys, time_field=request.time_field)
    condition, parameters = condition_of(request, database)
    asked = "SELECT value FROM json_each(?)"
    if _stands_for_its_digest(request):
        # There may be very many copies. The index has them in their write order, so only the first one is read.
        first = f"SELECT written FROM documents WHERE digest = value AND {condition} ORDER BY written LIMIT 1"
        sql = f"SELECT {columns} FROM documents WHERE written IN (SELECT ({first}) FROM json_each(?))"
        parameters = [*parameters, json.dumps(digests)]
    else:
        sql = f"SELECT {columns} FROM documents WHERE digest IN ({asked}) AND {condition}"
        parameters = [json.dumps(digests), *parameters]
    with database.use() as connection:
        return [to_row(values) for values in connection.execute(sql, parameters)]


def _of_write_orders(orders: list[int], request: Candidates, database: Database) -> list[Row]:
    """Return the Rows with these write orders that match the request."""
    if not orders:
        return []
    columns = row_columns(request.bits, keys=request.with_keys, time_field=request.time_field)
    if one_per_digest := _stands_for_its_digest(request):
        # In SQLite, a column beside min() has its value of the row with the minimum.
        columns = columns.replace("written", "min(written) AS written")
    condition, parameters = condition_of(request, database)
    sql = f"SELECT {columns} FROM documents WHERE written IN (SELECT value FROM json_each(?)) AND {condition}"
    with database.use() as connection:
        found = connection.execute(
            sql + (" GROUP BY digest" if one_per_digest else ""), [json.dumps(orders), *parameters]
        )
        return [to_row(values) for values in found]


def _write_orders(longs: tuple[int, ...], request: Candidates, database: Database) -> list[int]:
    """Return the write orders of all documents with a fingerprint."""
    condition, parameters = same_fingerprint(longs, request.bits)
    with database.use() as connection:
        return [
            order for (order,) in connection.execute(f"SELECT written FROM documents WHERE {condition}", parameters)
        ]


def _first_written(longs: tuple[int, ...], most: int, request: Candidates, database: Database) -> list[Row]:
    """Return the Rows with a fingerprint that match the request and were written first; of each digest one if asked."""
    columns = row_columns(request.bits, keys=request.with_keys, time_field=request.time_field)
    condition, parameters = condition_of(replace(request, without=()), database)
    same, fingerprint = same_fingerprint(longs, request.bits)
    sql = f"SELECT {columns} FROM documents WHERE {same} AND {condition} ORDER BY written"
    rows: list[Row] = []
    digests: set[str] = set()
    with database.use() as connection:
        for values in connection.execute(sql, [*fingerprint, *parameters]):
            row = to_row(values)
            if row.id in request.without or (request.one_per_digest and row.digest in digests):
                continue
            digests.add(row.digest)
            rows.append(row)
            if len(rows) == most:
                break
    return rows


def _stands_for_its_digest(request: Candidates) -> bool:
    """Return whether the document with a digest that was written first stands for all with this digest."""
    return request.one_per_digest and request.time_field is None


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
