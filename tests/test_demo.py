"""The demonstration's news, labelled by hand: what is found of them, and that nothing else is."""

from __future__ import annotations

import json
from pathlib import Path

from es_simhash import Documents, DuplicateRule, fingerprint, read_file

SCRIPTS = Path(__file__).parents[1] / "scripts"
NEWS = SCRIPTS / "demo_news.jsonl"
LABELS = json.loads((SCRIPTS / "demo_news.expected.json").read_text(encoding="utf-8"))
EXACT = {id: ("exact_duplicate", original) for id, original in LABELS["exact"]}
NEAR = {id: ("near_duplicate", original) for id, original in LABELS["near"]}
DISTINCT = dict.fromkeys(LABELS["distinct"], ("new", None))


def outcomes(rule: DuplicateRule) -> dict[str, tuple[str, str | None]]:
    with Documents("memory://") as documents:
        documents.setup(rule)
        return {str(each.id): (each.outcome, each.duplicate_of) for each in documents.ingest(read_file(NEWS))}


def test_the_default_rule_finds_every_labelled_pair_and_no_other() -> None:
    assert outcomes(DuplicateRule()) == EXACT | NEAR | DISTINCT


def test_fingerprints_find_every_pair_within_seven_bits() -> None:
    texts = {each["id"]: each["text"] for each in map(json.loads, NEWS.read_text(encoding="utf-8").splitlines())}
    # An item without its last sentence: 10 bits away, though most of it is the same. The price of a fingerprint alone.
    assert fingerprint(texts["n27"]).distance(fingerprint(texts["n01"])) == 10
    near = NEAR | {"n27": ("new", None)}
    assert outcomes(DuplicateRule(rule="fingerprint", max_distance=7)) == EXACT | near | DISTINCT
