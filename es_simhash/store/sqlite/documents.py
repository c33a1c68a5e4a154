"""Documents in the file: write them, link them, remove them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from es_simhash.store.sqlite import keys
from es_simhash.store.sqlite.schema import COLUMNS, IS_COPY, OF_IDS, json_list, new_version, row_values
from es_simhash.store.types import Written

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from sqlite3 import Connection

    from es_simhash.store.types import Entry, Row

_LARGE = 100
"""The keys of a batch of so many documents wait: more of them will probably come before a search."""
_WRITTEN = ("position", *COLUMNS.split(", "), "keys", "source")
_WRITE = (
    f"INSERT INTO documents ({', '.join(_WRITTEN)}) VALUES ({', '.join('?' * len(_WRITTEN))}) "
    f"ON CONFLICT (position) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in _WRITTEN[1:])}"
)


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
        row, source, of_text = entry.row, entry.source, keys.to_bytes(entry.keys)
        if row.id in stored:
            _, former, former_source = stored[row.id]
            position, source = former.document, former_source if source is None else source
            removed.append(former)
            added.append(keys.KeysOf(position, of_text, row.length, row.duplicate_of is not None))
        else:
            position = last = last + 1
        values.append((position, *row_values(row, version), of_text, source))
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


def write_links(connection: Connection, rows: Mapping[str, Row]) -> Written:
    """Change what documents are copies of, each on its version."""
    stored = _read_written(connection, list(rows))
    version = new_version()
    accepted = {id: row for id, row in rows.items() if id in stored and stored[id][0] == row.version}
    connection.executemany(
        "UPDATE documents SET duplicate_of = ?, version = ? WHERE position = ?",
        [(row.duplicate_of, version, stored[id][1].document) for id, row in accepted.items()],
    )
    moved = [stored[id][1] for id, row in accepted.items() if stored[id][1].is_copy != (row.duplicate_of is not None)]
    keys.remove(moved, connection)
    keys.add([of_text._replace(is_copy=not of_text.is_copy) for of_text in moved], connection)
    return Written({}, frozenset(rows.keys() - accepted.keys()), dict.fromkeys(accepted, version))


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
    sql = f"SELECT id, version, source, position, keys, length, {IS_COPY} FROM documents WHERE {OF_IDS}"
    return {
        id: (version, keys.KeysOf(*values), source)
        for id, version, source, *values in connection.execute(sql, [json_list(ids)])
    }
