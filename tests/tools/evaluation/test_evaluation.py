"""The figures of the rules, the pairs that are drawn for labelling, and the command."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from es_simhash import Documents, DuplicateRule, InputError, compare
from es_simhash.similarity.rule import RULES
from es_simhash.tools.evaluation import LabelledPair, evaluate, sample_pairs
from es_simhash.tools.evaluation.intervals import wilson
from tests.cli import HARVEST, STORM, STORM_FARTHER, STORM_NEAR, complaint, es_simhash

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

NOTICE = "城东片区3月5日停水检修，涉及12个小区和8所学校，请居民提前储水，水压恢复后先放水再使用，谢谢配合。"
OTHER_NUMBERS = NOTICE.replace("12", "15").replace("8", "9").replace("5日", "6日")
TEXTS = [STORM, STORM_NEAR, STORM_FARTHER, STORM.replace("，", ","), HARVEST, NOTICE, OTHER_NUMBERS, "", "你好"]
PAIRS = st.lists(
    st.builds(LabelledPair, st.sampled_from(TEXTS), st.sampled_from(TEXTS), st.booleans(), st.uuids().map(str)),
    max_size=8,
)


@settings(max_examples=20)
@given(PAIRS)
def test_the_figures_count_what_each_rule_decides(pairs: Sequence[LabelledPair]) -> None:
    assume(any(pair.copy for pair in pairs))
    made = evaluate(iter(pairs))
    assert list(made) == list(RULES)
    for rule, counted in made.items():
        found = [compare(pair.a, pair.b, rule=rule).is_duplicate for pair in pairs]
        both = list(zip(pairs, found, strict=True))
        assert counted.right == sum(pair.copy and is_found for pair, is_found in both)
        assert counted.wrong == tuple(pair.place for pair, is_found in both if is_found and not pair.copy)
        assert counted.missed == tuple(pair.place for pair, is_found in both if pair.copy and not is_found)
        assert counted.recall == counted.right / sum(pair.copy for pair in pairs)
        assert counted.precision == (counted.right / sum(found) if any(found) else None)
        if counted.right and counted.precision:
            assert counted.f1 == pytest.approx(2 / (1 / counted.precision + 1 / counted.recall))
        assert counted.recall_interval == wilson(counted.right, sum(pair.copy for pair in pairs))


def test_the_rule_fingerprint_has_figures_for_each_distance() -> None:
    pairs = [LabelledPair(STORM, other, other != HARVEST) for other in (STORM_NEAR, STORM_FARTHER, HARVEST)]
    made = evaluate(pairs, rule="fingerprint")
    assert list(made) == ["copy", "contained", "exact", *(f"fingerprint, k={k}" for k in range(8))]
    for k in range(8):
        distances = [compare(pair.a, pair.b).distance or 0 for pair in pairs[:2]]
        assert made[f"fingerprint, k={k}"].right == sum(distance <= k for distance in distances)


def test_a_refined_rule_takes_the_place_of_the_plain_one() -> None:
    pairs = [LabelledPair(NOTICE, OTHER_NUMBERS, True)]
    assert evaluate(pairs)["copy"].recall == 0
    assert evaluate(pairs, rule=DuplicateRule("copy", contradictions="allow"))["copy, contradictions allow"].recall == 1


def test_without_a_copy_nothing_is_evaluated() -> None:
    with pytest.raises(InputError, match="none of 1 pairs is labelled as a copy"):
        evaluate([LabelledPair("a", "b", False)])


@pytest.fixture
def store(address: str) -> str:
    """The address of a store with documents."""
    with Documents(address) as documents:
        documents.setup()
        list(documents.ingest({"id": str(number), "text": text} for number, text in enumerate(TEXTS) if text))
    return address


def test_random_documents_are_drawn_with_what_is_like_them(store: str) -> None:
    with Documents(store) as documents:
        pairs = list(sample_pairs(documents, 10))
        assert list(sample_pairs(documents, 10)) == pairs
        assert list(sample_pairs(documents, 1)) == pairs[:1]
        assert {(pair.a_id, pair.b_id) for pair in pairs} & {("5", "6"), ("6", "5")}
        for pair in pairs:
            assert (pair.a, pair.b) == (TEXTS[int(pair.a_id)], TEXTS[int(pair.b_id)])
            assert compare(pair.a, pair.b).relation != "exact"
        assert len({frozenset((pair.a_id, pair.b_id)) for pair in pairs}) == len(pairs)
        with pytest.raises(InputError, match="is like another: ingest more documents"):
            list(sample_pairs(documents, 5, filter={"ids": {"values": ["4"]}}))


def labelled(a: str, b: str, copy: Any) -> str:
    return json.dumps({"a": a, "b": b, "copy": copy}, ensure_ascii=False) + "\n"


def test_pairs_are_drawn_labelled_and_evaluated(tmp_path: Path) -> None:
    with Documents(f"sqlite:///{tmp_path}/es-simhash.db") as documents:
        list(documents.ingest({"id": number, "text": text} for number, text in enumerate(TEXTS) if text))
    drawn = es_simhash("evaluate --sample 10", cwd=tmp_path)
    assert drawn.err.endswith('write "copy": true or false in each line\n')
    lines = [pair | {"copy": "3月" not in pair["a"]} for pair in drawn.json]
    (tmp_path / "pairs.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    done = es_simhash("evaluate pairs.jsonl --store sqlite:///es-simhash.db", cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    rows = done.out.splitlines()
    assert [row.split()[0] for row in rows[1:5]] == list(RULES)
    assert rows[1].endswith("  <")
    assert rows[1].split()[1] == "1.000"
    assert "in brackets: the interval of Wilson, 95%" in rows[5]


def test_the_json_form_has_a_line_for_each_rule_and_names_wrong_and_missed_pairs(tmp_path: Path) -> None:
    text = labelled(STORM, STORM_NEAR, True) + labelled(NOTICE, OTHER_NUMBERS, True) + labelled(STORM, STORM_FARTHER, 0)
    (tmp_path / "pairs.jsonl").write_text(text, encoding="utf-8")
    copy, *others = es_simhash("evaluate pairs.jsonl --json", cwd=tmp_path).json
    assert (copy["rule"], copy["precision"], copy["recall"], copy["f1"]) == ("copy", 0.5, 0.5, 0.5)
    assert (copy["right"], copy["wrong"], copy["missed"]) == (1, ["pairs.jsonl:3"], ["pairs.jsonl:2"])
    assert len(copy["precision_interval"]) == 2
    assert [other["rule"] for other in others] == ["contained", "fingerprint", "exact"]
    shown = es_simhash("evaluate pairs.jsonl --rule copy --min-similarity 0.999", cwd=tmp_path).out
    assert [line[:26].rstrip() for line in shown.splitlines()[1:3]] == ["copy, min_similarity 0.999", "copy"]
    assert "missed by fingerprint: pairs.jsonl:2" in shown


def test_a_spreadsheet_writes_labels_in_its_own_way(tmp_path: Path) -> None:
    rows = f'a,b,copy\n"{STORM}","{STORM_NEAR}",TRUE\n"{STORM}","{HARVEST}",FALSE\n"{STORM}","{NOTICE}",0\n'
    (tmp_path / "pairs.csv").write_text(rows, encoding="utf-8")
    copy = es_simhash("evaluate pairs.csv --json", cwd=tmp_path).json[0]
    assert (copy["right"], copy["wrong"], copy["missed"]) == (1, [], [])


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (labelled("a", "b", None), 'the label "copy" is null: write true or false'),
        (labelled("a", "b", 2), 'the label "copy" is 2: write true or false'),
        ('{"a": 1, "b": "b", "copy": true}\n', '"a" and "b" must be texts'),
        ('{"a": "\\ud800", "b": "b", "copy": true}\n', "surrogate"),
        ("{\n", "not JSON"),
    ],
)
def test_a_line_that_cannot_be_used_is_named_and_left_out(tmp_path: Path, line: str, reason: str) -> None:
    (tmp_path / "pairs.jsonl").write_text(labelled(STORM, STORM_NEAR, True) + line, encoding="utf-8")
    done = es_simhash("evaluate pairs.jsonl --json", cwd=tmp_path)
    assert done.code == 3
    assert done.err.startswith("rejected: pairs.jsonl:2: ")
    assert reason in done.err
    assert done.json[0]["right"] == 1


def test_a_sample_takes_no_pairs_and_pairs_need_a_copy(tmp_path: Path) -> None:
    assert es_simhash("evaluate pairs.jsonl --sample 3", cwd=tmp_path).code == 2
    (tmp_path / "pairs.jsonl").write_text(labelled(STORM, HARVEST, False), encoding="utf-8")
    assert "none of 1 pairs is labelled as a copy" in complaint(es_simhash("evaluate pairs.jsonl", cwd=tmp_path))
