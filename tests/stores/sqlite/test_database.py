"""Several programs open one SQLite file at the same moment: each gets it."""

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
    """What one more program finds that opens the file and makes a table in it."""
    ours = Database(str(path))
    try:
        ours.make([], {})
        with ours.use() as connection:
            return tuple(
                connection.execute(f"PRAGMA {what}").fetchone()[0] for what in ("application_id", "journal_mode")
            )
    finally:
        ours.close()


def test_a_file_that_another_program_makes_while_it_is_looked_at_is_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, connect = tmp_path / "new.db", sqlite3.connect
    with ThreadPoolExecutor() as others:

        class Watched(sqlite3.Connection):
            def execute(self, sql: str, *arguments: Any) -> sqlite3.Cursor:
                if "sqlite_master" in sql and not theirs:
                    theirs.append(others.submit(opened, path))
                    threading.Event().wait(0.5)  # it may have to wait for us
                return super().execute(sql, *arguments)

        theirs: list[Any] = []
        watched = iter([Watched])
        monkeypatch.setattr(
            database.sqlite3,
            "connect",
            lambda *arguments, **options: connect(*arguments, **options, factory=next(watched, sqlite3.Connection)),
        )
        assert opened(path) == theirs[0].result() == (APPLICATION, "wal")


def test_a_file_that_another_program_writes_to_is_waited_for_before_it_has_its_journal(tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute(f"PRAGMA application_id = {APPLICATION}")
    other.execute("BEGIN IMMEDIATE")
    later = threading.Timer(0.5, other.execute, ["COMMIT"])
    later.start()
    assert opened(path) == (APPLICATION, "wal")
    later.join()
    other.close()
