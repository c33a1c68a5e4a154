"""The store on one index, through a sync or an async client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from es_simhash.retries import Retrying
from es_simhash.stores.elasticsearch import (
    clock,
    documents,
    fingerprints,
    health,
    keys_state,
    search,
    set_up,
    stored_rule,
    times,
)
from es_simhash.stores.elasticsearch import scan as scans
from es_simhash.stores.elasticsearch import users as seen
from es_simhash.stores.elasticsearch.responses import requested

if TYPE_CHECKING:
    from es_simhash.stores.elasticsearch.index import Index


class IndexStore(Retrying):
    """A Store on one index, or on an alias of it. What the methods do is said in the Store protocol.

    Each method is a function of the Index that the store uses.

    :param index: with an async client, only a call of an async class may use the store.
    :param owned: close the client together with the store.
    """

    embedded = False

    def __init__(self, index: Index, *, owned: bool) -> None:
        super().__init__()
        self.name = index.name
        self._index = index
        self._owned = owned

    @property
    def client(self) -> Any:
        """The official client."""
        return self._index.client

    @property
    def index(self) -> str:
        """The name of the index, or of an alias of it."""
        return self._index.index

    def close(self) -> None:
        """Close the client, if it belongs to the store."""
        if self._owned:
            self._index.close()

    # --- set up ----------------------------------------------------------------------------------------------------

    identify = requested(set_up.identify)
    describe = requested(documents.describe)
    set_up = requested(documents.set_up)
    describe_keys = requested(keys_state.describe_keys)
    set_up_keys = requested(keys_state.set_up_keys)
    complete_keys = requested(keys_state.complete_keys)
    describe_rule = requested(stored_rule.describe_rule)
    keep_rule = requested(stored_rule.keep_rule)
    check_time_field = requested(times.check_time_field)

    # --- read documents --------------------------------------------------------------------------------------------

    fetch = requested(documents.fetch)
    fetch_fields = requested(documents.fetch_fields)
    fetch_whole = requested(documents.fetch_whole)
    candidates = requested(search.candidates)
    dependents = requested(search.dependents)
    scan = requested(scans.scan)
    count = requested(scans.count)
    read_fingerprints = requested(fingerprints.read_fingerprints)
    refresh = requested(documents.refresh)

    # --- write documents -------------------------------------------------------------------------------------------

    clock_difference = requested(clock.clock_difference)
    write = requested(documents.write)
    restore = requested(documents.restore)
    annotate = requested(documents.annotate)
    relink = requested(documents.relink)
    remove = requested(documents.remove)

    # --- the store itself ------------------------------------------------------------------------------------------

    locate = requested(health.locate)

    # --- the items that users have seen ----------------------------------------------------------------------------

    describe_seen = requested(seen.describe_seen)
    set_up_seen = requested(seen.set_up_seen)
    fetch_users = requested(seen.fetch_users)
    change_users = requested(seen.change_users)
    remove_users = requested(seen.remove_users)
    list_users = requested(seen.list_users)
