"""Requests on documents. One table; the indexes that serve the ring query are on pairs of segments.

The ring query asks for values of two neighbouring segments. A pair of 16-bit segments is one 32-bit number, cut out of
the fingerprint: each of the expression indexes holds one, four of them for 64 bits and eight for 128, and SQLite looks
up the pairs that are allowed (68 a fingerprint of 64 bits at a distance of 3). At wide distances these are thousands;
then SQLite reads the ranges of pairs that begin with an allowed segment (68 of them again, a 65,536th of all documents
each), and the fingerprints are compared here: at a distance of 7 and 200,000 documents 1 ms in place of 17.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from es_simhash.contract import (
    Annotate,
    Candidates,
    Count,
    Dependents,
    Describe,
    Fetch,
    FetchFields,
    Refresh,
    Relink,
    Remove,
    Row,
    Scan,
    ScanPage,
    SetUp,
    Write,
    Written,
)
from es_simhash.errors import NotSetUp, StoreError
from es_simhash.fingerprinting.encoding import from_longs, to_array, to_longs
from es_simhash.fingerprinting.scheme import Scheme
from es_simhash.search.hamming import pairs_within
from es_simhash.search.pair_plan import pair_ranges, pairs
from es_simhash.stores.sqlite.answer import answer
from es_simhash.stores.sqlite.filters import to_sql

if TYPE_CHECKING:
    from sqlite3 import Connection

    from es_simhash.stores.sqlite.database import Database

FORMAT = "1"
_PAGE = 10_000
_TOGETHER = 16
"""Fingerprints whose ranges are read together: each is compared with what the others find, too."""
_LAST = (1 << 63) - 1

_LONGS = ("fp", "fp1")  # the second for fingerprints of 128 bits


def _pairs(bits: int) -> list[str]:
    """Where segment i and its neighbour in the ring stand, in signed numbers of 64 bits."""
    longs = _LONGS[: bits // 64]
    expressions = []
    for this, next in zip(longs, (*longs[1:], longs[0]), strict=True):
        expressions += [f"({this} >> 32) & 4294967295", f"({this} >> 16) & 4294967295", f"{this} & 4294967295"]
        expressions.append(f"(({this} & 65535) << 16) | (({next} >> 48) & 65535)")
    return expressions


def _tables(bits: int) -> list[str]:
    more = "".join(f"{name} INTEGER, " for name in _LONGS[1 : bits // 64])
    return [
        f"""CREATE TABLE IF NOT EXISTS documents (
        written INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        fp INTEGER,
        {more}digest TEXT NOT NULL,
        "group" TEXT NOT NULL,
        duplicate_of TEXT,
        source TEXT NOT NULL
    )""",
        "CREATE INDEX IF NOT EXISTS digests ON documents (digest)",
        'CREATE INDEX IF NOT EXISTS groups ON documents ("group")',
        "CREATE INDEX IF NOT EXISTS duplicates ON documents (duplicate_of) WHERE duplicate_of IS NOT NULL",
        *(
            f"CREATE INDEX IF NOT EXISTS pairs_{i} ON documents ({pair}) WHERE fp IS NOT NULL"
            for i, pair in enumerate(_pairs(bits))
        ),
    ]


# A row's version is all of it that we ever change.
_SAME = 'written = ? AND digest = ? AND "group" = ? AND duplicate_of IS ?'


@answer.register(Describe)
def _describe(op: Describe, database: Database) -> Scheme | None:
    meta = database.meta()
    if "scheme" not in meta:
        return None
    if meta["documents"] != FORMAT:
        found = meta["documents"]
        raise StoreError(f"{database.name} has format {found}, this release reads {FORMAT}: upgrade es_simhash")
    return Scheme.from_dict(json.loads(meta["scheme"]))


def _bits(database: Database) -> int:
    """Length of the fingerprints in this file, which never changes."""
    if database.bits is None:
        scheme = _describe(Describe(), database)
        if scheme is None:
            raise NotSetUp(f"{database.name} is not set up: run `es-simhash init --store {database.name}`")
        database.bits = scheme.bits
    return database.bits


def _columns(database: Database) -> str:
    longs = ", ".join(_LONGS[: _bits(database) // 64])
    return f'id, digest, "group", duplicate_of, written, {longs}'


@answer.register(SetUp)
def _set_up(op: SetUp, database: Database) -> str:
    return database.make(_tables(op.scheme.bits), {"documents": FORMAT, "scheme": json.dumps(op.scheme.to_dict())})


@answer.register(Fetch)
def _fetch(op: Fetch, database: Database) -> dict[str, Row]:
    sql = f"SELECT {_columns(database)} FROM documents WHERE id IN (SELECT value FROM json_each(?))"
    with database.use() as connection:
        return {row[0]: _row(row) for row in connection.execute(sql, [json.dumps(op.ids)])}


@answer.register(FetchFields)
def _fetch_fields(op: FetchFields, database: Database) -> dict[str, dict[str, Any]]:
    sql = "SELECT id, source FROM documents WHERE id IN (SELECT value FROM json_each(?))"
    with database.use() as connection:
        return {id: _some(source, op.fields) for id, source in connection.execute(sql, [json.dumps(op.ids)])}


@answer.register(Candidates)
def _candidates(op: Candidates, database: Database) -> list[Row]:
    wanted, parameters = _wanted(op, database)
    if not wanted:
        return []
    # A bare column beside min() takes its value from the row with the minimum.
    columns = _columns(database)
    columns = columns.replace("written", "min(written)") if op.one_per_digest else columns
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


@answer.register(Dependents)
def _dependents(op: Dependents, database: Database) -> set[str]:
    sql = """
        SELECT id FROM documents WHERE duplicate_of IN (SELECT value FROM json_each(?))
        UNION SELECT id FROM documents WHERE "group" IN (SELECT value FROM json_each(?)) AND "group" <> id
    """
    with database.use() as connection:
        return {row[0] for row in connection.execute(sql, [json.dumps(op.originals), json.dumps(op.heads)])}


@answer.register(Write)
def _write(op: Write, database: Database) -> Written:
    with database.transaction() as connection:
        for entry in op.entries:
            _insert(entry.row, entry.source, op.bits, connection)
    return Written(refused={}, searchable=True)


@answer.register(Annotate)
def _annotate(op: Annotate, database: Database) -> Written:
    conflicts: set[str] = set()
    sql = f"SELECT source FROM documents WHERE id = ? AND {_SAME}"
    with database.transaction() as connection:
        for row in op.rows:
            found = connection.execute(sql, [row.id, *row.version]).fetchone()
            if found is None:
                conflicts.add(row.id)
            else:
                _insert(row, found[0], op.bits, connection)
    return Written(refused={}, searchable=True, conflicts=frozenset(conflicts))


def _insert(row: Row, source: str, bits: int, connection: Connection) -> None:
    connection.execute("DELETE FROM documents WHERE id = ?", [row.id])
    values: dict[str, Any] = {
        "written": _place(row.written, connection),
        "id": row.id,
        "digest": row.digest,
        '"group"': row.group,
        "duplicate_of": row.duplicate_of,
        "source": source,
    }
    if row.fingerprint is not None:
        values |= zip(_LONGS, to_longs(row.fingerprint, bits), strict=False)
    marks = ", ".join("?" * len(values))
    connection.execute(f"INSERT INTO documents ({', '.join(values)}) VALUES ({marks})", list(values.values()))


def _place(written: int, connection: Connection) -> int | None:
    """The number of a row: the first free one from the one wished for; for a wish of 0, one after all others.

    Two ingests may wish for one microsecond. No other number would do: what is linked to this row, and wishes for one
    soon after it, is to come after it.
    """
    if not written:
        return None
    if not connection.execute("SELECT 1 FROM documents WHERE written = ?", [written]).fetchone():
        return written
    sql = """
        SELECT written + 1 FROM documents AS taken
        WHERE written >= ? AND NOT EXISTS (SELECT 1 FROM documents WHERE written = taken.written + 1)
        ORDER BY written LIMIT 1
    """
    free: int = connection.execute(sql, [written]).fetchone()[0]
    return free


@answer.register(Remove)
def _remove(op: Remove, database: Database) -> set[str]:
    removed: set[str] = set()
    with database.transaction() as connection:
        for id in op.ids:
            version = op.versions.get(id)
            sql, parameters = ("", []) if version is None else (f" AND {_SAME}", version)
            if connection.execute(f"DELETE FROM documents WHERE id = ?{sql}", [id, *parameters]).rowcount:
                removed.add(id)
    return removed


@answer.register(Scan)
def _scan(op: Scan, database: Database) -> ScanPage:
    size = op.size or _PAGE
    condition, parameters = _scanned(op)
    columns, places = _columns(database), "written > ? AND written <= ?"
    sql = f"SELECT {columns}, source FROM documents WHERE {places} AND {condition} ORDER BY written LIMIT {size}"
    with database.use() as connection:
        start, end = op.after or (0, _end(op, connection))
        found = connection.execute(sql, [start, end, *parameters]).fetchall()
    rows = [_row(columns[:-1]) for columns in found]
    sources = [] if op.fields is None else [_some(columns[-1], op.fields) for columns in found]
    return ScanPage(rows, (rows[-1].written, end) if len(rows) == size else None, sources)


def _end(op: Scan, connection: Connection) -> int:
    """Where a scan ends: who asks for texts gives them other fingerprints, whereby they move behind all others."""
    if not op.fields:
        return _LAST
    last: int = connection.execute("SELECT ifnull(max(written), 0) FROM documents").fetchone()[0]
    return last


@answer.register(Count)
def _count(op: Count, database: Database) -> int:
    condition, parameters = _scanned(op.scan)
    with database.use() as connection:
        count: int = connection.execute(f"SELECT count(*) FROM documents WHERE {condition}", parameters).fetchone()[0]
    return count


def _scanned(op: Scan) -> tuple[str, list[Any]]:
    condition, parameters = to_sql(op.filter) if op.filter is not None else ("1", [])
    if op.missing:
        condition = f"digest = '' AND ({condition})"
    elif op.fields is None:
        condition = f"digest <> '' AND ({condition})"
    if op.slice is not None:
        condition, parameters = f"written % ? = ? AND ({condition})", [op.slice[1], op.slice[0], *parameters]
    return f"({condition})", parameters


def _some(source: str, fields: tuple[str, ...]) -> dict[str, Any]:
    if not fields:
        return {}
    document: dict[str, Any] = json.loads(source)
    names = {field.split(".")[0] for field in fields} | set(fields)
    return {name: value for name, value in document.items() if name in names}


@answer.register(Relink)
def _relink(op: Relink, database: Database) -> set[str]:
    sql = f'UPDATE documents SET "group" = ?, duplicate_of = ? WHERE id = ? AND {_SAME}'
    with database.transaction() as connection:
        return {
            id
            for id, link in op.links.items()
            if not connection.execute(sql, [link.group, link.duplicate_of, id, *link.version]).rowcount
        }


@answer.register(Refresh)
def _refresh(op: Refresh, database: Database) -> None:
    return None


def _wanted(op: Candidates, database: Database) -> tuple[list[str], list[Any]]:
    """Subqueries for the rows that satisfy one of the Probes, and their parameters."""
    wanted: list[str] = []
    parameters: list[Any] = []
    if digests := {probe.digest for probe in op.probes if probe.digest is not None}:
        wanted.append("SELECT written FROM documents WHERE digest IN (SELECT value FROM json_each(?))")
        parameters.append(json.dumps(sorted(digests)))
    fingerprints = list(dict.fromkeys(op.fingerprints(op.probes)))
    if fingerprints and op.max_distance >= op.bits // 16:
        wanted.append("SELECT value FROM json_each(?)")
        parameters.append(json.dumps(sorted(_near(fingerprints, op.max_distance, op.bits, database))))
    elif fingerprints:
        for pair, values in zip(_pairs(op.bits), pairs(fingerprints, op.max_distance, op.bits), strict=True):
            condition = f"fp IS NOT NULL AND {pair} IN (SELECT value FROM json_each(?))"
            wanted.append(f"SELECT written FROM documents WHERE {condition}")
            parameters.append(json.dumps(values.tolist()))
    return wanted, parameters


def _near(fingerprints: list[int], max_distance: int, bits: int, database: Database) -> set[int]:
    """Places of the rows within ``max_distance`` of one of the fingerprints, by ranges of pairs."""
    longs = _LONGS[: bits // 64]
    near: set[int] = set()
    for start in range(0, len(fingerprints), _TOGETHER):
        some = fingerprints[start : start + _TOGETHER]
        rows: set[tuple[int, ...]] = set()
        with database.use() as connection:
            for pair, values in zip(_pairs(bits), pair_ranges(some, max_distance, bits), strict=True):
                sql = (
                    f"SELECT written, {', '.join(longs)} FROM json_each(?) CROSS JOIN documents "
                    f"WHERE fp IS NOT NULL AND {pair} BETWEEN value AND value + 65535"
                )
                rows.update(connection.execute(sql, [json.dumps(values.tolist())]))
        if rows:
            places, *words = np.array(list(rows), dtype=np.int64).T
            theirs = np.stack(words, axis=1).view(np.uint64).reshape((-1,) if bits == 64 else (-1, len(words)))
            near.update(int(places[at]) for _, at, _ in pairs_within(to_array(some, bits), theirs, max_distance))
    return near


def _row(columns: tuple[Any, ...]) -> Row:
    id, digest, group, duplicate_of, written, *longs = columns
    version = (written, digest, group, duplicate_of)
    fingerprint = None if longs[0] is None else from_longs(longs)
    return Row(id, fingerprint, digest, group, duplicate_of, written, version)
