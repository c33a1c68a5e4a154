"""``es-simhash report`` writes the page, or prints the groups for programs and spreadsheets."""

from __future__ import annotations

import csv
import io
import os
import stat
from typing import TYPE_CHECKING

import pytest

from es_simhash import Documents, compare
from tests.cli import HARVEST, STORM, STORM_NEAR, complaint, es_simhash

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a store."""
    documents = [
        {"id": "=1", "title": "=cmd()", "text": STORM, "lang": "zh"},
        {"id": "b", "title": "b", "text": STORM_NEAR, "lang": "zh"},
        {"id": "c", "text": STORM.replace("，", ",")},
        {"id": "d", "text": HARVEST},
        {"id": "e", "text": HARVEST},
    ]
    with Documents(f"sqlite:///{tmp_path}/es-simhash.db") as store:
        list(store.ingest(documents))
    return tmp_path


def test_the_page_is_for_its_owner_alone_and_the_counts_are_printed(folder: Path) -> None:
    done = es_simhash("report --lang zh --title-field title --out page.html", cwd=folder)
    assert done.out == "5 documents, 2 groups with 5 members: see page.html\n"
    text = (folder / "page.html").read_text(encoding="utf-8")
    assert "最大的分组" in text
    assert "=cmd()" in text
    if os.name == "posix":
        assert stat.S_IMODE((folder / "page.html").stat().st_mode) == 0o600


def test_json_lines_have_the_groups_the_largest_first(folder: Path) -> None:
    first, second = es_simhash("report --json --title-field title", cwd=folder).json
    near = {"id": "b", "exact": False, "similarity": compare(STORM, STORM_NEAR).similarity, "title": "b"}
    copies = [near, {"id": "c", "exact": True, "similarity": 1.0, "title": STORM.replace("，", ",")[:80] + "…"}]
    assert first == {"group": "=1", "members": 3, "exact": 1, "title": "=cmd()", "copies": copies}
    assert (second["group"], [copy["id"] for copy in second["copies"]], second["exact"]) == ("d", ["e"], 1)
    assert second["title"] == HARVEST[:80] + "…"
    assert len(es_simhash("report --json --groups 1", cwd=folder).json) == 1
    [only] = es_simhash("report --json --filter", '{"term": {"lang": "zh"}}', cwd=folder).json
    assert (only["group"], [copy["id"] for copy in only["copies"]]) == ("=1", ["b"])
    assert not (folder / "report.html").exists()


def test_csv_has_a_row_for_each_member_and_no_formulas(folder: Path) -> None:
    done = es_simhash("report --csv --title-field title", cwd=folder)
    assert done.out.startswith("\ufeff")
    rows = list(csv.DictReader(io.StringIO(done.out[1:])))
    assert [(row["group"], row["members"], row["id"], row["exact"], row["similarity"][:4]) for row in rows] == [
        ("'=1", "3", "'=1", "False", ""),
        ("'=1", "3", "b", "False", "0.98"),
        ("'=1", "3", "c", "True", "1.0"),
        ("d", "2", "d", "False", ""),
        ("d", "2", "e", "True", "1.0"),
    ]
    assert rows[0]["title"] == "'=cmd()"


@pytest.mark.parametrize("form", ["--json", "--csv"])
def test_a_file_gets_what_else_is_printed(folder: Path, form: str) -> None:
    printed = es_simhash(f"report {form}", cwd=folder).out
    done = es_simhash(f"report {form} --out groups", cwd=folder)
    assert done.out == "5 documents, 2 groups with 5 members: see groups\n"
    assert (folder / "groups").read_text(encoding="utf-8") == printed
    assert not (folder / "report.html").exists()


def test_a_page_that_cannot_be_written_is_named(folder: Path) -> None:
    done = es_simhash("report --out no/page.html", cwd=folder)
    assert complaint(done).startswith(
        "es-simhash: cannot write no/page.html (No such file or directory): name another file"
    )
    assert es_simhash("report --json --csv", cwd=folder).code == 2
