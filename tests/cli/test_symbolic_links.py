"""An output that is a symbolic link: the file behind it is written, as other tools do, and the link stays."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

import pytest

from tests.cli import HARVEST, STORM_NEAR, complaint, es_simhash, line

if TYPE_CHECKING:
    from pathlib import Path

INGEST = ("ingest", "news.jsonl", "--workers", "0")
OUTPUTS = {
    "--store": (*INGEST, "--store", "sqlite:///LINK"),
    "--resume": (*INGEST, "--resume", "LINK"),
    "--dead-letter": (*INGEST, "--dead-letter", "LINK"),
    "report": ("report", "--out", "LINK"),
    "--duplicates": ("dedupe", "news.jsonl", "--duplicates", "LINK", "--workers", "0"),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lines = [line("a"), line("b", STORM_NEAR), line("c", HARVEST), line("d", None)]
    (tmp_path / "news.jsonl").write_bytes(b"".join(lines))
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link").symlink_to("elsewhere/target")
    return tmp_path


@pytest.mark.parametrize("there", [False, True])
@pytest.mark.parametrize("name", OUTPUTS)
def test_the_target_is_written_and_the_link_stays(folder: Path, name: str, there: bool) -> None:
    if name == "report":
        assert es_simhash(*INGEST, cwd=folder).code == 3
    target = folder / "elsewhere" / "target"
    if there:
        target.touch()
        target.chmod(0o640)
    done = es_simhash(*(each.replace("LINK", "link") for each in OUTPUTS[name]), cwd=folder)
    assert done.code == (0 if name == "report" else 3)
    assert (folder / "link").readlink().as_posix() == "elsewhere/target"
    assert target.stat().st_size > 100
    assert stat.S_IMODE(target.stat().st_mode) == (0o640 if there else 0o600)


def test_removed_documents_are_not_saved_through_a_link(folder: Path) -> None:
    """--save takes a new file only, and a link is there already."""
    assert es_simhash(*INGEST, cwd=folder).code == 3
    save = es_simhash("remove", "--duplicates", "--yes", "--save", "link", cwd=folder)
    assert "link exists: name a new file (--save)" in save.err
    assert save.code == 1
    assert not (folder / "elsewhere" / "target").exists()


@pytest.mark.parametrize("option", ["--dead-letter", "--resume"])
def test_a_link_to_the_input_is_not_written(folder: Path, option: str) -> None:
    before = (folder / "news.jsonl").read_bytes()
    (folder / "in").symlink_to("news.jsonl")
    assert "input" in complaint(es_simhash(*INGEST, option, "in", cwd=folder))
    assert (folder / "news.jsonl").read_bytes() == before


def test_the_log_of_a_store_behind_a_link_is_not_written(folder: Path) -> None:
    said = complaint(
        es_simhash(*INGEST, "--store", "sqlite:///link", "--dead-letter", "elsewhere/target-wal", cwd=folder)
    )
    assert "--store and --dead-letter are one file" in said
