"""The store on one SQLite file, which holds documents, seen items, or both."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from es_simhash.retries import Retrying, retried
from es_simhash.stores.sqlite import documents, search
from es_simhash.stores.sqlite import examine as health
from es_simhash.stores.sqlite import users as seen
from es_simhash.stores.sqlite.database import BUSY_SECONDS, Database, SourceNotJson
from es_simhash.stores.sqlite.keys import PAGE

if TYPE_CHECKING:
    from collections.abc import Callable

    from es_simhash.contract import FingerprintPage, Place

P = ParamSpec("P")
T = TypeVar("T")


def _of_file(function: Callable[Concatenate[Database, P], T]) -> Callable[Concatenate[SqliteStore, P], T]:
    """Make a method of the store from a function of its Database. It is retried.

    If it meets a stored document that is not JSON, it is repeated: from then on filters expect such documents.
    """

    @wraps(function)
    def method(self: SqliteStore, /, *args: P.args, **kwargs: P.kwargs) -> T:
        database = self._database
        try:
            return function(database, *args, **kwargs)
        except SourceNotJson:
            if not database.trusted:
                raise
            database.trusted = False
            return function(database, *args, **kwargs)

    return retried(method)


class SqliteStore(Retrying):
    """A Store on one SQLite file. What the methods do is said in the Store protocol.

    Most methods are functions of the Database that the store uses.

    Several processes may use the file at once: each write is one transaction, and the others wait for it.

    :param path: path of the file; ``:memory:`` for a store in memory.
    :param busy: seconds for which a write waits for the write of another process.
    :param key_page: entries in a page of keys that is written.
    """

    embedded = True

    def __init__(self, path: str, busy: float = BUSY_SECONDS, key_page: int = PAGE) -> None:
        super().__init__()
        self._database = Database(path, busy, key_page)
        self.name = self._database.name

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    # --- set up ----------------------------------------------------------------------------------------------------

    def identify(self) -> Place:
        return self._database.identify()

    describe = _of_file(documents.describe)
    set_up = _of_file(documents.set_up)
    describe_keys = _of_file(documents.describe_keys)
    set_up_keys = _of_file(documents.set_up_keys)
    complete_keys = _of_file(documents.complete_keys)
    describe_rule = _of_file(documents.describe_rule)
    keep_rule = _of_file(documents.keep_rule)

    def check_time_field(self, field: str) -> None:
        """Do nothing: the time of a document is read from the document itself."""

    # --- read documents --------------------------------------------------------------------------------------------

    fetch = _of_file(documents.fetch)
    fetch_fields = _of_file(documents.fetch_fields)
    fetch_whole = _of_file(documents.fetch_whole)
    candidates = _of_file(search.candidates)
    dependents = _of_file(documents.dependents)
    scan = _of_file(documents.scan)
    count = _of_file(documents.count)

    def read_fingerprints(
        self, after: Any = None, own: int | None = None, most: int | None = None, *, keys: bool = False
    ) -> FingerprintPage | None:
        return None  # a look-up in the file costs little

    def refresh(self) -> None:
        """Do nothing: what was written is found at once."""

    # --- write documents -------------------------------------------------------------------------------------------

    clock_difference = _of_file(documents.clock_difference)
    write = _of_file(documents.write)
    restore = _of_file(documents.restore)
    annotate = _of_file(documents.annotate)
    relink = _of_file(documents.relink)
    remove = _of_file(documents.remove)

    # --- the store itself ------------------------------------------------------------------------------------------

    locate = _of_file(health.locate)

    # --- the items that users have seen ----------------------------------------------------------------------------

    describe_seen = _of_file(seen.describe_seen)
    set_up_seen = _of_file(seen.set_up_seen)
    fetch_users = _of_file(seen.fetch_users)
    change_users = _of_file(seen.change_users)
    remove_users = _of_file(seen.remove_users)
    list_users = _of_file(seen.list_users)
