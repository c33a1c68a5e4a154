"""The store on one index, through a sync or an async client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from es_simhash.contract.store import NO_VERSIONS
from es_simhash.retries import Retrying
from es_simhash.stores.elasticsearch import (
    aliases,
    clock,
    documents,
    fingerprints,
    health,
    keys_state,
    search,
    stored_rule,
    times,
)
from es_simhash.stores.elasticsearch import scan as scans
from es_simhash.stores.elasticsearch import users as users_of
from es_simhash.stores.elasticsearch.index import Index
from es_simhash.stores.elasticsearch.responses import requested

if TYPE_CHECKING:
    from collections.abc import Mapping

    from es_simhash.bloom.seen import SeenConfig
    from es_simhash.contract import (
        Candidates,
        Changed,
        Check,
        Entry,
        FingerprintPage,
        Found,
        KeysState,
        Link,
        Location,
        Row,
        Scan,
        ScanPage,
        Space,
        StoredRule,
        UserState,
        Written,
    )
    from es_simhash.fingerprinting.scheme import Scheme
    from es_simhash.stores.elasticsearch.index import Dialect
    from es_simhash.stores.elasticsearch.routing import Routing


class IndexStore(Retrying):
    """A Store on one index, or on an alias of it. What the methods do is said in the Store protocol.

    :param client: an official client. With an async client, only a call of an async class may use the store.
    :param index: name of the index or the alias.
    :param name: the address without credentials, for messages.
    :param dialect: of the server and the client.
    :param is_async: the client is async.
    :param owned: close the client together with the store.
    :param routing: of all documents.
    """

    embedded = False

    def __init__(
        self,
        client: Any,
        index: str,
        name: str,
        dialect: Dialect,
        *,
        is_async: bool,
        owned: bool,
        routing: Routing | None = None,
    ) -> None:
        super().__init__()
        self.is_async = is_async
        self.name = name + ("" if routing is None else routing.in_address)
        self._index = Index(index, self.name, dialect, client, is_async, routing)
        self._owned = owned

    def close(self) -> None:
        """Close the client, if it belongs to the store."""
        if self._owned:
            self._index.close()

    # --- set up ----------------------------------------------------------------------------------------------------

    @requested
    def describe(self) -> Scheme | None:
        return documents.describe(self._index)

    @requested
    def set_up(self, scheme: Scheme, keys: bool = False, template: bool = False) -> str:
        return documents.set_up(self._index, scheme, keys, template)

    @requested
    def describe_keys(self) -> KeysState:
        return keys_state.describe_keys(self._index)

    @requested
    def set_up_keys(self) -> str:
        return keys_state.set_up_keys(self._index)

    @requested
    def complete_keys(self) -> None:
        keys_state.complete_keys(self._index)

    @requested
    def describe_rule(self) -> StoredRule:
        return stored_rule.describe_rule(self._index)

    @requested
    def keep_rule(self, rule: StoredRule, replace: bool = False) -> None:
        stored_rule.keep_rule(self._index, rule, replace)

    @requested
    def check_time_field(self, field: str) -> None:
        times.check_time_field(self._index, field)

    @requested
    def switch_alias(self, alias: str, to: str, check: bool = False) -> None:
        aliases.switch_alias(self._index, alias, to, check)

    # --- read documents --------------------------------------------------------------------------------------------

    @requested
    def fetch(self, ids: tuple[str, ...], time_field: str | None = None) -> dict[str, Row]:
        return documents.fetch(self._index, ids, time_field)

    @requested
    def fetch_fields(self, ids: tuple[str, ...], fields: tuple[str, ...] | None) -> dict[str, dict[str, Any]]:
        return documents.fetch_fields(self._index, ids, fields)

    @requested
    def fetch_whole(self, ids: tuple[str, ...]) -> dict[str, str]:
        return documents.fetch_whole(self._index, ids)

    @requested
    def candidates(self, query: Candidates) -> Found:
        return search.candidates(query, self._index)

    @requested
    def dependents(self, originals: tuple[str, ...], heads: tuple[str, ...]) -> set[str]:
        return search.dependents(self._index, originals, heads)

    @requested
    def scan(self, scan: Scan) -> ScanPage:
        return scans.scan(scan, self._index)

    @requested
    def count(self, scan: Scan) -> int:
        return scans.count(self._index, scan)

    @requested
    def read_fingerprints(
        self, after: Any = None, own: int | None = None, most: int | None = None, *, keys: bool = False
    ) -> FingerprintPage | None:
        return fingerprints.read_fingerprints(self._index, after, own, most, keys=keys)

    @requested
    def refresh(self) -> None:
        documents.refresh(self._index)

    # --- write documents -------------------------------------------------------------------------------------------

    @requested
    def clock_difference(self) -> int:
        return clock.clock_difference(self._index)

    @requested
    def write(
        self,
        entries: tuple[Entry, ...],
        bits: int,
        pipeline: str | None = None,
    ) -> Written:
        return documents.write(self._index, entries, bits, pipeline)

    @requested
    def restore(self, whole: Mapping[str, str]) -> Written:
        return documents.restore(self._index, whole)

    @requested
    def annotate(self, rows: tuple[Row, ...], bits: int) -> Written:
        return documents.annotate(self._index, rows, bits)

    @requested
    def relink(self, links: Mapping[str, Link]) -> set[str]:
        return documents.relink(self._index, links)

    @requested
    def remove(self, ids: tuple[str, ...], versions: Mapping[str, Any] = NO_VERSIONS) -> set[str]:
        return documents.remove(self._index, ids, versions)

    # --- the store itself ------------------------------------------------------------------------------------------

    @requested
    def locate(self) -> Location:
        return health.locate(self._index)

    @requested
    def examine(self) -> tuple[Check, ...]:
        return health.examine(self._index)

    @requested
    def measure_space(self) -> Space:
        return health.measure_space(self._index)

    @requested
    def count_keys(self, most: int) -> tuple[tuple[str, int], ...]:
        return health.count_keys(self._index, most)

    # --- the items that users have seen ----------------------------------------------------------------------------

    @requested
    def describe_seen(self) -> SeenConfig | None:
        return users_of.describe_seen(self._index)

    @requested
    def set_up_seen(self, config: SeenConfig) -> str:
        return users_of.set_up_seen(self._index, config)

    @requested
    def fetch_users(self, users: tuple[str, ...]) -> dict[str, UserState]:
        return users_of.fetch_users(self._index, users)

    @requested
    def change_users(self, states: Mapping[str, UserState]) -> Changed:
        return users_of.change_users(self._index, states)

    @requested
    def remove_users(self, users: tuple[str, ...]) -> set[str]:
        return users_of.remove_users(self._index, users)

    @requested
    def list_users(self, before: int, without: tuple[str, ...] = ()) -> list[str]:
        return users_of.list_users(self._index, before, without)
