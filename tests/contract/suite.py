"""What the contract suite needs of a store: how to make one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from es_simhash.fingerprinting.scheme import DEFAULT

if TYPE_CHECKING:
    from es_simhash.bloom.seen import SeenConfig
    from es_simhash.contract import Store
    from es_simhash.fingerprinting.scheme import Scheme


class Suite:
    """Base class of the tests for a store."""

    def make_store(self) -> Store:
        """Return a new, empty store that was not set up."""
        raise NotImplementedError

    def open_again(self, store: Store) -> Store:
        """Return another store on the same data, as a second program opens it.

        The default returns the store itself. That suits a store whose data only one program can reach.

        :param store: from :meth:`make_store`.
        """
        return store

    def ready(self, scheme: Scheme = DEFAULT) -> Store:
        """Return a new store that was set up for documents."""
        store = self.make_store()
        store.set_up(scheme)
        return store

    def ready_for_users(self, config: SeenConfig) -> Store:
        """Return a new store that was set up for seen items."""
        store = self.make_store()
        store.set_up_seen(config)
        return store
