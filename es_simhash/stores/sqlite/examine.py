"""The file itself: what is wrong with it, what is at its address, and what fills it."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from es_simhash.contract import Check, Location, Space, similar_first
from es_simhash.errors import SimhashError
from es_simhash.search.encoding import encoded
from es_simhash.search.key_levels import without_length
from es_simhash.stores.sqlite.schema import read_keys

if TYPE_CHECKING:
    from collections.abc import Callable

    from es_simhash.stores.sqlite.database import Database

_ENDINGS = (".db", ".sqlite", ".sqlite3")
_OLDEST = (3, 35, 0)
"""The oldest release of SQLite with RETURNING."""
_LITTLE_ROOM = 2**30
_LEVELS = {f"{part}_{table}": f"{part}s" for part in ("key", "segment") for table in ("levels", "pages")}
"""The tables with levels, by what they hold."""


# --- what is wrong -------------------------------------------------------------------------------------------------


def examine(database: Database) -> tuple[Check, ...]:
    checks = [_version()]
    if database.path != ":memory:":
        checks += [_file(database), _rights(database), _disk(database)]
    if not database.exists or any(check.status == "problem" for check in checks):
        return (*checks, *(Check(name, "not tried", "there is no file to read") for name in _CHECKS))
    for name, look in _CHECKS.items():
        try:
            checks.append(look(database))
        except SimhashError as error:
            checks.append(Check(name, "problem", str(error)))
            break  # the others would say the same
    return tuple(checks)


def _version() -> Check:
    text = f"SQLite {sqlite3.sqlite_version}"
    if sqlite3.sqlite_version_info < _OLDEST:
        return Check("version", "problem", f"{text} is too old: use a Python with SQLite 3.35 or later")
    return Check("version", "ok", text)


def _file(database: Database) -> Check:
    path = Path(database.path)
    if path.is_dir():
        return Check("file", "problem", f"{database.path} is a folder: name a file in it")
    if not path.parent.is_dir():
        return Check("file", "problem", f"there is no folder {str(path.parent)!r}: make it first, or correct the name")
    if not database.exists:
        there_are = f" (there are: {', '.join(others)})" if (others := _others(database)) else ""
        text = f"there is no file {path.name}{there_are}: correct the name, or let the first ingest make it"
        return Check("file", "advice", text)
    log = Path(f"{path}-wal")
    size = path.stat().st_size + (log.stat().st_size if log.exists() else 0)
    return Check("file", "ok", f"{size / 2**20:,.1f} MB")


def _rights(database: Database) -> Check:
    folder = Path(database.path).parent
    effective = os.access in os.supports_effective_ids
    file_exists = os.path.exists(database.path)
    if file_exists and not os.access(database.path, os.R_OK, effective_ids=effective):
        return Check("rights", "problem", "your user may not read the file: change its owner or its permissions")
    locked = [
        what
        for what, path in (("file", database.path if file_exists else folder), ("folder", folder))
        if not os.access(path, os.W_OK, effective_ids=effective)
    ]
    if locked:
        text = f"your user may not write the {' and the '.join(locked)}: change the permissions, or only search"
        return Check("rights", "advice" if file_exists else "problem", text)
    return Check("rights", "ok", "the file can be read and written" if file_exists else "the file can be made")


def _disk(database: Database) -> Check:
    folder = Path(database.path).parent
    if not folder.is_dir():
        return Check("disk", "not tried", "there is no folder")
    free = shutil.disk_usage(folder).free
    text = f"{free / 2**30:,.1f} GB left"
    if free < _LITTLE_ROOM:
        return Check("disk", "advice", f"{text}: make room; a document takes some 3 KB and its text")
    return Check("disk", "ok", text)


def _format(database: Database) -> Check:
    meta = database.meta()  # raises for a file that is not ours
    if not meta:
        return Check("format", "ok", "not set up: the first ingest does it, or `es-simhash init`")
    formats = ", ".join(f"{name} {meta[name]}" for name in ("documents", "users") if name in meta)
    return Check("format", "ok", formats)


def _integrity(database: Database) -> Check:
    with database.use() as connection:
        (found,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
    if found != "ok":
        first = str(found).splitlines()[-1]
        return Check("integrity", "problem", f"the file is damaged ({first}): restore it from a copy")
    return Check("integrity", "ok", "SQLite finds no damage")


_CHECKS: dict[str, Callable[[Database], Check]] = {"format": _format, "integrity": _integrity}


# --- what is there -------------------------------------------------------------------------------------------------


def locate(database: Database) -> Location:
    if not database.exists:
        return Location(False, others=_others(database))
    with database.use() as connection:
        has_documents = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'documents'").fetchone()
        count = connection.execute("SELECT count(*) FROM documents").fetchone()[0] if has_documents else 0
    return Location(True, count)


def _others(database: Database) -> tuple[str, ...]:
    """Return the files in the folder that may be stores: those with a name like ours first."""
    path = Path(database.path)
    try:
        files = [each.name for each in path.parent.iterdir() if each.suffix in _ENDINGS and each.is_file()]
    except OSError:
        return ()
    return similar_first(path.name, files)


def measure_space(database: Database) -> Space:
    with database.use() as connection:
        pages, size = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))
        try:
            rows = connection.execute("SELECT name, sum(pgsize) FROM dbstat GROUP BY name").fetchall()
        except sqlite3.OperationalError:
            return Space(pages * size, reason="this SQLite has no table dbstat")
    sizes: Counter[str] = Counter()
    for name, count in rows:
        if not name.startswith("sqlite_"):
            sizes[_LEVELS.get(name, name)] += count
    return Space(pages * size, dict(sizes))


def count_keys(database: Database, most: int) -> tuple[tuple[str, int], ...]:
    # The table has no whole q-grams. A document that has the number has the key.
    with database.transaction(write=False) as connection:
        frequent = database.keys.most_frequent(most, connection)
        sql = "SELECT keys FROM documents WHERE number IN (SELECT value FROM json_each(?))"
        found: list[tuple[str, int]] = []
        for key, count, numbers in frequent:
            stored = [read_keys(keys) for (keys,) in connection.execute(sql, [json.dumps(numbers)])]
            every = np.array([key for keys in stored if isinstance(keys, tuple) for key in keys], dtype=np.uint64)
            whole = every[without_length(every) == key]
            found += [(each, count) for each in encoded(whole[:1].tolist())]
    return tuple(sorted(found, key=lambda each: (-each[1], each[0]))[:most])
