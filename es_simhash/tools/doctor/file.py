"""An SQLite file: the rights of the user, damage, and what it holds."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from es_simhash.tools.doctor.checks import LARGEST, Check, held

if TYPE_CHECKING:
    from es_simhash import Documents

_COPIES = "SELECT count(*), count(duplicate_of) FROM documents"
_GROUPS = "SELECT duplicate_of, count(*) + 1 FROM documents WHERE duplicate_of IS NOT NULL GROUP BY 1"


def look_at_file(documents: Documents, is_set_up: bool) -> list[Check]:
    """Return the checks of an SQLite file.

    :param is_set_up: it has documents of ours.
    """
    path = documents.name.removeprefix("sqlite:///")
    content = [*_content(path, is_set_up), _bytes(path)] if Path(path).is_file() else []
    return [_rights(Path(path)), *content]


def _content(path: str, is_set_up: bool) -> list[Check]:
    try:
        with closing(sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True)) as connection:
            (damage,) = connection.execute("PRAGMA quick_check(1)").fetchone()
            if damage != "ok":
                return [Check("integrity", "problem", f"the file is damaged ({damage}): restore it from a copy")]
            checks = [Check("integrity", "ok", "SQLite finds no damage")]
            if is_set_up:
                number, copies = connection.execute(_COPIES).fetchone()
                (groups,) = connection.execute(f"SELECT count(*) FROM ({_GROUPS})").fetchone()
                largest = connection.execute(f"{_GROUPS} ORDER BY 2 DESC, 1 LIMIT {LARGEST}").fetchall()
                checks += held(number, copies, f"{groups:,}", largest)
            return checks
    except sqlite3.Error as error:
        return [Check("integrity", "problem", f"SQLite cannot read the file ({error}): restore it from a copy")]


def _bytes(path: str) -> Check:
    log = Path(f"{path}-wal")
    size = Path(path).stat().st_size + (log.stat().st_size if log.exists() else 0)
    return Check("bytes", "ok", f"{size:,}")


def _rights(path: Path) -> Check:
    if path.exists() and not os.access(path, os.R_OK):
        return Check("rights", "problem", "your user may not read the file: change its owner or its permissions")
    needed = [path, path.parent] if path.exists() else [path.parent]
    if locked := [str(place) for place in needed if not os.access(place, os.W_OK)]:
        text = f"your user may not write {' and '.join(locked)}: change the permissions, or only search"
        return Check("rights", "advice" if path.exists() else "problem", text)
    return Check("rights", "ok", "the file can be read and written" if path.exists() else "the file can be made")
