"""The laws of a search: what may be near is found, against a comparison with all documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from es_simhash.rows import Entry, Hits, StoreQuery
from es_simhash.text.keys import KeyQuery
from tests.store.documents import digest_of, document, entry, ids, keys, link, put

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_simhash.store.protocol import Store

one_store = settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


def find(store: Store, query: StoreQuery, filter: dict[str, Any] | None = None, *, originals: bool = False) -> Hits:
    """Return what may be near one StoreQuery."""
    [hits] = store.search([query], filter, originals=originals)
    return hits


def put_alone(store: Store, *entries: Entry) -> None:
    """Write documents in place of all former ones of this function: a new store for each example takes long."""
    store.remove(dict.fromkeys(map(str, range(41))))
    put(store, *entries)


def flipped(value: int, bits: Sequence[int]) -> int:
    """Return a fingerprint in which some bits are flipped."""
    for bit in bits:
        value ^= 1 << bit
    return value


# --- fingerprints ----------------------------------------------------------------------------------------------------


@one_store
@given(
    base=st.integers(0, (1 << 64) - 1),
    spreads=st.lists(
        st.lists(st.integers(0, 63), max_size=9, unique=True)
        | st.tuples(*(st.integers(first, first + 15) for first in range(0, 64, 16))),
        min_size=1,
        max_size=40,
    ),
)
def test_all_fingerprints_within_the_distance_are_found(store: Store, base: int, spreads: list[Sequence[int]]) -> None:
    values = {f"{number}": flipped(base, bits) for number, bits in enumerate(spreads)}
    put_alone(store, *(entry(id, value) for id, value in values.items()), entry("40"))
    queries = [StoreQuery(base, distance=distance) for distance in range(8)]
    for distance, hits in enumerate(store.search(queries, None, originals=False)):
        expected = {id for id, value in values.items() if (value ^ base).bit_count() <= distance}
        assert set(ids(hits.candidates)) == expected


def test_the_smallest_order_comes_first(store: Store) -> None:
    put(store, entry("a", 1, order=3), entry("b", 3, order=1), entry("c", 2, order=2))
    assert ids(find(store, StoreQuery(1, distance=3)).candidates) == ["b", "c", "a"]


def test_a_probe_gets_what_it_wants_at_most(store: Store) -> None:
    put(store, *(entry(f"{number}", 0, "p1", order=number) for number in range(9)))
    for query in (StoreQuery(0, most=4), StoreQuery(keys=(KeyQuery(keys("p1"), 1),), most=4)):
        hits = find(store, query)
        assert ids(hits.candidates) == ["0", "1", "2", "3"]
        assert 1 <= hits.left_out <= 5
    assert find(store, StoreQuery(0, most=9)).left_out == 0


@pytest.mark.slow
def test_documents_that_nothing_tells_apart_are_all_found(store: Store) -> None:
    count = 10_500  # more than a server returns at once
    put(store, *(entry(str(n), 5, digest="d" * 32, order=1, written=1, duplicate_of="o") for n in range(count)))
    assert len(store.members(["o"])) == count
    assert len(find(store, StoreQuery(5, most=count)).candidates) == count


def test_what_was_replaced_or_removed_is_not_found(store: Store) -> None:
    put(store, entry("a", 0, "p1", "g1"), entry("b", 0, "p1"))
    put(store, entry("a", (1 << 64) - 1, "p2", digest="e" * 32))
    store.remove({"b": None})
    store.refresh()
    for former in (
        StoreQuery(0, digest_of("a")),
        StoreQuery(digest=digest_of("a"), keys=(KeyQuery(keys("p1", "g1"), 1),)),
    ):
        hits = find(store, former)
        assert (hits.candidates, hits.equal) == ([], [])
    for now in (StoreQuery((1 << 64) - 1), StoreQuery(keys=(KeyQuery(keys("p2"), 1),))):
        assert ids(find(store, now).candidates) == ["a"]


# --- digests ---------------------------------------------------------------------------------------------------------


def test_the_first_documents_with_the_digest_are_found(store: Store) -> None:
    put(store, *(entry(f"{9 - number}", digest="d" * 32, order=9 - number) for number in range(9)), entry("other"))
    assert ids(find(store, StoreQuery(digest="d" * 32, most_equal=1)).equal) == ["1"]
    assert ids(find(store, StoreQuery(digest="d" * 32)).equal) == [f"{number}" for number in range(1, 10)]
    assert ids(find(store, StoreQuery(digest="d" * 32, most_equal=5)).equal) == [f"{number}" for number in range(1, 6)]


def test_documents_without_a_digest_are_not_found_by_it(store: Store) -> None:
    put(store, entry("a", digest=""))
    assert find(store, StoreQuery(digest="")).equal == find(store, StoreQuery(digest=None)).equal == []


# --- keys ------------------------------------------------------------------------------------------------------------

names = st.sampled_from([f"{kind}{number}" for kind in "gpm" for number in range(5)])
some_names = st.lists(names, min_size=1, max_size=12, unique=True)
grams = st.lists(names.filter(lambda name: name[0] == "g"), min_size=1, max_size=5, unique=True)
queries = st.one_of(
    st.tuples(some_names, st.integers(1, 3), st.none()),
    st.tuples(grams, st.integers(1, 4), st.tuples(st.integers(0, 3), st.integers(0, 3))),
)
"""Keys, the minimum, and by how much the lengths that are asked for reach below and above that of the first text."""


@one_store
@given(
    texts=st.lists(st.tuples(some_names, st.integers(1, 4) | st.integers(72, 75)), min_size=1, max_size=30),
    asked=st.lists(queries, min_size=1, max_size=3),
)
def test_all_documents_that_fulfil_a_query_are_found(
    store: Store, texts: list[tuple[list[str], int]], asked: list[tuple[list[str], int, tuple[int, int] | None]]
) -> None:
    put_alone(store, *(entry(f"{n}", None, *of_text, length=length) for n, (of_text, length) in enumerate(texts)))
    first = texts[0][1]
    each = tuple(
        KeyQuery(keys(*of_query), minimum, reach and (max(first - reach[0], 1), first + reach[1]))
        for of_query, minimum, reach in asked
    )
    expected = {
        f"{n}"
        for n, (of_text, length) in enumerate(texts)
        if any(query.is_fulfilled_by(keys(*of_text), length) for query in each)
    }
    assert set(ids(find(store, StoreQuery(keys=each)).candidates)) == expected


def test_the_rarest_shared_keys_come_first(store: Store) -> None:
    put(
        store,
        *(entry(f"{number}", None, "p1", "p2") for number in range(20)),
        entry("one rare key", None, "p3"),
        entry("a rare and a common key", None, "p1", "p3"),
    )
    rows = find(store, StoreQuery(keys=(KeyQuery(keys("p1", "p2", "p3"), 1),))).candidates
    assert ids(rows[:2]) == ["a rare and a common key", "one rare key"]
    assert ids(rows[2:]) == [f"{number}" for number in range(20)]


def test_a_document_is_found_once_by_several_queries(store: Store) -> None:
    put(store, entry("a", 0, "p1", "g1"))
    query = StoreQuery(keys=(KeyQuery(keys("p1"), 1), KeyQuery(keys("g1"), 1, (1, 20))))
    assert ids(find(store, query).candidates) == ["a"]


# --- originals, times, filters ----------------------------------------------------------------------------------


def test_copies_are_left_out_of_a_search_for_originals(store: Store) -> None:
    put(store, *(entry(id, 0, "p1", digest=id * 32) for id in "abc"))
    link(store, "b", "a")
    query = StoreQuery(0, "b" * 32)
    assert ids(find(store, query, originals=True).candidates) == ["a", "c"]
    assert ids(find(store, query, originals=True).equal) == ["b"]
    assert ids(find(store, query).candidates) == ["a", "b", "c"]
    link(store, "b", None)
    link(store, "a", "b")
    assert ids(find(store, query, originals=True).candidates) == ["b", "c"]


def test_searches_of_all_kinds_are_answered_in_their_order(store: Store) -> None:
    put(store, *(entry(f"{number}", 0, "p1") for number in range(9)), entry("far", 0xFFFF0000))
    near, sharing = StoreQuery(0, most=4), StoreQuery(keys=(KeyQuery(keys("p1"), 1),), most=4)
    found = store.search([near, StoreQuery(0xFFFF0000), sharing, StoreQuery(), near], None, originals=True)
    first = ["0", "1", "2", "3"]
    assert [ids(hits.candidates) for hits in found] == [first, ["far"], first, [], first]
    assert [hits.left_out > 0 for hits in found] == [True, False, True, False, True]
    assert store.search([], None, originals=True) == []


def test_a_crowd_of_copies_hides_no_original(store: Store) -> None:
    put(store, *(entry(f"{number}", 0, "p1", "g1", duplicate_of="o", digest="d" * 32) for number in range(1_200)))
    put(store, entry("o", 0, "p1", "g1", digest="d" * 32))
    for query in (
        StoreQuery(0, most=10),
        StoreQuery(keys=(KeyQuery(keys("p1"), 1),), most=10),
        StoreQuery(keys=(KeyQuery(keys("g1"), 1, (5, 15)),), most=10),
    ):
        assert ids(find(store, query, originals=True).candidates) == ["o"]


def test_only_documents_in_the_times_are_found(store: Store) -> None:
    put(store, *(entry(f"{time}", 0, "p1", digest="d" * 32, time=time) for time in (4, 5, 6, None)))
    for times, expected in (((5, 6), ["5", "6"]), ((5, 5), ["5"]), (None, ["4", "5", "6", "None"])):
        hits = find(store, StoreQuery(0, "d" * 32, times=times))
        assert ids(hits.candidates) == ids(hits.equal) == expected
        assert ids(find(store, StoreQuery(keys=(KeyQuery(keys("p1"), 1),), times=times)).candidates) == expected


def test_many_documents_outside_the_times_hide_none(store: Store) -> None:
    put(store, *(entry(f"{number}", 0, "p1", time=1) for number in range(300)), entry("late", 0, "p1", time=2))
    for query in (
        StoreQuery(0, times=(2, 2), most=5),
        StoreQuery(keys=(KeyQuery(keys("p1"), 1),), times=(2, 2), most=5),
    ):
        hits = find(store, query)
        assert (ids(hits.candidates), hits.left_out) == (["late"], 0)


def test_only_documents_that_match_the_filter_are_found(store: Store) -> None:
    filter = {"bool": {"must": [{"term": {"lang": "en"}}], "must_not": {"term": {"n": 2}}}}
    fields: list[dict[str, Any]] = [{"lang": "zh"}, {"lang": "en", "n": [2, 3]}, {"lang": "en", "n": 5}, {}]
    put(store, *(document(f"{n}", one, fingerprint=0, digest="d" * 32) for n, one in enumerate(fields)))
    hits = find(store, StoreQuery(0, "d" * 32), filter)
    assert ids(hits.candidates) == ids(hits.equal) == ["2"]
