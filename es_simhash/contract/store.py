"""The Store protocol: what every store does."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from es_simhash.bloom.seen import SeenConfig
    from es_simhash.contract.candidates import Candidates, Found
    from es_simhash.contract.documents import Scan, ScanPage, Written
    from es_simhash.contract.fingerprints import FingerprintPage
    from es_simhash.contract.health import Location
    from es_simhash.contract.rows import Entry, Link, Row
    from es_simhash.contract.seen import Changed, UserState
    from es_simhash.contract.setup import KeysState, Place, StoredRule
    from es_simhash.fingerprinting.scheme import Scheme

NO_VERSIONS: Mapping[str, Any] = MappingProxyType({})


class Store(Protocol):
    """What keeps documents and the seen items of users.

    The contract suite in tests/contract/ tests what is said here. A store retries its own requests
    (``es_simhash.retries``). It may refuse:

    - single documents of ``write`` or ``annotate``: the result names them, with the reason;
    - a filter that it cannot evaluate: InputError;
    - a method that it does not support: InputError;
    - everything else: another :class:`~es_simhash.errors.StoreError`. ``retryable`` says whether to try again.
    """

    name: str
    """The address without credentials, for messages."""
    embedded: bool
    """The store belongs to this program alone. The first ingest sets it up."""

    def close(self) -> None:
        """Close files and connections. A second call does nothing."""

    # --- set up ----------------------------------------------------------------------------------------------------

    def identify(self) -> Place:
        """Return what is at the address now; empty if nothing is.

        What is deleted and made again has another id.
        """

    def describe(self) -> Scheme | None:
        """Return the Scheme that the store was set up with; None if it was not set up."""

    def set_up(self, scheme: Scheme, keys: bool = False, template: bool = False) -> str:
        """Make the index, the file or the fields that are missing.

        :param keys: the store gets keys if it was not set up before. A store that was set up stays with or without
            keys. So no other program finds the store set up and without its keys.
        :param template: the name becomes an alias of indices, of which the newest is written; the indices that it rolls
            over to are set up like it. A store that has none of this raises InputError.
        :returns: ``created``, ``added`` (the fields, to an index that existed) or ``unchanged``.
        :raises SchemeMismatch: if it was set up with another Scheme, which it keeps.
        """

    def describe_keys(self) -> KeysState:
        """Return whether the store has keys; ``NONE`` also if it was not set up."""

    def set_up_keys(self) -> str:
        """Record that the store has keys. If it has fingerprinted documents, the keys are incomplete.

        :returns: ``added``, or ``unchanged`` if it had keys.
        :raises NotSetUp: if the store was not set up.
        """

    def complete_keys(self) -> None:
        """Record that every fingerprinted document has its keys. A store without keys stays as it is.

        :raises NotSetUp: if the store was not set up.
        """

    def describe_rule(self) -> StoredRule:
        """Return the rule that the store keeps; an empty one if it keeps none, or if it was not set up."""

    def keep_rule(self, rule: StoredRule, replace: bool = False) -> None:
        """Keep a rule, and the names of fields. What is None stays as it is.

        :param replace: they replace what the store keeps. Otherwise that stays, and only what is missing is added.
        :raises NotSetUp: if the store was not set up.
        """

    def check_time_field(self, field: str) -> None:
        """Check that the store can compare the times in a field of the documents.

        :raises InputError: if it cannot. The message says how to change that.
        """

    # --- read documents --------------------------------------------------------------------------------------------

    def fetch(self, ids: tuple[str, ...], time_field: str | None = None) -> dict[str, Row]:
        """Return the Rows of these ids as last written, without a search. Ids that do not exist are left out.

        :param time_field: the field with the time, for Rows with their times.
        """

    def fetch_fields(self, ids: tuple[str, ...], fields: tuple[str, ...] | None) -> dict[str, dict[str, Any]]:
        """Return these fields of documents as last written, without a search. Ids that do not exist are left out.

        :param fields: fields that a document lacks are left out; a dot leads into an object. None for the whole
            document, as it was written, without our own fields.
        """

    def fetch_whole(self, ids: tuple[str, ...]) -> dict[str, str]:
        """Return documents as the store holds them, with our own fields, as JSON texts that :meth:`restore` takes.

        Ids that do not exist are left out. Numbers stay as they are written.
        """

    def candidates(self, query: Candidates) -> Found:
        """Return Rows that include everything that a query looks for, and perhaps others."""

    def dependents(self, originals: tuple[str, ...], heads: tuple[str, ...]) -> set[str]:
        """Return the ids of documents that are linked to these documents. The documents themselves are left out.

        :param originals: ids that a ``duplicate_of`` may name.
        :param heads: ids that a ``group`` may name.
        """

    def scan(self, scan: Scan) -> ScanPage:
        """Return a page of the fingerprinted documents that search finds, in no particular order.

        No document comes twice. The Rows come without keys and lengths: do not write them back with ``annotate``, which
        would remove the keys.
        """

    def count(self, scan: Scan) -> int:
        """Return how many documents a Scan returns."""

    def read_fingerprints(
        self, after: Any = None, own: int | None = None, most: int | None = None, *, keys: bool = False
    ) -> FingerprintPage | None:
        """Read the fingerprints of the documents that search finds and that were written after a former page.

        :param after: of the former page; None for the documents of the whole store.
        :param own: how many writes the program itself has made since the former page, if that was the last one. If
            there were no others, nothing is read, or what was read before.
        :param most: documents of the store; None for any number.
        :param keys: read the keys of their texts in place of their fingerprints.
        :returns: None if the store has more than ``most`` documents, or if it does not support this: a search in an
            embedded store costs little.
        """

    def refresh(self) -> None:
        """Make everything that was written visible to ``candidates`` and ``scan``."""

    # --- write documents -------------------------------------------------------------------------------------------

    def clock_difference(self) -> int:
        """Return by how many microseconds the clock that all writers share is ahead of the clock of this machine.

        The write order of a document is the time of this machine plus this difference. A warning says a difference that
        matters, or why it is not known; then it is 0. A store on this machine has none.
        """

    def write(
        self,
        entries: tuple[Entry, ...],
        bits: int,
        pipeline: str | None = None,
    ) -> Written:
        """Write documents. Each replaces the document with its id, if that still has the Row's version.

        A Row without a version is for a new document: it is written only if no document has its id. Any other document
        stays, and the id is a conflict. A store whose responses may get lost reports none if this write is repeated.

        :param entries: no id occurs twice.
        :param bits: width of the fingerprints.
        :param pipeline: name of an ingest pipeline of the server; None for the index's own. An embedded store gets
            none.
        """

    def restore(self, whole: Mapping[str, str]) -> Written:
        """Write documents that :meth:`fetch_whole` returned. An id that exists is a conflict, and stays as it is.

        No ingest pipeline changes them, unless it is the index's final one.

        :param whole: the texts by id.
        """

    def annotate(self, rows: tuple[Row, ...], bits: int) -> Written:
        """Write what Rows say into stored documents that still have the Row's version. Their other fields stay.

        A Row without keys removes the keys of its document.

        :param bits: width of the fingerprints.
        """

    def relink(self, links: Mapping[str, Link]) -> set[str]:
        """Change the links of documents that still have the Link's version, and return the ids of those that do not."""

    def remove(self, ids: tuple[str, ...], versions: Mapping[str, Any] = NO_VERSIONS) -> set[str]:
        """Remove documents, and return the ids that were removed.

        :param versions: by id, for some of them: a document that has another version now stays.
        """

    # --- the store itself ------------------------------------------------------------------------------------------

    def locate(self) -> Location:
        """Return what is at the address of the store, for a message to a user whose store was not set up.

        It makes nothing. If the store may not list its neighbours, ``others`` is empty.
        """

    # --- the items that users have seen ----------------------------------------------------------------------------

    def describe_seen(self) -> SeenConfig | None:
        """Return the configuration of seen items that the store was set up with; None if it was not set up."""

    def set_up_seen(self, config: SeenConfig) -> str:
        """Make the index, the table or the fields that are missing.

        :returns: ``created``, ``added`` or ``unchanged``.
        :raises SchemeMismatch: if the store was set up with another configuration, which it keeps.
        """

    def fetch_users(self, users: tuple[str, ...]) -> dict[str, UserState]:
        """Return the states of these users as last written, without a search. Users without a document are left out."""

    def change_users(self, states: Mapping[str, UserState]) -> Changed:
        """Write the state of each user whose document still has the state's version. Other fields stay as they are."""

    def remove_users(self, users: tuple[str, ...]) -> set[str]:
        """Remove the seen items from users' documents, and remove documents that hold nothing else.

        :returns: the users that had seen items.
        """

    def list_users(self, before: int, without: tuple[str, ...] = ()) -> list[str]:
        """Return some users whose newest generation started before a time; none if there are no more.

        :param before: seconds since 1970.
        :param without: users to leave out.
        """
