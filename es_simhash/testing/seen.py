"""What every store keeps of requests on seen items."""

from __future__ import annotations

from dataclasses import replace

from es_simhash.bloom.seen import SeenConfig
from es_simhash.contract import (
    ChangeUsers,
    Describe,
    DescribeSeen,
    FetchUsers,
    ListUsers,
    Refresh,
    RemoveUsers,
    SetUp,
    SetUpSeen,
    Store,
    UserState,
)
from es_simhash.fingerprinting.scheme import DEFAULT


class SeenContract:
    """The laws of requests on seen items, as tests for pytest."""

    def make_store(self) -> Store:
        """A new, empty store that was not set up."""
        raise NotImplementedError

    def _with_users(self) -> Store:
        store = self.make_store()
        store.perform(SetUpSeen(SeenConfig()))
        return store

    def test_seen_items_keep_their_configuration_and_may_be_set_up_again(self) -> None:
        store = self.make_store()
        assert store.perform(DescribeSeen()) is None
        config = SeenConfig(capacity=50, error_rate=0.001, generations=3, period=60)
        assert [store.perform(SetUpSeen(config)) for _ in range(2)] == ["created", "unchanged"]
        assert store.perform(DescribeSeen()) == config

    def test_documents_and_seen_items_live_in_one_store(self) -> None:
        store = self.make_store()
        store.perform(SetUp(DEFAULT))
        assert store.perform(SetUpSeen(SeenConfig())) in ("added", "created")
        assert store.perform(Describe()) == DEFAULT
        assert store.perform(DescribeSeen()) == SeenConfig()

    def test_a_users_state_is_fetched_at_once_as_it_was_written(self) -> None:
        store = self._with_users()
        state = UserState((b"first", bytes(range(256)), b""), 1 << 33, {"ab": 5, "cd": 1 << 33})
        assert change(store, ann=state) == set()
        assert fetched(store, "ann", "bob") == {"ann": state}

    def test_a_user_that_was_written_since_is_a_conflict_and_stays_as_it_is(self) -> None:
        store = self._with_users()
        change(store, ann=UserState((b"1",), 1))
        before = store.perform(FetchUsers(("ann",)))["ann"]
        assert change(store, ann=replace(before, filters=(b"2",))) == set()
        assert change(store, ann=replace(before, filters=(b"3",)), bob=UserState((b"4",), 1)) == {"ann"}
        assert {user: state.filters for user, state in fetched(store, "ann", "bob").items()} == {
            "ann": (b"2",),
            "bob": (b"4",),
        }

    def test_a_user_that_appeared_since_is_a_conflict(self) -> None:
        store = self._with_users()
        assert [change(store, ann=UserState((value,), 1)) for value in (b"1", b"2")] == [set(), {"ann"}]
        assert fetched(store, "ann")["ann"].filters == (b"1",)

    def test_a_user_that_vanished_since_is_a_conflict(self) -> None:
        store = self._with_users()
        change(store, ann=UserState((b"1",), 1))
        before = store.perform(FetchUsers(("ann",)))["ann"]
        assert store.perform(RemoveUsers(("ann", "bob"))) == {"ann"}
        assert change(store, ann=replace(before, filters=(b"2",))) == {"ann"}
        assert fetched(store, "ann") == {}

    def test_a_user_that_was_removed_and_made_anew_since_is_a_conflict(self) -> None:
        store = self._with_users()
        change(store, ann=UserState((b"1",), 1))
        before = store.perform(FetchUsers(("ann",)))["ann"]
        store.perform(RemoveUsers(("ann",)))
        change(store, ann=UserState((b"2",), 1))
        assert change(store, ann=replace(before, filters=(b"3",))) == {"ann"}
        assert fetched(store, "ann")["ann"].filters == (b"2",)

    def test_what_is_taken_out_of_a_state_is_gone(self) -> None:
        store = self._with_users()
        change(store, ann=UserState((b"1", b"2"), 2, {"a": 1, "b": 2}))
        before = store.perform(FetchUsers(("ann",)))["ann"]
        change(store, ann=UserState((b"2",), 2, {"b": 2}, before.version))
        assert fetched(store, "ann") == {"ann": UserState((b"2",), 2, {"b": 2})}

    def test_users_are_listed_by_their_newest_generation(self) -> None:
        store = self._with_users()
        change(store, ann=UserState((b"1",), 10), bob=UserState((b"1",), 20), none=UserState((), 0))
        store.perform(Refresh())
        for before, expected in [(10, []), (11, ["ann"]), (21, ["ann", "bob"])]:
            users = store.perform(ListUsers(before))
            assert sorted(users) == expected
        users = store.perform(ListUsers(21, without=("ann",)))
        assert users == ["bob"]


def change(store: Store, **states: UserState) -> set[str]:
    """Write the states of users; returns those of a conflict."""
    changed = store.perform(ChangeUsers(states))
    assert changed.refused == {}
    return set(changed.conflicts)


def fetched(store: Store, *users: str) -> dict[str, UserState]:
    """The states of users without their versions, which are each store's own."""
    states = store.perform(FetchUsers(users))
    return {user: replace(state, version=None) for user, state in states.items()}
