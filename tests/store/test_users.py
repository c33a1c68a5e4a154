"""The laws of seen items."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash.bloom.seen import SeenConfig
from es_simhash.rows import Description, UserState

if TYPE_CHECKING:
    from es_simhash.rows import SeenTime
    from es_simhash.store.protocol import Store
    from tests.store.conftest import Stores

STATE = UserState(
    {"filters": ["bmV3"], "newest": 1 << 31, "added": 1 << 32, "forgotten": [{"item": "ab" * 16, "generation": 3}]}
)


@pytest.fixture
def store(stores: Stores) -> Store:
    """Return a new store for seen items."""
    return stores.ready(Description(seen=SeenConfig(generations=2)))


def test_a_state_is_read_as_it_was_written(stores: Stores, store: Store) -> None:
    written = store.write_users({"u": STATE, "用户 1": started(0)})
    assert not written.conflicts
    states = stores.again(store).read_users(["u", "用户 1", "missing"])
    assert {user: kept(state) for user, state in states.items()} == {"u": STATE.seen, "用户 1": started(0).seen}
    assert {user: state.version for user, state in states.items()} == written.versions
    assert store.read_users([]) == {}


def test_a_state_is_written_on_its_version(store: Store) -> None:
    store.write_users({"u": STATE})
    first = store.read_users(["u"])["u"]
    changed = replace(started(5), version=first.version)
    assert store.write_users({"u": changed, "new": STATE}).conflicts == set()
    assert store.write_users({"u": first}).conflicts == {"u"}
    assert store.write_users({"new": STATE}).conflicts == {"new"}
    assert store.write_users({"missing": first}).conflicts == {"missing"}
    assert {user: kept(state) for user, state in store.read_users(["u", "missing"]).items()} == {"u": changed.seen}


def test_a_user_who_was_removed_has_no_former_version(store: Store) -> None:
    store.write_users({"u": STATE})
    first = store.read_users(["u"])["u"]
    assert store.write_users({"u": replace(first, seen=None), "missing": first}).conflicts == {"missing"}
    assert store.read_users(["u"]) == {}
    assert store.write_users({"u": first}).conflicts == {"u"}
    store.write_users({"u": replace(STATE, version=None)})
    assert store.write_users({"u": first}).conflicts == {"u"}


@pytest.mark.parametrize("time", ["newest", "added"])
def test_users_are_listed_by_the_start_of_their_newest_generation_or_by_their_last_item(
    store: Store, time: SeenTime
) -> None:
    times = {"b": 5, "a": 6, "c": 7, "none": 0}
    store.write_users({user: UserState({**started(1).seen, time: at}) for user, at in times.items()})
    store.refresh()
    assert listed(store, 7, time) == ["a", "b"]
    assert listed(store, 8, time) == ["a", "b", "c"]
    assert listed(store, 5, time) == []


def test_all_users_are_listed_list_by_list(store: Store) -> None:
    users = [f"{number:05}" for number in range(2_500)]
    store.write_users({user: started(1) for user in users})
    store.refresh()
    assert listed(store, 2) == users


def started(newest: int) -> UserState:
    """Return a state whose newest generation was started at a time."""
    return UserState({"filters": ["eA=="], "newest": newest, "added": newest, "forgotten": []})


def kept(state: UserState) -> dict[str, Any]:
    """Return what a state holds, without the mark of its write."""
    return {name: value for name, value in state.seen.items() if name != "mark"}


def listed(store: Store, before: int, time: SeenTime = "newest") -> list[str]:
    """Return the users of whom a time is before another one, sorted."""
    return sorted(user for users in store.list_users(time, before) for user in users)
