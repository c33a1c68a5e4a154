"""The laws of the file: other processes, a file that goes away, damage, a full disk."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash.errors import InputError, NotSetUp, StoreError, StoreUnavailable
from es_simhash.rows import Scan, StoreQuery, UserState
from es_simhash.store.sqlite import SqliteStore
from es_simhash.text.keys import KeyQuery
from tests import ROOT
from tests.store.documents import DOCUMENTS, entry, ids, keys, put, row_of, scanned

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the path of a file in a new folder."""
    return tmp_path / "store.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    """Return a store that was set up."""
    store = SqliteStore(str(path))
    store.set_up(DOCUMENTS)
    yield store
    store.close()


def python(program: str, *arguments: str) -> subprocess.Popen[str]:
    """Start a program that has the stores and the short forms."""
    start = """
        import sys
        from es_simhash.store.sqlite import SqliteStore
        from tests.store.documents import *
        store = SqliteStore(sys.argv[1])
    """
    source = textwrap.dedent(start) + textwrap.dedent(program)
    return subprocess.Popen([sys.executable, "-c", source, *arguments], cwd=ROOT, text=True, stdout=subprocess.PIPE)


def execute(path: Path, sql: str) -> list[tuple[Any, ...]]:
    """Run a statement of another program."""
    with closing(sqlite3.connect(path)) as connection, connection:
        return connection.execute(sql).fetchall()


def restore(backup: Path, path: Path) -> None:
    """Restore a backup into a file by the interface of SQLite, as ``.restore`` does."""
    with closing(sqlite3.connect(backup)) as one, closing(sqlite3.connect(path)) as other:
        one.backup(other)


# --- several threads and processes -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_several_processes_set_up_one_file(path: Path) -> None:
    processes = [python("print(store.set_up(DOCUMENTS))", str(path)) for _ in range(3)]
    assert sorted(process.communicate(timeout=120)[0].strip() for process in processes) == [
        "created",
        "unchanged",
        "unchanged",
    ]


def test_a_write_waits_for_another_process_and_says_so(store: SqliteStore, path: Path) -> None:
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    impatient = SqliteStore(str(path), busy=0.1)
    with pytest.raises(StoreUnavailable, match="another process") as raised:
        impatient.write([entry("a")])
    assert raised.value.retryable
    assert impatient.read(["a"]) == {}
    other.execute("ROLLBACK")
    other.close()
    put(impatient, entry("a"))
    impatient.close()


@pytest.mark.posix
def test_a_process_that_is_killed_while_it_writes_leaves_whole_batches(store: SqliteStore, path: Path) -> None:
    program = """
        for batch in range(10_000):
            put(store, *(entry(f"{batch}-{number}", number, "p1", f"g{number}") for number in range(100)))
            print(batch, flush=True)
    """
    process = python(program, str(path))
    assert process.stdout is not None
    acknowledged = [process.stdout.readline() for _ in range(3)][-1]
    time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    rest, _ = process.communicate()
    batches = int((rest.split() or [acknowledged])[-1]) + 1
    assert len(scanned(store)) in (100 * batches, 100 * (batches + 1))
    found = store.search([StoreQuery(keys=(KeyQuery(keys("p1"), 1),), most=1_000)], None, originals=True)[0]
    assert len(found.candidates) + found.left_out >= min(1_000, 100 * batches)
    assert execute(path, "PRAGMA integrity_check") == [("ok",)]


# --- another file at the path ----------------------------------------------------------------------------------------


def test_a_copy_of_the_file_is_another_store(store: SqliteStore, path: Path) -> None:
    instance = store.describe().instance
    store.close()
    shutil.copy(path, path.with_suffix(".copy"))
    os.replace(path.with_suffix(".copy"), path)
    assert store.describe().instance != instance


def test_a_restored_backup_is_another_store_to_every_process(store: SqliteStore, path: Path) -> None:
    other = SqliteStore(str(path))
    put(store, *(entry(f"old{number}", number << 32, f"p{number}") for number in range(50)))
    instance = other.describe().instance
    backup = path.with_suffix(".backup")
    restore(path, backup)
    put(store, *(entry(f"gone{number}", number << 40, f"m{number}") for number in range(50)))
    put(store, entry("old0", 1))
    lost = {id: row_of(other, id).version for id in ("gone1", "old0")}
    restore(backup, path)
    put(store, entry("old0", 0, "p0"))
    put(store, *(entry(f"new{number}", number << 48, f"g{number}") for number in range(50)))
    for one in (store, other):
        assert one.describe().instance != instance
        assert len(ids(scanned(one))) == 100
        for kind, shift, letter in (("old", 32, "p"), ("new", 48, "g")):
            for number in range(1, 50):
                by_keys = StoreQuery(keys=(KeyQuery(keys(f"{letter}{number}"), 1),))
                by_fingerprint = StoreQuery(number << shift, distance=0)
                hits = one.search([by_keys, by_fingerprint], None, originals=True)
                assert [ids(found.candidates) for found in hits] == [[f"{kind}{number}"]] * 2
        assert one.search([StoreQuery(keys=(KeyQuery(keys("m1"), 1),))], None, originals=True)[0].candidates == []
    assert store.write([entry(id, version=version) for id, version in lost.items()]).conflicts == lost.keys()
    other.close()


def test_a_search_says_that_it_did_not_read_all_entries_of_a_common_key(store: SqliteStore) -> None:
    put(store, *(entry(f"{n}", None, "p1", source=f'{{"n": {n}}}') for n in range(20_100)))
    [hits] = store.search([StoreQuery(keys=(KeyQuery(keys("p1"), 1),))], {"term": {"n": 20_099}}, originals=True)
    assert (hits.candidates, hits.left_out) == ([], 1)


def test_no_key_is_left_of_what_was_replaced_or_removed(store: SqliteStore, path: Path) -> None:
    put(store, *(entry(f"{number}", None, "g1", f"p{number}") for number in range(100)))
    put(store, entry("0", None, "m1"))
    store.remove({f"{number}": None for number in range(1, 100)})
    store.refresh()
    assert len(execute(path, "SELECT * FROM keys")) == 1


@pytest.mark.posix
def test_a_link_to_the_file_is_the_file(store: SqliteStore, path: Path) -> None:
    link = path.with_name("link.db")
    link.symlink_to(path.name)
    linked = SqliteStore(str(link))
    put(linked, entry("a"))
    assert store.read(["a"])
    assert linked.describe() == store.describe()
    linked.close()


# --- files that are no store -----------------------------------------------------------------------------------------


def test_a_file_of_another_program_is_left_alone(path: Path) -> None:
    execute(path, "CREATE TABLE theirs (a)")
    store = SqliteStore(str(path))
    for call in (store.describe, lambda: store.set_up(DOCUMENTS), lambda: store.write([entry("a")])):
        with pytest.raises(StoreError, match="another program"):
            call()
    assert execute(path, "SELECT name FROM sqlite_master") == [("theirs",)]


def test_a_file_that_cannot_be_made_or_opened_is_told(tmp_path: Path) -> None:
    with closing(SqliteStore(str(tmp_path / f"{'x' * 300}.db"))) as store:
        with pytest.raises(InputError, match=r"cannot write .* \(File name too long\): name another file"):
            store.set_up(DOCUMENTS)
        with pytest.raises(StoreError, match=r"File name too long.*: check the path, its permissions"):
            store.describe()


def test_an_empty_file_is_not_set_up(path: Path) -> None:
    path.touch()
    store = SqliteStore(str(path))
    for call in (store.describe, lambda: store.read(["a"])):
        with pytest.raises(NotSetUp, match="empty"):
            call()
    assert store.set_up(DOCUMENTS) == "created"


def test_a_file_of_a_later_release_is_refused(store: SqliteStore, path: Path) -> None:
    execute(path, """UPDATE meta SET value = replace(value, '"format": 2', '"format": 3')""")
    with pytest.raises(StoreError, match="format 3"):
        store.describe()


def test_a_file_without_its_set_up_is_told(store: SqliteStore, path: Path) -> None:
    execute(path, "DELETE FROM meta")
    for call in (store.describe, lambda: store.set_up(DOCUMENTS)):
        with pytest.raises(StoreError, match="set-up: restore the file from a copy"):
            call()


# --- damage, and no room ---------------------------------------------------------------------------------------------


def test_a_damaged_file_is_told(store: SqliteStore, path: Path) -> None:
    put(store, *(entry(f"{number}", number, f"p{number}") for number in range(2_000)))
    store.close()
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(os.urandom(path.stat().st_size - 8192))
    with pytest.raises(
        StoreError, match=r"\((file is not a database|.*malformed).*\): check the path|what es_simhash did not write"
    ):
        scanned(store)


def test_a_text_that_is_not_utf_8_is_told(store: SqliteStore, path: Path) -> None:
    put(store, entry("a"))
    execute(path, "UPDATE documents SET digest = CAST(x'ff' AS TEXT)")
    with pytest.raises(StoreError, match=r"decode to UTF-8 .*if the file is damaged, restore it from a copy"):
        scanned(store)


def test_a_document_that_is_not_json_matches_no_filter(store: SqliteStore, path: Path) -> None:
    put(store, entry("a"), entry("b"))
    execute(path, "UPDATE documents SET source = '{' WHERE id = 'a'")
    assert ids(scanned(store, Scan(filter={"exists": {"field": "id"}}))) == ["b"]
    assert store.read(["a"], None)["a"].source == {}


def test_another_program_cannot_write_what_is_no_row(store: SqliteStore, path: Path) -> None:
    put(store, entry("a"))
    store.write_users({"ann": UserState({"newest": 0, "added": 0})})
    for change in ("documents SET fingerprint = 'ffff'", "users SET user = x''"):
        with pytest.raises(sqlite3.IntegrityError):
            execute(path, f"UPDATE {change}")


@pytest.mark.posix
def test_a_full_disk_is_told_and_nothing_is_lost(store: SqliteStore, path: Path) -> None:
    put(store, entry("a", 1, "p1"))
    import resource

    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    former = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, limits[1]))
    try:
        with pytest.raises(StoreError, match=r"disk|full"):
            put(store, *(entry(f"{number}", number, source="{}" + " " * 9_999) for number in range(5_000)))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, former)
    assert row_of(store, "a").fingerprint == 1
    put(store, entry("b"))
    assert execute(path, "PRAGMA integrity_check") == [("ok",)]


def test_a_scan_that_is_left_early_holds_nothing(store: SqliteStore) -> None:
    put(store, *(entry(f"{number}") for number in range(1_500)))
    pages = store.scan(Scan())
    next(pages)
    put(store, entry("new"))
    pages.close()  # type: ignore[attr-defined]
    assert len(ids(scanned(store))) == 1_501
