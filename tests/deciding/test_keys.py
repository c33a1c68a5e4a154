"""Keys: candidates come from keys and digests, texts always confirm, and every store gives the same outcomes."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from es_simhash import Documents, DuplicateRule, Fingerprinter, Outcome
from es_simhash.contract import KeysState
from es_simhash.search.keys import KeyIndex, key_queries
from es_simhash.similarity.confirm import Confirm, most_texts
from es_simhash.stores.address import open_store
from tests.contract import LinearStore
from tests.limited import ingested
from tests.rules import keywords_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from es_simhash.contract import Store

CONFIRM = 0.8
SENTENCES = [
    "市气象台今晨六时发布暴雨橙色预警信号，预计未来三小时城区降雨量将达五十毫米以上",
    "请市民注意防范，尽量减少外出，低洼地区的居民应当做好转移准备",
    "交通部门提醒，部分路段已经出现积水，驾车出行请绕行并注意安全",
    "教育局通知，今天全市中小学和幼儿园停课一天，具体复课时间另行通知",
    "水务集团表示，目前各泵站运行正常，排水人员已全部到岗待命",
    "消防救援队伍已做好准备，如遇险情请及时拨打求助电话",
]
FINGERPRINTER = Fingerprinter()


@st.composite
def documents(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Short and long texts, copies of each other with edits; some ids come again."""
    made: list[dict[str, Any]] = []
    for _ in range(draw(st.integers(1, 12))):
        if made and draw(st.booleans()):
            text = draw(st.sampled_from(made))["text"]
            at = draw(st.integers(0, len(text) - 1))
            text = text[:at] + draw(st.sampled_from(["", "大", "，", "x1"])) + text[at + draw(st.integers(0, 4)) :]
        else:
            text = "。".join(draw(st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=5)))
        made.append({"id": f"d{len(made)}", "text": text or "空"})
    return made


def reference(items: list[dict[str, Any]], hours: int | None = None) -> list[tuple[str, str | None]]:
    """The slow reference: each document is compared with every document before it.

    :param hours: only documents whose ``hour`` differs by at most so many are compared.
    """
    confirm = Confirm(CONFIRM, "either", FINGERPRINTER, numbers_agree=True)
    features = [confirm.features(item["text"]) for item in items]
    fingerprints = [FINGERPRINTER.fingerprint(item["text"]) for item in items]
    outcomes: list[tuple[str, str | None]] = []
    for later, (ours, print_) in enumerate(zip(features, fingerprints, strict=True)):
        found: list[tuple[bool, int, int]] = []
        for earlier in range(later):
            if hours is not None and abs(items[earlier]["hour"] - items[later]["hour"]) > hours:
                continue
            if fingerprints[earlier].digest == print_.digest:
                found.append((False, 0, earlier))
                continue
            theirs = features[earlier]
            queries = key_queries(ours.keys, CONFIRM)
            shares, _ = KeyIndex([theirs.keys.values], [theirs.keys.length], [queries]).sharing(queries)
            if len(shares) and confirm.similarity(ours, theirs) >= CONFIRM:
                distance = print_.distance(fingerprints[earlier])
                found.append((True, 65 if distance is None else distance, earlier))
        # A document that duplicates an exact duplicate is linked to the first of the copies.
        best = min(found, default=None)
        kind = "new" if best is None else "near_duplicate" if best[0] else "exact_duplicate"
        outcomes.append((kind, None if best is None else f"d{best[2]}"))
    return outcomes


def ingest(store: Store, items: list[dict[str, Any]], **options: Any) -> list[Outcome]:
    with Documents(store) as opened:
        opened.setup(keys=True)
        return list(ingested(opened, items, confirm=CONFIRM, **options))


def links(outcomes: list[Outcome]) -> list[tuple[str, str | None]]:
    return [(outcome.outcome, outcome.duplicate_of) for outcome in outcomes]


@pytest.mark.parametrize("ahead", [0, 2])
@pytest.mark.parametrize("lagging", [False, True])
@settings(max_examples=40)
@given(items=documents(), batch=st.integers(1, 12))
def test_outcomes_are_those_of_comparing_each_document_with_all_before_it(
    ahead: int, lagging: bool, items: list[dict[str, Any]], batch: int
) -> None:
    outcomes = ingest(LinearStore(lagging=lagging), items, batch_size=batch, ahead=ahead)
    assert links(outcomes) == reference(items)


@settings(max_examples=25)
@given(items=documents(), batch=st.integers(1, 12))
def test_sqlite_gives_the_outcomes_of_the_reference(items: list[dict[str, Any]], batch: int) -> None:
    assert links(ingest(open_store("sqlite:///:memory:"), items, batch_size=batch)) == reference(items)


@pytest.mark.elasticsearch
def test_elasticsearch_gives_the_outcomes_of_sqlite(make_index: Callable[[], str], elasticsearch_url: str) -> None:
    items = [{"id": f"d{n}", "text": "。".join([*SENTENCES[n % 3 :], f"第{n}号"][: 1 + n % 6])} for n in range(60)]
    for rule, expected in (({}, {"new", "exact_duplicate"}), ({"numbers_agree": False}, {"new", "near_duplicate"})):
        here = ingest(open_store("sqlite:///:memory:"), items, batch_size=7, **keywords_of(rule))
        there = ingest(open_store(f"{elasticsearch_url}/{make_index()}"), items, batch_size=7, **keywords_of(rule))
        assert [outcome.to_dict() for outcome in there] == [outcome.to_dict() for outcome in here]
        assert {outcome.outcome for outcome in here} >= expected


LONG = "。".join(SENTENCES)


def test_similar_finds_by_keys_what_the_fingerprint_does_not() -> None:
    with Documents("sqlite:///:memory:") as opened:
        opened.setup(keys=True)
        list(
            opened.ingest(
                [{"id": 1, "text": LONG}, {"id": 2, "text": SENTENCES[0]}], rule=DuplicateRule(confirm=CONFIRM)
            )
        )
        cut = LONG[: int(len(LONG) * 0.85)]
        [match] = opened.similar(cut, rule=DuplicateRule(confirm=CONFIRM))
        assert match.id == "1"
        assert match.distance is not None
        assert match.distance > 3
        assert opened.similar(cut, rule=DuplicateRule(confirm=CONFIRM)).complete
        assert opened.similar(cut, rule=DuplicateRule(confirm=CONFIRM, max_distance=3)) == []
        [short] = opened.similar(
            SENTENCES[0].replace("六时", "七时"), rule=DuplicateRule(confirm=CONFIRM, numbers_agree=False)
        )
        assert short.id == "2"
        assert [match.id for match in opened.similar_to("1", rule=DuplicateRule(confirm=CONFIRM))] == []


def test_group_finds_by_keys_what_several_ingests_added() -> None:
    with Documents("sqlite:///:memory:") as opened:
        opened.setup(keys=True)
        for n, text in enumerate([LONG, LONG[:-20], SENTENCES[1], SENTENCES[1] + "吧"]):
            list(opened.ingest([{"id": n, "text": text}], rule="exact"))
        assert {row.group for row in opened.export()} == {"0", "1", "2", "3"}
        opened.setup(rule=DuplicateRule(confirm=CONFIRM))
        report = opened.group(rule=DuplicateRule(confirm=CONFIRM))
        assert (report.groups, report.members, report.left_out) == (2, 4, 0)
        assert {row.id: row.group for row in opened.export()} == {"0": "0", "1": "0", "2": "2", "3": "2"}


def test_a_store_that_an_ingest_with_confirm_makes_has_keys() -> None:
    store = LinearStore()
    with Documents(store) as opened:
        list(opened.ingest([{"id": 1, "text": LONG}], rule=DuplicateRule(confirm=CONFIRM)))
    assert store.describe_keys() == KeysState.COMPLETE


def test_when_the_original_is_edited_or_removed_its_duplicate_finds_another_by_keys() -> None:
    with Documents("sqlite:///:memory:") as opened:
        opened.setup(keys=True)
        items = [{"id": n, "text": LONG[: len(LONG) - 5 * n]} for n in range(3)]
        list(opened.ingest(items, rule=DuplicateRule(confirm=CONFIRM)))
        opened.remove([0], rule=DuplicateRule(confirm=CONFIRM))
        assert {row.id: row.duplicate_of for row in opened.export()} == {"1": None, "2": "1"}
        list(
            opened.ingest(
                [{"id": 1, "text": "完全不同的一条新闻，讲的是另外一件事情"}], rule=DuplicateRule(confirm=CONFIRM)
            )
        )
        assert {row.id: row.duplicate_of for row in opened.export()} == {"1": None, "2": None}


def test_of_a_template_so_many_texts_are_compared_and_the_others_are_counted() -> None:
    page = "。".join(f"{sentence}{n}" for n in range(30) for sentence in SENTENCES)
    assert most_texts(len(page) // 2) == 20
    items = [{"id": n, "text": f"第{n}号公告。{page}。编号{n:05d}结束"} for n in range(40)]
    outcomes = ingest(LinearStore(), items, batch_size=10, rule=DuplicateRule(numbers_agree=False))
    assert all(outcome.outcome != "new" for outcome in outcomes[1:])
    assert outcomes[-1].left_out == 39 - 20
    assert json.dumps(outcomes[-1].to_dict())


def test_of_titles_that_are_alike_in_all_but_a_number_the_copy_is_found_and_no_answer_is_flagged() -> None:
    titles = [f"我国成功发射第{number}颗遥感卫星 取得圆满成功" for number in range(90)]
    copy = titles[40].replace(" 取得", "并取得")
    with Documents("sqlite:///:memory:") as opened:
        outcomes = list(opened.ingest([{"id": n, "text": text} for n, text in enumerate([*titles, copy])]))
        assert [outcome.left_out for outcome in outcomes] == [0] * 91
        assert [outcome.duplicate_of for outcome in outcomes] == [None] * 90 + ["40"]
        found = opened.similar(copy)
        assert ([match.id for match in found], found.complete) == (["90", "40"], True)
        assert opened.group().left_out == 0


@pytest.mark.parametrize("length", [59, 60, 61, 149, 150, 151])
def test_at_each_boundary_of_the_keys_an_edited_copy_is_found_from_either_side(length: int) -> None:
    rng = random.Random(length)
    texts = []
    for more in (0, 1, 3):
        text = [chr(rng.randint(0x5000, 0x9FA5)) for _ in range(length)]
        other = text + [chr(rng.randint(0x5000, 0x9FA5)) for _ in range(more)]
        for at in rng.sample(range(length), length // 12):
            other[at] = "囗"
        texts += ["".join(text), "".join(other)]
    with Documents("sqlite:///:memory:") as opened:
        list(opened.ingest([{"id": n, "text": text} for n, text in enumerate(texts)]))
        found = [{int(match.id) for match in opened.similar(text)} for text in texts]
    assert found == [{n, n ^ 1} for n in range(len(texts))]


def test_texts_without_word_characters_have_no_near_duplicates() -> None:
    texts = ["！！！", "！！", "🎉🎉", "", "  ", "https://t.cn/A6", "！！！"]
    with Documents("sqlite:///:memory:") as opened:
        outcomes = list(opened.ingest([{"id": n, "text": text} for n, text in enumerate(texts)]))
        assert [outcome.duplicate_of for outcome in outcomes] == [None] * 6 + ["0"]
        found = [[match.id for match in opened.similar(text)] for text in ("！！", "", "？", "🎉🎉")]
        assert found == [["1"], [], [], ["2"]]
        assert opened.group().members == 2


def test_similar_returns_a_thousand_of_very_many_documents_with_one_fingerprint_and_counts_the_others() -> None:
    def text(number: int) -> str:
        return "市气象台发布暴雨橙色预警" + f"{number:b}".replace("0", "，").replace("1", "。")

    with Documents("sqlite:///:memory:") as opened:
        outcomes = list(opened.ingest(({"id": n, "text": text(n)} for n in range(1_100)), rule="fingerprint"))
        assert {outcome.outcome for outcome in outcomes[1:]} == {"near_duplicate"}
        assert {outcome.duplicate_of for outcome in outcomes[1:]} == {"0"}
        matches = opened.similar(text(5_000), rule="fingerprint")
        assert (len(matches), matches.left_out, matches.complete) == (1_000, 100, False)
        [confirmed] = [match for match in opened.similar(text(7), rule="fingerprint") if match.exact]
        assert confirmed.id == "7"
