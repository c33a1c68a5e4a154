"""Tests for set-up, for what a store may refuse, and for closing."""

from __future__ import annotations

import inspect
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from threading import Barrier
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash.bloom.seen import SeenConfig
from es_simhash.contract import Candidates, KeysState, Probe, Scan, StoredRule, UserState
from es_simhash.errors import InputError, NotSetUp, SchemeMismatch, SimhashError
from es_simhash.fingerprinting.scheme import DEFAULT, Scheme
from es_simhash.similarity.rule import DuplicateRule
from tests.contract.documents import entry, near, write
from tests.contract.seen_contract import change
from tests.contract.suite import Suite
from tests.contract.watched import METHODS

if TYPE_CHECKING:
    from collections.abc import Callable


OTHER_SCHEMES = [Scheme(weights="tf"), Scheme(bits=128)]
OTHER_CONFIGS = [SeenConfig(capacity=50), SeenConfig(generations=3, period=60)]


class SetUpContract(Suite):
    """Set-up, what a store may refuse, and closing."""

    # --- documents -------------------------------------------------------------------------------------------------

    def test_a_new_store_has_no_scheme(self) -> None:
        assert self.make_store().describe() is None

    def test_a_store_has_one_identity_while_documents_are_written(self) -> None:
        store = self.make_store()
        store.set_up(DEFAULT)
        place = store.identify()
        assert len(place) == 1
        write(store, entry("a", 0))
        store.refresh()
        assert store.identify() == place

    def test_a_store_keeps_its_scheme_and_a_second_set_up_changes_nothing(self) -> None:
        store = self.make_store()
        scheme = Scheme(weights="tf", digest="sha256")
        assert [store.set_up(scheme) for _ in range(2)] == ["created", "unchanged"]
        assert store.describe() == scheme

    def test_another_scheme_is_an_error_and_changes_nothing(self) -> None:
        store = self.ready()
        write(store, entry("a", 5))
        for other in OTHER_SCHEMES:
            with pytest.raises(SchemeMismatch) as caught:
                store.set_up(other)
            assert store.name in str(caught.value)
            assert DEFAULT.version in str(caught.value)
            assert other.version in str(caught.value)
        assert store.describe() == DEFAULT
        assert self.open_again(store).describe() == DEFAULT
        assert store.set_up(DEFAULT) == "unchanged"
        assert store.fetch(("a",))["a"].fingerprint == 5
        write(store, entry("b", 6))
        assert {row.id for row in near(store, 5, 3)} == {"a", "b"}

    def test_a_store_keeps_a_rule_and_what_is_missing_is_added(self) -> None:
        store = self.make_store()
        assert store.describe_rule() == StoredRule()
        with pytest.raises(NotSetUp):
            store.keep_rule(StoredRule(id_field="url"))
        store.set_up(DEFAULT, keys=True)
        assert store.describe_rule() == StoredRule()
        store.keep_rule(StoredRule(id_field="url"))
        rule = DuplicateRule(rule="contained", confirm=0.85, within=timedelta(hours=36), time_field="day")
        store.keep_rule(StoredRule(rule, ("title", "body"), "id"))
        kept = StoredRule(rule, ("title", "body"), "url")
        assert store.describe_rule() == self.open_again(store).describe_rule() == kept
        assert store.describe() == DEFAULT
        assert store.describe_keys() == KeysState.COMPLETE

    def test_a_kept_rule_is_replaced_only_on_demand(self) -> None:
        store = self.ready()
        kept = StoredRule(DuplicateRule(), ("text",), "id")
        store.keep_rule(kept)
        other = StoredRule(DuplicateRule(rule="fingerprint", max_distance=2), ("body",))
        store.keep_rule(other)
        assert store.describe_rule() == kept
        store.keep_rule(other, replace=True)
        assert store.describe_rule() == StoredRule(other.rule, ("body",), "id")

    def test_of_two_programs_that_keep_different_rules_at_the_same_moment_both_find_one_of_them(self) -> None:
        store = self.ready()
        both = (store, self.open_again(store))
        rules = [StoredRule(DuplicateRule(rule=word), ("text",), "id") for word in ("copy", "exact")]
        at_the_same_moment(*(partial(each.keep_rule, rule) for each, rule in zip(both, rules, strict=True)))
        assert both[0].describe_rule() == both[1].describe_rule()
        assert store.describe_rule() in rules

    def test_of_two_programs_that_set_up_with_different_schemes_at_the_same_moment_one_gets_the_error(self) -> None:
        store = self.make_store()
        schemes = [Scheme(weights="tf"), Scheme(weights="equal")]
        both = [store, self.open_again(store)]
        replies = at_the_same_moment(*(partial(each.set_up, s) for each, s in zip(both, schemes, strict=True)))
        (winner,) = [i for i, reply in enumerate(replies) if reply == "created"]
        assert isinstance(replies[1 - winner], SchemeMismatch)
        assert store.describe() == schemes[winner]

    def test_two_programs_may_set_up_with_the_same_scheme_at_the_same_moment(self) -> None:
        store = self.make_store()
        replies = at_the_same_moment(*(partial(each.set_up, DEFAULT) for each in (store, self.open_again(store))))
        assert sorted(replies) == ["created", "unchanged"]

    # --- seen items ------------------------------------------------------------------------------------------------

    def test_seen_items_keep_their_configuration_and_a_second_set_up_changes_nothing(self) -> None:
        store = self.make_store()
        assert store.describe_seen() is None
        config = SeenConfig(capacity=50, error_rate=0.001, generations=3, period=60)
        assert [store.set_up_seen(config) for _ in range(2)] == ["created", "unchanged"]
        assert store.describe_seen() == config

    def test_another_configuration_of_seen_items_is_an_error_and_changes_nothing(self) -> None:
        store = self.ready_for_users(SeenConfig())
        change(store, ann=UserState((b"1",), 1))
        for other in OTHER_CONFIGS:
            with pytest.raises(SchemeMismatch) as caught:
                store.set_up_seen(other)
            assert store.name in str(caught.value)
            assert str(other.to_dict()) in str(caught.value)
        assert store.describe_seen() == SeenConfig()
        assert self.open_again(store).describe_seen() == SeenConfig()
        assert store.set_up_seen(SeenConfig()) == "unchanged"
        assert store.fetch_users(("ann",))["ann"].filters == (b"1",)

    def test_of_two_programs_that_set_up_seen_items_differently_at_the_same_moment_one_gets_the_error(self) -> None:
        store = self.make_store()
        both = [store, self.open_again(store)]
        replies = at_the_same_moment(
            *(partial(each.set_up_seen, config) for each, config in zip(both, OTHER_CONFIGS, strict=True))
        )
        (winner,) = [i for i, reply in enumerate(replies) if reply == "created"]
        assert isinstance(replies[1 - winner], SchemeMismatch)
        assert store.describe_seen() == OTHER_CONFIGS[winner]

    def test_one_store_may_hold_documents_and_seen_items(self) -> None:
        store = self.ready()
        assert store.set_up_seen(SeenConfig()) in ("added", "created")
        assert store.describe() == DEFAULT
        assert store.describe_seen() == SeenConfig()
        with pytest.raises(SchemeMismatch):
            store.set_up(OTHER_SCHEMES[0])
        with pytest.raises(SchemeMismatch):
            store.set_up_seen(OTHER_CONFIGS[0])
        assert store.describe() == DEFAULT
        assert store.describe_seen() == SeenConfig()

    # --- what a store may refuse -----------------------------------------------------------------------------------

    def test_a_store_has_every_method_of_the_protocol_with_its_arguments(self) -> None:
        store = self.make_store()
        for name, signature in METHODS.items():
            described = [(each.name, each.default) for each in signature.parameters.values()][1:]
            own = [(each.name, each.default) for each in inspect.signature(getattr(store, name)).parameters.values()]
            assert own == described, name

    def test_an_unknown_filter_is_an_input_error(self) -> None:
        store = self.ready()
        write(store, entry("a", 1))
        unknown: dict[str, Any] = {"nonsense": {}}
        with pytest.raises(InputError):
            store.candidates(Candidates((Probe(1, None),), 0, DEFAULT.bits, filter=unknown))
        with pytest.raises(InputError):
            store.scan(Scan(filter=unknown))
        with pytest.raises(InputError):
            store.count(Scan(filter=unknown))

    def test_a_document_that_is_refused_is_named_and_the_others_are_written(self) -> None:
        store = self.ready()
        write(store, entry("a", 1, n=1))
        # A store with typed fields may refuse b, because n is a number in a.
        entries = (entry("b", 2, n={"inner": 1}), entry("c", 3, n=2))
        written = write(store, *entries)
        assert written.refused.keys() <= {"b"}
        assert all(written.refused.values()), "each has a reason"
        assert not written.busy
        assert not written.conflicts
        assert store.fetch(("a", "b", "c")).keys() == {"a", "b", "c"} - written.refused.keys()

    def test_a_request_for_nothing_does_nothing(self) -> None:
        store = self.ready()
        for written in (store.write((), DEFAULT.bits), store.annotate((), DEFAULT.bits)):
            assert (written.refused, written.busy, written.conflicts) == ({}, frozenset(), frozenset())
        store.refresh()
        assert store.count(Scan()) == 0

    # --- closing ---------------------------------------------------------------------------------------------------

    def test_a_second_close_does_nothing(self) -> None:
        store = self.ready()
        store.close()
        store.close()


def at_the_same_moment(*calls: Callable[[], Any]) -> list[Any]:
    """Do all these calls in threads that start together, and return their results and errors."""
    together = Barrier(len(calls))

    def do(call: Callable[[], Any]) -> Any:
        together.wait()
        try:
            return call()
        except SimhashError as error:
            return error

    with ThreadPoolExecutor(len(calls)) as threads:
        return list(threads.map(do, calls))
