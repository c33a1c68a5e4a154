"""The figures of the rules, the pairs that are drawn for labelling, and the command."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from es_simhash import Documents, DuplicateRule, InputError, compare
from es_simhash.similarity.rule import RULES
from es_simhash.tools.evaluation import Figures, LabelledPair, evaluate, sample_pairs
from es_simhash.tools.evaluation.intervals import wilson
from tests.cli import HARVEST, STORM, STORM_FARTHER, STORM_NEAR, complaint, es_simhash

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from es_simhash.similarity.rule import Rule

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


def test_a_refined_rule_takes_the_place_of_the_plain_one() -> None:
    pairs = [LabelledPair(NOTICE, OTHER_NUMBERS, True)]
    assert evaluate(pairs)["copy"].recall == 0
    assert evaluate(pairs, rule=DuplicateRule("copy", contradictions="allow"))["copy, contradictions allow"].recall == 1


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
        assert len(sample_pairs(documents, 1)) == 1
        assert {(pair.a_id, pair.b_id) for pair in pairs} & {("5", "6"), ("6", "5")}
        for pair in pairs:
            assert (pair.a, pair.b) == (TEXTS[int(pair.a_id)], TEXTS[int(pair.b_id)])
            assert compare(pair.a, pair.b).relation != "exact"
        assert len({frozenset((pair.a_id, pair.b_id)) for pair in pairs}) == len(pairs)
        with pytest.raises(InputError, match="is like another: ingest more documents"):
            list(sample_pairs(documents, 5, filter={"ids": {"values": ["4"]}}))


def notice(number: int, minutes: int, edits: int) -> str:
    """A notice of its own street, for a number of minutes, in which some characters differ."""
    street = "".join(chr(0x4E00 + (number * 41 + step * 977) % 5000) for step in range(30))
    body = f"{street}今日检修停水{minutes}分钟，请沿线居民提前储水备用，恢复供水后先放水再使用"
    return "改" * edits + body[edits:]


def test_a_third_of_the_pairs_is_above_the_limit_a_third_below_and_a_third_contradicts(address: str) -> None:
    texts = [
        text
        for number in range(30)
        for text in (notice(number, 30, 0), notice(number, 45 if number % 3 == 0 else 30, (3, 6, 24)[number % 3]))
    ]
    with Documents(address) as documents:
        documents.setup()
        list(documents.ingest({"id": str(number), "text": text} for number, text in enumerate(texts)))
        pairs = sample_pairs(documents, 9)
    relations = [compare(pair.a, pair.b).relation for pair in pairs]
    assert sorted(relations) == ["contradicts"] * 3 + ["copy"] * 3 + ["different"] * 3


def test_a_store_of_the_rule_fingerprint_gives_pairs_on_both_sides_of_its_distance(address: str) -> None:
    with Documents(address) as documents:
        documents.setup(rule=DuplicateRule("fingerprint", max_distance=1))
        texts = [STORM, STORM_NEAR, STORM_FARTHER, HARVEST]
        list(documents.ingest({"id": str(number), "text": text} for number, text in enumerate(texts)))
        distances = {compare(pair.a, pair.b).distance for pair in sample_pairs(documents, 3)}
    assert distances
    assert all(distance is not None and 0 < distance <= 7 for distance in distances)


def test_a_rule_is_better_only_if_it_is_right_on_enough_pairs_where_the_other_is_wrong() -> None:
    def figures(*wrong: int) -> Figures:
        return Figures(10, tuple(map(str, wrong)), ())

    assert not figures().is_better_than(figures())
    assert not figures().is_better_than(figures(1, 2, 3))
    assert figures().is_better_than(figures(*range(4)))
    assert not figures(*range(10, 14)).is_better_than(figures(*range(4)))
    assert figures(*range(2, 8)).is_better_than(figures(*range(2, 12)))
    assert not figures(*range(4)).is_better_than(figures())


@pytest.mark.parametrize("rule", ["copy", "contained", "fingerprint"])
def test_a_range_of_limits_gives_the_figures_of_the_rule_with_each(rule: Rule) -> None:
    pairs = [LabelledPair(STORM, other, other != HARVEST, other) for other in (STORM_NEAR, STORM_FARTHER, HARVEST)]
    made = evaluate(pairs, rule=rule, limits=True)
    assert len(made) == (8 if rule == "fingerprint" else 11)
    for name, figures in made.items():
        limit = name.rpartition("=")[2]
        one = (
            DuplicateRule("fingerprint", max_distance=int(limit))
            if rule == "fingerprint"
            else DuplicateRule(rule, min_similarity=float(limit))
        )
        found = [compare(pair.a, pair.b, rule=one).is_duplicate for pair in pairs]
        assert figures.right == sum(found[:2])
    with pytest.raises(InputError, match="the rule 'exact' has no limit"):
        evaluate(pairs, rule="exact", limits=True)


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
        (labelled("a", "b", None), 'the label "copy" is null: write true or false, or "unsure"'),
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


def test_a_pair_marked_unsure_does_not_count(tmp_path: Path) -> None:
    text = labelled(STORM, STORM_NEAR, True) + labelled(STORM, HARVEST, "unsure")
    (tmp_path / "pairs.jsonl").write_text(text, encoding="utf-8")
    done = es_simhash("evaluate pairs.jsonl --json", cwd=tmp_path)
    assert (done.code, done.err) == (0, "1 pair marked unsure: not counted\n")
    assert [row["right"] + len(row["missed"]) + len(row["wrong"]) for row in done.json] == [1, 1, 1, 1]


def test_labels_of_texts_that_are_gone_or_changed_are_told_and_count(tmp_path: Path) -> None:
    with Documents(f"sqlite:///{tmp_path}/es-simhash.db") as documents:
        list(documents.ingest({"id": str(number), "text": text} for number, text in enumerate(TEXTS) if text))
        pairs = [json.dumps(asdict(pair) | {"copy": True}) for pair in sample_pairs(documents, 10)]
        (tmp_path / "pairs.jsonl").write_text("\n".join(pairs), encoding="utf-8")
        command = "evaluate pairs.jsonl --json --store sqlite:///es-simhash.db"
        before = es_simhash(command, cwd=tmp_path)
        documents.remove(["5"])
        documents.add({"id": "6", "text": HARVEST})
    after = es_simhash(command, cwd=tmp_path)
    assert (before.code, before.err, after.code, after.out) == (0, "", 0, before.out)
    assert after.err == (
        "documents that sqlite:///es-simhash.db has no longer, or with another text: 2; "
        "their labels count for the texts in the lines\n"
    )


def test_the_table_of_limits_and_the_chart_show_one_rule(tmp_path: Path) -> None:
    text = labelled(STORM, STORM_NEAR, True) + labelled(STORM, HARVEST, False)
    (tmp_path / "pairs.jsonl").write_text(text, encoding="utf-8")
    rows = es_simhash("evaluate pairs.jsonl --limits --chart limits.svg", cwd=tmp_path).out.splitlines()
    assert [row.split("  ")[0] for row in rows[1:12:5]] == [
        "copy, min_similarity=0.50",
        "copy, min_similarity=0.75",
        "copy, min_similarity=1.00",
    ]
    assert rows[1].endswith("  <")
    assert rows[2].endswith("  ~")
    chart = ElementTree.parse(tmp_path / "limits.svg")
    paths = [
        (path.get("class"), str(path.get("d")).count("L") + 1)
        for path in chart.iter("{http://www.w3.org/2000/svg}path")
        if path.get("class") != "grid"
    ]
    # Precision is unknown where nothing is found: there is a gap. A path of one point is that of the legend.
    found = sum(row.split()[2] != "-" for row in rows[1:12])
    assert 1 < found < 11
    curves = [("precision band", 2 * found), ("precision line", found), ("recall band", 22), ("recall line", 11)]
    assert sorted(path for path in paths if path[1] > 1) == curves
    done = es_simhash("evaluate pairs.jsonl --rule fingerprint --chart curve.svg --lang zh", cwd=tmp_path)
    assert len(done.out.splitlines()) >= 10
    assert ">精确率<" in (tmp_path / "curve.svg").read_text(encoding="utf-8")
    assert "the rule 'exact' has no limit" in complaint(
        es_simhash("evaluate pairs.jsonl --rule exact --limits", cwd=tmp_path)
    )


def test_a_sample_takes_no_pairs_and_pairs_need_a_copy(tmp_path: Path) -> None:
    for options in ("pairs.jsonl --sample 3", "pairs.jsonl --page p.html", "--sample 3 --limits"):
        assert es_simhash(f"evaluate {options}", cwd=tmp_path).code == 2
    (tmp_path / "pairs.jsonl").write_text(labelled(STORM, HARVEST, False), encoding="utf-8")
    assert "none of 1 pairs is labelled as a copy" in complaint(es_simhash("evaluate pairs.jsonl", cwd=tmp_path))
