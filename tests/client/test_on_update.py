"""``on_update="keep"``: the text of a stored id stays, if the new text is a copy of it. On each store."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import AsyncDocuments, Documents, InputError, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

PAGE = (
    "阅读 {views}\n茶园进入采摘旺季，合作社把收购点设到村口，茶农当天就能拿到现款，加工厂连夜开机，新茶次日便可以装箱，"
    "发往外地，村里的年轻人也回来帮忙，今年共有{count}户签约。"
)
OTHER = "老城区改造项目今天上午正式启动，施工队伍已经进场，社区工作人员正在逐户登记过渡安置意愿。"


def page(id: str = "a", views: int = 803, count: int = 120) -> dict[str, str]:
    return {"id": id, "text": PAGE.format(views=views, count=count)}


async def added_async(documents: Documents, items: list[Any], **options: Any) -> list[Outcome]:
    client = AsyncDocuments(documents.store)
    return [*await client.add_many(items[:1], **options), *[await client.add(each, **options) for each in items[1:]]]


VERBS: dict[str, Callable[..., Iterable[Outcome]]] = {
    "ingest": Documents.ingest,
    "add": lambda documents, items, **options: [documents.add(each, **options) for each in items],
    "add_many": Documents.add_many,
    "async": lambda documents, items, **options: asyncio.run(added_async(documents, items, **options)),
}


def ingested(documents: Documents, *items: Any, verb: str = "ingest") -> list[tuple[str, str | None]]:
    outcomes = VERBS[verb](documents, list(items), on_update="keep")
    return [(outcome.outcome, outcome.duplicate_of) for outcome in outcomes]


def stored(documents: Documents) -> dict[str, Any]:
    return {id: (found.row, found.source) for id, found in documents.store.read(["a", "b"], ["text", "tag"]).items()}


def test_a_copy_of_the_stored_text_leaves_it_and_writes_nothing(documents: Documents) -> None:
    assert ingested(documents, page(), page("b")) == [("new", None), ("exact_duplicate", "a")]
    before = stored(documents)
    again = list(documents.ingest([page(views=9177) | {"tag": "x"}, page("b", views=1)], on_update="keep"))
    assert [(outcome.outcome, outcome.duplicate_of) for outcome in again] == [("kept", None), ("kept", "a")]
    assert all(outcome.stored and 0.8 < (outcome.similarity or 0) < 1 for outcome in again)
    assert stored(documents) == before
    assert ingested(documents, page(), page("b")) == [("unchanged", None), ("unchanged", "a")]


def test_a_text_that_contradicts_or_is_another_one_replaces_the_stored_text(documents: Documents) -> None:
    assert ingested(documents, page(), {"id": "b", "text": OTHER}) == [("new", None), ("new", None)]
    assert ingested(documents, page(count=130), page("b")) == [("updated", None), ("updated", None)]
    assert ingested(documents, page(count=130, views=4)) == [("kept", None)]


def test_the_stored_text_is_compared_however_often_a_page_changes_a_little(documents: Documents) -> None:
    letters = "采摘旺季合作社收购点设到村口茶农当天就能拿到现款加工厂连夜开机"
    texts = [PAGE.format(views=1, count=1)]
    for letter in letters:
        texts.append(texts[-1].replace(letter, "某", 1))
    outcomes = [ingested(documents, {"id": "a", "text": text})[0][0] for text in texts]
    assert outcomes[:2] == ["new", "kept"]
    assert "updated" in outcomes  # what was kept does not lead further and further away


@pytest.mark.parametrize(("rule", "outcome"), [("fingerprint", "kept"), ("exact", "updated")])
def test_the_rule_says_what_a_copy_is(documents: Documents, rule: str, outcome: str) -> None:
    more = page() | {"text": page()["text"] * 9 + OTHER}
    documents.setup(rule)
    assert ingested(documents, more) == [("new", None)]
    assert ingested(documents, more | {"text": more["text"] + "完"}) == [(outcome, None)]


@pytest.mark.parametrize("verb", VERBS)
def test_what_was_written_last_is_compared_by_each_verb_that_stores(documents: Documents, verb: str) -> None:
    items = [page(), page(views=5), page(count=7), page(count=7, views=5), page()]
    names = [name for name, _ in ingested(documents, *items, verb=verb)]
    assert names == ["new", "kept", "updated", "kept", "updated"]
    with pytest.raises(InputError, match="on_update is 'drop': use one of write, keep"):
        list(VERBS[verb](documents, [page()], on_update="drop"))
