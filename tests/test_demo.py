"""The demonstration's news, labelled by hand: what is found of them, and that nothing else is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from es_simhash import Documents, fingerprint
from es_simhash.lines import json_lines

SCRIPTS = Path(__file__).parents[1] / "scripts"
LABELS = json.loads((SCRIPTS / "demo_news.expected.json").read_text(encoding="utf-8"))

# An item without its last sentence: 10 bits away, though most of it is the same. The price of a fingerprint alone.
BEYOND_REACH = {"n27"}


@pytest.fixture(scope="module")
def found() -> dict[str, tuple[str, str | None]]:
    with Documents("sqlite:///:memory:") as documents, (SCRIPTS / "demo_news.jsonl").open("rb") as stream:
        outcomes = documents.ingest(json_lines(stream, "demo_news.jsonl"), rule="fingerprint", max_distance=7)
        return {str(outcome.id): (outcome.outcome, outcome.duplicate_of) for outcome in outcomes}


@pytest.fixture(scope="module")
def copies() -> dict[str, tuple[str, str | None]]:
    """Return what the default rule finds."""
    with Documents("sqlite:///:memory:") as documents, (SCRIPTS / "demo_news.jsonl").open("rb") as stream:
        outcomes = documents.ingest(json_lines(stream, "demo_news.jsonl"))
        return {str(outcome.id): (outcome.outcome, outcome.duplicate_of) for outcome in outcomes}


def test_the_default_rule_finds_every_labelled_pair_but_one_with_other_numbers(
    copies: dict[str, tuple[str, str | None]],
) -> None:
    exact = {id: ("exact_duplicate", original) for id, original in LABELS["exact"]}
    near = {id: ("near_duplicate", original) for id, original in LABELS["near"]}
    near["n27"] = ("near_duplicate", "n11")  # n01 has a number more; n11, a copy of n01, has not
    near["n20"] = ("new", None)  # other numbers than n08: 220 and 72 million, not 200 and 68 million
    assert copies == exact | near | dict.fromkeys(LABELS["distinct"], ("new", None))


def test_every_exact_copy_is_found_with_its_original(found: dict[str, tuple[str, str | None]]) -> None:
    assert {id: found[id] for id, _ in LABELS["exact"]} == {
        id: ("exact_duplicate", original) for id, original in LABELS["exact"]
    }


def test_every_near_duplicate_within_reach_is_found_with_its_original(found: dict[str, tuple[str, str | None]]) -> None:
    near = {id: original for id, original in LABELS["near"] if id not in BEYOND_REACH}
    assert {id: found[id] for id in near} == {id: ("near_duplicate", original) for id, original in near.items()}


def test_what_is_beyond_reach_is_beyond_seven_bits() -> None:
    with (SCRIPTS / "demo_news.jsonl").open("rb") as stream:
        texts = {line.document["id"]: line.document["text"] for line in json_lines(stream, "demo_news.jsonl")}
    for id, original in LABELS["near"]:
        distance = fingerprint(texts[id]).distance(fingerprint(texts[original]))
        assert distance is not None
        assert (distance > 7) == (id in BEYOND_REACH), (id, distance)


def test_nothing_distinct_is_called_a_duplicate(found: dict[str, tuple[str, str | None]]) -> None:
    assert {id: found[id][0] for id in LABELS["distinct"]} == dict.fromkeys(LABELS["distinct"], "new")
