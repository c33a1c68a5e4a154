"""Tests for the methods on the store itself."""

from __future__ import annotations

from es_simhash.fingerprinting.scheme import DEFAULT
from tests.contract.documents import entry, write
from tests.contract.suite import Suite


class HealthContract(Suite):
    """What is at the store's address."""

    def test_a_store_is_located_before_and_after_set_up_and_nothing_is_made(self) -> None:
        store = self.make_store()
        store.locate()
        assert store.set_up(DEFAULT) == "created", "so nothing was made before"
        assert (store.locate().exists, store.locate().documents) == (True, 0)
        write(store, entry("a", 1), entry("b", None))
        assert store.locate().documents == 2
