"""A page of hits that the user has not seen."""

from __future__ import annotations

import asyncio
from itertools import accumulate
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from es_simhash import AsyncSeenItems
from es_simhash.client.page import ROUNDS
from es_simhash.errors import InputError, StoreUnavailable
from es_simhash.store.memory_store import MemoryStore
from tests.client import CONFIG, Source, memory


def test_the_caller_says_which_item_a_hit_has(seen: Any, ann: str) -> None:
    seen.add(ann, ["n1"])
    hits = [{"_id": f"n{n}"} for n in range(3)]
    assert seen.page(ann, Source(hits), 5, item=lambda hit: hit["_id"]).hits == [hits[0], hits[2]]


def test_an_error_of_the_fetch_function_is_raised_unchanged(seen: Any, ann: str) -> None:
    for error in (KeyError("theirs"), StoreUnavailable("theirs")):

        def fetch(offset: int, size: int) -> list[str]:
            raise error  # noqa: B023  called before the next turn

        with pytest.raises(type(error), match="theirs"):
            seen.page(ann, fetch, 5, item=lambda hit: hit)


def test_the_fetch_function_of_an_async_page_may_await_other_calls_of_the_same_object() -> None:
    async def page_of() -> list[int]:
        async with AsyncSeenItems(MemoryStore(), **CONFIG, threads=1) as seen:
            await seen.add("ann", [1])

            async def fetch(offset: int, size: int) -> list[int]:
                return await seen.unseen("bob", range(3)[offset : offset + size])

            return (await asyncio.wait_for(seen.page("ann", fetch, 3, item=lambda hit: hit), 30)).hits

    assert asyncio.run(page_of()) == [0, 2]


pages = given(
    hits=st.lists(st.integers(0, 60), max_size=120),
    added=st.sets(st.integers(0, 60)),
    size=st.integers(1, 12),
)


@pages
@settings(max_examples=80, deadline=None, derandomize=True)
def test_successive_pages_lose_no_hit_and_repeat_none(hits: list[int], added: set[int], size: int) -> None:
    source, found, offset, exhausted = Source(hits), [], 0, False
    with memory(added) as seen:
        while not exhausted:
            page = seen.page("ann", source, size, offset=offset, item=lambda hit: hit)
            assert page.offset > offset or page.exhausted
            found += page.hits
            offset, exhausted = page.offset, page.exhausted
    assert found == [hit for hit in hits if hit not in added]
    assert offset == len(hits)


@pages
@settings(max_examples=80, deadline=None, derandomize=True)
def test_a_page_is_full_unless_the_source_is_exhausted_or_the_rounds_are_used_and_its_requests_are_bounded(
    hits: list[int], added: set[int], size: int
) -> None:
    source = Source(hits)
    with memory(added) as seen:
        page = seen.page("ann", source, size, item=lambda hit: hit)
    unseen = [hit for hit in hits if hit not in added]
    assert page.hits == unseen[: len(page.hits)]
    if len(page.hits) < size:
        assert (page.hits == unseen and page.exhausted) or len(source.asked) == ROUNDS
    else:
        assert (len(page.hits), page.exhausted) == (size, False)
    assert 1 <= len(source.asked) <= ROUNDS
    assert [offset for offset, _ in source.asked] == [0, *accumulate(asked for _, asked in source.asked)][:-1]
    assert all(1 <= asked <= 10 * size for _, asked in source.asked)


def test_a_page_of_seen_hits_ends_after_its_rounds_and_the_next_page_starts_behind_them() -> None:
    source = Source(range(100_000))
    with memory(set()) as seen:
        seen.add("ann", range(2_000))
        page = seen.page("ann", source, 10, item=lambda hit: hit)
    assert (page.hits, page.offset, page.exhausted, len(source.asked)) == ([], 420, False, 5)


GROUPS = {n: n - n % 4 if n % 3 else n for n in range(61)}  # 4, 5 and 7 are in the group of 4; 6 is alone


@pages
@settings(max_examples=80, deadline=None, derandomize=True)
def test_a_page_has_one_hit_of_each_group_and_none_of_a_group_that_was_seen(
    hits: list[int], added: set[int], size: int
) -> None:
    """With ``items`` added after each page, all pages together have one hit of each group that was not seen."""
    source, found, offset, exhausted = Source(hits), [], 0, False
    with memory(added) as seen:
        while not exhausted:
            page = seen.page("ann", source, size, group=GROUPS.__getitem__, offset=offset, item=lambda hit: hit)
            assert [hit for hit in page.items if hit in page.hits or hit in map(GROUPS.get, page.hits)] == page.items
            seen.add("ann", page.items)
            found += page.hits
            offset, exhausted = page.offset, page.exhausted
    known, right = set(added), []
    for hit in hits:
        if not known & {hit, GROUPS[hit]}:
            right.append(hit)
            known |= {hit, GROUPS[hit]}
    assert found == right


def test_a_page_for_nobody_leaves_out_copies_alone() -> None:
    with memory({1, 2, 3}) as seen:
        page = seen.page(None, Source(range(12)), 5, group=GROUPS.__getitem__, item=lambda hit: hit)
    assert page.hits == [0, 3, 4, 6, 8]


def test_a_page_of_a_search_reads_ids_and_groups_of_hits(seen: Any, ann: str) -> None:
    hits = [
        {"_id": "a", "fields": {"simhash.group": ["a"]}},
        {"_id": "b", "fields": {"simhash.group": ["a"]}},
        {"_id": "c", "_source": {"simhash": {"group": "c"}}},
        {"_id": "d", "fields": {"simhash.group": ["e"]}},
        {"_id": "f"},
        {"_id": "g", "_source": {"title": "no fingerprint"}},
    ]
    seen.add(ann, ["e"])
    page = seen.page(ann, lambda offset, size: {"hits": {"hits": hits[offset : offset + size]}}, 9)
    assert ([hit["_id"] for hit in page.hits], page.items) == (["a", "c", "f", "g"], ["a", "c", "f", "g"])
    assert seen.page(ann, lambda offset, size: hits[offset : offset + size], 1).hits == hits[:1]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({"took": 1}, "the search returned a dict: return the answer of Elasticsearch, or its list of hits"),
        (None, "the search returned a NoneType"),
        (
            [{"_id": "a"}, {"_id": "b"}],
            r"none of the hits has the field simhash.group: search with docvalue_fields=\[{'field': 'simhash",
        ),
    ],
)
def test_a_search_that_returns_something_else_is_an_error(answer: Any, message: str) -> None:
    with memory(set()) as seen, pytest.raises(InputError, match=message):
        seen.page("ann", lambda offset, size: answer, 5)


@pytest.mark.parametrize("wrong", [{"size": 0}, {"size": -1}, {"offset": -1}])
def test_a_page_of_no_size_is_refused_before_anything_is_fetched(wrong: dict[str, int]) -> None:
    source = Source(range(10))
    with memory(set()) as seen, pytest.raises(InputError, match="use whole numbers from 1 and from 0"):
        seen.page("ann", source, **{"size": 5, **wrong}, item=lambda hit: hit)
    assert source.asked == []
