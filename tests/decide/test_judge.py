"""What is a document to others, and which one is its original? Two texts, and no store."""

from __future__ import annotations

from datetime import timedelta

from es_simhash.decide.choose import MOST_CONTRADICTING, choose
from es_simhash.decide.judge import Side, judge
from es_simhash.similarity.confirm import TextFeatures
from es_simhash.similarity.rule import DuplicateRule
from tests.decide.reference import FINGERPRINTER, documents, resolved

RULE = resolved("copy")
NOTICE = "停水通知：6月12日8时至17时，幸福里小区停水检修，请居民提前储水，恢复供水时间以通知为准。"
OTHER_DAY = NOTICE.replace("12日", "19日")
EDITED = NOTICE.replace("请居民", "请各位居民")
MORE_EDITED = EDITED.replace("提前储水", "提前做好储水准备")


def sides(*texts: str) -> list[Side]:
    """Return documents with the ids 0, 1, …, in their order."""
    given = [{"id": str(number), "text": text} for number, text in enumerate(texts)]
    made = documents(given, RULE)
    return [
        Side(one.row._replace(order=order), TextFeatures(one.text, FINGERPRINTER, is_normalised=True))
        for order, one in enumerate(made)
    ]


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


def test_documents_outside_of_the_window_are_different() -> None:
    rule = resolved(DuplicateRule("copy", within=timedelta(days=1), time_field="date"))
    document, other = sides(NOTICE, NOTICE)
    days = [Side(side.row._replace(time=time), side.text) for side, time in ((document, 0), (other, 10**9))]
    assert [one.relation for one in judge(days[0], days[1:], rule)] == ["different"]
