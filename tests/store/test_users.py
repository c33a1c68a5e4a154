"""The laws of seen items."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from es_simhash.bloom.seen import SeenConfig
from es_simhash.store.types import Description, UserState

if TYPE_CHECKING:
    from es_simhash.store.protocol import Store
    from tests.store.conftest import Stores

STATE = UserState((b"old\0\xff", b"new"), 1 << 31, {"ab" * 16: 3})


@pytest.fixture
def store(stores: Stores) -> Store:
    """Return a new store for seen items."""
    return stores.ready(Description(seen=SeenConfig(generations=2)))


def test_a_state_is_read_as_it_was_written(stores: Stores, store: Store) -> None:
    written = store.write_users({"u": STATE, "用户 1": UserState()})
    assert not written.conflicts
    states = stores.again(store).read_users(["u", "用户 1", "missing"])
    assert states == {"u": STATE, "用户 1": UserState()}
    assert {user: state.version for user, state in states.items()} == written.versions
    assert store.read_users([]) == {}


def test_a_state_is_written_on_its_version(store: Store) -> None:
    store.write_users({"u": STATE})
    first = store.read_users(["u"])["u"]
    changed = UserState((b"x",), 5, {}, version=first.version)
    assert store.write_users({"u": changed, "new": STATE}).conflicts == set()
    assert store.write_users({"u": first}).conflicts == {"u"}
    assert store.write_users({"new": STATE}).conflicts == {"new"}
    assert store.write_users({"missing": first}).conflicts == {"missing"}
    assert store.read_users(["u", "missing"]) == {"u": changed}


def test_a_user_who_was_removed_has_no_former_version(store: Store) -> None:
    store.write_users({"u": STATE})
    first = store.read_users(["u"])["u"]
    assert store.remove_users(["u", "missing"]) == {"u"}
    assert store.read_users(["u"]) == {}
    assert store.write_users({"u": first}).conflicts == {"u"}
    store.write_users({"u": replace(STATE, version=None)})
    assert store.write_users({"u": first}).conflicts == {"u"}


def test_users_are_listed_by_the_start_of_their_newest_generation(store: Store) -> None:
    times = {"b": 5, "a": 6, "c": 7, "none": 0}
    store.write_users({user: UserState((b"x",), newest) for user, newest in times.items()})
    store.refresh()
    assert listed(store, 7) == ["a", "b"]
    assert listed(store, 8) == ["a", "b", "c"]
    assert listed(store, 5) == []


def test_all_users_are_listed_list_by_list(store: Store) -> None:
    users = [f"{number:05}" for number in range(2_500)]
    store.write_users({user: UserState((b"x",), 1) for user in users})
    store.refresh()
    assert listed(store, 2) == users


def listed(store: Store, before: int) -> list[str]:
    """Return the users whose newest generation started before a time, sorted."""
    return sorted(user for users in store.list_users(before) for user in users)
