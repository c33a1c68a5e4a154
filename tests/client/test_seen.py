"""The classes of seen items: SQLite and Elasticsearch, sync and async."""

from __future__ import annotations

import uuid
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import AsyncSeenItems, BloomFilter, SeenItems
from es_simhash.bloom.seen import MAX_FORGOTTEN
from es_simhash.errors import FilterFormatError, InputError, NotSetUp, SchemeMismatch, StoreError
from es_simhash.rows import UserState
from es_simhash.store.address import open_store
from tests.client import CONFIG, Clock, before, spoil, state_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from elasticsearch import Elasticsearch

    from es_simhash.store.protocol import Store


# --- adding and asking -------------------------------------------------------------------------------------


def test_the_integer_1_and_the_string_1_are_one_item_and_one_user(seen: Any) -> None:
    number = int(uuid.uuid4())
    report = seen.add_many({number: [1, 2], str(number): ["2", "3"]})
    assert report.results == {str(number): 3}
    assert seen.unseen(str(number), ["1", 2, b"3", 4]) == [4]
    assert seen.unseen(number, ["1"]) == []
    assert (seen.forget(number, ["1"]), seen.unseen(number, ["1", 2])) == (1, ["1"])


def test_a_user_and_an_item_may_be_any_text(seen: Any) -> None:
    user = f"用户 {uuid.uuid4()}/?#\"'\u2028"
    seen.add(user, ["新闻 1", "", "\0"])
    assert seen.unseen(user, ["新闻 1", "", "\0", "新闻 2"]) == ["新闻 2"]


def test_a_user_who_is_not_there_has_seen_nothing(seen: Any, ann: str) -> None:
    assert seen.unseen(ann, ["a", "b"]) == ["a", "b"]
    stats = seen.stats(ann)
    assert (stats.user, stats.generations, stats.forgotten) == (ann, (), 0)


def test_stats_tell_of_a_user_s_filters(seen: Any, ann: str, clock: Clock) -> None:
    seen.add(ann, range(150))
    stats = seen.stats(ann)
    (generation,) = stats.generations
    assert stats.forgotten == 0
    assert (generation.started, generation.count, generation.layers) == (clock.now, 150, 2)
    assert 150 * 4 < generation.bytes < 150 * 40
    assert 0 <= generation.false_positive_rate < CONFIG["error_rate"]


def test_many_users_get_answers_of_their_own_in_one_call(seen: Any, ann: str) -> None:
    wanted = {f"{ann}-{n}": [n, n + 1] for n in range(1_101)}
    report = seen.add_many(wanted)
    assert (report.results, report.failed) == (dict.fromkeys(wanted, 2), {})
    unseen = seen.unseen_many({user: range(n, n + 4) for n, user in enumerate(wanted)})
    assert unseen == {user: [n + 2, n + 3] for n, user in enumerate(wanted)}


# --- what is not written -----------------------------------------------------------------------------------


def test_an_add_that_changes_nothing_writes_nothing(store: Store, ann: str) -> None:
    seen = SeenItems(store)
    seen.add(ann, ["a", "b"])
    former = state_of(store, ann)
    assert former is not None
    writes = before(store, "write_users")
    assert seen.add_many({ann: ["b", "a"]}).results == {ann: 0}
    assert (writes, state_of(store, ann)) == ([], former)


@pytest.mark.parametrize("verb", ["add", "forget", "rotate", "remove"])
def test_nothing_is_made_for_a_user_of_whom_there_is_nothing(store: Store, ann: str, verb: str) -> None:
    seen = SeenItems(store)
    if verb in ("add", "forget"):
        assert getattr(seen, verb)(ann, [] if verb == "add" else ["a"]) == 0
    elif verb == "rotate":
        assert seen.rotate([ann]).users == 0
    else:
        assert not seen.remove(ann)
    assert state_of(store, ann) is None


# --- leaving -----------------------------------------------------------------------------------------------


def test_a_user_who_is_removed_or_rebuilt_from_nothing_has_seen_nothing_and_may_see_again(seen: Any, ann: str) -> None:
    seen.add(f"{ann}-2", ["a"])
    for forget_all in (lambda: seen.remove(ann), lambda: seen.add_many({ann: []}, anew=True)):
        seen.add(ann, ["a", "b"])
        seen.forget(ann, ["b"])
        forget_all()
        assert seen.unseen_many({ann: ["a", "b"], f"{ann}-2": ["a"]}) == {ann: ["a", "b"], f"{ann}-2": []}
        assert (seen.stats(ann).generations, seen.stats(ann).forgotten) == ((), 0)
        assert seen.add(ann, ["a"]) == 1
        assert seen.unseen(ann, ["a", "b"]) == ["b"]


def test_a_forgotten_item_is_unseen_to_every_question(seen: Any, ann: str) -> None:
    seen.add(ann, ["a", "b", "c"])
    assert seen.forget(ann, ["b", "x", "b"]) == 1
    assert seen.unseen(ann, ["a", "b", "c"]) == ["b"]
    assert seen.unseen_many({ann: ["b"]}) == {ann: ["b"]}
    assert seen.unseen(ann, ["a", "b"]) == ["b"]
    assert seen.page(
        ann, lambda offset, size: ["a", "b", "c"][offset : offset + size], 5, item=lambda hit: hit
    ).hits == ["b"]
    assert seen.stats(ann).forgotten == 1
    seen.add(ann, ["b"])
    assert seen.stats(ann).forgotten == 0


def test_a_full_list_of_forgotten_items_is_an_error_and_nothing_is_forgotten(store: Store, ann: str) -> None:
    seen = SeenItems(store)
    seen.add(ann, range(MAX_FORGOTTEN + 1))
    assert seen.forget(ann, range(MAX_FORGOTTEN)) == MAX_FORGOTTEN == 1_000
    before = state_of(store, ann)
    with pytest.raises(InputError, match=rf"user '{ann}' were not changed: 1,001 forgotten items are too many"):
        seen.forget(ann, [MAX_FORGOTTEN])
    assert state_of(store, ann) == before


# --- generations -------------------------------------------------------------------------------------------


def test_all_users_are_rotated_when_none_is_named(seen: Any, ann: str, clock: Clock) -> None:
    users = [f"{ann}-{n}" for n in range(2_001)]  # a store lists two thousand at once, at most
    seen.add_many({user: ["a"] for user in users})
    so_far: list[int] = []
    counts = seen.rotate(progress=so_far.append)  # in the same second
    assert (counts.users >= len(users), counts.failed) == (True, {})
    assert (len(so_far) > 1, so_far[-1]) == (True, counts.users)
    assert {len(seen.stats(user).generations) for user in (users[0], users[-1])} == {2}


def test_a_rotation_that_would_forget_everything_is_refused(tmp_path: Path) -> None:
    with SeenItems(f"sqlite:///{tmp_path}/users.db") as seen:
        seen.add("ann", ["a"])
        with pytest.raises(InputError, match=r"keeps one generation .*: keep more"):
            seen.rotate()
        assert seen.unseen("ann", ["a"]) == []


def test_a_rotation_that_is_repeated_with_the_same_time_does_only_what_is_left(
    seen: Any, ann: str, clock: Clock
) -> None:
    seen.add_many({ann: ["a"], f"{ann}-2": ["a"]})
    clock.now = 2_000
    before = datetime.fromtimestamp(clock.now, timezone.utc)
    seen.rotate([ann], before=before)
    clock.now += 500
    assert seen.rotate([ann, f"{ann}-2"], before=before).users == 1
    assert [len(seen.stats(user).generations) for user in (ann, f"{ann}-2")] == [2, 2]


def test_a_user_who_can_t_be_rotated_is_named_and_the_others_are(store: Store, ann: str, clock: Clock) -> None:
    users = [ann, f"{ann}-2", f"{ann}-3"]
    seen = SeenItems(store)
    seen.add_many({user: ["a"] for user in users[:2]})
    # The last one is listed, by its time, and has no generation; that is to end, too.
    store.write_users({users[2]: UserState({"filters": [], "newest": clock.now, "added": 0, "forgotten": []})})
    spoil(store, ann)
    clock.now += 1
    report = seen.rotate()
    assert isinstance(report.failed[ann], FilterFormatError)
    assert len(seen.stats(users[1]).generations) == 2
    SeenItems(store).remove(ann)
    SeenItems(store).remove(users[2])


def test_with_a_period_items_are_forgotten_also_if_nothing_is_added(tmp_path: Path, clock: Clock) -> None:
    with SeenItems(f"sqlite:///{tmp_path}/users.db", generations=2, period=100) as seen:
        seen.add("ann", ["a"])
        clock.now += 199
        assert seen.unseen("ann", ["a"]) == []
        clock.now += 1
        assert seen.unseen_many({"ann": ["a"]}) == {"ann": ["a"]}
        assert (seen.stats("ann").generations, seen.to_bytes("ann"), seen.forget("ann", ["a"])) == ((), [], 0)
        assert seen.add("ann", ["a"]) == 1


# --- inactive users ----------------------------------------------------------------------------------------


def test_users_who_have_seen_nothing_new_since_a_time_are_removed_and_no_others(
    new_address: Callable[[], str], clock: Clock
) -> None:
    with SeenItems(new_address(), **CONFIG) as seen:
        seen.setup()
        seen.add_many({"old": ["a"], "again": ["a"], "reads": ["a"], **{f"u{n}": ["a"] for n in range(1_100)}})
        clock.now += 100
        seen.rotate(["old"])
        seen.add_many({"again": ["a", "b"], "new": ["a"], "reads": ["a"]})
        before, so_far = datetime.fromtimestamp(clock.now, timezone.utc), list[int]()
        counts = seen.remove_inactive(before, progress=so_far.append)
        assert (counts.users, counts.failed, so_far[-1]) == (1_102, {}, 1_102)
        unseen = seen.unseen_many({user: ["a"] for user in ("old", "again", "reads", "new", "u0")})
        assert unseen == {"old": ["a"], "again": [], "reads": ["a"], "new": [], "u0": ["a"]}
        assert seen.remove_inactive(before).users == 0
        clock.now += 86_400
        assert seen.remove_inactive(timedelta(hours=1)).users == 2
        for wrong in (None, "90d", 90, timedelta(days=-1)):
            with pytest.raises(InputError, match=r"before is .*: use a datetime"):
                seen.remove_inactive(wrong)  # type: ignore[arg-type]


def test_a_user_who_sees_something_new_meanwhile_stays(store: Store, ann: str, clock: Clock) -> None:
    seen = SeenItems(store)
    seen.add(ann, ["a"])
    clock.now += 10
    before(store, "read_users", lambda: SeenItems(open_store(store.name, deadline=30)).add(ann, ["b"]))
    seen.remove_inactive(datetime.fromtimestamp(clock.now, timezone.utc))
    assert seen.unseen(ann, ["a", "b", "c"]) == ["c"]


def test_the_filters_of_a_user_are_bytes_for_a_program_elsewhere(seen: Any, ann: str, clock: Clock) -> None:
    seen.add(ann, ["a"])
    clock.now += 1
    seen.rotate([ann])
    seen.add(ann, ["b"])
    filters = [BloomFilter.from_bytes(each) for each in seen.to_bytes(ann)]
    assert [(item, ["a" in each, "b" in each]) for item, each in zip("ab", filters, strict=True)] == [
        ("a", [True, False]),
        ("b", [False, True]),
    ]


# --- rebuilding --------------------------------------------------------------------------------------------


def test_rebuilt_users_have_seen_what_was_given_and_nothing_else(seen: Any, ann: str, clock: Clock) -> None:
    other = f"{ann}-2"
    seen.add_many({ann: ["old", "both"], other: ["old"]})
    seen.forget(ann, ["both"])
    clock.now += 10
    seen.rotate([ann])
    assert seen.add_many({ann: ["new", "both"]}, anew=True).results == {ann: 2}
    assert seen.unseen_many({ann: ["old", "both", "new"], other: ["old"]}) == {ann: ["old"], other: []}
    stats = seen.stats(ann)
    assert ([each.started for each in stats.generations], stats.forgotten) == ([clock.now], 0)


# --- configuration -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", [{"capacity": 0}, {"error_rate": 1}, {"generations": 0}, {"period": 60}])
@pytest.mark.parametrize("kind", [SeenItems, AsyncSeenItems])
def test_a_number_out_of_its_range_is_refused_before_anything_is_sent(kind: Any, wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        kind("http://localhost:1/users", **wrong)


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
        with pytest.raises(SchemeMismatch, match=rf"set up with capacity 100, .*, not with .*{name} {value}.*: leave"):
            method()
    assert state_of(store, ann) is None


# --- setting up --------------------------------------------------------------------------------------------


@pytest.mark.elasticsearch
@pytest.mark.parametrize("field", [{"properties": {"count": {"type": "long"}}}, {"type": "date"}])
def test_a_field_seen_of_somebody_elses_is_left_alone(client: Elasticsearch, index_name: str, field: Any) -> None:
    mappings = {"properties": {"seen": field}}
    client.indices.create(index=index_name, mappings=mappings)
    seen = SeenItems(client, index=index_name)
    with pytest.raises(StoreError, match="seen"):
        seen.setup()
    with pytest.raises(NotSetUp, match="run `es-simhash seen init"):
        seen.add("ann", ["a"])
    assert client.indices.get_mapping(index=index_name)[index_name]["mappings"] == mappings


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
