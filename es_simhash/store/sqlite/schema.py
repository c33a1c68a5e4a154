"""The tables and their indexes, and a row of ``documents`` as a Row.

Each write gives its documents a random version. A counter would repeat after a backup was restored.
"""

from __future__ import annotations

import json
import secrets
from typing import TYPE_CHECKING, Any

from es_simhash.fingerprinting.encoding import from_signed, to_signed
from es_simhash.search.filters import parse_filter
from es_simhash.store.sqlite.database import APPLICATION
from es_simhash.store.sqlite.functions import MATCHES
from es_simhash.store.types import Row

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

SEGMENTS = tuple(f"(fingerprint >> {shift} & 65535)" for shift in (48, 32, 16, 0))
"""The segments of a fingerprint, the highest first."""
IS_COPY = "(duplicate_of IS NOT NULL)"
TABLES = (
    f"PRAGMA application_id = {APPLICATION}",
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    """CREATE TABLE documents (
        position INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE CHECK (typeof(id) = 'text'),
        fingerprint INTEGER CHECK (typeof(fingerprint) IN ('integer', 'null')),
        digest TEXT NOT NULL CHECK (typeof(digest) = 'text'),
        length INTEGER CHECK (typeof(length) IN ('integer', 'null')),
        duplicate_of TEXT CHECK (typeof(duplicate_of) IN ('text', 'null')),
        [order] INTEGER NOT NULL CHECK (typeof([order]) = 'integer'),
        written INTEGER NOT NULL CHECK (typeof(written) = 'integer'),
        time INTEGER CHECK (typeof(time) IN ('integer', 'null')),
        content INTEGER CHECK (typeof(content) IN ('integer', 'null')),
        version INTEGER NOT NULL CHECK (typeof(version) = 'integer'),
        keys BLOB NOT NULL CHECK (typeof(keys) = 'blob'),
        source TEXT NOT NULL CHECK (typeof(source) = 'text')
    )""",
    "CREATE INDEX digests ON documents (digest, [order])",
    "CREATE INDEX copies ON documents (duplicate_of) WHERE duplicate_of IS NOT NULL",
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
        forgotten TEXT NOT NULL
    ) WITHOUT ROWID""",
    "CREATE TABLE filters (user TEXT, position INTEGER, value BLOB NOT NULL, PRIMARY KEY (user, position))",
)
"""All tables are made at once, so the number of the schema changes only if a backup is restored or the file is packed
(``SqliteStore.describe``)."""

COLUMNS = "id, fingerprint, digest, length, duplicate_of, [order], written, time, content, version"
"""The columns of a Row, in its order. In a damaged file without the column, SQLite takes ``"order"`` for a text."""

NO_KEYS = "x''"
"""In place of the column with the keys, where they are not needed."""
OF_IDS = "id IN (SELECT value FROM json_each(?))"
"""The condition on documents whose ids are the parameter, a :func:`json_list`."""


def to_row(values: tuple[Any, ...]) -> Row:
    """Return the Row of a document.

    :param values: ``COLUMNS``.
    """
    id, fingerprint, *others = values
    return Row(id, None if fingerprint is None else from_signed(fingerprint), *others)


def row_values(row: Row, version: int) -> Row:
    """Return ``COLUMNS`` of a Row with another version."""
    fingerprint = None if row.fingerprint is None else to_signed(row.fingerprint)
    return row._replace(fingerprint=fingerprint, version=version)


def new_version() -> int:
    """Return a version that no document has had."""
    return secrets.randbits(62)


def json_list(values: Iterable[Any]) -> str:
    """Return values as the parameter of ``json_each``."""
    return json.dumps(list(values))


def condition(
    filter: Mapping[str, Any] | None = None,
    *,
    times: tuple[int, int] | None = None,
    heads: bool = False,
    missing: bool | None = None,
    since: int | None = None,
) -> tuple[str, list[Any]]:
    """Return a condition on documents and its parameters.

    :raises InputError: if the filter cannot be evaluated.
    """
    parts: list[tuple[str, list[Any]]] = []
    if heads:
        parts.append((f"NOT {IS_COPY}", []))
    if missing is not None:
        parts.append((f"digest {'=' if missing else '<>'} ''", []))
    if times is not None:
        parts.append(("time BETWEEN ? AND ?", [*times]))
    if since is not None:
        parts.append(("written >= ?", [since]))
    if filter is not None:  # the last one, because it reads the document
        parse_filter(filter)
        parts.append((MATCHES, [json.dumps(filter)]))
    return " AND ".join(sql for sql, _ in parts) or "1", [value for _, values in parts for value in values]
