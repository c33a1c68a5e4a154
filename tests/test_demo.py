"""The demonstration's news, labelled by hand: what is found of them, and that nothing else is."""

from __future__ import annotations

import json
from pathlib import Path

from es_simhash import Documents, read_file

SCRIPTS = Path(__file__).parents[1] / "scripts"
NEWS = SCRIPTS / "demo_news.jsonl"
LABELS = json.loads((SCRIPTS / "demo_news.expected.json").read_text(encoding="utf-8"))
EXACT = {id: ("exact_duplicate", original) for id, original in LABELS["exact"]}
NEAR = {id: ("near_duplicate", original) for id, original in LABELS["near"]}
DISTINCT = dict.fromkeys(LABELS["distinct"], ("new", None))


def test_the_default_rule_finds_every_labelled_pair_and_no_other() -> None:
    with Documents("memory://") as documents:
        found = {each.id: (each.outcome, each.duplicate_of) for each in documents.ingest(read_file(NEWS))}
    assert found == EXACT | NEAR | DISTINCT
