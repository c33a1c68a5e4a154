"""Files that the package makes belong to their owner only. A store in a folder that cannot be written can be read."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import tempfile
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from es_simhash import Documents, DuplicateRule, InputError
from es_simhash.errors import StoreError
from es_simhash.machine import is_same_file
from tests.cli import STORM, es_simhash, line

if TYPE_CHECKING:
    from collections.abc import Iterator

NOBODY = 65_534


def permissions(folder: Path) -> dict[str, int]:
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}


@pytest.mark.posix
def test_a_store_a_checkpoint_and_dead_letters_can_be_read_by_their_owner_only(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        es_simhash("ingest --dead-letter dead --resume x.checkpoint", cwd=tmp_path, stdin=b"5\n" + line("a"))
    finally:
        os.umask(before)
    assert permissions(tmp_path) == dict.fromkeys(["dead", "es-simhash.db", "x.checkpoint"], 0o600)


@pytest.mark.posix
@pytest.mark.parametrize("mode", [None, 0o640])
def test_all_files_of_a_store_are_their_owner_s_and_permissions_of_a_file_that_exists_stay(
    tmp_path: Path, mode: int | None
) -> None:
    store = tmp_path / "news.db"
    if mode:
        store.touch()
        store.chmod(mode)
    with Documents(f"sqlite:///{store}") as documents:
        list(documents.ingest([{"id": 1, "text": STORM}]))
        assert permissions(tmp_path) == dict.fromkeys(["news.db", "news.db-wal", "news.db-shm"], mode or 0o600)


@contextmanager
def unwritable(folder: Path) -> Iterator[None]:
    """Make a folder read-only. Root may write everywhere, so it becomes nobody for that time."""
    is_root = os.geteuid() == 0
    if is_root:
        for path in (folder, *folder.iterdir()):
            os.chown(path, NOBODY, NOBODY)
    folder.chmod(0o555)
    if is_root:
        os.setresuid(NOBODY, NOBODY, 0)
    try:
        yield
    finally:
        if is_root:
            os.setresuid(0, 0, 0)
        folder.chmod(0o755)


@pytest.mark.posix
@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="has no permissions of this kind")
@pytest.mark.parametrize("mode", [0o600, 0o400], ids=["file writable", "file read-only"])
def test_a_store_in_a_folder_that_cannot_be_written_can_be_read(mode: int) -> None:
    folder = Path(tempfile.mkdtemp(prefix="es-simhash %3f "))  # the folder of pytest is closed to others
    try:
        address = f"sqlite:///{folder}/news.db"
        with Documents(address) as documents:
            list(documents.ingest([{"id": "a", "text": STORM, "day": "2024-05-01"}]))
        with sqlite3.connect(folder / "other.db") as other:
            other.execute("CREATE TABLE news (id)")
        other.close()
        (folder / "news.db").chmod(mode)
        with unwritable(folder), Documents(address) as documents:
            assert [match.id for match in documents.similar(STORM)] == ["a"]
            matches = {"term": {"day": "2024-05-01"}}
            assert [match.id for match in documents.similar(STORM, filter=matches)] == ["a"]
            week = DuplicateRule(within=timedelta(days=7), time_field="day")
            with pytest.raises(InputError, match="keeps no times of the field 'day'"):
                documents.similar(STORM, time="2024-05-02", rule=week)
            with (
                Documents(f"sqlite:///{folder}/other.db") as foreign,
                pytest.raises(StoreError, match="another program"),
            ):
                foreign.similar(STORM)
            with pytest.raises(StoreError, match=r"can't be read or written .*: check the path, its permissions"):
                list(documents.ingest([{"id": "b", "text": STORM}]))
        with Documents(address) as documents:
            assert [row.id for row in documents.export()] == ["a"]
    finally:
        shutil.rmtree(folder)


@pytest.mark.posix
def test_two_paths_of_one_file_are_the_same(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    (tmp_path / "link").symlink_to("a")
    os.link(tmp_path / "a", tmp_path / "hard")
    same = [("a", "a"), ("a", "link"), ("a", "hard"), ("new", "new"), ("new", f"../{tmp_path.name}/new")]
    assert all(is_same_file(str(tmp_path / one), str(tmp_path / other)) for one, other in same)
    assert not is_same_file(str(tmp_path / "a"), str(tmp_path / "new"))
    assert not is_same_file(os.devnull, os.devnull), "a device takes what two programs write"


NAMES = [
    ("ingest news.jsonl --store sqlite:///x.db --resume x.db", "--store and --resume"),
    ("ingest news.jsonl --store sqlite:///x.db --dead-letter ./x.db", "--store and --dead-letter"),
    ("ingest news.jsonl --resume x --dead-letter x", "--resume and --dead-letter"),
    ("ingest news.jsonl --resume news.jsonl", "--resume and the input"),
    ("ingest news.jsonl ./link --dead-letter news.jsonl", "--dead-letter and the input"),
    ("ingest news.jsonl --dead-letter ./link", "--dead-letter and the input"),
    ("ingest news.jsonl --store sqlite:///news.jsonl", "--store and the input"),
    ("ingest news.jsonl --resume es-simhash.db", "--store and --resume"),
    ("ingest sqlite:///news.db --store sqlite:///x.db --dead-letter news.db", "--dead-letter and the input"),
    ("dedupe news.jsonl --duplicates news.jsonl", "--duplicates and the input"),
    ("dedupe news.jsonl --report link", "--report and the input"),
    ("dedupe news.jsonl --duplicates x --report x", "--duplicates and --report"),
    ("dedupe news.jsonl --against sqlite:///news.db --duplicates news.db", "--duplicates and the input"),
    ("dedupe news.jsonl --against sqlite:///news.db --report news.db", "--report and the input"),
    ("dedupe news.jsonl --scheme scheme.json --report scheme.json", "--report and the input"),
    ("evaluate news.jsonl --chart link", "--chart and the input"),
    ("evaluate news.jsonl --store sqlite:///news.db --chart news.db", "--store and --chart"),
    ("evaluate --sample 1 --store sqlite:///news.db --page news.db", "--store and --page"),
    ("report --store sqlite:///news.db --out news.db", "--store and --out"),
    ("report --store sqlite:///report.html", "--store and --out"),
    ("report --store sqlite:///news.db --csv --out ./news.db", "--store and --out"),
]


@pytest.mark.posix
@pytest.mark.parametrize(("command", "message"), NAMES, ids=[command for command, _ in NAMES])
def test_one_file_for_two_options_is_refused_before_anything_is_made(
    tmp_path: Path, command: str, message: str
) -> None:
    for name, content in {"news.jsonl": line("a"), "news.db": b"x", "scheme.json": b"{}"}.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "link").symlink_to("news.jsonl")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    done = es_simhash(command, cwd=tmp_path)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"es-simhash: {message} are one file, ")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
