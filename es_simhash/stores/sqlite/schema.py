"""The table of documents, its indexes, and a row of it as a Row.

The row number of a document is its write order. An index serves each pair of neighbouring segments (see
:mod:`es_simhash.stores.sqlite.fingerprints`). A pair of 16-bit segments is one number of 32 bits, cut out of the
fingerprint by an expression, so the pairs take no columns. The index holds the fingerprint too, so no document is read
to see which fingerprints a pair finds.

A document has its keys twice: as a JSON array in its row, and one by one in the view ``keys``, which search reads.
There a number stands for a key and the length of the text (:func:`key_entries`): numbers take half of the time of
strings. Triggers remove them.

In a large B-tree, nearly each entry of a batch belongs to another page. So ``keys`` is three tables, as in a
log-structured merge-tree (O'Neil, Cheng, Gawlick and O'Neil, 1996). A write adds its entries to the first one, which is
small. When a table has more entries than its room, all of them move to the next one, in their order. Measured on
100,000 documents of 39 keys, the keys alone: the last fifth takes 0.4 times the processor time of one table, and a
sixth of the bytes are written.
"""

from __future__ import annotations

import json
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from es_simhash.errors import StoreError
from es_simhash.search.encoding import key_numbers
from es_simhash.stores.stored_row import LONGS, stored_row, usual_row

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from sqlite3 import Connection

    from numpy.typing import NDArray

    from es_simhash.contract import Row

FORMAT = "1"
"""The format of the table of documents, in the table ``meta``."""

SAME_VERSION = 'written = ? AND digest = ? AND "group" = ? AND duplicate_of IS ? AND length IS ? AND content IS ?'
"""The condition that a row still has a version. A version is all values of a row that we ever change. The keys change
only together with the digest or the length."""
LEVELS = ("keys_1", "keys_2", "keys_3")
"""The tables of the view ``keys``, the smallest first."""
ROOMS = (400_000, 4_000_000)
"""Entries for which the first and the second table have room: those of 16,000 and 160,000 documents of 25 keys. To move
as many into a table of ten times the size takes about 0.4 s and 4 s."""
LENGTHS = 128
"""An entry of ``keys`` tells so many lengths apart. Longer texts have the last of them."""


def of_each_level(sql: str, **parts: str) -> list[str]:
    """Return a statement for each table of the view ``keys``: ``{keys}`` stands for its name."""
    return [sql.format(keys=level, **parts) for level in LEVELS]


def _keys() -> list[str]:
    """Return the statements that make the view ``keys``, its tables and their triggers."""
    remove = """
        DELETE FROM {keys} WHERE written = OLD.written
            AND key IN (SELECT value FROM json_each(entries_of(OLD.keys, OLD.length)));
    """
    return [
        *of_each_level(
            "CREATE TABLE IF NOT EXISTS {keys} (key INTEGER, written INTEGER, PRIMARY KEY (key, written)) WITHOUT ROWID"
        ),
        f"CREATE VIEW IF NOT EXISTS keys AS {' UNION ALL '.join(of_each_level('SELECT key, written FROM {keys}'))}",
        f"""CREATE TRIGGER IF NOT EXISTS keys_removed AFTER DELETE ON documents
            WHEN OLD.keys IS NOT NULL AND entries_of(OLD.keys, OLD.length) IS NOT NULL BEGIN
            {" ".join(of_each_level(remove))}
        END""",
        # An array that was damaged does not say which entries belong to it: all of them are read.
        f"""CREATE TRIGGER IF NOT EXISTS damaged_keys_removed AFTER DELETE ON documents
            WHEN OLD.keys IS NOT NULL AND entries_of(OLD.keys, OLD.length) IS NULL BEGIN
            {" ".join(of_each_level("DELETE FROM {keys} WHERE written = OLD.written;"))}
        END""",
    ]


def key_entries(keys: Sequence[str], length: int | NDArray[np.int64] | None) -> NDArray[np.int64]:
    """Return the entry of each key in ``keys``: the upper 57 bits of its number, then 7 bits of the length.

    So the documents of some lengths that have a key are one range of entries.

    :param length: of the text, or of that of each key, in word characters.
    """
    numbers = key_numbers(keys).view(np.int64) & -LENGTHS
    return numbers | np.minimum(length or 0 if length is None or isinstance(length, int) else length, LENGTHS - 1)


@lru_cache(1)  # triggers ask for those of one document several times
def entries_of(keys: Any, length: Any) -> str | None:
    """Return the entries of the keys of a document as JSON; None if they are damaged. Triggers call this function.

    :param keys: as JSON.
    """
    every = read_keys(keys)
    if not isinstance(every, list) or not all(isinstance(key, str) for key in every):
        return None
    if not isinstance(length, int | None):
        return None
    return json.dumps(key_entries(every, length).tolist())


def long_columns(bits: int) -> tuple[str, ...]:
    """Return the columns that hold a fingerprint as signed longs of 64 bits, highest first."""
    return LONGS[: bits // 64]


def pair_expressions(bits: int) -> list[str]:
    """Return an SQL expression for each pair of a segment and its neighbour, the segment in the high half.

    The neighbour of the last segment is the first one.
    """
    longs = long_columns(bits)
    expressions = []
    for this, next in pairwise((*longs, longs[0])):
        expressions += [f"({this} >> 32) & 4294967295", f"({this} >> 16) & 4294967295", f"{this} & 4294967295"]
        expressions.append(f"(({this} & 65535) << 16) | (({next} >> 48) & 65535)")
    return expressions


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
        keys TEXT,
        source TEXT NOT NULL
    )""",
        "CREATE INDEX IF NOT EXISTS digests ON documents (digest)",
        'CREATE INDEX IF NOT EXISTS groups ON documents ("group")',
        "CREATE INDEX IF NOT EXISTS duplicates ON documents (duplicate_of) WHERE duplicate_of IS NOT NULL",
        *(
            f"CREATE INDEX IF NOT EXISTS pairs_{i} ON documents ({pair}, {', '.join(long_columns(bits))}) "
            "WHERE fp IS NOT NULL"
            for i, pair in enumerate(pair_expressions(bits))
        ),
        *_keys(),
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


def read_keys(keys: Any) -> Any:
    """Return the keys of a row; if they are not JSON, a list that is none of strings."""
    try:
        return json.loads(keys)
    except (TypeError, ValueError, RecursionError):
        return [None]


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
