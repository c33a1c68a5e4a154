"""``groups``, ``report``, ``remove --duplicates`` and ``label``: what a person does after an ingest."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import stat
import subprocess
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import Documents
from tests.cli import COMMAND, HARVEST, STORM, STORM_FARTHER, STORM_NEAR, complaint, environment, es_simhash, line

if TYPE_CHECKING:
    from pathlib import Path

TITLES = {
    "a": '=HYPERLINK("http://evil.example") 暴雨',
    "b": "<script>alert(1)</script>",
    "c": "暴雨\x1b[31m预警",
    "d": "",
    "e": "秋收",
}
TEXTS = {"a": STORM, "b": STORM, "c": STORM_NEAR, "d": STORM_FARTHER, "e": HARVEST}
NEWS = b"".join(line(id, text, title=TITLES[id], n=1) for id, text in TEXTS.items())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    assert es_simhash("ingest", "--rule", "fingerprint", "--max-distance", "7", cwd=tmp_path, stdin=NEWS).code == 0
    return tmp_path


def in_terminal(*arguments: str, cwd: Path, keys: list[bytes]) -> str:
    """Run a command in a terminal in which a person answers each question, and return what it shows."""
    master, slave = pty.openpty()
    env = environment(TERM="xterm", COLUMNS="100", NO_COLOR="1")
    shown = b""
    with subprocess.Popen([*COMMAND, *arguments], stdin=slave, stdout=slave, stderr=slave, cwd=cwd, env=env):
        os.close(slave)
        with suppress(OSError):  # at the end the terminal is closed
            while chunk := os.read(master, 65536):
                shown += chunk
                if shown.endswith((b"quit: ", b"[y/N]: ")):
                    time.sleep(0.1)  # until it reads: keys that were pressed before are dropped
                    os.write(master, keys.pop(0))
    os.close(master)
    return shown.decode()


# --- groups ----------------------------------------------------------------------------------------------------


def test_groups_are_listed_and_shown_as_text_csv_and_json(folder: Path) -> None:
    title = ("--title-field", "title")
    [group] = es_simhash("groups", "list", *title, "--json", cwd=folder).json
    assert group == {"members": 4, "exact": 1, "farthest": group["farthest"], "group": "a", "title": TITLES["a"]}
    done = es_simhash("groups", "list", cwd=folder)
    assert done.out.splitlines()[0].split() == ["members", "exact", "farthest", "group", "title"]
    assert done.out.splitlines()[1].split()[:2] == ["4", "1"]
    assert STORM[:80] in done.out
    listed = es_simhash("groups", "list", *title, "--csv", cwd=folder).out
    assert listed.startswith("\ufeffmembers,")
    [row] = csv.DictReader(io.StringIO(listed.removeprefix("\ufeff")))
    assert row["title"] == f"'{TITLES['a']}"  # no formula
    members = es_simhash("groups", "show", "c", *title, "--json", cwd=folder).json
    assert [(each["id"], each["exact"], each["distance"] <= 3) for each in members] == [
        ("a", False, True),
        ("b", True, True),
        ("c", False, True),
        ("d", False, False),
    ]
    assert members[3]["title"] == STORM_FARTHER[:80] + "…"
    shown = es_simhash("groups", "show", "c", *title, cwd=folder).out
    assert r"暴雨\x1b[31m预警" in shown
    assert es_simhash("groups", "list", "--filter", '{"ids": {"values": ["e"]}}', cwd=folder).err == "no groups\n"
    assert "there is no document with id 'x'" in complaint(es_simhash("groups", "show", "x", cwd=folder))


# --- report ----------------------------------------------------------------------------------------------------


def test_the_report_is_one_page_for_its_owner_with_every_group(folder: Path) -> None:
    done = es_simhash("report", "--title-field", "title", "--rule", "fingerprint", "--max-distance", "3", cwd=folder)
    assert (done.code, done.out) == (
        0,
        "5 documents, 1 group with 4 members; 1 group and 0 near pairs outside the rule in report.html\n",
    )
    path = folder / "report.html"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    page = path.read_text(encoding="utf-8")
    assert "<del>橙色</del><ins class=to>红色</ins>" in page
    assert page.count("outside the rule</span>") == 2  # the legend, and d
    assert "HYPERLINK(&quot;http://evil.example&quot;)" in page
    assert "<script" not in page
    done = es_simhash("report", "--rule", "fingerprint", "--out", folder, cwd=folder)
    assert "cannot write the report" in complaint(done)


# --- remove --duplicates ---------------------------------------------------------------------------------------


def sources(address: str) -> dict[str, Any]:
    with Documents(address) as documents:
        return documents.sources(list(TEXTS))


def links(address: str) -> dict[str, str]:
    with Documents(address) as documents:
        return {row.id: row.group for row in documents.export()}


@pytest.fixture(params=["sqlite", pytest.param("elasticsearch", marks=pytest.mark.elasticsearch)])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'es-simhash.db'}"
    return f"{request.getfixturevalue('elasticsearch_url')}/{request.getfixturevalue('make_index')()}"


def test_duplicates_that_were_removed_can_be_restored(address: str, tmp_path: Path) -> None:
    store = ("--store", address)
    assert es_simhash("init", *store, cwd=tmp_path).code == 0
    assert (
        es_simhash("ingest", "--rule", "fingerprint", "--max-distance", "7", *store, cwd=tmp_path, stdin=NEWS).code == 0
    )
    before = sources(address)
    assert es_simhash("init", "--rule", "fingerprint", "--max-distance", "3", *store, cwd=tmp_path).code == 0
    command = ("remove", "--duplicates", "--rule", "fingerprint", "--max-distance", "3", *store)
    shown = es_simhash(*command, "--dry-run", cwd=tmp_path)
    assert sorted(shown.out.splitlines()[:2]) == ["b  exact duplicate of a", "c  near-duplicate of a, 1 bit"]
    assert shown.out.splitlines()[2:] == ["2 duplicates of the heads of their groups: 1 exact, 1 near"]
    assert {each["id"]: each["exact"] for each in es_simhash(*command, "--dry-run", "--json", cwd=tmp_path).json} == {
        "b": True,
        "c": False,
    }
    assert sources(address) == before
    done = es_simhash(*command, "--yes", "--save", "removed.jsonl", cwd=tmp_path)
    assert (done.code, done.out.splitlines()[-1]) == (0, "removed 2 documents")
    assert links(address) == {"a": "a", "d": "a", "e": "e"}  # d is linked to a itself
    assert stat.S_IMODE((tmp_path / "removed.jsonl").stat().st_mode) == 0o600
    assert es_simhash(*command, "--yes", cwd=tmp_path).out.splitlines()[-1] == "removed 0 documents"
    restored = es_simhash("restore", "removed.jsonl", *store, cwd=tmp_path)
    assert (restored.code, restored.err) == (0, "")
    assert restored.out == "restored 2 documents, and the links of 0 documents that stayed\n"
    assert sources(address) == before
    assert links(address) == {"a": "a", "b": "a", "c": "a", "d": "a", "e": "e"}
    refused = es_simhash(*command, "--yes", "--save", "removed.jsonl", cwd=tmp_path)
    assert "removed.jsonl exists: name a new file" in complaint(refused)


def test_what_exists_again_with_other_contents_stays_and_is_named(tmp_path: Path) -> None:
    stdin = b"".join(line(f"{n}") for n in range(3))
    assert es_simhash("ingest", "--rule", "fingerprint", cwd=tmp_path, stdin=stdin).code == 0
    command = ("remove", "--rule", "fingerprint", "--duplicates", "--yes", "--save", "s.jsonl")
    assert es_simhash(*command, cwd=tmp_path).code == 0
    assert es_simhash("ingest", "--rule", "fingerprint", cwd=tmp_path, stdin=line("1", lang="en")).code == 0
    done = es_simhash("restore", "s.jsonl", cwd=tmp_path)
    assert (done.code, done.out) == (3, "restored 1 document, and the links of 0 documents that stayed\n")
    assert done.err == "kept 1 document as now stored, because the contents are others: 1\n"
    assert len(es_simhash("export", cwd=tmp_path).json) == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a", "--duplicates", "--yes"], "give either ids or --matching, or --duplicates"),
        (["a", "--dry-run"], "--dry-run, --yes and --save belong to --duplicates"),
        (["--duplicates", "--dry-run", "--yes"], "--dry-run removes nothing"),
        (["--duplicates"], "give --yes or --dry-run"),
    ],
)
def test_options_that_do_not_fit_are_usage_errors(tmp_path: Path, arguments: list[str], message: str) -> None:
    done = es_simhash("remove", "--rule", "fingerprint", *arguments, cwd=tmp_path)
    assert (done.code, done.out) == (2, "")
    assert message in done.err


@pytest.mark.slow
def test_in_a_terminal_a_person_is_asked(folder: Path) -> None:
    command = ("remove", "--duplicates", "--rule", "fingerprint", "--max-distance", "7")
    shown = in_terminal(*command, cwd=folder, keys=[b"n\n"])
    assert "d  near-duplicate of a" in shown
    assert "Remove 3 documents? [y/N]" in shown
    assert "nothing was removed" in shown
    assert "removed 3 documents" in in_terminal(*command, cwd=folder, keys=[b"y\n"])
    assert {each["id"] for each in es_simhash("export", cwd=folder).json} == {"a", "e"}


# --- label -----------------------------------------------------------------------------------------------------


def labels(folder: Path) -> list[Any]:
    return [json.loads(each) for each in (folder / "labels.jsonl").read_bytes().splitlines()]


def test_answers_are_in_the_file_and_evaluate_reads_it(folder: Path) -> None:
    command = ("label", "--sample", "10", "--seed", "4")
    done = es_simhash(*command, cwd=folder, stdin=b"u\ny\nn\nu\nwhat\ns\nu\nn\nq\n")
    assert done.code == 0
    assert "nothing to undo" in done.out
    assert "[橙色]" in done.out
    assert "[红色]" in done.out
    assert [each["duplicate"] for each in labels(folder)] == [True, False]
    assert {"a_id", "b_id", "distance", "a", "b"} < labels(folder)[0].keys()
    total = len(es_simhash("evaluate", "--sample", "10", "--store", "sqlite:///es-simhash.db", cwd=folder).json)
    assert done.out.endswith(f"2 labels added to labels.jsonl, {total - 2} pairs left\n")
    again = es_simhash(*command, cwd=folder, stdin=b"y\n" * 9)
    assert again.out.startswith(f"2 pairs of {total} labelled already in labels.jsonl\n")
    assert len({(each["a_id"], each["b_id"]) for each in labels(folder)}) == len(labels(folder)) == total
    [evaluation] = es_simhash("evaluate", "labels.jsonl", "--json", cwd=folder).json
    assert (evaluation["pairs"], evaluation["duplicates"], evaluation["rejected"]) == (total, total - 1, 0)
    said = complaint(es_simhash("label", "--filter", '{"ids": {"values": []}}', cwd=folder))
    assert "no two documents" in said
    assert said.endswith("ingest more documents, or leave out --filter")


@pytest.mark.slow
def test_in_a_terminal_each_answer_is_one_key(folder: Path) -> None:
    shown = in_terminal("label", "--sample", "10", cwd=folder, keys=[b"y", b"n", b"u", b"q"])
    assert [each["duplicate"] for each in labels(folder)] == [True]
    assert "1 label added" in shown
    assert " | " in shown
