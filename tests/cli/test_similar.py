"""``es-simhash similar``: everything near a text, a file or a stored document, nearest first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import Documents, DuplicateRule, fingerprint
from tests.cli import HARVEST, STORM, STORM_FARTHER, STORM_FARTHEST, STORM_NEAR, complaint, es_simhash

if TYPE_CHECKING:
    from pathlib import Path

TEXTS = {
    "copy": STORM,
    "farthest": STORM_FARTHEST,
    "same bits": STORM + "。",
    "near": STORM_NEAR,
    "far": HARVEST,
    "farther": STORM_FARTHER,
    "short": "你好",
}
LANGUAGES = {"copy": "zh", "near": "en", "farther": "zh"}


def near(text: str, but: str | None = None) -> list[dict[str, Any]]:
    """What must be found within seven bits, by comparing with every text."""
    probe = fingerprint(text)
    matches: list[dict[str, Any]] = [
        {"id": id, "relation": "exact" if ours.digest == probe.digest else "copy", "distance": probe.distance(ours)}
        for id, ours in ((id, fingerprint(other)) for id, other in TEXTS.items() if id != but)
        if ours.value is not None
    ]
    within = [match for match in matches if match["distance"] <= 7]
    return sorted(within, key=lambda match: (match["distance"], match["relation"] != "exact", match["id"]))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store that has keys, and whose rule is fingerprints within seven bits."""
    folder = tmp_path_factory.mktemp("similar")
    documents = [{"id": id, "text": text, "lang": LANGUAGES.get(id)} for id, text in TEXTS.items()]
    with Documents(f"sqlite:///{folder / 'es-simhash.db'}") as store:
        assert all(outcome.stored for outcome in store.ingest(documents))
        store.setup(rule=DuplicateRule(rule="fingerprint", max_distance=7))
    (folder / "article.txt").write_text(STORM, encoding="utf-8")
    return folder


@pytest.mark.parametrize("arguments", [[STORM], ["--file", "article.txt"]], ids=["text", "file"])
def test_everything_near_a_text_is_found_nearest_first(folder: Path, arguments: list[str]) -> None:
    done = es_simhash("similar --json", *arguments, cwd=folder)
    assert (done.code, done.err) == (0, "")
    assert done.json == near(STORM)
    assert [match["id"] for match in done.json] == ["copy", "same bits", "near", "farther", "farthest"]


def test_a_stored_document_is_not_among_its_own_matches(folder: Path) -> None:
    assert es_simhash("similar --id near --json", cwd=folder).json == near(STORM_NEAR, but="near")


def test_another_rule_and_a_filter_are_options(folder: Path) -> None:
    filter = '{"bool": {"must": {"term": {"lang": "zh"}}, "must_not": {"ids": {"values": ["copy"]}}}}'
    assert [match["id"] for match in es_simhash("similar --json --filter", filter, STORM, cwd=folder).json] == [
        "farther"
    ]
    assert [match["id"] for match in es_simhash("similar --json --rule exact", STORM, cwd=folder).json] == ["copy"]
    matches = es_simhash("similar --json --rule copy --min-similarity 0.99", STORM, cwd=folder).json
    assert [match["id"] for match in matches][:2] == ["copy", "same bits"]
    assert all(match["similarity"] >= 0.99 for match in matches)


def test_a_line_names_the_match_and_says_how_near_it_is(folder: Path) -> None:
    assert es_simhash("similar", STORM, cwd=folder).out.splitlines()[:2] == [
        "copy  exact duplicate",
        "same bits  near-duplicate, 0 bits",
    ]
    by_texts = es_simhash("similar --rule copy --id near", cwd=folder).out.splitlines()
    assert by_texts[0] == "copy  near-duplicate, similarity 0.986"


def test_no_near_document_is_an_empty_answer_and_not_an_error(folder: Path) -> None:
    done = es_simhash("similar", STORM[:30] + HARVEST[:30], cwd=folder)
    assert (done.code, done.out, done.err) == (0, "", "no duplicates\n")


def test_a_text_that_is_too_short_for_a_fingerprint_is_named(folder: Path) -> None:
    done = es_simhash("similar 你好 --json", cwd=folder)
    assert (done.code, done.json) == (0, [{"id": "short", "relation": "exact", "distance": 0}])
    assert done.err == "the text is too short for a fingerprint: only exact duplicates of it can be found\n"


@pytest.mark.parametrize("arguments", [[], [STORM, "--id", "near"]], ids=["nothing", "two"])
def test_a_text_or_an_id_or_a_file_must_be_given(folder: Path, arguments: list[str]) -> None:
    done = es_simhash("similar", *arguments, cwd=folder)
    assert (done.code, done.out) == (2, "")
    assert "give exactly one of: TEXT, --id ID, --file FILE" in done.err


def test_an_id_that_is_not_stored_is_named(folder: Path) -> None:
    said = complaint(es_simhash("similar --id nobody", cwd=folder))
    assert "there is no document with id 'nobody': ingest it first, or give its text" in said
