"""Requests on documents. One table; the index that serves the ring query is on pairs of segments.

The ring query asks for values of two neighbouring segments. A pair of 16-bit segments is one 32-bit number, cut out of
the fingerprint: each of the four expression indexes holds one, and SQLite looks up the pairs that are allowed (68 a
fingerprint at a distance of 3).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from es_simhash.core.ring import pairs
from es_simhash.core.scheme import Scheme
from es_simhash.core.segments import from_signed, to_signed
from es_simhash.errors import StoreError
from es_simhash.ops import (
    Candidates,
    Describe,
    Fetch,
    Refresh,
    Regroup,
    Remove,
    Row,
    Scan,
    Scanned,
    ScanPage,
    SetUp,
    Write,
    Written,
)
from es_simhash.stores.sqlite.answer import answer
from es_simhash.stores.sqlite.clause import to_sql

if TYPE_CHECKING:
    from es_simhash.stores.sqlite.database import Database

FORMAT = "1"
_PAGE = 10_000

# Where segment i and its neighbour stand in the signed 64-bit fingerprint.
_PAIRS = (
    "(fp >> 32) & 4294967295",
    "(fp >> 16) & 4294967295",
    "fp & 4294967295",
    "((fp & 65535) << 16) | ((fp >> 48) & 65535)",
)
_TABLES = [
    """CREATE TABLE IF NOT EXISTS documents (
        written INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        fp INTEGER,
        digest TEXT NOT NULL,
        "group" TEXT NOT NULL,
        duplicate_of TEXT,
        source TEXT NOT NULL
    )""",
    "CREATE INDEX IF NOT EXISTS digests ON documents (digest)",
    'CREATE INDEX IF NOT EXISTS groups ON documents ("group")',
    *(
        f"CREATE INDEX IF NOT EXISTS pairs_{i} ON documents ({pair}) WHERE fp IS NOT NULL"
        for i, pair in enumerate(_PAIRS)
    ),
]
_COLUMNS = 'id, fp, digest, "group", duplicate_of, written'


@answer.register(Describe)
def _describe(op: Describe, database: Database) -> Scheme | None:
    meta = database.meta()
    if "scheme" not in meta:
        return None
    if meta["documents"] != FORMAT:
        found = meta["documents"]
        raise StoreError(f"{database.name} has format {found}, this release reads {FORMAT}: upgrade es_simhash")
    return Scheme.from_dict(json.loads(meta["scheme"]))


@answer.register(SetUp)
def _set_up(op: SetUp, database: Database) -> str:
    return database.make(_TABLES, {"documents": FORMAT, "scheme": json.dumps(op.scheme.to_dict())})


@answer.register(Fetch)
def _fetch(op: Fetch, database: Database) -> dict[str, Row]:
    sql = f"SELECT {_COLUMNS} FROM documents WHERE id IN (SELECT value FROM json_each(?))"
    with database.use() as connection:
        return {row[0]: _row(row) for row in connection.execute(sql, [json.dumps(op.ids)])}


@answer.register(Candidates)
def _candidates(op: Candidates, database: Database) -> list[Row]:
    wanted, parameters = _wanted(op)
    if not wanted:
        return []
    # A bare column beside min() takes its value from the row with the minimum.
    columns = _COLUMNS.replace("written", "min(written)") if op.one_per_digest else _COLUMNS
    sql = f"SELECT {columns} FROM documents WHERE written IN ({' UNION '.join(wanted)})"
    if op.without:
        sql += " AND id NOT IN (SELECT value FROM json_each(?))"
        parameters.append(json.dumps(op.without))
    if op.filter is not None:
        condition, more = to_sql(op.filter)
        sql += f" AND ({condition})"
        parameters += more
    if op.one_per_digest:
        sql += " GROUP BY digest"
    with database.use() as connection:
        return [_row(row) for row in connection.execute(sql, parameters)]


@answer.register(Write)
def _write(op: Write, database: Database) -> Written:
    with database.transaction() as connection:
        # A fresh row, not an update in place: `written` grows with every write.
        connection.executemany("DELETE FROM documents WHERE id = ?", [(entry.id,) for entry in op.entries])
        connection.executemany(
            'INSERT INTO documents (id, fp, digest, "group", duplicate_of, source) VALUES (?, ?, ?, ?, ?, ?)',
            [
                (
                    e.id,
                    None if e.fingerprint is None else to_signed(e.fingerprint),
                    e.digest,
                    e.group,
                    e.duplicate_of,
                    e.source,
                )
                for e in op.entries
            ],
        )
    return Written(refused={}, searchable=True)


@answer.register(Remove)
def _remove(op: Remove, database: Database) -> set[str]:
    with database.transaction() as connection:
        sql = "DELETE FROM documents WHERE id IN (SELECT value FROM json_each(?)) RETURNING id"
        return {row[0] for row in connection.execute(sql, [json.dumps(op.ids)]).fetchall()}


@answer.register(Scan)
def _scan(op: Scan, database: Database) -> ScanPage:
    condition, parameters = to_sql(op.filter) if op.filter is not None else ("1", [])
    sql = f"SELECT {_COLUMNS} FROM documents WHERE written > ? AND ({condition}) ORDER BY written LIMIT {_PAGE}"
    with database.use() as connection:
        rows = [_row(row) for row in connection.execute(sql, [op.after or 0, *parameters])]
    after = rows[-1].written if len(rows) == _PAGE else None
    return ScanPage([Scanned(row, row.written) for row in rows], after)


@answer.register(Regroup)
def _regroup(op: Regroup, database: Database) -> set[str]:
    sql = 'UPDATE documents SET "group" = ? WHERE id = ? AND written = ?'
    with database.transaction() as connection:
        return {
            id
            for id, (group, written) in op.groups.items()
            if not connection.execute(sql, [group, id, written]).rowcount
        }


@answer.register(Refresh)
def _refresh(op: Refresh, database: Database) -> None:
    return None


def _wanted(op: Candidates) -> tuple[list[str], list[Any]]:
    """Subqueries for the rows that satisfy one of the Probes, and their parameters."""
    wanted: list[str] = []
    parameters: list[Any] = []
    if digests := {probe.digest for probe in op.probes if probe.digest is not None}:
        wanted.append("SELECT written FROM documents WHERE digest IN (SELECT value FROM json_each(?))")
        parameters.append(json.dumps(sorted(digests)))
    if fingerprints := [probe.fingerprint for probe in op.probes if probe.fingerprint is not None]:
        for pair, values in zip(_PAIRS, pairs(fingerprints, op.max_distance, bits=64), strict=True):
            condition = f"fp IS NOT NULL AND {pair} IN (SELECT value FROM json_each(?))"
            wanted.append(f"SELECT written FROM documents WHERE {condition}")
            parameters.append(json.dumps(values.tolist()))
    return wanted, parameters


def _row(columns: tuple[Any, ...]) -> Row:
    id, fp, digest, group, duplicate_of, written = columns
    return Row(id, None if fp is None else from_signed(fp), digest, group, duplicate_of, written)
