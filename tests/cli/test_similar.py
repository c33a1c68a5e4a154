"""``es-simhash similar``: everything near a text, a file or a stored document, nearest first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import Documents, fingerprint
from es_simhash.cli.similar import _left_out
from es_simhash.deciding.similar import Matches
from tests.cli import (
    HARVEST,
    STORM,
    STORM_FARTHER,
    STORM_FARTHEST,
    STORM_NEAR,
    complaint,
    es_simhash,
    line,
)

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
DOCUMENTS = [{"id": id, "text": text, "lang": LANGUAGES.get(id)} for id, text in TEXTS.items()]


def near(text: str, max_distance: int, but: str | None = None) -> list[dict[str, Any]]:
    """What must be found, by comparing with every text."""
    probe = fingerprint(text)
    found: list[dict[str, Any]] = [
        {"id": id, "distance": probe.distance(ours), "exact": ours.digest == probe.digest}
        for id, ours in ((id, fingerprint(other)) for id, other in TEXTS.items() if id != but)
        if ours.value is not None
    ]
    within = [match for match in found if match["distance"] <= max_distance]
    return sorted(within, key=lambda match: (match["distance"], not match["exact"], match["id"]))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("similar")
    with Documents(f"sqlite:///{folder / 'es-simhash.db'}") as documents:
        assert all(outcome.stored for outcome in documents.ingest(DOCUMENTS))
    (folder / "article.txt").write_text(STORM, encoding="utf-8")
    return folder


def test_the_texts_are_as_far_apart_as_their_names_say() -> None:
    assert [match["id"] for match in near(STORM, 3)] == ["copy", "same bits", "near"]
    assert [match["id"] for match in near(STORM, 7)] == ["copy", "same bits", "near", "farther", "farthest"]
    assert [match["distance"] for match in near(STORM, 0)] == [0, 0]


@pytest.mark.parametrize("arguments", [[STORM], ["--file", "article.txt"]], ids=["text", "file"])
def test_everything_near_a_text_is_found_nearest_first(folder: Path, arguments: list[str]) -> None:
    done = es_simhash("similar", *arguments, "--json", "--rule", "fingerprint", "--max-distance", "7", cwd=folder)
    assert (done.code, done.err) == (0, "")
    assert done.json == near(STORM, 7)


def test_a_stored_document_is_not_among_its_own_matches(folder: Path) -> None:
    done = es_simhash("similar", "--id", "near", "--json", "--rule", "fingerprint", "--max-distance", "7", cwd=folder)
    assert done.code == 0
    assert done.json == near(STORM_NEAR, 7, but="near")


def test_the_text_form_is_a_table_of_documents_within_three_bits_by_default(folder: Path) -> None:
    done = es_simhash("similar", "--rule", "fingerprint", STORM, cwd=folder)
    assert done.code == 0
    assert done.out.splitlines() == [
        "id         distance  exact",
        "copy              0  yes",
        "same bits         0",
        f"near              {near(STORM, 3)[2]['distance']}",
    ]


def test_the_table_is_aligned_for_han_ids(tmp_path: Path) -> None:
    stdin = line("新闻", STORM) + line("n2", STORM)
    assert es_simhash("ingest", "--rule", "fingerprint", "-", cwd=tmp_path, stdin=stdin).code == 0
    assert es_simhash("similar", "--rule", "fingerprint", STORM, cwd=tmp_path).out.splitlines() == [
        "id    distance  exact",
        "n2           0  yes",
        "新闻         0  yes",
    ]


def test_what_is_left_out_is_named_by_how_it_was_searched() -> None:
    assert _left_out(Matches((), 2, by_keys=True)) == "2 documents with common keys not compared: very many share them"
    assert _left_out(Matches((), 1)) == "1 document with the fingerprint of a match left out: very many have it"


def test_a_filter_keeps_only_matching_documents(folder: Path) -> None:
    filter = '{"bool": {"must": {"term": {"lang": "zh"}}, "must_not": {"ids": {"values": ["copy"]}}}}'
    done = es_simhash(
        "similar", STORM, "--json", "--rule", "fingerprint", "--max-distance", "7", "--filter", filter, cwd=folder
    )
    assert [match["id"] for match in done.json] == ["farther"]


def test_no_near_document_is_an_empty_answer_and_not_an_error(folder: Path) -> None:
    done = es_simhash("similar", "--rule", "fingerprint", STORM[:30] + HARVEST[:30], cwd=folder)
    assert (done.code, done.out, done.err) == (0, "", "no documents within 3 bits\n")


def test_for_a_short_text_only_exact_duplicates_are_found_and_a_message_says_so(folder: Path) -> None:
    done = es_simhash("similar", "--rule", "fingerprint", "你好", "--json", cwd=folder)
    assert (done.code, done.json) == (0, [{"id": "short", "distance": 0, "exact": True}])
    assert done.err == "the text is too short for a fingerprint: only exact duplicates of it can be found\n"


@pytest.mark.parametrize("arguments", [[], [STORM, "--id", "near"]], ids=["nothing", "two"])
def test_a_text_or_an_id_or_a_file_must_be_given(folder: Path, arguments: list[str]) -> None:
    done = es_simhash("similar", "--rule", "fingerprint", *arguments, cwd=folder)
    assert (done.code, done.out) == (2, "")
    assert "give exactly one of: TEXT, --id ID, --file FILE" in done.err


def test_an_id_that_is_not_stored_is_named(folder: Path) -> None:
    said = complaint(es_simhash("similar", "--rule", "fingerprint", "--id", "nobody", cwd=folder))
    assert "there is no document with id 'nobody': ingest it first, or give its text" in said


def test_a_store_that_is_not_set_up_is_named_with_the_init_command(tmp_path: Path) -> None:
    said = complaint(
        es_simhash("similar", "--rule", "fingerprint", STORM, "--store", "sqlite:///news.db", cwd=tmp_path)
    )
    assert "sqlite:///news.db does not exist: correct the name" in said
    assert "`es-simhash init --store sqlite:///news.db`" in said
    assert list(tmp_path.iterdir()) == []
