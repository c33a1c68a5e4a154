"""Laws of originals, on each store: what may be the original of a document, and what may not."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import Documents, DuplicateRule, Scheme, compare, pairs
from es_simhash.store.address import open_store
from es_simhash.store.elastic.store import ElasticStore
from tests.cli import HARVEST as OTHER
from tests.client import STORM
from tests.es_node.fixtures import ELASTICSEARCH, OPENSEARCH

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from es_simhash import Outcome


def dated(id: str, date: str, text: str = STORM) -> dict[str, Any]:
    return {"id": id, "date": date, "text": text}


def told(outcomes: Sequence[Outcome]) -> list[tuple[str | None, str, str | None]]:
    return [(outcome.id, outcome.outcome, outcome.duplicate_of) for outcome in outcomes]


def test_the_original_of_a_copy_is_in_its_window_too(new_address: Callable[[], str]) -> None:
    rule = DuplicateRule(within=timedelta(days=7), time_field="date")
    days = [f"2024-01-{day:02}" for day in (1, 6, 11, 16, 21)]
    with Documents(new_address()) as documents:
        documents.setup(rule)
        outcomes = documents.add_many([dated(day, day) for day in days], refresh=True)
        originals = [None, days[0], None, days[2], None]
        assert [outcome.duplicate_of for outcome in outcomes] == originals
        assert documents.group().changed == 0
        assert sorted(copy.id for copy in documents.duplicates()) == [days[1], days[3]]


@pytest.mark.parametrize("rule", ["exact", "copy"])
@pytest.mark.parametrize("at_once", [True, False])
def test_an_equal_text_is_found_behind_copies_of_an_original_outside_of_the_window(
    new_address: Callable[[], str], rule: Any, at_once: bool
) -> None:
    chosen = DuplicateRule(rule, within=timedelta(days=7), time_field="date")
    batch = [dated(str(number), f"2024-01-{day:02}") for number, day in enumerate((1, 6, 6, 6, 10, 11))]
    with Documents(new_address()) as documents:
        documents.setup(chosen)
        parts = [batch] if at_once else [[document] for document in batch]
        [*_, last] = [outcome for part in parts for outcome in documents.add_many(part, refresh=True)]
        assert (last.outcome, last.duplicate_of) == ("exact_duplicate", "4")
        assert documents.group().changed == 0


def test_the_original_of_a_copy_matches_the_filter_too(new_address: Callable[[], str]) -> None:
    ours = {"term": {"tenant.keyword": "a"}}
    with Documents(new_address()) as documents:
        documents.setup()
        documents.add({"id": "theirs", "tenant": "b", "text": STORM}, refresh=True)
        documents.add({"id": "linked", "tenant": "a", "text": STORM}, refresh=True)
        [first, second] = documents.add_many([{"id": id, "tenant": "a", "text": STORM} for id in "12"], filter=ours)
        assert told([first, second]) == [("1", "new", None), ("2", "exact_duplicate", "1")]


@pytest.mark.parametrize("rule", ["exact", "copy"])
def test_an_equal_text_is_found_behind_those_that_were_replaced(new_address: Callable[[], str], rule: Any) -> None:
    address = new_address()
    chosen = DuplicateRule(rule, within=timedelta(days=5), time_field="date")
    with Documents(address) as before, Documents(address) as documents:
        before.setup(chosen)
        for id, date in (("d1", "2024-01-01"), ("d2", "2024-01-10")):  # both are originals
            before.add(dated(id, date), refresh=True)
        documents.add(dated("d1", "2024-01-01", OTHER))  # search does not know it yet
        assert told([documents.add(dated("d3", "2024-01-06"))]) == [("d3", "exact_duplicate", "d2")]


@pytest.mark.parametrize("new_address", [ELASTICSEARCH, OPENSEARCH], indirect=True)
@pytest.mark.parametrize("rule", ["copy", "fingerprint", "exact"])
def test_of_documents_of_one_time_a_backfill_and_a_group_link_all_but_one(
    new_address: Callable[[], str], rule: Any
) -> None:
    store = open_store(new_address())
    assert isinstance(store, ElasticStore)
    for number in range(6):
        store.connection.send("PUT", f"_doc/{number}", {"text": STORM, "date": "2026-03-01"})
    store.refresh()
    with Documents(store, scheme=Scheme()) as documents:
        documents.setup(DuplicateRule(rule, within=timedelta(0), time_field="date"))
        outcomes = [outcome.outcome for outcome in documents.backfill()]
        assert sorted(outcomes) == ["exact_duplicate"] * 5 + ["new"]
        report = documents.group()
        assert (report.groups, report.members, report.changed) == (1, 6, 0)


@pytest.mark.parametrize(("first", "second"), [("日出行安", "日二行安"), ("伤者5人，已送医", "伤者6人，已送医")])
def test_an_update_leaves_no_two_groups_of_one_text(documents: Documents, first: str, second: str) -> None:
    a, b = (f"昨天上午高速公路追尾{part}" for part in (first, second))
    documents.add_many([{"id": "a", "text": a}, {"id": "b", "text": b}], refresh=True)
    [outcome] = documents.add_many([{"id": "a", "text": b}], refresh=True)
    assert told([outcome]) == [("a", "updated", "b")]
    assert {row.duplicate_of for row in documents.export() if row.id == "a"} == {"b"}
    assert documents.group().changed == 0


@pytest.mark.parametrize("former", [0, 1])
@pytest.mark.parametrize("text", [STORM, STORM.replace("部分", "多处")])
def test_a_filter_is_asked_of_documents_as_the_batch_changes_them(documents: Documents, former: int, text: str) -> None:
    shown = {"term": {"shown": 1}}
    documents.add({"id": "a", "text": STORM, "shown": former}, refresh=True)
    batch = [{"id": "a", "text": STORM, "shown": 1 - former}, {"id": "b", "text": text, "shown": 1}]
    _, outcome = documents.add_many(batch, filter=shown)
    assert outcome.duplicate_of == ("a" if former == 0 else None)


KOREAN = (
    "정부는 오늘 오전 긴급 회의를 열고 최근 계속되고 있는 폭우로 인한 피해 상황을 점검한 뒤 이재민에 대한 지원 "
    "대책을 논의하고 복구 작업을 서둘러 진행하기로 결정했다고 밝혔다"
)
ENGLISH = (
    "The company said on Tuesday that it will recall all affected vehicles this month after several owners reported "
    "sudden failures of the brakes."
)


@pytest.mark.parametrize(
    ("text", "other"),
    [
        (KOREAN, KOREAN.replace(" ", "", 12)),
        (ENGLISH, ENGLISH.replace(" ", "")),
        (ENGLISH, " ".join(ENGLISH.replace(" ", ""))),
        (STORM * 2, "*".join(STORM * 2)),
    ],
)
def test_an_equal_text_with_other_spaces_is_a_copy_by_every_call(text: str, other: str) -> None:
    assert compare(text, other).relation == "copy"
    assert len(list(pairs([text, other]))) == 1
    for together in (True, False):
        with Documents("memory://") as documents:
            documents.setup()
            given = [{"id": "a", "text": text}, {"id": "b", "text": other}]
            outcomes = documents.add_many(given) if together else [documents.add(one) for one in given]
            assert [one.duplicate_of for one in outcomes] == [None, "a"]
            assert [match.id for match in documents.similar(other)] == ["b", "a"]
            assert documents.group().changed == 0
