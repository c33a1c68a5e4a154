"""Tests for the methods on the store itself."""

from __future__ import annotations

from es_simhash.fingerprinting.scheme import DEFAULT
from es_simhash.search.encoding import encoded
from tests.contract.documents import entry, keys, write
from tests.contract.suite import Suite


class HealthContract(Suite):
    """What is at the store's address, what is wrong with it, and what fills it."""

    def test_a_store_is_located_and_examined_before_and_after_set_up_and_nothing_is_made(self) -> None:
        store = self.make_store()
        store.locate()
        assert store.examine()
        assert store.set_up(DEFAULT) == "created", "so nothing was made before"
        assert (store.locate().exists, store.locate().documents) == (True, 0)
        write(store, entry("a", 1), entry("b", None))
        assert store.locate().documents == 2
        checks = store.examine()
        assert [check for check in checks if check.status == "problem"] == []
        assert len({check.name for check in checks}) == len(checks)
        assert all(check.text and "\n" not in check.text for check in checks)

    def test_the_most_frequent_keys_come_first_and_the_bytes_are_known_or_the_reason_is(self) -> None:
        store = self.ready()
        written = [entry("a", 1, keys=keys("m1", "m2")), entry("b", 2, keys=keys("m2")), entry("c", 3, keys=keys("m2"))]
        write(store, *written)
        m1, m2 = encoded(keys("m1", "m2"))
        assert store.count_keys(10) == ((m2, 3), (m1, 1))
        space = store.measure_space()
        assert space.reason or (space.total and sum(space.fields.values()) > 0)
