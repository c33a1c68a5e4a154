"""A page of hits that the user has not seen."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from es_simhash import AsyncSeenItems
from es_simhash.client.page import LARGEST
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
def test_a_page_is_full_or_the_source_is_exhausted_and_its_requests_are_few(
    hits: list[int], added: set[int], size: int
) -> None:
    source = Source(hits)
    with memory(added) as seen:
        page = seen.page("ann", source, size, item=lambda hit: hit)
    unseen = [hit for hit in hits if hit not in added]
    assert (page.hits, page.exhausted) == (unseen[:size], len(unseen) < size)
    assert size << len(source.asked) - 1 <= max(size, len(hits))


@pytest.mark.parametrize("start", [0, 30])
def test_a_page_is_filled_behind_a_group_of_any_size_and_behind_all_that_was_seen(start: int) -> None:
    """A group of 644, then 700 hits that were seen, then others."""
    source = Source([*range(0, 644 * 4, 4), *range(10_000, 10_700), *range(20_000, 20_100)])
    with memory(set(range(10_000, 10_700))) as seen:
        page = seen.page(
            "ann", source, 5, item=lambda hit: hit, group=lambda hit: hit if hit >= 10_000 else 0, offset=start
        )
    first = source.hits[start]
    assert (page.hits, page.exhausted) == ([first, 20_000, 20_001, 20_002, 20_003], False)
    assert page.offset == 1348
    assert len(source.asked) == 9
    assert max(asked for _, asked in source.asked) <= LARGEST


def test_a_page_of_a_user_who_has_seen_all_is_exhausted_where_the_source_cannot_be_read_deeper() -> None:
    source = Source(range(100_000))
    with memory(set(range(10_000))) as seen:
        page = seen.page("ann", source, 10, item=lambda hit: hit)
        assert (page.hits, page.offset, page.exhausted, len(source.asked)) == ([], 10_000, True, 16)
        assert sum(asked for _, asked in source.asked) == 10_000
        page = seen.page("ann", source, 10, item=lambda hit: hit, offset=9_000, depth=10_003)
        assert (page.hits, page.offset, page.exhausted) == ([10_000, 10_001, 10_002], 10_003, True)
        page = seen.page("ann", source, 3, item=lambda hit: hit, offset=9_000, depth=10_003)
        assert (len(page.hits), page.exhausted) == (3, True)


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
            assert [item for item in page.items if item in {*page.hits, *map(GROUPS.get, page.hits)}] == page.items
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
    alone = [{"_id": "new", "_source": {}}]  # what _source=["simhash.group"] returns of a document without a group
    assert seen.page(ann, lambda offset, size: alone[offset : offset + size], 5).hits == alone


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({"took": 1}, "the search returned a dict: return the answer of Elasticsearch, or its list of hits"),
        (None, "the search returned a NoneType"),
        (
            [{"_id": "a"}, {"_id": "b"}],
            r"none of the hits has the field simhash.group: let the search return it, as by _source=\['simhash.group",
        ),
    ],
)
def test_a_search_that_returns_something_else_is_an_error(answer: Any, message: str) -> None:
    with memory(set()) as seen, pytest.raises(InputError, match=message):
        seen.page("ann", lambda offset, size: answer, 5)


@pytest.mark.parametrize(
    "wrong",
    [
        *({"size": wrong} for wrong in (0, -1, "5", 2.0, True, None)),
        *({"offset": wrong} for wrong in (-1, 10_000, "5")),
        {"depth": 0},
    ],
)
def test_a_size_an_offset_and_a_depth_out_of_range_are_refused_before_anything_is_fetched(
    wrong: dict[str, Any],
) -> None:
    source = Source(range(10))
    [name] = wrong
    with memory(set()) as seen, pytest.raises(InputError, match=f"{name} must be a whole number from . to"):
        seen.page("ann", source, **{"size": 5, **wrong}, item=lambda hit: hit)
    assert source.asked == []
