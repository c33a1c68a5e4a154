"""Documents in the file: set up, read, write."""

from __future__ import annotations

import itertools
import json
import logging
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from es_simhash.contract import KeysState, Row, Scan, ScanPage, StoredRule, Written, scheme_mismatch
from es_simhash.contract.store import NO_VERSIONS
from es_simhash.errors import InputError, StoreError, not_set_up
from es_simhash.fingerprinting.encoding import from_longs, to_array, to_longs
from es_simhash.fingerprinting.scheme import Scheme
from es_simhash.stores.sqlite.database import read_meta
from es_simhash.stores.sqlite.filters import marked, to_sql
from es_simhash.stores.sqlite.longs import long_columns
from es_simhash.stores.sqlite.schema import (
    FORMAT,
    SAME_VERSION,
    WRITTEN,
    id_list,
    keys_as_bytes,
    read_config,
    read_keys,
    row_columns,
    stored_ids,
    tables,
    to_row,
)
from es_simhash.stores.stored_row import without_damaged

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from sqlite3 import Connection

    from es_simhash.contract import Entry, Link
    from es_simhash.stores.sqlite.database import Database

_log = logging.getLogger("es_simhash")

_PAGE = 10_000
"""Documents in a page of Scan, if the request does not say."""
FUTURE = 60
"""Seconds. The newest document of a file is not that far ahead of the clock, unless the clock was changed."""
_LAST = (1 << 63) - 1
"""The largest write order that SQLite can hold."""


# --- set-up --------------------------------------------------------------------------------------------------------


def describe(database: Database) -> Scheme | None:
    return _scheme(database.meta(), database.name)


def set_up(database: Database, scheme: Scheme, keys: bool = False, template: bool = False) -> str:
    if template:
        raise InputError(f"{database.name} is a file, so it does not roll over: leave the template out")

    def meta(stored: Mapping[str, str]) -> dict[str, str]:
        existing = _scheme(stored, database.name)
        if existing is not None and existing != scheme:
            raise scheme_mismatch(existing, scheme, database.name)
        ours = {"documents": FORMAT, "scheme": json.dumps(scheme.to_dict())}
        if existing is None and keys:
            ours["keys"] = json.dumps(KeysState.COMPLETE.value)
        return ours

    return database.make(tables(scheme.bits), meta)


def _scheme(meta: Mapping[str, str], name: str) -> Scheme | None:
    if "scheme" not in meta:
        return None
    if (format := meta.get("documents")) != FORMAT:
        raise StoreError(f"{name} has format {format}, this release reads {FORMAT}: upgrade es_simhash")
    return Scheme.from_dict(read_config(meta, "scheme", name))


def _bits(database: Database) -> int:
    """Return the fingerprint width of the file.

    :raises NotSetUp: if the file was not set up for documents.
    """
    if database.bits is None:
        scheme = _scheme(database.meta(), database.name)
        if scheme is None:
            raise not_set_up(database.name)
        database.bits = scheme.bits
    return database.bits


def describe_keys(database: Database) -> KeysState:
    return _keys_state(database.meta(), database.name)


def set_up_keys(database: Database) -> str:
    _bits(database)
    with database.transaction() as connection:
        if _keys_state(read_meta(connection), database.name) is not KeysState.NONE:
            return "unchanged"
        is_empty = not connection.execute("SELECT 1 FROM documents WHERE digest <> '' LIMIT 1").fetchone()
        _write_keys_state(KeysState.COMPLETE if is_empty else KeysState.INCOMPLETE, connection)
    return "added"


def complete_keys(database: Database) -> None:
    _bits(database)
    with database.transaction() as connection:
        if _keys_state(read_meta(connection), database.name) is KeysState.INCOMPLETE:
            _write_keys_state(KeysState.COMPLETE, connection)


def _keys_state(meta: Mapping[str, str], name: str) -> KeysState:
    return KeysState.of_value(read_config(meta, "keys", name)) if "keys" in meta else KeysState.NONE


def _write_keys_state(state: KeysState, connection: Connection) -> None:
    connection.execute("INSERT OR REPLACE INTO meta VALUES ('keys', ?)", [json.dumps(state.value)])


def describe_rule(database: Database) -> StoredRule:
    return _stored_rule(database.meta(), database.name)


def keep_rule(database: Database, rule: StoredRule, replace: bool = False) -> None:
    _bits(database)
    with database.transaction() as connection:
        stored = _stored_rule(read_meta(connection), database.name, replace=replace)
        kept = stored.updated(rule) if replace else rule.updated(stored)
        connection.execute("INSERT OR REPLACE INTO meta VALUES ('rule', ?)", [json.dumps(kept.to_dict())])


def _stored_rule(meta: Mapping[str, str], name: str, *, replace: bool = False) -> StoredRule:
    """Return the rule that the file keeps.

    :param replace: it is replaced, so one that cannot be used counts as none.
    """
    if "rule" not in meta:
        return StoredRule()
    try:
        return StoredRule.from_dict(read_config(meta, "rule", name), name)
    except StoreError:
        if replace:
            return StoredRule()
        raise


# --- read ----------------------------------------------------------------------------------------------------------


def fetch(database: Database, ids: tuple[str, ...], time_field: str | None = None) -> dict[str, Row]:
    columns = row_columns(_bits(database), keys=True, time_field=time_field)
    sql = f"SELECT {columns} FROM documents WHERE id IN (SELECT value FROM json_each(?))"
    with database.use() as connection:
        rows = [to_row(values) for values in connection.execute(sql, [id_list(ids)])]
    return {row.id: row for row in rows}


def fetch_fields(database: Database, ids: tuple[str, ...], fields: tuple[str, ...] | None) -> dict[str, dict[str, Any]]:
    sql = "SELECT id, source FROM documents WHERE id IN (SELECT value FROM json_each(?))"
    with database.use() as connection:
        found = connection.execute(sql, [id_list(ids)])
        return {id: _select_fields(source, fields) for id, source in found}


def fetch_whole(database: Database, ids: tuple[str, ...]) -> dict[str, str]:
    columns = _columns(_bits(database))
    sql = f"SELECT {', '.join(columns)} FROM documents WHERE id IN (SELECT value FROM json_each(?))"
    with database.use() as connection:
        found = connection.execute(sql, [id_list(ids)]).fetchall()
    rows = [dict(zip(_columns(_bits(database), quoted=False), values, strict=True)) for values in found]
    # The number belongs to this state of the file. A document that is restored gets another one.
    for row in rows:
        keys = read_keys(row["keys"])
        row |= {"number": None, "keys": keys if isinstance(keys, tuple) else None}
    return {row["id"]: json.dumps(row, ensure_ascii=False) for row in rows}


def dependents(database: Database, originals: tuple[str, ...], heads: tuple[str, ...]) -> set[str]:
    sql = """
        SELECT id FROM documents WHERE duplicate_of IN (SELECT value FROM json_each(?))
        UNION SELECT id FROM documents WHERE "group" IN (SELECT value FROM json_each(?)) AND "group" <> id
    """
    parameters = [id_list(originals), id_list(heads)]
    with database.use() as connection:
        return {id for (id,) in connection.execute(sql, parameters) if isinstance(id, str)}


def scan(database: Database, scan: Scan) -> ScanPage:
    size = scan.size or _PAGE
    condition, parameters = _scan_condition(scan, database)
    columns = row_columns(_bits(database), time_field=scan.time_field)
    source = "source" if scan.fields else "''"
    sql = (
        f"SELECT {columns}, {source} FROM documents "
        f"WHERE written > ? AND written <= ? AND {condition} ORDER BY written LIMIT {size}"
    )
    with database.use() as connection:
        start, end = scan.after or (0, _scan_end(scan, connection))
        found = connection.execute(sql, [start, end, *parameters]).fetchall()
    rows = [to_row(values[:-1]) for values in found]
    after = (found[-1][WRITTEN], end) if len(found) == size else None
    if scan.fields is None:
        return ScanPage(without_damaged(rows), after)
    return ScanPage(rows, after, [_select_fields(values[-1], scan.fields) for values in found])


def _scan_end(request: Scan, connection: Connection) -> int:
    """Return the write order at which a Scan ends.

    A program that scans fields may write each document again, for example with another fingerprint. A document that is
    written again moves behind all others. So the Scan ends at the last document of its beginning.
    """
    if not request.fields:
        return _LAST
    last: int = connection.execute("SELECT ifnull(max(written), 0) FROM documents").fetchone()[0]
    return last


def count(database: Database, scan: Scan) -> int:
    condition, parameters = _scan_condition(scan, database)
    with database.use() as connection:
        count: int = connection.execute(f"SELECT count(*) FROM documents WHERE {condition}", parameters).fetchone()[0]
    return count


def _scan_condition(request: Scan, database: Database) -> tuple[str, list[Any]]:
    """Return the condition on the rows that a Scan returns, and its parameters."""
    condition, parameters = "1", list[Any]()
    if request.filter is not None:
        condition, parameters = to_sql(request.filter, trusted=database.trusted)
    if request.missing:
        condition = f"digest = '' AND ({condition})"
    elif request.fields is None:
        condition = f"digest <> '' AND ({condition})"
    if request.slice is not None:
        part, parts = request.slice
        condition, parameters = f"written % ? = ? AND ({condition})", [parts, part, *parameters]
    return f"({condition})", parameters


def _select_fields(source: str, fields: tuple[str, ...] | None) -> dict[str, Any]:
    """Return the fields of a document, None for all; of a field with a dot, the object that it leads into.

    A source that is not a JSON object has none.
    """
    if fields is not None and not fields:
        return {}
    try:
        document = json.loads(source)
    except (TypeError, ValueError, RecursionError):
        return {}
    if not isinstance(document, dict):
        return {}
    if fields is None:
        return document
    names = {field.split(".")[0] for field in fields} | set(fields)
    return {name: value for name, value in document.items() if name in names}


# --- write ---------------------------------------------------------------------------------------------------------


def clock_difference(database: Database) -> int:
    """Return 0: one machine writes the file. A warning says if its clock was ahead before, or is behind now."""
    if not database.clock_checked:
        database.clock_checked = True
        with database.use() as connection:
            newest: int = connection.execute("SELECT ifnull(max(written), 0) FROM documents").fetchone()[0]
        ahead = newest / 1_000_000 - time.time()
        if ahead > FUTURE:
            _log.warning(
                "%s: its newest document was written %s s after the present time of this machine, so what is written "
                "now comes before it: correct the clock, if it is behind",
                database.name,
                f"{ahead:,.0f}",
            )
    return 0


def write(
    database: Database,
    entries: tuple[Entry, ...],
    bits: int,
    pipeline: str | None = None,
) -> Written:
    with database.transaction() as connection:
        conflicts = _conflicts([entry.row for entry in entries], connection)
        if conflicts:
            entries = tuple(entry for entry in entries if entry.row.id not in conflicts)
        rows = [entry.row for entry in entries]
        numbers = _numbers(rows, database, connection)
        if not _insert_new(entries, numbers, bits, connection):
            for entry, number in zip(entries, numbers, strict=True):
                _insert(entry.row, number, entry.source, bits, connection)
        _add_known(rows, numbers, bits, database, connection)
    return Written(refused={}, searchable=True, conflicts=conflicts)


def _conflicts(rows: Sequence[Row], connection: Connection) -> frozenset[str]:
    """Return the ids of the Rows whose stored documents have another version now. A new document has none."""
    conflicts = set(stored_ids([row.id for row in rows if row.version is None], connection))
    sql = f"SELECT 1 FROM documents WHERE id = ? AND {SAME_VERSION}"
    for row in rows:
        if row.version is not None and connection.execute(sql, [row.id, *row.version]).fetchone() is None:
            conflicts.add(row.id)
    return frozenset(conflicts)


def restore(database: Database, whole: Mapping[str, str]) -> Written:
    bits = _bits(database)
    names, statement = _columns(bits, quoted=False), _insert_statement(bits)
    with database.transaction() as connection:
        conflicts = stored_ids(frozenset(whole), connection)
        values = [json.loads(text) for id, text in whole.items() if id not in conflicts]
        rows = [_restored_row(each, bits) for each in values]
        numbers = _numbers(rows, database, connection)
        for each, number in zip(values, numbers, strict=True):
            keys = None if each["keys"] is None else keys_as_bytes(each["keys"])
            row = {**each, "number": number, "keys": keys, "written": _free_write_order(each["written"], connection)}
            connection.execute(statement, [row[name] for name in names])
        _add_known(rows, numbers, bits, database, connection)
    return Written(refused={}, searchable=True, conflicts=conflicts)


def _restored_row(values: Mapping[str, Any], bits: int) -> Row:
    """Return a Row with the fingerprint and the keys of a document that is restored."""
    longs = [values[name] for name in long_columns(bits)]
    fingerprint = from_longs(longs) if all(type(long) is int for long in longs) else None
    return Row(values["id"], fingerprint, "", "", None, 0, keys=values["keys"] or (), length=values["length"])


def annotate(database: Database, rows: tuple[Row, ...], bits: int) -> Written:
    conflicts: set[str] = set()
    sql = f"SELECT source, content FROM documents WHERE id = ? AND {SAME_VERSION}"
    changed: list[Row] = []
    with database.transaction() as connection:
        numbers = _numbers(rows, database, connection)
        written: list[int | None] = []
        for row, number in zip(rows, numbers, strict=True):
            found = connection.execute(sql, [row.id, *row.version]).fetchone()
            if found is None:
                conflicts.add(row.id)
            else:
                source, content = found
                changed.append(row)
                written.append(number)
                _insert(replace(row, content=content), number, source, bits, connection)
        _add_known(changed, written, bits, database, connection)
    return Written(refused={}, searchable=True, conflicts=frozenset(conflicts))


def _numbers(rows: Sequence[Row], database: Database, connection: Connection) -> list[int | None]:
    """Return a number for each Row that has keys: its position in the table of keys."""
    with_keys = sum(1 for row in rows if row.keys)
    if not with_keys:
        return [None] * len(rows)
    numbers = itertools.count(database.keys.next_number(with_keys, connection))
    return [next(numbers) if row.keys else None for row in rows]


def _add_known(
    rows: Sequence[Row], numbers: Sequence[int | None], bits: int, database: Database, connection: Connection
) -> None:
    """Add Rows that were inserted to the tables that search reads, and to what is known in memory."""
    with_keys = [(row, number) for row, number in zip(rows, numbers, strict=True) if number is not None]
    database.keys.add([row for row, _ in with_keys], [number for _, number in with_keys], connection)
    fingerprints = [row.fingerprint for row in rows if row.fingerprint is not None]
    database.segments.add(to_array(fingerprints, bits), bits, connection)
    database.known_fingerprints.add(rows)


def _insert_new(entries: Sequence[Entry], numbers: Sequence[int | None], bits: int, connection: Connection) -> bool:
    """Write documents in one statement.

    :returns: False, and nothing is written, if one of them replaces another, or if a write order is taken or missing.
    """
    orders = [entry.row.written for entry in entries]
    if not all(orders) or len(set(orders)) < len(orders) or any(entry.row.version is not None for entry in entries):
        return False
    sql = "SELECT 1 FROM documents WHERE written IN (SELECT value FROM json_each(?)) LIMIT 1"
    if connection.execute(sql, [json.dumps(orders)]).fetchone():
        return False
    rows = (
        _row_values(entry.row.written, number, entry.row, entry.source, bits)
        for entry, number in zip(entries, numbers, strict=True)
    )
    connection.executemany(_insert_statement(bits), rows)
    return True


def _insert(row: Row, number: int | None, source: str, bits: int, connection: Connection) -> None:
    """Write a document in place of the document with its id."""
    connection.execute("DELETE FROM documents WHERE id = ?", [row.id])
    values = _row_values(_free_write_order(row.written, connection), number, row, source, bits)
    connection.execute(_insert_statement(bits), values)


def _insert_statement(bits: int) -> str:
    columns = _columns(bits)
    return f"INSERT INTO documents ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"


def _columns(bits: int, *, quoted: bool = True) -> tuple[str, ...]:
    """Return the columns of a row in the order of :func:`_row_values`, as SQL names them or without quotes."""
    group = '"group"' if quoted else "group"
    after = ("length", "content", "number", "keys", "source")
    return ("written", "id", "digest", group, "duplicate_of", *after, *long_columns(bits))


def _row_values(order: int | None, number: int | None, row: Row, source: str, bits: int) -> tuple[Any, ...]:
    """Return the values of a row for :func:`_insert_statement`."""
    longs = (None,) * (bits // 64) if row.fingerprint is None else to_longs(row.fingerprint, bits)
    keys = keys_as_bytes(row.keys) if row.length is not None or row.keys else None
    values = order, row.id, row.digest, row.group, row.duplicate_of, row.length, row.content
    return *values, number, keys, marked(source), *longs


def _free_write_order(written: int, connection: Connection) -> int | None:
    """Return the first free write order from ``written`` on; None for 0, so that SQLite takes one after all others.

    Two ingests may ask for the same write order. The second takes the next free one, and not one after all others:
    the duplicates of this document ask for a write order soon after it, and they must come after it.
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


def remove(database: Database, ids: tuple[str, ...], versions: Mapping[str, Any] = NO_VERSIONS) -> set[str]:
    removed: set[str] = set()
    with database.transaction() as connection:
        for id in ids:
            version = versions.get(id)
            condition, parameters = ("", []) if version is None else (f" AND {SAME_VERSION}", version)
            if connection.execute(f"DELETE FROM documents WHERE id = ?{condition}", [id, *parameters]).rowcount:
                removed.add(id)
    return removed


def relink(database: Database, links: Mapping[str, Link]) -> set[str]:
    sql = f'UPDATE documents SET "group" = ?, duplicate_of = ? WHERE id = ? AND {SAME_VERSION}'
    with database.transaction() as connection:
        return {
            id
            for id, link in links.items()
            if not connection.execute(sql, [link.group, link.duplicate_of, id, *link.version]).rowcount
        }
