"""Documents in the file: read, scan, write."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from es_simhash.store.memory_store import chosen_fields
from es_simhash.store.sqlite import keys
from es_simhash.store.sqlite.functions import SORT_VALUE, document_of
from es_simhash.store.sqlite.schema import COLUMNS, condition, json_list, new_version, row_values, to_row
from es_simhash.store.types import Stored, Written

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from sqlite3 import Connection

    from es_simhash.store.types import Entry, Link, Row, Scan

_PAGE = 1_000
"""Documents in a list of a scan."""
_LARGE = 100
"""The keys of a batch of so many documents wait: more of them will probably come before a search."""
_OF_IDS = "id IN (SELECT value FROM json_each(?))"
_WRITTEN = ("position", *COLUMNS.split(", "), "is_copy", "s0", "s1", "s2", "s3", "keys", "source")
_WRITE = (
    f"INSERT INTO documents ({', '.join(_WRITTEN)}) VALUES ({', '.join('?' * len(_WRITTEN))}) "
    f"ON CONFLICT (position) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in _WRITTEN[1:])}"
)


# --- read ----------------------------------------------------------------------------------------------------------


def read(connection: Connection, ids: Sequence[str], fields: Sequence[str] | None) -> dict[str, Stored]:
    """Return documents by id."""
    source = "source" if fields is None or fields else "NULL"
    found = connection.execute(f"SELECT {COLUMNS}, {source} FROM documents WHERE {_OF_IDS}", [json_list(ids)])
    return {values[0]: Stored(to_row(values[:-1]), (), _chosen(values[-1], fields)) for values in found}


def members(connection: Connection, heads: Sequence[str]) -> list[Row]:
    """Return the documents that are copies of one of these heads."""
    sql = f"SELECT {COLUMNS} FROM documents WHERE duplicate_of IN (SELECT value FROM json_each(?))"
    return [to_row(values) for values in connection.execute(sql, [json_list(heads)])]


def scan(connection: Connection, scan: Scan) -> Iterator[list[Stored]]:
    """Yield documents in lists."""
    where, parameters = condition(scan.filter, missing=scan.missing, since=scan.since)
    order = "[order], position" if scan.by_order else "position"
    if scan.by_field is not None:
        order = f"{SORT_VALUE} IS NULL, {SORT_VALUE}, {order}"
        parameters += [scan.by_field, scan.by_field]
    source = "source" if scan.fields is None or scan.fields else "NULL"
    sql = f"SELECT {COLUMNS}, {'keys' if scan.keys else 'NULL'}, {source} FROM documents WHERE {where} ORDER BY {order}"
    found = connection.execute(sql, parameters)
    while page := found.fetchmany(_PAGE):
        yield [
            Stored(to_row(tuple(row)), keys.from_bytes(stored or b""), _chosen(source, scan.fields))
            for *row, stored, source in page
        ]


def count(connection: Connection, filter: Mapping[str, Any] | None, missing: bool | None) -> int:
    """Return how many documents match a filter."""
    where, parameters = condition(filter, missing=missing)
    number: int = connection.execute(f"SELECT count(*) FROM documents WHERE {where}", parameters).fetchone()[0]
    return number


def _chosen(source: str | None, fields: Sequence[str] | None) -> dict[str, Any] | None:
    if source is None:
        return None
    document = document_of(source)
    return document if fields is None else chosen_fields(document, fields)


# --- write ---------------------------------------------------------------------------------------------------------


def write(connection: Connection, entries: Sequence[Entry]) -> Written:
    """Write documents, each on the version that it replaces."""
    stored = _read_written(connection, [entry.row.id for entry in entries])
    conflicts = {entry.row.id for entry in entries if not _may_write(entry, stored)}
    accepted = [entry for entry in entries if entry.row.id not in conflicts]
    version = new_version()
    entered = keys.last_entered(connection)
    last: int = connection.execute("SELECT max(?, ifnull(max(position), 0)) FROM documents", [entered]).fetchone()[0]
    removed, added, values = [], [], []
    for entry in accepted:
        row, source = entry.row, entry.source
        if row.id in stored:
            _, former, former_source = stored[row.id]
            position, source = former.document, former_source if source is None else source
            removed.append(former)
            added.append(keys.KeysOf(position, entry.keys, row.length, row.duplicate_of is not None))
        else:
            position = last = last + 1
        values.append((position, *row_values(row, version), keys.to_bytes(entry.keys), source))
    keys.remove(removed, connection)
    connection.executemany(_WRITE, values)
    keys.add(added, connection)
    if len(values) < _LARGE or last - entered >= keys.MOST_WAITING:
        keys.enter_waiting(connection)
    return Written({}, frozenset(conflicts), {entry.row.id: version for entry in accepted})


def _may_write(entry: Entry, stored: Mapping[str, tuple[int, keys.KeysOf, str]]) -> bool:
    """Return whether the stored document is the one that an Entry replaces."""
    if entry.row.id not in stored:
        return entry.row.version is None and entry.source is not None
    return bool(stored[entry.row.id][0] == entry.row.version)


def write_links(connection: Connection, links: Mapping[str, Link]) -> Written:
    """Change what documents are copies of, each on its version."""
    stored = _read_written(connection, list(links))
    version = new_version()
    accepted = {id: link for id, link in links.items() if id in stored and stored[id][0] == link.version}
    connection.executemany(
        "UPDATE documents SET duplicate_of = ?, is_copy = ?, version = ? WHERE position = ?",
        [
            (link.duplicate_of, link.duplicate_of is not None, version, stored[id][1].document)
            for id, link in accepted.items()
        ],
    )
    moved = [stored[id][1] for id, link in accepted.items() if stored[id][1].is_copy != (link.duplicate_of is not None)]
    keys.remove(moved, connection)
    keys.add([of_text._replace(is_copy=not of_text.is_copy) for of_text in moved], connection)
    return Written({}, frozenset(links.keys() - accepted.keys()), dict.fromkeys(accepted, version))


def remove(connection: Connection, versions: Mapping[str, Any]) -> Written:
    """Remove documents, each only on its version."""
    stored = _read_written(connection, list(versions))
    conflicts = {id for id, (version, *_) in stored.items() if versions[id] not in (None, version)}
    removed = [of_text for id, (_, of_text, _) in stored.items() if id not in conflicts]
    keys.remove(removed, connection)
    connection.executemany("DELETE FROM documents WHERE position = ?", [(of_text.document,) for of_text in removed])
    return Written({}, frozenset(conflicts), {})


def _read_written(connection: Connection, ids: Sequence[str]) -> dict[str, tuple[int, keys.KeysOf, str]]:
    """Return what a write needs of stored documents: the version, the keys and the document, by id."""
    sql = f"SELECT id, version, position, keys, length, is_copy, source FROM documents WHERE {_OF_IDS}"
    return {
        id: (version, keys.KeysOf(position, keys.from_bytes(stored or b""), length, bool(is_copy)), source)
        for id, version, position, stored, length, is_copy, source in connection.execute(sql, [json_list(ids)])
    }
