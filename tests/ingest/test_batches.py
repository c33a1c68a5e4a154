"""The input in batches: of bounded count and size, taken no further than asked for."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from es_simhash import Documents, Outcome
from es_simhash.deciding.outcome import Document
from es_simhash.errors import InputError
from es_simhash.ingest.batches import Source
from es_simhash.lines import Line
from es_simhash.portal import Portal
from tests.contract import LinearStore
from tests.ingest import Item, batches, documents

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator


@given(st.integers(0, 20), st.integers(1, 25))
def test_batches_have_the_size_asked_for_and_lose_nothing(count: int, size: int) -> None:
    made = batches(documents(count), size)
    assert [item.id for batch in made for item in batch] == [str(number) for number in range(count)]
    assert all(len(batch) == size for batch in made[:-1])
    assert all(0 < len(batch) <= size for batch in made)


def test_a_batch_ends_when_it_has_enough_characters() -> None:
    lengths = [10, 10, 90, 10, 90, 90, 10]
    made = batches([{"id": n, "text": "雨" * length} for n, length in enumerate(lengths)], max_characters=150)
    sizes = [[lengths[int(item.id or "")] for item in batch] for batch in made]
    assert all(sum(batch) >= 150 > sum(batch[:-1]) for batch in sizes[:-1])
    assert [len(batch) for batch in sizes] == [5, 2]


@pytest.mark.parametrize(
    "nested",
    [
        lambda text: {"content": {"body": text}},
        lambda text: {"paragraphs": [{"text": text[:30]}, {"text": text[30:]}]},
        lambda text: {"a": (text[:30], [[text[30:]]]), "n": [1, 2.5, None, True]},
    ],
    ids=["object", "list", "deeper"],
)
def test_the_characters_of_objects_within_count_too(nested: Any) -> None:
    source = Source([nested("雨" * 60) for _ in range(7)], max_characters=100)
    assert [len(lines) for lines in iter(source.take, [])] == [2, 2, 2, 1]


def test_a_document_that_holds_itself_or_is_very_deep_is_rejected() -> None:
    itself: dict[str, Any] = {"id": 1, "text": "x"}
    itself["both"] = [itself, itself]
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    [batch] = batches([itself, {"id": 2, "text": "x", "deep": deep}, {"id": 3, "text": "x"}])
    assert [type(item) for item in batch] == [Outcome, Outcome, Document]


def test_rejected_documents_stand_in_their_places() -> None:
    [batch] = batches([{"id": 1, "text": "x"}, {"id": 2}, 5, {"id": 3, "text": "x"}])
    assert [(type(item), item.id) for item in batch] == [
        (Document, "1"),
        (Outcome, "2"),
        (Outcome, None),
        (Document, "3"),
    ]


def test_a_dict_s_place_is_its_number_and_a_line_s_its_own() -> None:
    good = {"id": 1, "text": "x"}
    [batch] = batches([good, Line("a.jsonl:9", {"id": 2}), Line("a.jsonl:10", problem="not JSON"), {"id": 3}])
    assert [item.place for item in batch] == ["document 1", "a.jsonl:9", "a.jsonl:10", "document 4"]
    reasons = [item.reason for item in batch if isinstance(item, Outcome)]
    assert reasons[1] == "a.jsonl:10: not JSON"
    assert all(
        reason is not None and reason.startswith(f"{item.place}: ")
        for reason, item in zip(reasons, batch[1:], strict=True)
    )


@pytest.mark.parametrize("size", [0, -1])
def test_a_batch_has_at_least_one_document(size: int) -> None:
    with pytest.raises(InputError, match=f"a batch size of {size}: use a whole number from 1"):
        Documents(LinearStore()).ingest([], batch_size=size, rule="fingerprint")


def test_input_is_taken_no_further_than_the_batch_needs() -> None:
    taken = []

    def source() -> Iterator[dict[str, Any]]:
        for document in documents(10):
            taken.append(document)
            yield document

    Source(source(), 3).take()
    assert len(taken) == 3


@pytest.mark.parametrize("awaited", [False, True], ids=["iterable", "async iterable"])
def test_async_batches_are_those_of_sync_input(awaited: bool) -> None:
    given = [*documents(5), {"id": 1, "text": "x"}, {"id": 9}]

    async def source() -> AsyncIterator[dict[str, Any]]:
        for document in given:
            await asyncio.sleep(0)
            yield document

    async def collect() -> list[list[Item]]:
        portal = Portal(1)
        return await portal.run(lambda: batches(source() if awaited else given, 3))

    assert asyncio.run(collect()) == batches(given, 3)
