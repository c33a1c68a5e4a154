"""``--within`` on the command line: only documents of about the same time are duplicates."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.cli import HARVEST, STORM, STORM_NEAR, complaint, es_simhash

if TYPE_CHECKING:
    from pathlib import Path

WITHIN = ("--within", "7d", "--time-field", "date")
DOCUMENTS = [
    {"id": "a", "text": STORM, "date": "2024-05-01"},
    {"id": "b", "text": STORM, "date": "2024-05-08T00:00:00Z"},
    {"id": "c", "text": STORM_NEAR, "date": "2024-05-15"},
    {"id": "d", "text": STORM, "date": "2024-06-01"},
    {"id": "e", "text": HARVEST, "date": "gestern"},
    {"id": "f", "text": HARVEST},
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "news.jsonl").write_text("\n".join(map(json.dumps, DOCUMENTS)), encoding="utf-8")
    return tmp_path


def test_ingest_similar_group_and_remove_within_a_week(folder: Path) -> None:
    done = es_simhash("ingest", "--rule", "fingerprint", "news.jsonl", *WITHIN, "--json", cwd=folder)
    assert done.code == 3  # some are rejected
    outcomes = {line["id"]: line for line in done.json if "id" in line}
    assert {id: line["duplicate_of"] for id, line in outcomes.items() if line["outcome"] != "rejected"} == {
        "a": None,
        "b": "a",
        "c": "b",
        "d": None,
    }
    assert outcomes["e"]["reason"].startswith("news.jsonl:5: the time in field 'date' is \"gestern\", which is no date")
    assert outcomes["f"]["reason"].startswith("news.jsonl:6: no time in field 'date'")

    done = es_simhash("similar", "--rule", "fingerprint", "--id", "a", *WITHIN, "--json", cwd=folder)
    assert [line["id"] for line in done.json] == ["b"]
    done = es_simhash("similar", "--rule", "fingerprint", STORM, "--time", "2024-05-30", *WITHIN, "--json", cwd=folder)
    assert [line["id"] for line in done.json] == ["d"]
    done = es_simhash(
        "similar --rule fingerprint",
        STORM,
        "--time",
        "2024-05-30",
        "--within",
        "52w",
        *WITHIN[2:],
        "--json",
        cwd=folder,
    )
    assert {line["id"] for line in done.json} == {"a", "b", "c", "d"}

    unchanged = "updated the group or the original of 0 documents\n"
    assert unchanged in es_simhash("group", "--rule", "fingerprint", *WITHIN, cwd=folder).out
    assert es_simhash("init", "--rule", "fingerprint", cwd=folder).code == 0
    assert unchanged not in es_simhash("group", "--rule", "fingerprint", cwd=folder).out
    assert es_simhash("init", "--rule", "fingerprint", *WITHIN, cwd=folder).code == 0
    assert unchanged not in es_simhash("group", "--rule", "fingerprint", *WITHIN, cwd=folder).out
    assert es_simhash("remove", "--rule", "fingerprint", "b", *WITHIN, "--json", cwd=folder).json == [{"removed": 1}]
    exported = {line["id"]: line["duplicate_of"] for line in es_simhash("export", cwd=folder).json}
    assert exported == {"a": None, "c": None, "d": None}


@pytest.mark.parametrize("duration", ["7", "d", "", "7 days", "-7d", "1.5d", "7m", "7D", "40000d", "99999999w", "٧d"])
@pytest.mark.parametrize("command", ["ingest", "backfill"])
def test_a_mistyped_duration_is_a_usage_error(command: str, duration: str, tmp_path: Path) -> None:
    done = es_simhash(command, "--text-field", "text", "--within", duration, "--time-field", "date", cwd=tmp_path)
    assert done.code == 2
    assert f"{duration!r} is not a duration: use a whole number of hours, days or weeks, such as 12h" in done.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ingest", "--rule", "fingerprint", "-", "--within", "7d"], "within compares times: set time_field too"),
        (
            ["group", "--rule", "fingerprint", "--time-field", "date"],
            "time_field names the time of a document: set within too",
        ),
        (["similar", "…", *WITHIN], "within compares times: give the time of the text (--time 2024-05-01)"),
        (["similar", "--rule", "fingerprint", "…", "--time", "2024"], "a time counts only with within"),
        (
            ["similar", "--rule", "fingerprint", "…", *WITHIN, "--time", "May"],
            "the time 'May' is no date: use ISO 8601",
        ),
    ],
)
def test_options_that_do_not_go_together_are_named(arguments: list[str], message: str, folder: Path) -> None:
    assert es_simhash("init", cwd=folder).code == 0
    done = es_simhash(*arguments, cwd=folder, stdin=b"")
    assert done.code == 1
    assert message in complaint(done)


def test_a_stored_document_has_its_own_time(tmp_path: Path) -> None:
    done = es_simhash("similar", "--rule", "fingerprint", "--id", "a", "--time", "2024", *WITHIN, cwd=tmp_path)
    assert done.code == 2
    assert "a stored document has its own time" in done.err


def test_a_document_without_a_time_is_named(folder: Path) -> None:
    assert es_simhash("ingest", "--rule", "fingerprint", "news.jsonl", cwd=folder).code == 0
    assert es_simhash("init", "--rule", "fingerprint", *WITHIN, cwd=folder).code == 0
    done = es_simhash("group", "--rule", "fingerprint", *WITHIN, cwd=folder)
    assert done.code == 1
    assert "document 'e': the time in field 'date' is \"gestern\", which is no date" in complaint(done)
    done = es_simhash("similar", "--rule", "fingerprint", "--id", "f", *WITHIN, cwd=folder)
    assert done.code == 1
    assert "document 'f': no time in field 'date'" in complaint(done)
