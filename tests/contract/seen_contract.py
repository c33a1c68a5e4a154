"""Tests for the methods on seen items."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from es_simhash.bloom.seen import SeenConfig
from es_simhash.contract import UserState
from tests.contract.suite import Suite

if TYPE_CHECKING:
    from es_simhash.contract import Store


class SeenContract(Suite):
    """Seen items."""

    def test_a_users_state_is_fetched_at_once_as_it_was_written(self) -> None:
        store = self.ready_for_users(SeenConfig())
        state = UserState((b"first", bytes(range(256)), b""), 1 << 33, {"ab": 5, "cd": 1 << 33})
        assert change(store, ann=state) == set()
        assert fetched(store, "ann", "bob") == {"ann": state}

    def test_a_user_who_was_written_after_the_read_is_a_conflict_and_does_not_change(self) -> None:
        store = self.ready_for_users(SeenConfig())
        change(store, ann=UserState((b"1",), 1))
        before = store.fetch_users(("ann",))["ann"]
        assert change(store, ann=replace(before, filters=(b"2",))) == set()
        assert change(store, ann=replace(before, filters=(b"3",)), bob=UserState((b"4",), 1)) == {"ann"}
        assert {user: state.filters for user, state in fetched(store, "ann", "bob").items()} == {
            "ann": (b"2",),
            "bob": (b"4",),
        }

    def test_a_user_who_was_added_after_the_read_is_a_conflict(self) -> None:
        store = self.ready_for_users(SeenConfig())
        assert [change(store, ann=UserState((value,), 1)) for value in (b"1", b"2")] == [set(), {"ann"}]
        assert fetched(store, "ann")["ann"].filters == (b"1",)

    def test_a_user_who_was_removed_after_the_read_is_a_conflict(self) -> None:
        store = self.ready_for_users(SeenConfig())
        change(store, ann=UserState((b"1",), 1))
        before = store.fetch_users(("ann",))["ann"]
        assert store.remove_users(("ann", "bob")) == {"ann"}
        assert change(store, ann=replace(before, filters=(b"2",))) == {"ann"}
        assert fetched(store, "ann") == {}

    def test_a_user_who_was_removed_and_added_again_after_the_read_is_a_conflict(self) -> None:
        store = self.ready_for_users(SeenConfig())
        change(store, ann=UserState((b"1",), 1))
        before = store.fetch_users(("ann",))["ann"]
        store.remove_users(("ann",))
        change(store, ann=UserState((b"2",), 1))
        assert change(store, ann=replace(before, filters=(b"3",))) == {"ann"}
        assert fetched(store, "ann")["ann"].filters == (b"2",)

    def test_what_a_new_state_leaves_out_is_gone(self) -> None:
        store = self.ready_for_users(SeenConfig())
        change(store, ann=UserState((b"1", b"2"), 2, {"a": 1, "b": 2}))
        before = store.fetch_users(("ann",))["ann"]
        change(store, ann=UserState((b"2",), 2, {"b": 2}, before.version))
        assert fetched(store, "ann") == {"ann": UserState((b"2",), 2, {"b": 2})}

    def test_users_are_listed_by_their_newest_generation(self) -> None:
        store = self.ready_for_users(SeenConfig())
        change(store, ann=UserState((b"1",), 10), bob=UserState((b"1",), 20), none=UserState((), 0))
        store.refresh()
        for before, expected in [(10, []), (11, ["ann"]), (21, ["ann", "bob"])]:
            users = store.list_users(before)
            assert sorted(users) == expected
        users = store.list_users(21, without=("ann",))
        assert users == ["bob"]


def change(store: Store, **states: UserState) -> set[str]:
    """Write the states of users, and return the users with a conflict."""
    changed = store.change_users(states)
    assert changed.refused == {}
    return set(changed.conflicts)


def fetched(store: Store, *users: str) -> dict[str, UserState]:
    """Return the states of users without their versions, which differ from store to store."""
    states = store.fetch_users(users)
    return {user: replace(state, version=None) for user, state in states.items()}
