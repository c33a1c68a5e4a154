"""The tables and their indexes, a row of ``documents`` as a Row, and the conditions of statements.

Each write gives its documents a random version. A counter would repeat after a backup was restored.
"""

from __future__ import annotations

import json
import secrets
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from es_simhash.filters import parse_filter
from es_simhash.rows import Row
from es_simhash.similarity.text_fields import field_value
from es_simhash.similarity.times import parse_time
from es_simhash.store.memory_store import document_of
from es_simhash.text.encoding import from_signed, to_signed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from sqlite3 import Connection

    from es_simhash.filters import Predicate
    from es_simhash.rows import Scan

APPLICATION = 0x53696D68
"""The application id in the file, "Simh". By this id, SQLite files of different programs are told apart."""
SEGMENTS = tuple(f"(fingerprint >> {shift} & 65535)" for shift in (48, 32, 16, 0))
"""The segments of a fingerprint, the highest first."""
IS_COPY = "(duplicate_of IS NOT NULL)"
GROUP = "coalesce(named, duplicate_of)"
IN_ANOTHER = "(named IS NOT NULL OR duplicate_of IS NOT NULL)"
"""The group of a document, if that has another name than its id."""
TABLES = (
    f"PRAGMA application_id = {APPLICATION}",
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "INSERT INTO meta VALUES ('entered', '0')",
    """CREATE TABLE documents (
        position INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE CHECK (typeof(id) = 'text'),
        fingerprint INTEGER CHECK (typeof(fingerprint) IN ('integer', 'null')),
        digest TEXT NOT NULL CHECK (typeof(digest) = 'text'),
        length INTEGER CHECK (typeof(length) IN ('integer', 'null')),
        duplicate_of TEXT CHECK (typeof(duplicate_of) IN ('text', 'null')),
        [order] INTEGER NOT NULL CHECK (typeof([order]) = 'integer'),
        written INTEGER NOT NULL CHECK (typeof(written) = 'integer'),
        time INTEGER CHECK (typeof(time) IN ('integer', 'null')),
        content INTEGER CHECK (typeof(content) IN ('integer', 'null')),
        pinned INTEGER NOT NULL CHECK (pinned IN (0, 1)),
        named TEXT CHECK (typeof(named) IN ('text', 'null')),
        version INTEGER NOT NULL CHECK (typeof(version) = 'integer'),
        keys BLOB NOT NULL CHECK (typeof(keys) = 'blob'),
        source TEXT NOT NULL CHECK (typeof(source) = 'text')
    )""",
    "CREATE INDEX digests ON documents (digest, [order])",
    f"CREATE INDEX copies ON documents ({GROUP}) WHERE {IN_ANOTHER}",
    "CREATE INDEX orders ON documents ([order])",
    "CREATE INDEX written ON documents (written)",
    *(
        f"CREATE INDEX segments{number} ON documents ({segment}, {IS_COPY}) WHERE fingerprint IS NOT NULL"
        for number, segment in enumerate(SEGMENTS)
    ),
    "CREATE TABLE keys (key INTEGER, document INTEGER, PRIMARY KEY (key, document)) WITHOUT ROWID",
    """CREATE TABLE users (
        user TEXT PRIMARY KEY CHECK (typeof(user) = 'text'),
        version INTEGER NOT NULL,
        newest INTEGER NOT NULL,
        added INTEGER NOT NULL,
        seen TEXT NOT NULL CHECK (json_valid(seen))
    )""",
)
"""All tables are made at once, so the number of the schema changes only if a backup is restored or the file is packed
(``SqliteStore.describe``)."""

COLUMNS = "id, fingerprint, digest, length, duplicate_of, [order], written, time, content, pinned, named, version"
"""The columns of a Row, in its order. In a damaged file without the column, SQLite takes ``"order"`` for a text."""

OF_IDS = "id IN (SELECT value FROM json_each(?))"
"""The condition on documents whose ids are the parameter, a :func:`json_list`."""


def to_row(values: Sequence[Any]) -> Row:
    """Return the Row of a document.

    :param values: ``COLUMNS``.
    """
    id, signed, digest, length, original, order, written, time, content, pinned, named, version = values
    fingerprint = None if signed is None else from_signed(signed)
    return Row(id, fingerprint, digest, length, original, order, written, time, content, bool(pinned), named, version)


def row_values(row: Row, version: int) -> tuple[Any, ...]:
    """Return ``COLUMNS`` of a Row with another version."""
    fingerprint = None if row.fingerprint is None else to_signed(row.fingerprint)
    return row._replace(fingerprint=fingerprint, version=version)[:-1]  # without blocked


def new_version() -> int:
    """Return a version that no document has had."""
    return secrets.randbits(62)


def json_list(values: Iterable[Any]) -> str:
    """Return values as the parameter of ``json_each``."""
    return json.dumps(list(values))


def condition(scan: Scan, times: tuple[int, int] | None = None) -> tuple[str, list[Any]]:
    """Return a condition on the documents of a Scan, and its parameters.

    :param times: only documents with a time from the first to the last.
    :raises InputError: if the filter cannot be evaluated.
    """
    parts: list[tuple[str, list[Any]]] = []
    if scan.missing is not None:
        parts.append((f"digest {'=' if scan.missing else '<>'} ''", []))
    if times is not None:
        parts.append(("time BETWEEN ? AND ?", [*times]))
    if scan.pinned:
        parts.append(("pinned", []))
    if scan.since is not None:
        parts.append(("written >= ?", [scan.since]))
    if scan.filter is not None:  # the last one, because it reads the document
        parse_filter(scan.filter)
        parts.append(("matches(id, source, ?)", [json.dumps(scan.filter)]))
    return " AND ".join(sql for sql, _ in parts) or "1", [value for _, values in parts for value in values]


# --- the functions of Python that statements call ------------------------------------------------------------------


def add_functions(connection: Connection) -> None:
    """Add ``matches`` and ``sort_value`` to a connection."""
    connection.create_function("matches", 3, _matches, deterministic=True)
    connection.create_function("sort_value", 2, _sort_value, deterministic=True)


def _matches(id: str, source: str, filter: str) -> bool:
    """Return whether a document matches a filter, which is JSON."""
    return _parsed(filter)(document_of(source), id)


@lru_cache(maxsize=4)
def _parsed(filter: str) -> Predicate:
    return parse_filter(json.loads(filter))


def _sort_value(source: str, field: str) -> str | int | float | None:
    """Return the value of a field, a date as milliseconds; None for what cannot be sorted."""
    value = field_value(document_of(source), field)
    if isinstance(value, str):
        time = parse_time(value)
        return value if time is None else time
    return value if isinstance(value, float) or (isinstance(value, int) and value.bit_length() < 64) else None
