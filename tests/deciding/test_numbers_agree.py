"""Where texts confirm and numbers must agree: a text with other numbers is no duplicate, however similar it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from es_simhash import Documents, DuplicateRule, compare
from es_simhash.similarity.measures import MEASURES
from tests.rules import keywords_of

if TYPE_CHECKING:
    from es_simhash.similarity.measures import Measure

NOTICE = (
    "供水公司通知，因主管道检修，3月15日早八点至晚六点，城东片区将暂停供水，请居民提前储水备用，用水单位做好安排，"
    "恢复供水初期可能出现短时水色发黄，稍作放水后即可正常使用，由此带来的不便敬请谅解，详情可拨打服务热线咨询值班人员。"
)
OTHER_DAY = NOTICE.replace("15日", "16日")
HEADED = "本报讯，记者从有关部门获悉，" + NOTICE + "截至发稿时，已有12个小区张贴了告示，另有两处临时取水点开放。"


def outcomes(*texts: str, confirm: float, measure: Measure, numbers_agree: bool) -> list[str]:
    with Documents("sqlite:///:memory:") as documents:
        documents.setup(keys=True)
        given = [{"id": number, "text": text} for number, text in enumerate(texts)]
        options = {"confirm": confirm, "measure": measure, "numbers_agree": numbers_agree}
        return [outcome.outcome for outcome in documents.ingest(given, **keywords_of(options))]  # type: ignore[arg-type]


@pytest.mark.parametrize("measure", MEASURES)
def test_numbers_count_at_a_similarity_that_is_exactly_the_least(measure: Measure) -> None:
    decided = compare(NOTICE, OTHER_DAY, rule=DuplicateRule(confirm=0.5, measure=measure))
    exactly = decided.similarity
    assert exactly is not None
    assert 0.5 < exactly < 1
    assert outcomes(NOTICE, OTHER_DAY, confirm=exactly, measure=measure, numbers_agree=False) == [
        "new",
        "near_duplicate",
    ]
    assert outcomes(NOTICE, OTHER_DAY, confirm=exactly, measure=measure, numbers_agree=True) == ["new", "new"]


@pytest.mark.parametrize("texts", [(NOTICE, HEADED), (HEADED, NOTICE)], ids=["first the part", "first the whole"])
def test_with_containment_the_longer_text_may_have_more_numbers(texts: tuple[str, str]) -> None:
    assert outcomes(*texts, confirm=0.8, measure="containment", numbers_agree=True) == ["new", "near_duplicate"]
    decided = compare(*texts, rule=DuplicateRule(confirm=0.8, measure="containment", numbers_agree=True))
    assert (decided.numbers_agree, decided.verdict) == (True, "near_duplicate")


@pytest.mark.parametrize("whole", [HEADED.replace("15日", "16日"), HEADED.replace("3月15日", "三月")])
def test_with_containment_the_longer_text_must_have_the_numbers_of_the_shorter_one(whole: str) -> None:
    assert outcomes(NOTICE, whole, confirm=0.8, measure="containment", numbers_agree=False) == ["new", "near_duplicate"]
    for texts in ((NOTICE, whole), (whole, NOTICE)):
        assert outcomes(*texts, confirm=0.8, measure="containment", numbers_agree=True) == ["new", "new"]


@pytest.mark.parametrize("measure", [measure for measure in MEASURES if measure != "containment"])
def test_with_each_other_measure_neither_text_may_have_more_numbers(measure: Measure) -> None:
    more = NOTICE + "共12户34人56辆"
    assert outcomes(NOTICE, more, confirm=0.8, measure=measure, numbers_agree=False) == ["new", "near_duplicate"]
    for texts in ((NOTICE, more), (more, NOTICE)):
        assert outcomes(*texts, confirm=0.8, measure=measure, numbers_agree=True) == ["new", "new"]
