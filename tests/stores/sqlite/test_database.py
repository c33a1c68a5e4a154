"""Several programs may open one SQLite file at the same moment."""

from __future__ import annotations

import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from es_simhash.stores.sqlite import database
from es_simhash.stores.sqlite.database import APPLICATION, Database

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def opened(path: Path) -> tuple[int, str]:
    """Open the file as another program, make a table, and return the application id and the journal mode."""
    ours = Database(str(path))
    try:
        ours.make([], lambda meta: {})
        with ours.use() as connection:
            return tuple(
                connection.execute(f"PRAGMA {what}").fetchone()[0] for what in ("application_id", "journal_mode")
            )
    finally:
        ours.close()


def test_two_programs_may_make_a_file_at_the_same_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, connect = tmp_path / "new.db", sqlite3.connect
    with ThreadPoolExecutor() as others:

        class Watched(sqlite3.Connection):
            def execute(self, sql: str, *arguments: Any) -> sqlite3.Cursor:
                if "sqlite_master" in sql and not theirs:
                    theirs.append(others.submit(opened, path))
                    threading.Event().wait(0.5)  # the other program may have to wait for this one
                return super().execute(sql, *arguments)

        theirs: list[Any] = []
        watched = iter([Watched])
        monkeypatch.setattr(
            database.sqlite3,
            "connect",
            lambda *arguments, **options: connect(*arguments, **options, factory=next(watched, sqlite3.Connection)),
        )
        assert opened(path) == theirs[0].result() == (APPLICATION, "wal")


def test_a_program_that_opens_a_file_waits_while_another_program_writes_to_it(tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute(f"PRAGMA application_id = {APPLICATION}")
    other.execute("BEGIN IMMEDIATE")
    later = threading.Timer(0.5, other.execute, ["COMMIT"])
    later.start()
    assert opened(path) == (APPLICATION, "wal")
    later.join()
    other.close()
