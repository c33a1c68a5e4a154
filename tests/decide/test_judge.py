"""What is a document to others, and which one is its original? Two texts, and no store."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from es_simhash.decide.choose import MOST_CONTRADICTING, choose
from es_simhash.decide.judge import Side, judge
from es_simhash.rows import Row
from es_simhash.similarity.confirm import TextFeatures
from es_simhash.similarity.rule import DuplicateRule
from tests.decide.reference import FINGERPRINTER, Plain, documents, resolved

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_simhash.decide.judge import Judged
    from es_simhash.decide.rule import ResolvedRule
    from es_simhash.similarity.rule import Rule

RULE = resolved("copy")
NOTICE = "停水通知：6月12日8时至17时，幸福里小区停水检修，请居民提前储水，恢复供水时间以通知为准。"
OTHER_DAY = NOTICE.replace("12日", "19日")
EDITED = NOTICE.replace("请居民", "请各位居民")
MORE_EDITED = EDITED.replace("提前储水", "提前做好储水准备")


def sides(*texts: str, rule: ResolvedRule = RULE) -> list[Side]:
    """Return documents with the ids 0, 1, …, in their order."""
    given = [{"id": str(number), "text": text} for number, text in enumerate(texts)]
    made = documents(given, rule)
    return [
        Side(one.row._replace(order=order), TextFeatures(one.text, FINGERPRINTER, is_normalised=True))
        for order, one in enumerate(made)
    ]


def told(judged: Sequence[Judged]) -> list[tuple[str, str]]:
    return [(one.candidate.row.id, one.relation) for one in judged]


def test_the_exact_ones_come_first_then_the_most_similar() -> None:
    document, *others = sides(
        NOTICE, "城北新开三条公交线路", MORE_EDITED, OTHER_DAY, EDITED, NOTICE.replace("，", ","), NOTICE
    )
    judged = list(judge(document, others[::-1], RULE))
    exact, similar, different = told(judged)[:2], told(judged)[2:-1], told(judged)[-1]
    assert exact == [("5", "exact"), ("6", "exact")]
    assert sorted(similar) == [("2", "copy"), ("3", "contradicts"), ("4", "copy")]
    assert different == ("1", "different")
    similarities = [one.similarity or 0.0 for one in judged]
    assert similarities == sorted(similarities, reverse=True)
    assert [one.similarity for one in judged[:2]] == [1.0, 1.0]


def test_the_most_similar_that_does_not_contradict_is_the_original_then_the_earliest() -> None:
    document, *others = sides(NOTICE, MORE_EDITED, OTHER_DAY, EDITED, EDITED + "。")
    chosen = choose(judge(document, others, RULE))
    assert chosen.original is not None
    assert (chosen.original.id, chosen.original.exact) == ("3", False)
    assert [one.candidate.row.id for one in chosen.contradicting] == ["2"]


def test_contradictions_are_told_up_to_some_and_no_more() -> None:
    others = [NOTICE.replace("12日", f"{day}日") for day in range(13, 25)]
    document, *candidates = sides(NOTICE, *others)
    chosen = choose(judge(document, candidates, RULE))
    assert chosen.original is None
    assert [one.relation for one in chosen.contradicting] == ["contradicts"] * MOST_CONTRADICTING
    allowing = resolved(DuplicateRule(contradictions="allow"))
    assert {one.relation for one in judge(document, candidates, allowing)} == {"copy"}


def test_documents_without_a_text_or_outside_of_the_window_are_different() -> None:
    for rule in (RULE, resolved("fingerprint"), resolved("exact")):
        document, other = sides("", "！！", rule=rule)
        assert told(list(judge(document, [other], rule))) == [("1", "different")]
    rule = resolved(DuplicateRule("copy", within=timedelta(days=1), time_field="date"))
    document, other = sides(NOTICE, NOTICE)
    days = [Side(side.row._replace(time=time), side.text) for side, time in ((document, 0), (other, 10**9))]
    assert told(list(judge(days[0], days[1:], rule))) == [("1", "different")]


@pytest.mark.parametrize("distance", [0, 3, 4, 9])
def test_by_fingerprints_the_nearest_comes_first(distance: int) -> None:
    rule = resolved("fingerprint")
    document = Side(Row("a", (1 << distance) - 1, "x"), None)
    near, far = Side(Row("b", 0, "y", order=1), None), Side(Row("c", 7 << 60, "z"), None)
    found = [(one.candidate.row.id, one.relation, one.distance) for one in judge(document, [far, near], rule)]
    assert ("b", "copy" if distance <= 3 else "different", distance) in found
    if distance <= 3:
        assert found[0][0] == ("b" if distance <= 3 else "c")


TEXTS = st.lists(
    st.sampled_from(
        [NOTICE, OTHER_DAY, EDITED, MORE_EDITED, NOTICE * 3, EDITED + NOTICE * 2, OTHER_DAY * 3, "停水", "通知："]
    ),
    min_size=2,
    max_size=9,
)


@pytest.mark.parametrize("rule", ["copy", "contained", "fingerprint", "exact"])
@given(texts=TEXTS)
def test_the_original_is_that_of_the_reference(rule: Rule, texts: list[str]) -> None:
    by, plain = resolved(rule), Plain(resolved(rule))
    made = documents([{"id": str(number), "text": text} for number, text in enumerate(texts)], by)
    for document in made[:-1]:
        plain.ingest(document)
    sides = [
        Side(one.row._replace(order=plain.known[one.row.id].order, duplicate_of=plain.known[one.row.id].original), text)
        for one, text in ((one, TextFeatures(one.text, FINGERPRINTER, is_normalised=True)) for one in made[:-1])
        if plain.likeness(made[-1], one) is not None or one.row.digest == made[-1].row.digest
    ]
    exact = [side for side in sides if side.row.digest == made[-1].row.digest]
    originals = [side for side in sides if side.row.duplicate_of is None]
    asking = Side(made[-1].row, TextFeatures(made[-1].text, FINGERPRINTER, is_normalised=True))
    original = choose(judge(asking, exact[:1] or originals, by)).original
    assert (None if original is None else original.id) == plain.ingest(made[-1])[1]
