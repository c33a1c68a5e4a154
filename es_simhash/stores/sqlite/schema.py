"""The table of documents, its indexes, and a row of it as a Row.

The row number of a document is its write order. An index serves each pair of neighbouring segments (see
:mod:`es_simhash.stores.sqlite.search`). A pair of 16-bit segments is one number of 32 bits, cut out of the fingerprint
by an expression, so the pairs take no columns.

A document has its keys twice: as a JSON array in its row, and one by one in the table ``keys``, which search reads. Two
triggers keep the table ``keys`` equal to the arrays.
"""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from es_simhash.contract import Row
from es_simhash.fingerprinting.encoding import from_longs

if TYPE_CHECKING:
    from collections.abc import Sequence

FORMAT = "1"
"""The format of the table of documents, in the table ``meta``."""

SAME_VERSION = 'written = ? AND digest = ? AND "group" = ? AND duplicate_of IS ? AND length IS ?'
"""The condition that a row still has a version. A version is all values of a row that we ever change. The keys change
only together with the digest or the length."""
_KEYS = [
    """CREATE TABLE IF NOT EXISTS keys (
        key TEXT,
        written INTEGER,
        PRIMARY KEY (key, written)
    ) WITHOUT ROWID""",
    """CREATE TRIGGER IF NOT EXISTS keys_added AFTER INSERT ON documents WHEN NEW.keys IS NOT NULL BEGIN
        INSERT OR IGNORE INTO keys SELECT value, NEW.written FROM json_each(NEW.keys);
    END""",
    """CREATE TRIGGER IF NOT EXISTS keys_removed AFTER DELETE ON documents WHEN OLD.keys IS NOT NULL BEGIN
        DELETE FROM keys WHERE written = OLD.written AND key IN (SELECT value FROM json_each(OLD.keys));
    END""",
]


def long_columns(bits: int) -> tuple[str, ...]:
    """Return the columns that hold a fingerprint as signed longs of 64 bits, highest first."""
    return ("fp", "fp1")[: bits // 64]


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
        keys TEXT,
        source TEXT NOT NULL
    )""",
        "CREATE INDEX IF NOT EXISTS digests ON documents (digest)",
        'CREATE INDEX IF NOT EXISTS groups ON documents ("group")',
        "CREATE INDEX IF NOT EXISTS duplicates ON documents (duplicate_of) WHERE duplicate_of IS NOT NULL",
        *(
            f"CREATE INDEX IF NOT EXISTS pairs_{i} ON documents ({pair}) WHERE fp IS NOT NULL"
            for i, pair in enumerate(pair_expressions(bits))
        ),
        *_KEYS,
    ]


def row_columns(bits: int, *, keys: bool = False, time_field: str | None = None) -> str:
    """Return the columns that :func:`to_row` reads, for a SELECT.

    :param keys: for Rows with their keys and lengths.
    :param time_field: the field with the time, for Rows with their times.
    """
    longs = ", ".join(long_columns(bits))
    time = "NULL" if time_field is None else time_expression(time_field)
    return f'id, digest, "group", duplicate_of, written, length, {"keys" if keys else "NULL"}, {time}, {longs}'


def time_expression(field: str) -> str:
    """Return an SQL expression for the time of a document. NULL is a document without a time."""
    name = field.replace("'", "''")
    return f"time_of(source, '{name}')"


def to_row(values: Sequence[Any]) -> Row:
    """Return the Row of the values of :func:`row_columns`."""
    id, digest, group, duplicate_of, written, length, keys, time, *longs = values
    version = (written, digest, group, duplicate_of, length)
    fingerprint = None if longs[0] is None else from_longs(longs)
    row = Row(id, fingerprint, digest, group, duplicate_of, written, version, time=time)
    return row if keys is None else replace(row, keys=tuple(json.loads(keys)), length=length)
