"""The store on one SQLite file, which holds documents, seen items, or both."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from es_simhash.contract.store import NO_VERSIONS
from es_simhash.errors import Unsupported
from es_simhash.retries import Retrying, retried
from es_simhash.stores.sqlite import documents, search
from es_simhash.stores.sqlite import examine as health
from es_simhash.stores.sqlite import users as users_of
from es_simhash.stores.sqlite.database import Database, SourceNotJson

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

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

P = ParamSpec("P")
T = TypeVar("T")


def _again_without_trust(method: Callable[Concatenate[SqliteStore, P], T]) -> Callable[Concatenate[SqliteStore, P], T]:
    """Repeat a method that met a stored document that is not JSON: from then on filters expect such documents."""

    @wraps(method)
    def attempts(self: SqliteStore, /, *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return method(self, *args, **kwargs)
        except SourceNotJson:
            if not self._database.trusted:
                raise
            self._database.trusted = False
            return method(self, *args, **kwargs)

    return attempts


class SqliteStore(Retrying):
    """A Store on one SQLite file. What the methods do is said in the Store protocol.

    Several processes may use the file at once: each write is one transaction, and the others wait for it.

    :param path: path of the file; ``:memory:`` for a store in memory.
    """

    embedded = True
    is_async = False

    def __init__(self, path: str) -> None:
        super().__init__()
        self._database = Database(path)
        self.name = self._database.name

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    # --- set up ----------------------------------------------------------------------------------------------------

    @retried
    def describe(self) -> Scheme | None:
        return documents.describe(self._database)

    @retried
    def set_up(self, scheme: Scheme, keys: bool = False, template: bool = False) -> str:
        return documents.set_up(self._database, scheme, keys, template)

    @retried
    def describe_keys(self) -> KeysState:
        return documents.describe_keys(self._database)

    @retried
    def set_up_keys(self) -> str:
        return documents.set_up_keys(self._database)

    @retried
    def complete_keys(self) -> None:
        documents.complete_keys(self._database)

    @retried
    def describe_rule(self) -> StoredRule:
        return documents.describe_rule(self._database)

    @retried
    def keep_rule(self, rule: StoredRule, replace: bool = False) -> None:
        documents.keep_rule(self._database, rule, replace)

    def check_time_field(self, field: str) -> None:
        """Do nothing: the time of a document is read from the document itself."""

    def switch_alias(self, alias: str, to: str, check: bool = False) -> None:
        raise Unsupported(f"{self.name} is a file, so it has no aliases")

    # --- read documents --------------------------------------------------------------------------------------------

    @retried
    def fetch(self, ids: tuple[str, ...], time_field: str | None = None) -> dict[str, Row]:
        return documents.fetch(self._database, ids, time_field)

    @retried
    def fetch_fields(self, ids: tuple[str, ...], fields: tuple[str, ...] | None) -> dict[str, dict[str, Any]]:
        return documents.fetch_fields(self._database, ids, fields)

    @retried
    def fetch_whole(self, ids: tuple[str, ...]) -> dict[str, str]:
        return documents.fetch_whole(self._database, ids)

    @retried
    @_again_without_trust
    def candidates(self, query: Candidates) -> Found:
        return search.candidates(query, self._database)

    @retried
    def dependents(self, originals: tuple[str, ...], heads: tuple[str, ...]) -> set[str]:
        return documents.dependents(self._database, originals, heads)

    @retried
    @_again_without_trust
    def scan(self, scan: Scan) -> ScanPage:
        return documents.scan(scan, self._database)

    @retried
    @_again_without_trust
    def count(self, scan: Scan) -> int:
        return documents.count(self._database, scan)

    def read_fingerprints(
        self, after: Any = None, own: int | None = None, most: int | None = None, *, keys: bool = False
    ) -> FingerprintPage | None:
        return None  # a look-up in the file costs little

    def refresh(self) -> None:
        """Do nothing: what was written is found at once."""

    # --- write documents -------------------------------------------------------------------------------------------

    @retried
    def clock_difference(self) -> int:
        return documents.clock_difference(self._database)

    @retried
    def write(
        self,
        entries: tuple[Entry, ...],
        bits: int,
        pipeline: str | None = None,
    ) -> Written:
        return documents.write(self._database, entries, bits, pipeline)

    @retried
    def restore(self, whole: Mapping[str, str]) -> Written:
        return documents.restore(self._database, whole)

    @retried
    def annotate(self, rows: tuple[Row, ...], bits: int) -> Written:
        return documents.annotate(self._database, rows, bits)

    @retried
    def relink(self, links: Mapping[str, Link]) -> set[str]:
        return documents.relink(self._database, links)

    @retried
    def remove(self, ids: tuple[str, ...], versions: Mapping[str, Any] = NO_VERSIONS) -> set[str]:
        return documents.remove(self._database, ids, versions)

    # --- the store itself ------------------------------------------------------------------------------------------

    @retried
    def locate(self) -> Location:
        return health.locate(self._database)

    @retried
    def examine(self) -> tuple[Check, ...]:
        return health.examine(self._database)

    @retried
    def measure_space(self) -> Space:
        return health.measure_space(self._database)

    @retried
    def count_keys(self, most: int) -> tuple[tuple[str, int], ...]:
        return health.count_keys(self._database, most)

    # --- the items that users have seen ----------------------------------------------------------------------------

    @retried
    def describe_seen(self) -> SeenConfig | None:
        return users_of.describe_seen(self._database)

    @retried
    def set_up_seen(self, config: SeenConfig) -> str:
        return users_of.set_up_seen(self._database, config)

    @retried
    def fetch_users(self, users: tuple[str, ...]) -> dict[str, UserState]:
        return users_of.fetch_users(self._database, users)

    @retried
    def change_users(self, states: Mapping[str, UserState]) -> Changed:
        return users_of.change_users(self._database, states)

    @retried
    def remove_users(self, users: tuple[str, ...]) -> set[str]:
        return users_of.remove_users(self._database, users)

    @retried
    def list_users(self, before: int, without: tuple[str, ...] = ()) -> list[str]:
        return users_of.list_users(self._database, before, without)
