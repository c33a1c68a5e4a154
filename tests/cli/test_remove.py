"""``es-simhash remove``: by ids, by a query clause, or all duplicates; and what it saves is ingested again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.cli import HARVEST, STORM, STORM_NEAR, es_simhash, line
from tests.cli import links as links_of

if TYPE_CHECKING:
    from pathlib import Path

DATA = line("a", n=1) + line("b", STORM_NEAR, n=2) + line("c", STORM, n=2) + line("d", HARVEST, n=1)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a store: b and c are duplicates of a."""
    assert es_simhash("ingest --workers 0", cwd=tmp_path, stdin=DATA).code == 0
    return tmp_path


def links(folder: Path) -> dict[str, str | None]:
    return links_of(f"sqlite:///{folder}/es-simhash.db")


def matching(**term: object) -> str:
    return json.dumps({"term": term})


def test_documents_are_removed_by_their_ids_and_those_that_no_document_has_are_named(folder: Path) -> None:
    done = es_simhash("remove x a 新闻 x", cwd=folder)
    assert (done.code, done.out, done.err) == (3, "removed 1 document\n", "not found: x, 新闻\n")
    assert links(folder) == {"b": None, "c": "b", "d": None}
    done = es_simhash("remove a", cwd=folder)
    assert (done.code, done.out, done.err) == (1, "removed 0 documents\n", "not found: a\n")


def test_what_matches_is_shown_and_then_removed(folder: Path) -> None:
    shown = es_simhash("remove --matching", matching(n=2), cwd=folder)
    assert sorted(shown.out.splitlines()) == ["2 documents would be removed: add --yes to remove them", "b", "c"]
    assert es_simhash("remove --yes --matching", matching(n=2), cwd=folder).out == "removed 2 documents\n"
    assert links(folder) == {"a": None, "d": None}


def test_duplicates_are_shown_and_removed_and_come_back(folder: Path) -> None:
    before = links(folder)
    shown = es_simhash("remove --duplicates", cwd=folder).out.splitlines()
    assert sorted(shown) == [
        "2 documents would be removed: add --yes to remove them",
        "b  near-duplicate of a, similarity 0.986",
        "c  exact duplicate of a",
    ]
    assert links(folder) == before
    assert es_simhash("remove --duplicates --yes --save s.jsonl", cwd=folder).out == "removed 2 documents\n"
    assert links(folder) == {"a": None, "d": None}
    assert es_simhash("ingest s.jsonl --workers 0", cwd=folder).code == 0
    assert links(folder) == before


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("", "give either ids, or --matching, or --duplicates"),
        ("a --duplicates", "give either ids, or --matching, or --duplicates"),
        ("--matching lang:zh", "not JSON"),
    ],
)
def test_options_that_do_not_fit_are_a_usage_error(folder: Path, words: str, says: str) -> None:
    done = es_simhash(f"remove {words}", cwd=folder)
    assert (done.code, done.out) == (2, "")
    assert says in done.err
    assert len(links(folder)) == 4


@pytest.mark.parametrize("yes", ["", " --yes"])
def test_a_clause_that_matches_nothing_says_what_to_check(folder: Path, yes: str) -> None:
    done = es_simhash(f"remove{yes} --matching", matching(mistyped=2), cwd=folder)
    assert done.code == 0
    assert done.err == "no document matches: check the names of the fields, which may be mistyped, and their values\n"
    assert len(links(folder)) == 4
