"""The doors to seen items: SQLite and Elasticsearch, sync and async, alone and among others who write the same user."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import subprocess
import sys
import threading
import uuid
from base64 import b64decode, b64encode
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from elasticsearch import AsyncElasticsearch, Elasticsearch
from hypothesis import given, settings
from hypothesis import strategies as st

from es_simhash import AsyncSeenItems, BloomFilter, SeenItems
from es_simhash.core.seen import MAX_FORGOTTEN, SeenConfig
from es_simhash.errors import (
    ConflictError,
    FilterFormatError,
    FilterMismatch,
    InputError,
    NotSetUp,
    StoreError,
    StoreUnavailable,
)
from es_simhash.flows import seen as flows
from es_simhash.ops import Changed, ChangeUsers, FetchUsers, UserState
from es_simhash.stores.address import open_store
from es_simhash.stores.elasticsearch import users as on_elasticsearch
from es_simhash.stores.elasticsearch.mapping import SEEN
from es_simhash.stores.sqlite import users as on_sqlite
from tests.cli import environment
from tests.client import CONFIG, Called, Clock, Source, Stores, Watched, state_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from es_simhash.ops import Store

SHIPPED = Path(__file__).parents[2] / "mappings" / "users.json"
SQLITE = "sqlite"
ELASTICSEARCH = pytest.param("elasticsearch", marks=pytest.mark.elasticsearch)
ASYNC_ELASTICSEARCH = pytest.param("async elasticsearch", marks=pytest.mark.elasticsearch)


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    loop = asyncio.new_event_loop()
    yield loop
    loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()


@pytest.fixture(scope="module")
def stores(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stores]:
    stores = Stores(request, tmp_path_factory.mktemp("stores"))
    yield stores
    stores.remove()


@pytest.fixture(params=[SQLITE, f"async {SQLITE}", ELASTICSEARCH, ASYNC_ELASTICSEARCH])
def seen(request: pytest.FixtureRequest, stores: Stores, loop: asyncio.AbstractEventLoop) -> Iterator[Any]:
    """Each door, used by calls."""
    address = stores.address(request.param)
    door: Any = Called(AsyncSeenItems(address), loop) if "async" in request.param else SeenItems(address)
    yield door
    door.close()


@pytest.fixture(params=[SQLITE, ELASTICSEARCH])
def store(request: pytest.FixtureRequest, stores: Stores) -> Iterator[Store]:
    """Each store, for tests that put something between it and the door."""
    store = open_store(stores.address(request.param))
    yield store
    store.close()


@pytest.fixture
def ann() -> str:
    """A user whom no other test knows."""
    return f"ann-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("es_simhash.client.seen._now", lambda: clock.now)
    return clock


# --- adding and asking -------------------------------------------------------------------------------------


def test_what_was_added_is_seen_and_the_rest_is_unseen_in_its_order(seen: Any, ann: str) -> None:
    seen.add(ann, ["n2", "n4"])
    assert seen.unseen(ann, ["n5", "n4", "n1", "n5", "n2", "n3"]) == ["n5", "n1", "n5", "n3"]


def test_might_have_seen_answers_item_by_item(seen: Any, ann: str) -> None:
    seen.add(ann, ["n2", "n4"])
    assert seen.might_have_seen(ann, ["n4", "n1", "n2", "n4"]) == [True, False, True, True]


def test_add_returns_how_many_were_not_seen_before(seen: Any, ann: str) -> None:
    assert [seen.add(ann, items) for items in (["a", "b", "a"], ["b", "c"], ["c"], [])] == [2, 1, 0, 0]


def test_the_integer_1_and_the_string_1_are_one_item_and_one_user(seen: Any) -> None:
    number = int(uuid.uuid4())
    report = seen.add_many({number: [1, 2], str(number): ["2", "3"]})
    assert report.results == {str(number): 3}
    assert seen.unseen(str(number), ["1", 2, b"3", 4]) == [4]
    assert seen.might_have_seen(number, ["1"]) == [True]


def test_a_user_and_an_item_may_be_any_text(seen: Any) -> None:
    user = f"用户 {uuid.uuid4()}/?#\"'\u2028"
    seen.add(user, ["新闻 1", "", "\0"])
    assert seen.unseen(user, ["新闻 1", "", "\0", "新闻 2"]) == ["新闻 2"]


def test_items_come_from_any_iterable(seen: Any, ann: str) -> None:
    for items in ((item for item in ("g1", "g2")), {"s1", "s2"}, np.array([71, 72]), range(81, 83)):
        assert seen.add(ann, items) == 2
    assert seen.unseen(ann, ["g1", "g2", "s1", "s2", 71, 72, 81, 82, 83]) == [83]


def test_a_user_who_is_not_there_has_seen_nothing(seen: Any, ann: str) -> None:
    assert seen.unseen(ann, ["a", "b"]) == ["a", "b"]
    assert seen.might_have_seen(ann, ["a"]) == [False]
    stats = seen.stats(ann)
    assert (stats.user, stats.exists, stats.count, stats.generations, stats.forgotten) == (ann, False, 0, (), 0)


def test_stats_tell_of_a_user_s_filters(seen: Any, ann: str, clock: Clock) -> None:
    seen.add(ann, range(150))
    stats = seen.stats(ann)
    (generation,) = stats.generations
    assert (stats.exists, stats.count, stats.forgotten) == (True, 150, 0)
    assert (generation.started, generation.count, generation.layers) == (clock.now, 150, 2)
    assert 150 * 4 < generation.bytes < 150 * 40
    assert 0 <= generation.false_positive_rate < CONFIG["error_rate"]


def test_a_filter_that_outgrows_its_capacity_finds_everything(seen: Any, ann: str) -> None:
    for start in range(0, 2_000, 500):
        seen.add(ann, range(start, start + 500))
    assert seen.unseen(ann, range(2_001)) == [2_000]


def test_many_users_get_answers_of_their_own_in_one_call(seen: Any, ann: str) -> None:
    wanted = {f"{ann}-{n}": [n, n + 1] for n in range(1_101)}
    report = seen.add_many(wanted)
    assert (report.results, report.failed) == (dict.fromkeys(wanted, 2), {})
    unseen = seen.unseen_many({user: range(n, n + 4) for n, user in enumerate(wanted)})
    assert unseen == {user: [n + 2, n + 3] for n, user in enumerate(wanted)}


def test_some_hundred_users_are_one_read_and_one_write(store: Store, ann: str) -> None:
    watched = Watched(store)
    SeenItems(watched).add_many({f"{ann}-{n}": ["a"] for n in range(1_101)})
    assert (watched.count(FetchUsers), watched.count(ChangeUsers)) == (3, 3)


def test_async_and_sync_doors_open_on_the_same_users(stores: Stores, loop: asyncio.AbstractEventLoop, ann: str) -> None:
    with SeenItems(stores.address(SQLITE)) as seen:
        seen.add(ann, ["a"])
        twin = Called(AsyncSeenItems(stores.address(SQLITE)), loop)
        assert twin.unseen(ann, ["a", "b"]) == ["b"]
        twin.close()


def test_every_method_has_an_async_twin_with_the_same_parameters() -> None:
    public = [name for name in vars(SeenItems) if not name.startswith("_")]
    assert public == [name for name in vars(AsyncSeenItems) if not name.startswith("_")]
    for name in set(public) - {"name"}:
        ours, theirs = (getattr(kind, name).__annotations__.keys() for kind in (SeenItems, AsyncSeenItems))
        assert ours == theirs, name


# --- what is not written -----------------------------------------------------------------------------------


def test_an_add_that_changes_nothing_writes_nothing(store: Store, ann: str) -> None:
    watched = Watched(store)
    seen = SeenItems(watched)
    seen.add(ann, ["a", "b"])
    before = state_of(store, ann)
    assert before is not None
    watched.asked.clear()
    assert seen.add_many({ann: ["b", "a"]}).results == {ann: 0}
    assert watched.count(ChangeUsers) == 0
    assert state_of(store, ann) == before


@pytest.mark.parametrize("verb", ["add", "forget", "clear", "rotate", "remove"])
def test_nothing_is_made_for_a_user_of_whom_there_is_nothing(store: Store, ann: str, verb: str) -> None:
    seen = SeenItems(store)
    if verb in ("add", "forget"):
        assert getattr(seen, verb)(ann, [] if verb == "add" else ["a"]) == 0
    elif verb == "rotate":
        assert seen.rotate([ann]).results == {ann: 0}
    else:
        assert not getattr(seen, verb)(ann)
    assert state_of(store, ann) is None


# --- leaving -----------------------------------------------------------------------------------------------


def test_a_cleared_user_has_seen_nothing_and_may_see_again(seen: Any, ann: str) -> None:
    seen.add(ann, ["a", "b"])
    seen.forget(ann, ["b"])
    seen.clear(ann)
    assert (seen.unseen(ann, ["a", "b"]), seen.stats(ann).exists, seen.stats(ann).forgotten) == (["a", "b"], False, 0)
    assert seen.add(ann, ["a"]) == 1
    assert seen.unseen(ann, ["a", "b"]) == ["b"]


def test_a_removed_user_has_seen_nothing_and_is_removed_once(seen: Any, ann: str) -> None:
    seen.add(ann, ["a"])
    assert [seen.remove(ann), seen.remove(ann)] == [True, False]
    assert (seen.unseen(ann, ["a"]), seen.stats(ann).exists) == (["a"], False)


def test_clearing_and_removing_one_user_leaves_the_others(seen: Any, ann: str) -> None:
    users = [f"{ann}-{n}" for n in range(3)]
    seen.add_many({user: ["a"] for user in users})
    seen.clear(users[0])
    seen.remove(users[1])
    assert seen.unseen_many({user: ["a"] for user in users}) == {users[0]: ["a"], users[1]: ["a"], users[2]: []}


def test_a_forgotten_item_is_unseen_to_every_question(seen: Any, ann: str) -> None:
    seen.add(ann, ["a", "b", "c"])
    assert seen.forget(ann, ["b", "x", "b"]) == 1
    assert seen.unseen(ann, ["a", "b", "c"]) == ["b"]
    assert seen.unseen_many({ann: ["b"]}) == {ann: ["b"]}
    assert seen.might_have_seen(ann, ["a", "b"]) == [True, False]
    assert seen.unseen_page(ann, lambda offset, size: ["a", "b", "c"][offset : offset + size], 5).hits == ["b"]
    assert seen.stats(ann).forgotten == 1


def test_a_forgotten_item_is_seen_once_it_is_added_again(seen: Any, ann: str) -> None:
    seen.add(ann, ["a", "b"])
    seen.forget(ann, ["a", "b"])
    assert seen.add(ann, ["a"]) == 1
    assert (seen.unseen(ann, ["a", "b"]), seen.stats(ann).forgotten) == (["b"], 1)


def test_many_users_forget_in_one_call(seen: Any, ann: str) -> None:
    seen.add_many({ann: ["a", "b"], f"{ann}-2": ["a"]})
    report = seen.forget_many({ann: ["a", "b"], f"{ann}-2": ["b"], f"{ann}-3": ["a"]})
    assert report.results == {ann: 2, f"{ann}-2": 0, f"{ann}-3": 0}


def test_a_full_list_of_forgotten_items_is_an_error_and_nothing_is_forgotten(store: Store, ann: str) -> None:
    seen = SeenItems(store)
    seen.add(ann, range(MAX_FORGOTTEN + 1))
    before = state_of(store, ann)
    with pytest.raises(InputError, match=rf"user '{ann}' stay as they were: 1,001 forgotten items would be too many"):
        seen.forget(ann, range(MAX_FORGOTTEN + 1))
    assert state_of(store, ann) == before


def test_a_forgotten_item_stays_forgotten_until_its_generation_goes(seen: Any, ann: str, clock: Clock) -> None:
    seen.add(ann, ["a"])
    seen.forget(ann, ["a"])
    lengths = []
    for _ in range(CONFIG["generations"]):
        clock.now += 10
        seen.rotate([ann])
        lengths.append(seen.stats(ann).forgotten)
        assert seen.unseen(ann, ["a"]) == ["a"]
    assert lengths == [1, 1, 0]


# --- generations -------------------------------------------------------------------------------------------


def test_an_item_outlives_n_minus_1_rotations_and_not_n(seen: Any, ann: str, clock: Clock) -> None:
    seen.add(ann, ["a"])
    unseen = []
    for _ in range(CONFIG["generations"]):
        clock.now += 10
        assert seen.rotate([ann]).results == {ann: 1}
        unseen.append(seen.unseen(ann, ["a"]))
    assert unseen == [[], [], ["a"]]


def test_all_users_are_rotated_when_none_is_named(
    seen: Any, ann: str, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_elasticsearch, "PAGE", 2)
    monkeypatch.setattr(on_sqlite, "_PAGE", 2)
    users = [f"{ann}-{n}" for n in range(5)]
    seen.add_many({user: ["a"] for user in users})
    clock.now += 1
    report = seen.rotate()
    assert (dict.fromkeys(users, 1).items() <= report.results.items(), report.failed) == (True, {})
    assert {len(seen.stats(user).generations) for user in users} == {2}


def test_a_rotation_that_is_repeated_with_the_same_time_does_only_what_is_left(
    seen: Any, ann: str, clock: Clock
) -> None:
    seen.add_many({ann: ["a"], f"{ann}-2": ["a"]})
    clock.now = before = 2_000
    seen.rotate([ann], before=before)
    clock.now += 500
    report = seen.rotate([ann, f"{ann}-2"], before=before)
    assert report.results == {ann: 0, f"{ann}-2": 1}
    assert [len(seen.stats(user).generations) for user in (ann, f"{ann}-2")] == [2, 2]


def test_a_user_who_can_t_be_rotated_is_named_and_the_others_are(store: Store, ann: str, clock: Clock) -> None:
    users = [ann, f"{ann}-2", f"{ann}-3"]
    watched = Watched(store)
    seen = SeenItems(watched)
    seen.add_many({user: ["a"] for user in users[:2]})
    # The last one is listed, by its time, and has no generation; that is to end, too.
    store.perform(ChangeUsers({users[2]: UserState((), clock.now)}))
    spoil(store, ann)
    clock.now += 1
    report = seen.rotate()
    assert isinstance(report.failed[ann], FilterFormatError)
    assert (report.results[users[1]], report.results[users[2]]) == (1, 0)
    SeenItems(store).remove(ann)
    SeenItems(store).remove(users[2])


def test_with_a_period_an_add_begins_a_generation_by_itself(tmp_path: Path, clock: Clock) -> None:
    with SeenItems(f"sqlite:///{tmp_path}/users.db", generations=2, period=100) as seen:
        for clock.now in (1_000, 1_099, 1_100, 1_250):
            seen.add("ann", [clock.now])
        assert [each.started for each in seen.stats("ann").generations] == [1_100, 1_250]
        assert seen.unseen("ann", [1_000, 1_099, 1_100, 1_250]) == [1_000, 1_099]


# --- rebuilding --------------------------------------------------------------------------------------------


def test_rebuilt_users_have_seen_what_was_given_and_nothing_else(seen: Any, ann: str, clock: Clock) -> None:
    other = f"{ann}-2"
    seen.add_many({ann: ["old", "both"], other: ["old"]})
    seen.forget(ann, ["both"])
    clock.now += 10
    seen.rotate([ann])
    assert seen.rebuild_many({ann: ["new", "both"]}).results == {ann: 2}
    assert seen.unseen_many({ann: ["old", "both", "new"], other: ["old"]}) == {ann: ["old"], other: []}
    stats = seen.stats(ann)
    assert ([each.started for each in stats.generations], stats.forgotten) == ([clock.now], 0)


def test_a_rebuilt_user_takes_the_stores_configuration(store: Store, ann: str) -> None:
    put_filter(store, ann, BloomFilter(50, 0.5, generation=5))
    seen = SeenItems(store)
    seen.rebuild_many({ann: ["b"]})
    assert (seen.add(ann, ["c"]), seen.unseen(ann, ["a", "b", "c"])) == (1, ["a"])


# --- a page of unseen items --------------------------------------------------------------------------------


def test_a_page_is_full_of_unseen_hits_in_their_order(seen: Any, ann: str) -> None:
    seen.add(ann, [n for n in range(100) if n % 3])
    page = seen.unseen_page(ann, Source(range(100)), 10)
    assert (page.hits, page.offset, page.exhausted) == ([*range(0, 30, 3)], 28, False)


def test_the_item_of_a_hit_is_what_the_caller_says(seen: Any, ann: str) -> None:
    seen.add(ann, ["n1"])
    hits = [{"_id": f"n{n}"} for n in range(3)]
    assert seen.unseen_page(ann, Source(hits), 5, item=lambda hit: hit["_id"]).hits == [hits[0], hits[2]]


def test_an_error_of_the_page_function_comes_through(seen: Any, ann: str) -> None:
    for error in (KeyError("theirs"), StoreUnavailable("theirs")):

        def fetch(offset: int, size: int) -> list[str]:
            raise error  # noqa: B023  called before the next turn

        with pytest.raises(type(error), match="theirs"):
            seen.unseen_page(ann, fetch, 5)


pages = given(
    hits=st.lists(st.integers(0, 60), max_size=120),
    added=st.sets(st.integers(0, 60)),
    size=st.integers(1, 12),
    rounds=st.integers(1, 5),
)


def memory(added: set[int]) -> SeenItems:
    seen = SeenItems("sqlite:///:memory:", **CONFIG)
    seen.add("ann", added)
    return seen


@pages
@settings(max_examples=80, deadline=None, derandomize=True)
def test_successive_pages_lose_no_hit_and_double_none(hits: list[int], added: set[int], size: int, rounds: int) -> None:
    source, found, offset, exhausted = Source(hits), [], 0, False
    with memory(added) as seen:
        while not exhausted:
            page = seen.unseen_page("ann", source, size, offset=offset, rounds=rounds)
            assert page.offset > offset or page.exhausted
            found += page.hits
            offset, exhausted = page.offset, page.exhausted
    assert found == [hit for hit in hits if hit not in added]
    assert offset == len(hits)


@pages
@settings(max_examples=80, deadline=None, derandomize=True)
def test_a_page_is_full_unless_the_source_or_the_rounds_are_at_their_end(
    hits: list[int], added: set[int], size: int, rounds: int
) -> None:
    source = Source(hits)
    with memory(added) as seen:
        page = seen.unseen_page("ann", source, size, rounds=rounds)
    unseen = [hit for hit in hits if hit not in added]
    assert page.hits == unseen[: len(page.hits)]
    if len(page.hits) < size:
        assert (page.hits == unseen and page.exhausted) or len(source.asked) == rounds
    else:
        assert (len(page.hits), page.exhausted) == (size, False)


@pages
@settings(max_examples=80, deadline=None, derandomize=True)
def test_rounds_and_what_they_ask_for_are_bounded(hits: list[int], added: set[int], size: int, rounds: int) -> None:
    source = Source(hits)
    with memory(added) as seen:
        seen.unseen_page("ann", source, size, rounds=rounds)
    assert 1 <= len(source.asked) <= rounds
    at = 0
    for offset, wanted in source.asked:
        assert (offset, 1 <= wanted <= 10 * size) == (at, True)
        at += wanted


def test_a_source_of_seen_hits_only_ends_after_the_rounds_and_goes_on_behind_them() -> None:
    source = Source(range(100_000))
    with memory(set()) as seen:
        seen.add("ann", range(2_000))
        page = seen.unseen_page("ann", source, 10, rounds=3)
    assert (page.hits, page.offset, page.exhausted, len(source.asked)) == ([], 220, False, 3)


def test_an_empty_source_is_exhausted_at_once() -> None:
    source = Source([])
    with memory(set()) as seen:
        page = seen.unseen_page("ann", source, 10)
    assert (page.hits, page.offset, page.exhausted, len(source.asked)) == ([], 0, True, 1)


@pytest.mark.parametrize("wrong", [{"size": 0}, {"size": -1}, {"rounds": 0}, {"offset": -1}])
def test_a_page_of_no_size_is_refused_before_anything_is_fetched(wrong: dict[str, int]) -> None:
    source = Source(range(10))
    with memory(set()) as seen, pytest.raises(InputError, match="use whole numbers from 1, 1 and 0"):
        seen.unseen_page("ann", source, **{"size": 5, **wrong})
    assert source.asked == []


# --- bad input ---------------------------------------------------------------------------------------------

BAD_ITEMS = [1.5, None, True, ["a"], "a\ud83d"]


@pytest.mark.parametrize("bad", BAD_ITEMS, ids=repr)
def test_nothing_of_a_user_is_stored_if_one_item_is_none(store: Store, ann: str, bad: Any) -> None:
    seen = SeenItems(store)
    seen.add(ann, ["before"])
    before = state_of(store, ann)
    for verb in (seen.add, seen.forget):
        with pytest.raises(InputError, match=rf"user '{ann}' stay as they were: the item "):
            verb(ann, ["before", "a", bad])
    assert state_of(store, ann) == before


@pytest.mark.parametrize("bad", BAD_ITEMS, ids=repr)
def test_a_question_about_what_is_no_item_is_refused(ann: str, bad: Any) -> None:
    with memory(set()) as seen:
        for verb in (seen.unseen, seen.might_have_seen):
            with pytest.raises(InputError, match="the item "):
                verb("ann", ["a", bad])


def test_one_users_bad_items_don_t_keep_the_others_from_being_stored(seen: Any, ann: str) -> None:
    report = seen.add_many({f"{ann}-1": ["a"], ann: ["a", 1.5], f"{ann}-2": ["a"]})
    assert report.results == {f"{ann}-1": 1, f"{ann}-2": 1}
    assert (list(report.failed), type(report.failed[ann])) == ([ann], InputError)


@pytest.mark.parametrize("bad", ["", "a\0b", "x" * 513, "a\ud83d", True, None, 1.5])
def test_what_can_be_no_user_is_refused_by_every_method(seen: Any, ann: str, bad: Any) -> None:
    methods = [
        *(lambda m=m: getattr(seen, m)(bad, ["a"]) for m in ("add", "unseen", "might_have_seen", "forget")),
        *(lambda m=m: getattr(seen, m)(bad) for m in ("stats", "clear", "remove")),
        *(lambda m=m: getattr(seen, m)({ann: ["a"], bad: ["a"]}) for m in ("add_many", "unseen_many", "rebuild_many")),
        lambda: seen.rotate([bad]),
        lambda: seen.unseen_page(bad, Source([]), 5),
    ]
    for method in methods:
        with pytest.raises(InputError, match="the user"):
            method()
    assert not seen.stats(ann).exists


@pytest.mark.parametrize("bad", ["news-1", b"news-1", 5, None])
def test_items_that_are_no_list_are_refused(ann: str, bad: Any) -> None:
    with (
        memory(set()) as seen,
        pytest.raises(InputError, match=r"the items of user 'ann' are one .*: put it in a list"),
    ):
        seen.add("ann", bad)


def test_one_string_is_not_taken_for_a_list_of_users() -> None:
    with memory({1}) as seen, pytest.raises(InputError, match="the users are one string, 'ann': put it in a list"):
        seen.rotate("ann")


# --- configuration -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", [{"capacity": 0}, {"error_rate": 1}, {"generations": 0}, {"period": 60}])
@pytest.mark.parametrize("door", [SeenItems, AsyncSeenItems])
def test_a_number_out_of_its_range_is_refused_before_anything_is_sent(door: Any, wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        door("http://localhost:1/users", **wrong)


def test_numbers_that_are_left_out_are_as_the_store_has_them(store: Store, ann: str) -> None:
    assert SeenItems(store).setup() == "unchanged"
    for name, value in CONFIG.items():
        assert SeenItems(store, **{name: value}).setup() == "unchanged"
        assert SeenItems(store, **{name: value}).unseen(ann, ["a"]) == ["a"]


@pytest.mark.parametrize("other", [{"capacity": 99}, {"error_rate": 0.5}, {"generations": 2}, {"period": 7}])
def test_another_configuration_is_refused_by_every_method(store: Store, ann: str, other: dict[str, Any]) -> None:
    name, value = next(iter(other.items()))
    if name == "period":
        other = {**other, "generations": 3}
    seen = SeenItems(store, **other)
    for method in (seen.setup, lambda: seen.add(ann, ["a"]), lambda: seen.unseen(ann, ["a"]), lambda: seen.stats(ann)):
        with pytest.raises(
            FilterMismatch, match=rf"set up with .*'capacity': 100, .*, not with .*'{name}': {value}.*: leave"
        ):
            method()
    assert state_of(store, ann) is None


def put_filter(store: Store, user: str, filter: BloomFilter) -> None:
    filter.add("a")
    store.perform(ChangeUsers({user: UserState((filter.to_bytes(),), filter.generation)}))


def test_a_filter_of_another_configuration_is_named_and_the_other_users_are_stored(store: Store, ann: str) -> None:
    put_filter(store, ann, BloomFilter(50, 0.5, generation=5))
    before = state_of(store, ann)
    report = SeenItems(store).add_many({ann: ["b"], f"{ann}-2": ["b"]})
    assert report.results == {f"{ann}-2": 1}
    assert isinstance(report.failed[ann], FilterMismatch)
    assert f"user '{ann}' stay as they were: the stored filter was made for 50 items" in str(report.failed[ann])
    assert state_of(store, ann) == before


# --- damage ------------------------------------------------------------------------------------------------


def spoil(store: Store, user: str) -> None:
    """Put bytes that are no filter in the place of a user's."""
    state = state_of(store, user)
    assert state is not None
    store.perform(ChangeUsers({user: UserState((b"what is this",), state.newest, {}, state.version)}))


def assert_unreadable(seen: SeenItems, user: str) -> None:
    """Every question names the user; in a change of several the others are stored; removing mends it."""
    for ask in (lambda: seen.unseen(user, ["a"]), lambda: seen.stats(user), lambda: seen.clear(user)):
        with pytest.raises(FilterFormatError, match=f"user '{user}' can't be read: .*; remove them, and rebuild"):
            ask()
    others = {f"{user}-1": ["a"], user: ["a"], f"{user}-2": ["a"]}
    report = seen.add_many(others)
    assert (report.results, list(report.failed)) == ({f"{user}-1": 1, f"{user}-2": 1}, [user])
    assert isinstance(report.failed[user], FilterFormatError)
    assert f"user '{user}'" in str(report.failed[user])
    assert seen.unseen_many({f"{user}-1": ["a"], f"{user}-2": ["a"]}) == {f"{user}-1": [], f"{user}-2": []}
    assert seen.remove(user)
    assert (seen.add(user, ["a"]), seen.unseen(user, ["a", "b"])) == (1, ["b"])


def test_bytes_that_are_no_filter_are_named_and_never_answer(store: Store, ann: str) -> None:
    seen = SeenItems(store)
    seen.add(ann, ["a"])
    spoil(store, ann)
    assert_unreadable(seen, ann)


@pytest.mark.parametrize("bit", [0, 50, 400, -1])
def test_a_filter_with_a_flipped_bit_is_named_and_never_answers(store: Store, ann: str, bit: int) -> None:
    filter = BloomFilter(100, CONFIG["error_rate"] / 3, generation=5)
    filter.add("a")
    value = bytearray(filter.to_bytes())
    value[bit] ^= 1
    store.perform(ChangeUsers({ann: UserState((bytes(value),), 5)}))
    assert_unreadable(SeenItems(store), ann)


GOOD = b64encode(BloomFilter(100, CONFIG["error_rate"] / 3, generation=5).to_bytes()).decode()


@pytest.mark.elasticsearch
@pytest.mark.parametrize(
    "damage",
    [
        {"filters": ["not base64!"]},
        {"filters": [GOOD[:-8]]},
        {"filters": ["c29tZXRoaW5nIGVsc2U="]},
        {"filters": GOOD},
        {"filters": [""]},
        {"filters": [GOOD], "forgotten": {"a": 5}},
        {"filters": [GOOD], "forgotten": [7]},
        {"filters": [GOOD], "forgotten": "a"},
        {"filters": [GOOD], "forgotten": [{"item": "a"}]},
        {"filters": [GOOD], "forgotten": [{"item": ["a"], "generation": 5}]},
        {"filters": [GOOD], "forgotten": [{"item": "a", "generation": "b"}]},
        {"filters": [GOOD], "newest": [1, 2]},
        [{"filters": [GOOD]}],
    ],
    ids=lambda damage: json.dumps(damage).replace(GOOD, "…"),
)
def test_a_field_that_holds_something_else_is_named_and_never_answers(stores: Stores, ann: str, damage: Any) -> None:
    address = stores.address("elasticsearch")
    url, _, index = address.rpartition("/")
    with Elasticsearch(url) as client, SeenItems(address) as seen:
        client.index(index=index, id=ann, document={"seen": damage})
        assert_unreadable(seen, ann)


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE filters SET value = 'text' WHERE user = ?",
        "UPDATE filters SET value = 5 WHERE user = ?",
        "UPDATE filters SET value = substr(value, 1, 40) WHERE user = ?",
        "UPDATE users SET forgotten = 'no JSON' WHERE user = ?",
        "UPDATE users SET forgotten = '[1]' WHERE user = ?",
        'UPDATE users SET forgotten = \'{"a": "b"}\' WHERE user = ?',
        "UPDATE users SET forgotten = 5 WHERE user = ?",
        "UPDATE users SET newest = 'text' WHERE user = ?",
    ],
)
def test_a_row_that_holds_something_else_is_named_and_never_answers(stores: Stores, ann: str, damage: str) -> None:
    with SeenItems(stores.address(SQLITE)) as seen:
        seen.add(ann, ["a"])
        connection = sqlite3.connect(stores.address(SQLITE).removeprefix("sqlite:///"))
        with connection:
            assert connection.execute(damage, [ann]).rowcount == 1
        connection.close()
        assert_unreadable(seen, ann)


def test_a_configuration_that_can_t_be_read_is_an_error_of_ours(tmp_path: Path) -> None:
    path = tmp_path / "users.db"
    with SeenItems(f"sqlite:///{path}") as seen:
        seen.setup()
    for written in ({"capacity": 5, "colour": "blue"}, {"capacity": -5}, [5]):
        connection = sqlite3.connect(path)
        with connection:
            connection.execute("UPDATE meta SET value = ? WHERE key = 'seen'", [json.dumps(written)])
        connection.close()
        with SeenItems(f"sqlite:///{path}") as seen, pytest.raises(FilterMismatch, match="configuration of seen items"):
            seen.unseen("ann", ["a"])


# --- between a read and a write ----------------------------------------------------------------------------


def test_an_add_after_somebody_elses_add_keeps_both(store: Store, ann: str) -> None:
    others = SeenItems(store)
    others.add(ann, ["a"])
    seen = SeenItems(Watched(store, lambda: others.add(ann, ["theirs", "both"]), times=1))
    assert seen.add(ann, ["ours", "both"]) == 1
    assert others.unseen(ann, ["a", "theirs", "ours", "both", "none"]) == ["none"]


def test_a_user_who_appears_between_read_and_write_keeps_what_was_seen(store: Store, ann: str) -> None:
    others = SeenItems(store)
    seen = SeenItems(Watched(store, lambda: others.add(ann, ["theirs"]), times=1))
    seen.add(ann, ["ours"])
    assert others.unseen(ann, ["theirs", "ours"]) == []


def test_a_user_who_vanishes_between_read_and_write_gets_the_add_and_nothing_of_before(store: Store, ann: str) -> None:
    others = SeenItems(store)
    others.add(ann, ["before"])
    seen = SeenItems(Watched(store, lambda: others.remove(ann), times=1))
    assert seen.add(ann, ["ours"]) == 1
    assert others.unseen(ann, ["before", "ours"]) == ["before"]


def test_a_user_who_is_removed_and_made_anew_between_read_and_write_keeps_what_was_seen_since(
    store: Store, ann: str
) -> None:
    others = SeenItems(store)
    others.add(ann, ["before"])

    def anew() -> None:
        others.remove(ann)
        others.add(ann, ["theirs"])

    seen = SeenItems(Watched(store, anew, times=1))
    assert seen.add(ann, ["ours"]) == 1
    assert others.unseen(ann, ["before", "theirs", "ours"]) == ["before"]


def test_an_add_after_somebody_elses_forget_keeps_the_item_forgotten(store: Store, ann: str) -> None:
    others = SeenItems(store)
    others.add(ann, ["a", "b"])
    seen = SeenItems(Watched(store, lambda: others.forget(ann, ["a"]), times=1))
    seen.add(ann, ["ours"])
    assert others.unseen(ann, ["a", "b", "ours"]) == ["a"]


def test_a_rebuild_after_somebody_elses_add_drops_that_as_well(store: Store, ann: str) -> None:
    others = SeenItems(store)
    others.add(ann, ["before"])
    seen = SeenItems(Watched(store, lambda: others.add(ann, ["theirs"]), times=1))
    assert seen.rebuild_many({ann: ["ours"]}).results == {ann: 1}
    assert others.unseen(ann, ["before", "theirs", "ours"]) == ["before", "theirs"]


@pytest.mark.parametrize("verb", ["forget", "clear", "rotate"])
def test_every_change_is_tried_again_on_what_others_wrote(store: Store, ann: str, clock: Clock, verb: str) -> None:
    others = SeenItems(store)
    others.add(ann, ["a"])
    clock.now += 1
    seen = SeenItems(Watched(store, lambda: others.add(ann, ["theirs"]), times=1))
    if verb == "rotate":
        assert seen.rotate([ann]).results == {ann: 1}
        assert (others.unseen(ann, ["a", "theirs"]), len(others.stats(ann).generations)) == ([], 2)
    elif verb == "forget":
        assert seen.forget(ann, ["a", "theirs"]) == 2
        assert others.unseen(ann, ["a", "theirs"]) == ["a", "theirs"]
    else:
        seen.clear(ann)
        assert others.unseen(ann, ["a", "theirs"]) == ["a", "theirs"]


def stormed(store: Store, user: str, times: int) -> Watched:
    """The store, on which somebody else writes the user's document just before each of our writes."""
    others = SeenItems(store)
    count = iter(range(1 << 30))
    return Watched(store, lambda: others.add(user, [f"theirs {next(count)}"]), times)


def test_a_storm_that_abates_before_the_deadline_loses_nothing(store: Store, ann: str) -> None:
    SeenItems(store).add(ann, ["before"])
    report = SeenItems(stormed(store, ann, times=6)).add_many({ann: ["ours"]}, deadline=60)
    assert (report.results, report.failed) == ({ann: 1}, {})
    assert SeenItems(store).unseen(ann, ["before", "ours", *(f"theirs {n}" for n in range(6))]) == []


def test_a_storm_past_the_deadline_is_an_error_that_names_the_user(store: Store, ann: str) -> None:
    SeenItems(store).add(ann, ["before"])
    report = SeenItems(stormed(store, ann, times=-1)).add_many({ann: ["ours"]}, deadline=0.1)
    error = report.failed[ann]
    assert (report.results, type(error), error.retryable) == ({}, ConflictError, True)
    assert f"user '{ann}' were not stored: other writers were faster for 0.1 s; try again" in str(error)


def test_after_a_storm_past_the_deadline_nothing_is_half_written(store: Store, ann: str) -> None:
    SeenItems(store).add(ann, ["before"])
    watched = stormed(store, ann, times=-1)
    SeenItems(watched).add_many({ann: [f"ours {n}" for n in range(500)]}, deadline=0.1)
    assert watched.count(ChangeUsers) > 1
    ours = [f"ours {n}" for n in range(500)]
    assert SeenItems(store).unseen(ann, [*ours, "before", "theirs 0"]) == ours


def test_in_a_storm_on_one_user_the_others_are_stored_once(store: Store, ann: str) -> None:
    watched = stormed(store, ann, times=-1)
    report = SeenItems(watched).add_many({f"{ann}-1": ["a"], ann: ["a"], f"{ann}-2": ["a"]}, deadline=0.1)
    assert (report.results, list(report.failed)) == ({f"{ann}-1": 1, f"{ann}-2": 1}, [ann])
    writes = [set(op.states) for op in watched.asked if isinstance(op, ChangeUsers)]
    assert (len(writes[0]), writes[1:]) == (3, [{ann}] * (len(writes) - 1))


def test_an_add_that_was_beaten_past_the_deadline_raises(
    store: Store, ann: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SeenItems.add_many.__kwdefaults__, "deadline", 0.1)
    with pytest.raises(ConflictError, match=f"user '{ann}' were not stored"):
        SeenItems(stormed(store, ann, times=-1)).add(ann, ["ours"])


def test_each_wait_between_two_attempts_is_of_a_random_length(monkeypatch: pytest.MonkeyPatch) -> None:
    def waits() -> list[float]:
        found = []
        work = flows.add(SeenConfig(), {"ann": ["a"]}, 1, 60)
        request: Any = next(work)
        while len(found) < 8:
            if isinstance(request, FetchUsers):
                request = work.send({})
            elif isinstance(request, ChangeUsers):
                request = work.send(Changed(frozenset({"ann"}), {}))
            else:
                found.append(request.seconds)
                request = work.send(None)
        return found

    one, other = waits(), waits()
    assert len({*one, *other}) == 16
    assert all(0 <= seconds <= 0.5 for seconds in one + other)


# --- in a user index of somebody else's --------------------------------------------------------------------


@pytest.fixture
def client(elasticsearch_url: str) -> Iterator[Elasticsearch]:
    with Elasticsearch(elasticsearch_url, request_timeout=60) as client:
        yield client


PROFILE = {"name": "安妮", "tags": ["a", "b"], "visits": 3, "deep": {"er": [1, None]}, "seen_at": "2024-01-01"}


@pytest.fixture
def users(client: Elasticsearch, index_name: str) -> str:
    """An index of users that takes no field it doesn't know, with one of them in it: ann."""
    properties = {
        "name": {"type": "keyword"},
        "tags": {"type": "keyword"},
        "visits": {"type": "long"},
        "deep": {"properties": {"er": {"type": "long"}}},
        "seen_at": {"type": "date"},
    }
    mappings = {"dynamic": "strict", "_meta": {"owner": "web"}, "properties": properties}
    client.indices.create(index=index_name, mappings=mappings)
    client.index(index=index_name, id="ann", document=PROFILE)
    return index_name


def source(client: Elasticsearch, index: str, user: str = "ann") -> dict[str, Any]:
    """A user's document."""
    document: dict[str, Any] = client.get(index=index, id=user)["_source"]
    return document


@pytest.mark.elasticsearch
def test_setting_up_adds_our_field_to_a_mapping_and_keeps_the_rest(client: Elasticsearch, users: str) -> None:
    before = client.indices.get_mapping(index=users)[users]["mappings"]
    seen = SeenItems(client, index=users, **CONFIG)
    assert [seen.setup(), seen.setup()] == ["added", "unchanged"]
    after = client.indices.get_mapping(index=users)[users]["mappings"]
    ours = after["properties"].pop("seen")
    assert (after["properties"], after["dynamic"]) == (before["properties"], before["dynamic"])
    assert after["_meta"] == {"owner": "web", "es_simhash": {"seen": {**CONFIG, "period": 0}}}
    assert (ours["dynamic"], ours["properties"].keys()) == ("strict", {"filters", "newest", "forgotten"})


@pytest.mark.elasticsearch
def test_other_fields_stay_as_they_are_whatever_is_done_with_seen_items(
    client: Elasticsearch, users: str, clock: Clock
) -> None:
    seen = SeenItems(client, index=users, **CONFIG)
    seen.setup()
    for clock.now, change in enumerate(
        (
            lambda: seen.add("ann", ["a", "b"]),
            lambda: seen.forget("ann", ["a"]),
            lambda: seen.rotate(["ann"]),
            lambda: seen.add("ann", ["a"]),
            lambda: seen.rebuild_many({"ann": ["c"]}),
            lambda: seen.clear("ann"),
            lambda: seen.remove("ann"),
        ),
        1,
    ):
        before = client.get(index=users, id="ann")["_version"]
        change()
        assert client.get(index=users, id="ann")["_version"] == before + 1
        assert {**source(client, users), "seen": None} == {**PROFILE, "seen": None}


@pytest.mark.elasticsearch
def test_what_is_taken_off_the_list_of_forgotten_items_is_off_the_document(client: Elasticsearch, users: str) -> None:
    seen = SeenItems(client, index=users, **CONFIG)
    seen.setup()
    seen.add("ann", ["a", "b"])
    seen.forget("ann", ["a", "b"])
    seen.add("ann", ["a"])
    assert len(source(client, users)["seen"]["forgotten"]) == 1


@pytest.mark.elasticsearch
def test_a_user_without_a_profile_gets_a_document_that_goes_when_the_seen_items_go(
    client: Elasticsearch, users: str
) -> None:
    seen = SeenItems(client, index=users, **CONFIG)
    seen.setup()
    seen.add("bob", ["a"])
    assert source(client, users, "bob").keys() == {"seen"}
    seen.remove("bob")
    assert not client.exists(index=users, id="bob")


@pytest.mark.elasticsearch
def test_nobodys_write_is_lost_when_others_write_other_fields_at_the_same_time(
    client: Elasticsearch, users: str
) -> None:
    SeenItems(client, index=users, **CONFIG).setup()
    begin, end = threading.Barrier(2), threading.Event()

    def visit() -> int:
        """Partial updates of another field until the adds are over; returns the last that was acknowledged."""
        begin.wait()
        visits = 3
        while not end.is_set():
            client.update(index=users, id="ann", doc={"visits": visits + 1}, retry_on_conflict=1_000)
            visits += 1
        return visits

    watched = Watched(open_store(client, users))
    with ThreadPoolExecutor(1) as pool:
        visits = pool.submit(visit)
        begin.wait()
        try:
            seen = SeenItems(watched)
            for n in range(25):
                seen.add("ann", [n])
        finally:
            end.set()
        last = visits.result()
    assert last > 3
    assert watched.count(ChangeUsers) > 25, "they were never in each other's way"
    assert seen.unseen("ann", range(26)) == [25]
    assert {**source(client, users), "seen": None} == {**PROFILE, "visits": last, "seen": None}


@pytest.mark.elasticsearch
def test_a_profile_that_is_replaced_whole_takes_the_seen_items_along_and_adds_go_on(
    client: Elasticsearch, users: str
) -> None:
    SeenItems(client, index=users, **CONFIG).setup()
    store = open_store(client, users)
    SeenItems(store).add("ann", ["before"])
    seen = SeenItems(Watched(store, lambda: client.index(index=users, id="ann", document=PROFILE)))
    assert seen.add("ann", ["ours"]) == 1
    assert seen.unseen("ann", ["before", "ours"]) == ["before"]
    assert {**source(client, users), "seen": None} == {**PROFILE, "seen": None}


@pytest.mark.elasticsearch
def test_reads_see_every_write_at_once_although_the_index_is_never_refreshed(client: Elasticsearch, users: str) -> None:
    SeenItems(client, index=users, **CONFIG).setup()
    client.indices.put_settings(index=users, settings={"refresh_interval": "-1"})
    seen, others = SeenItems(client, index=users), SeenItems(client, index=users)
    for n in range(5):
        seen.add("ann", [n])
        assert others.unseen("ann", range(6)) == [*range(n + 1, 6)]
    seen.forget("ann", [0])
    assert others.unseen("ann", [0, 1]) == [0]
    found = client.count(index=users, query={"exists": {"field": "seen.newest"}})
    assert found["count"] == 0, "the index was refreshed after all"
    seen.remove("ann")
    assert not others.stats("ann").exists


@pytest.mark.elasticsearch
def test_a_rotation_of_all_finds_what_was_never_refreshed(client: Elasticsearch, users: str, clock: Clock) -> None:
    seen = SeenItems(client, index=users, **CONFIG)
    seen.setup()
    client.indices.put_settings(index=users, settings={"refresh_interval": "-1"})
    seen.add_many({"ann": ["a"], "bob": ["a"]})
    clock.now += 1
    assert seen.rotate().results == {"ann": 1, "bob": 1}


@pytest.mark.elasticsearch
@pytest.mark.parametrize("profile", [{}, PROFILE], ids=["alone", "with other fields"])
def test_a_document_that_vanishes_while_its_seen_items_are_removed_is_gone(
    client: Elasticsearch, users: str, profile: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = SeenItems(client, index=users, **CONFIG)
    seen.setup()
    client.index(index=users, id="ann", document=profile)
    seen.add("ann", ["a"])
    bulk = client.bulk

    def racing(**arguments: Any) -> Any:
        client.options(ignore_status=404).delete(index=users, id="ann")
        return bulk(**arguments)

    monkeypatch.setattr(client, "bulk", racing)
    assert seen.remove("ann") is False
    assert not client.exists(index=users, id="ann")


@pytest.mark.elasticsearch
def test_a_removal_that_others_keep_beating_is_an_error_that_names_the_user(
    client: Elasticsearch, users: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = SeenItems(client, index=users, **CONFIG)
    seen.setup()
    seen.add("ann", ["a"])
    bulk, visits = client.bulk, iter(range(1_000))

    def racing(**arguments: Any) -> Any:
        client.update(index=users, id="ann", doc={"visits": next(visits)})
        return bulk(**arguments)

    monkeypatch.setattr(client, "bulk", racing)
    monkeypatch.setattr(on_elasticsearch, "_PAUSES", (0.01,) * 3)
    with pytest.raises(ConflictError, match="seen items of users ann were not removed"):
        seen.remove("ann")
    assert seen.unseen("ann", ["a", "b"]) == ["b"]


@pytest.mark.elasticsearch
def test_a_change_that_the_index_refuses_is_an_error_with_the_user_and_the_reason(
    client: Elasticsearch, users: str
) -> None:
    seen = SeenItems(client, index=users, **CONFIG)
    seen.setup()
    client.indices.put_settings(index=users, settings={"index.blocks.write": True})
    with pytest.raises(StoreError, match=r"user 'ann' were not stored: cluster_block_exception: .*write"):
        seen.add("ann", ["a"])
    assert source(client, users) == PROFILE


# --- setting up --------------------------------------------------------------------------------------------


@pytest.mark.elasticsearch
def test_an_index_that_is_not_set_up_is_named_with_the_command(client: Elasticsearch, users: str) -> None:
    for index in (users, "test-no-such-index"):
        seen = SeenItems(client, index=index)
        for method in (lambda s=seen: s.add("ann", ["a"]), lambda s=seen: s.unseen("ann", ["a"])):
            with pytest.raises(NotSetUp, match=rf"run `es-simhash seen init --store http.*{index}`"):
                method()
    assert source(client, users) == PROFILE


@pytest.mark.elasticsearch
def test_a_field_seen_of_somebody_elses_is_left_alone(client: Elasticsearch, index_name: str) -> None:
    mappings = {"properties": {"seen": {"properties": {"count": {"type": "long"}}}}}
    client.indices.create(index=index_name, mappings=mappings)
    seen = SeenItems(client, index=index_name)
    for method in (seen.setup, lambda: seen.add("ann", ["a"])):
        with pytest.raises(NotSetUp, match="somebody else's"):
            method()


@pytest.mark.elasticsearch
def test_a_field_seen_of_another_type_is_an_error(client: Elasticsearch, index_name: str) -> None:
    client.indices.create(index=index_name, mappings={"properties": {"seen": {"type": "date"}}})
    with pytest.raises(StoreError, match="seen"):
        SeenItems(client, index=index_name).setup()
    assert client.indices.get_mapping(index=index_name)[index_name]["mappings"].get("_meta") is None


@pytest.mark.elasticsearch
def test_the_mapping_file_applied_by_hand_is_what_the_package_makes(client: Elasticsearch, index_name: str) -> None:
    client.indices.create(index=index_name, body=json.loads(SHIPPED.read_text(encoding="utf-8")))
    seen = SeenItems(client, index=index_name)
    assert (seen.setup(), seen.add("ann", ["a"])) == ("unchanged", 1)


def test_the_mapping_file_is_of_the_default_configuration() -> None:
    assert json.loads(SHIPPED.read_text(encoding="utf-8"))["mappings"] == SEEN.mapping(SeenConfig())


@pytest.mark.elasticsearch
def test_an_index_that_vanishes_is_named(client: Elasticsearch, users: str) -> None:
    seen = SeenItems(client, index=users)
    seen.setup()
    client.indices.delete(index=users)
    for method in (
        lambda: seen.add("ann", ["a"]),
        lambda: seen.unseen("ann", ["a"]),
        lambda: seen.stats("ann"),
        lambda: seen.remove("ann"),
        seen.rotate,
    ):
        with pytest.raises(NotSetUp, match=users):
            method()
    assert not client.indices.exists(index=users)


def test_a_file_is_set_up_by_its_first_use_with_what_the_door_says(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path}/users.db"
    with SeenItems(address, capacity=7, generations=2) as seen:
        seen.add("ann", ["a"])
    with SeenItems(address, capacity=7) as seen:
        assert (seen.setup(), seen.unseen("ann", ["a", "b"])) == ("unchanged", ["b"])


# --- many writers ------------------------------------------------------------------------------------------

THREADS, ADDS = 8, 12


def at_once(add: Callable[[int, str], object]) -> list[str]:
    """Each thread adds items of its own, one after the other; returns those that were acknowledged."""
    barrier = threading.Barrier(THREADS)

    def work(thread: int) -> list[str]:
        acknowledged = []
        barrier.wait()
        for n in range(ADDS):
            add(thread, f"{thread}-{n}")
            acknowledged.append(f"{thread}-{n}")
        return acknowledged

    with ThreadPoolExecutor(THREADS) as pool:
        return [item for items in pool.map(work, range(THREADS)) for item in items]


@pytest.mark.elasticsearch
def test_no_add_of_eight_threads_to_one_user_is_lost(stores: Stores, ann: str) -> None:
    doors = [SeenItems(stores.address("elasticsearch")) for _ in range(THREADS)]
    acknowledged = at_once(lambda thread, item: doors[thread].add(ann, [item]))
    assert (len(acknowledged), doors[0].unseen(ann, acknowledged)) == (THREADS * ADDS, [])
    assert doors[0].stats(ann).count == THREADS * ADDS
    for door in doors:
        door.close()


@pytest.mark.elasticsearch
def test_the_same_threads_lose_adds_when_they_read_change_and_write_without_a_condition(
    elasticsearch_url: str, index_name: str
) -> None:
    with Elasticsearch(elasticsearch_url) as client:
        empty = BloomFilter(1_000, 1e-9).to_bytes()
        client.index(index=index_name, id="ann", document={"filter": b64encode(empty).decode()})

        def read() -> BloomFilter:
            return BloomFilter.from_bytes(b64decode(source(client, index_name)["filter"]))

        def add(thread: int, item: str) -> None:
            filter = read()
            filter.add(item)
            client.index(index=index_name, id="ann", document={"filter": b64encode(filter.to_bytes()).decode()})

        acknowledged = at_once(add)
        assert not all(read().contains_many(acknowledged))


@pytest.mark.elasticsearch
def test_no_add_of_eight_tasks_to_one_user_is_lost(
    stores: Stores, elasticsearch_url: str, ann: str, loop: asyncio.AbstractEventLoop
) -> None:
    index = stores.address("elasticsearch").rpartition("/")[2]

    async def main() -> list[Any]:
        async with AsyncElasticsearch(elasticsearch_url, request_timeout=60) as client:
            doors = [AsyncSeenItems(client, index=index) for _ in range(THREADS)]
            adds = (door.add(ann, [f"{n}-{m}"]) for n, door in enumerate(doors) for m in range(ADDS // 2))
            assert sum(await asyncio.gather(*adds)) == THREADS * (ADDS // 2)
            return await doors[0].unseen(ann, [f"{n}-{m}" for n in range(THREADS) for m in range(ADDS // 2)])

    assert loop.run_until_complete(main()) == []


ADDER = """
import sys
from es_simhash import SeenItems

address, user, process = sys.argv[1:]
with SeenItems(address) as seen:
    seen.stats(user)
    print("ready", flush=True)
    sys.stdin.readline()
    print(sum(seen.add(user, [f"{process}-{n}"]) for n in range(50)))
"""


def test_no_add_of_four_processes_to_one_file_is_lost(stores: Stores, ann: str) -> None:
    address = stores.address(SQLITE)
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", ADDER, address, ann, str(n)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment(),
        )
        for n in range(4)
    ]
    with ExitStack() as stack:
        for process in processes:
            stack.enter_context(process)
        assert [process.stdout.readline() for process in processes if process.stdout] == ["ready\n"] * 4
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        assert [process.communicate()[0] for process in processes] == ["50\n"] * 4
    with SeenItems(address) as seen:
        assert seen.unseen(ann, [f"{process}-{n}" for process in range(4) for n in range(50)]) == []
