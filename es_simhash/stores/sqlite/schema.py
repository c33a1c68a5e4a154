"""The table of documents, its indexes, and a row of it as a Row.

The row number of a document is its write order. What search reads of all documents is in tables of its own: their
fingerprints (:mod:`es_simhash.stores.sqlite.segments`) and their keys (:mod:`es_simhash.stores.sqlite.keys`). The
row of a document has both too, each key in five bytes.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from es_simhash.errors import StoreError
from es_simhash.stores.sqlite.keys import TABLES as KEY_TABLES
from es_simhash.stores.sqlite.longs import long_columns
from es_simhash.stores.sqlite.segments import TABLES as SEGMENT_TABLES
from es_simhash.stores.stored_row import LONGS, stored_row, usual_row

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from sqlite3 import Connection

    from es_simhash.contract import Row

FORMAT = "1"
"""The format of the table of documents, in the table ``meta``."""

SAME_VERSION = 'written = ? AND digest = ? AND "group" = ? AND duplicate_of IS ? AND length IS ? AND content IS ?'
"""The condition that a row still has a version. A version is all values of a row that we ever change. The keys change
only together with the digest or the length."""
KEY_BYTES = 5
"""Bytes of a key in the row of a document, the lowest first."""


def keys_as_bytes(keys: Sequence[int]) -> bytes:
    """Return keys as the row of a document has them."""
    return np.array(keys, dtype="<u8").view(np.uint8).reshape(-1, 8)[:, :KEY_BYTES].tobytes()


def read_keys(keys: Any) -> Any:
    """Return the keys of a row as integers; what is none of :func:`keys_as_bytes` comes back as it is."""
    if type(keys) is not bytes or len(keys) % KEY_BYTES:
        return keys
    padded = np.zeros((len(keys) // KEY_BYTES, 8), dtype=np.uint8)
    padded[:, :KEY_BYTES] = np.frombuffer(keys, dtype=np.uint8).reshape(-1, KEY_BYTES)
    return tuple(padded.view("<u8")[:, 0].tolist())


def tables(bits: int) -> list[str]:
    """Return the statements that make the tables, indexes and triggers that are missing."""
    longs = "".join(f"{name} INTEGER, " for name in long_columns(bits))
    return [
        f"""CREATE TABLE IF NOT EXISTS documents (
        written INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        {longs}digest TEXT NOT NULL,
        "group" TEXT NOT NULL,
        duplicate_of TEXT,
        length INTEGER,
        content INTEGER,
        number INTEGER,
        keys BLOB,
        source TEXT NOT NULL
    )""",
        "CREATE INDEX IF NOT EXISTS digests ON documents (digest)",
        # SQLite uses this index only for a query that has the same condition.
        'CREATE INDEX IF NOT EXISTS groups ON documents ("group") WHERE "group" <> id',
        "CREATE INDEX IF NOT EXISTS duplicates ON documents (duplicate_of) WHERE duplicate_of IS NOT NULL",
        f"CREATE INDEX IF NOT EXISTS fingerprints ON documents ({', '.join(long_columns(bits))}) WHERE fp IS NOT NULL",
        "CREATE INDEX IF NOT EXISTS numbers ON documents (number) WHERE number IS NOT NULL",
        *KEY_TABLES,
        *SEGMENT_TABLES,
    ]


def row_columns(bits: int, *, keys: bool = False, time_field: str | None = None) -> str:
    """Return the columns that :func:`to_row` reads, for a SELECT.

    :param keys: for Rows with their keys and lengths.
    :param time_field: the field with the time, for Rows with their times.
    """
    longs = ", ".join(long_columns(bits))
    time = "NULL" if time_field is None else time_expression(time_field)
    return f'id, digest, "group", duplicate_of, written, length, content, {"keys" if keys else "NULL"}, {time}, {longs}'


def time_expression(field: str) -> str:
    """Return an SQL expression for the time of a document. NULL is a document without a time."""
    name = field.replace("'", "''")
    return f"time_of(source, '{name}')"


WRITTEN = 4
"""The index of ``written`` in the values of :func:`row_columns`."""


def to_row(values: Sequence[Any]) -> Row:
    """Return the Row of the values of :func:`row_columns`."""
    id, digest, group, duplicate_of, written, length, content, keys, time, *longs = values
    version = (written, digest, group, duplicate_of, length, content)
    keys, length = ((), None) if keys is None else (read_keys(keys), length)
    row = usual_row(id, tuple(longs), digest, group, duplicate_of, written, version, time, content, keys, length)
    if row is not None:
        return row
    stored = {
        "digest": digest,
        "group": group,
        "duplicate_of": duplicate_of,
        "written": written,
        "content": content,
        "keys": keys,
        "length": length,
        **dict(zip(LONGS, longs, strict=False)),
    }
    return stored_row(id, stored, version, time)


def stored_ids(ids: Iterable[str], connection: Connection) -> frozenset[str]:
    """Return those of these ids that a document has."""
    sql = "SELECT id FROM documents WHERE id IN (SELECT value FROM json_each(?))"
    return frozenset(id for (id,) in connection.execute(sql, [id_list(ids)]))


def id_list(ids: Iterable[str]) -> str:
    """Return ids as a parameter for ``json_each``.

    SQLite cuts a JSON string off at a zero byte, so it would stand for another id. No stored id has a zero byte.
    """
    return json.dumps([id for id in ids if "\0" not in id])


def read_config(meta: Mapping[str, str], key: str, name: str) -> Any:
    """Return a JSON value of the table ``meta``.

    :param name: of the store, for the message.
    :raises StoreError: if it is not JSON.
    """
    try:
        return json.loads(meta[key])
    except (TypeError, ValueError, RecursionError) as error:
        raise StoreError(f"{name} is damaged: its {key!r} is not JSON ({error}); restore it from a copy") from error
