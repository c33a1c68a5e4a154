"""The Store protocol: what every store does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from es_simhash.rows import Description, Entry, Hits, Row, Scan, SeenTime, Stored, StoreQuery, UserState, Written

    Filter = Mapping[str, Any]
    """A query clause of Elasticsearch, such as ``{"term": {"lang": "zh"}}``."""


class Store(Protocol):
    """What keeps documents, and the items that users have seen.

    The contract suite in tests/store/ states what is said here. A store repeats its own requests while the server is
    busy or away, until the deadline (``es_simhash.retries``). It raises:

    - :class:`~es_simhash.errors.InputError` for a filter that it cannot evaluate;
    - :class:`~es_simhash.errors.NotSetUp` if what it needs is not there;
    - another :class:`~es_simhash.errors.StoreError` for everything else. ``retryable`` says whether to try again.

    A stored row that cannot be read (another program wrote our fields) is left out of ``search`` and ``scan``, and
    ``read`` returns it as a document without a digest; a warning names its id, once.
    """

    name: str
    """The address without credentials, for messages."""
    lags: bool
    """``search``, ``members``, ``scan`` and ``count`` find a write after the next refresh only."""
    in_memory: bool
    """It keeps all documents in the memory of this program."""

    # --- the store itself -------------------------------------------------------------------------------------------

    def describe(self) -> Description:
        """Return how the store was set up.

        :raises NotSetUp: if it was not: the message says what is at the address, and what to do.
        """

    def set_up(self, wanted: Description, *, change: bool = False) -> str:
        """Make what is missing: the index or the file, the fields in an index that exists, the seen items.

        What ``wanted`` leaves out (None) is not made.

        :param change: keep what else ``wanted`` says in place of what a store with documents' fields kept: keys, rule,
            id field and ``stale``.
        :returns: ``created``, ``added`` or ``unchanged``.
        :raises SchemeMismatch: if it was set up with another Scheme, or another configuration of seen items.
        """

    def close(self) -> None:
        """Close files and connections. A second call does nothing."""

    # --- read documents ---------------------------------------------------------------------------------------------

    def read(self, ids: Sequence[str], fields: Sequence[str] | None = ()) -> dict[str, Stored]:
        """Return documents by id as last written, without a search. Ids that do not exist are left out.

        :param fields: fields of the documents to read; None for the whole documents without our own fields; empty for
            none. A field that a document lacks is left out; a dot leads into an object, and so does the result.
        """

    def search(self, queries: Sequence[StoreQuery], filter: Filter | None, *, originals: bool) -> list[Hits]:
        """Return what each StoreQuery finds.

        :param filter: a filter that the documents must match.
        :param originals: ``Hits.candidates`` are originals alone. ``Hits.equal`` has copies too.
        """

    def members(self, groups: Sequence[str]) -> list[Row]:
        """Return the documents of the groups with these names."""

    def scan(self, scan: Scan) -> Iterator[list[Stored]]:
        """Yield documents in lists of up to some thousand, as they were when the scan began."""

    def count(self, scan: Scan) -> int:
        """Return how many documents a Scan reads."""

    def refresh(self) -> None:
        """Make everything that was written visible to ``search``, ``members``, ``scan`` and ``count``."""

    # --- write documents --------------------------------------------------------------------------------------------

    def write(self, entries: Sequence[Entry]) -> Written:
        """Write documents, each on the version that it replaces. No id occurs twice.

        A document that an ingest pipeline of the server drops is refused.
        """

    def remove(self, versions: Mapping[str, Any]) -> Written:
        """Remove documents, each only on its version.

        :param versions: by id; None removes any version. An id that does not exist counts as removed.
        """

    # --- the items that users have seen -----------------------------------------------------------------------------

    def read_users(self, users: Sequence[str]) -> dict[str, UserState]:
        """Return the states of users as last written, without a search. Users without a document are left out."""

    def write_users(self, states: Mapping[str, UserState]) -> Written:
        """Write the state of each user, on its version. Other fields of the user's document stay as they are.

        A state without items removes a document that holds nothing else.
        """

    def list_users(self, time: SeenTime, before: int) -> Iterator[list[str]]:
        """Yield the users of whom one of the two times is before another one, in lists of up to some thousand.

        :param time: ``newest``: the start of the newest generation; or ``added``: when an item was last added.
        :param before: seconds since 1970.
        """
