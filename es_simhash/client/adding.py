"""The verb ``add``: single documents from many threads or tasks, each with its Outcome."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from es_simhash.client.group_commit import GroupCommit
from es_simhash.deciding.add import MEMORY_LIMITS, Adder, AddOptions, MemoryLimits, wait_for_search
from es_simhash.deciding.ingest import ATTEMPTS, CHANGED, ON_DUPLICATE
from es_simhash.deciding.outcome import Document, Outcome, failed
from es_simhash.errors import DuplicateFound, InputError
from es_simhash.ingest.batches import BATCH, BATCH_SIZE
from es_simhash.ingest.reader import Reader
from es_simhash.search.hamming import hamming_distance
from es_simhash.search.key_table import KeyTable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from es_simhash.client.store_info import StoreReader
    from es_simhash.contract import Store
    from es_simhash.deciding.add import Searched
    from es_simhash.deciding.ingest import OnDuplicate
    from es_simhash.lines import Line
    from es_simhash.similarity.rule import DuplicateRule

T = TypeVar("T")

RefreshOption = Literal[False, True, "wait_for"]
SEARCHES = 2
"""The most groups of documents that are looked up at the same time."""
WRITES = 3
"""The most groups of documents that are written at the same time."""


@dataclass(frozen=True, kw_only=True)
class AddRequest:
    """How documents are added. The fields are the keywords of ``Documents.add``.

    :raises InputError: for a value that is not allowed.
    """

    rule: DuplicateRule
    id_field: str
    on_duplicate: OnDuplicate
    filter: Mapping[str, Any] | None
    refresh: RefreshOption

    def __post_init__(self) -> None:
        if self.on_duplicate not in ON_DUPLICATE:
            raise InputError(f"on_duplicate is {self.on_duplicate!r}: use one of {', '.join(ON_DUPLICATE)}")
        if self.refresh is not False and self.refresh is not True and self.refresh != "wait_for":
            raise InputError(f"refresh is {self.refresh!r}: use False, True or 'wait_for'")


@dataclass(frozen=True)
class _Item:
    """A document that waits to be added."""

    document: Document
    options: AddOptions
    searched: Searched | None = None


class Adding:
    """Adds documents to one store, and knows what it added and search does not find yet."""

    def __init__(
        self, store: Store, reader: StoreReader, deadline: float, limits: MemoryLimits = MEMORY_LIMITS
    ) -> None:
        self._store = store
        self._limits = limits
        self._reader = reader
        self._deadline = deadline
        self._adder: Adder | None = None
        self._outdated = False
        self._lock = threading.Lock()
        self._searches = GroupCommit(self._count_searches, self._search)
        self._writes = GroupCommit(self._count_writes, self._write)

    def others_wrote(self, *, refreshed: bool) -> None:
        """Note that another verb of the program wrote documents.

        :param refreshed: search finds what it wrote.
        """
        if not refreshed or (self._adder is not None and self._adder.remembers):
            self._outdated = True

    @property
    def remembers(self) -> bool:
        """Documents were added that search may not find yet."""
        return self._adder is not None and (self._adder.remembers or self._adder.outdated)

    def add(self, lines: Sequence[Line], request: AddRequest) -> list[Outcome]:
        """Add documents one after the other, and return an Outcome for each.

        :raises DuplicateFound: under ``fail``, if one of them is a duplicate.
        """
        rule = self._reader.resolve(request.rule, makes_file=True)
        reader = Reader.of(rule, request.id_field)
        items = reader.read_all(lines)
        documents = [item for item in items if isinstance(item, Document)]
        if documents:
            self._reader.keep(request.rule, request.id_field)
        on_duplicate: OnDuplicate = "index" if request.on_duplicate == "index" else "skip"
        options = AddOptions(rule, on_duplicate, request.filter)
        added = self._add([_Item(document, options) for document in documents])
        if request.refresh is True and any(outcome.stored for outcome in added):
            self._store.refresh()
        elif request.refresh:
            for document, outcome in zip(documents, added, strict=True):
                if outcome.stored:
                    wait_for_search(self._store, document, self._deadline)
        outcomes = iter(added)
        return [next(outcomes) if isinstance(item, Document) else item for item in items]

    def _add(self, items: Sequence[_Item]) -> list[Outcome]:
        searched = self._searches.do(items)
        items = [replace(item, searched=each) for item, each in zip(items, searched, strict=True)]
        added = self._writes.do(items)
        for _ in range(ATTEMPTS - 1):
            again = [replace(item, searched=None) for item, each in zip(items, added, strict=True) if each is None]
            if not again:
                break
            others = iter(self._writes.do(again))
            added = [each or next(others) for each in added]
        return [each or failed(item.document, CHANGED) for item, each in zip(items, added, strict=True)]

    # --- what several calls do together ------------------------------------------------------------------------

    def _count_searches(self, waiting: Iterable[_Item], at_work: Sequence[Sequence[_Item]]) -> int:
        return count_together(waiting) if len(at_work) < SEARCHES else 0

    def _search(self, items: Sequence[_Item]) -> list[Searched | None]:
        """Ask search about documents, while others are written."""
        if self._adder is None or self._outdated:
            return [None] * len(items)
        return self._adder.search(self._store, [item.document for item in items], items[0].options)

    def _count_writes(self, waiting: Iterable[_Item], at_work: Sequence[Sequence[_Item]]) -> int:
        """Return how many of the first documents can be added by one request, while others are written.

        If two documents may be duplicates, the second waits for the first.
        """
        written = [item for group in at_work for item in group]
        if not written:
            return count_together(waiting)
        with self._lock:
            if len(at_work) == WRITES or any(self._must_be_alone(item) for item in written):
                return 0
            some = list(islice(waiting, BATCH))
            free = takewhile(
                lambda pair: not (pair[1] or self._must_be_alone(pair[0]) or depends(pair[0], written)),
                zip(some, share_keys(some, written), strict=True),
            )
            return count_together(item for item, _ in free)

    def _must_be_alone(self, item: _Item) -> bool:
        adder = self._adder
        return (
            adder is None
            or self._outdated
            or adder.is_refresh_due(item.options)
            or not adder.is_up_to_date(item.document, item.searched)
        )

    def _write(self, items: Sequence[_Item]) -> list[Outcome | None]:
        """Add documents that are added by one request. Of several groups only the requests overlap."""
        options = items[0].options
        with self._lock:
            if self._adder is None:
                unlocking = cast("Store", _Unlocking(self._store, self._lock))
                self._adder = Adder(unlocking, options, self._deadline, self._limits)
            if self._outdated:
                self._adder.outdated, self._outdated = True, False
            return self._adder.add([item.document for item in items], options, [item.searched for item in items])


def count_together(waiting: Iterable[_Item]) -> int:
    """Return how many of the first documents can be looked up, or added, by one request.

    They have the same options and different ids. Their number and size are limited, as in an ingest.
    """
    options: AddOptions | None = None
    ids: set[str] = set()
    size = 0
    for item in waiting:
        options = options or item.options
        if item.options != options or item.document.id in ids or len(ids) == BATCH or size > BATCH_SIZE:
            break
        ids.add(item.document.id)
        size += len(item.document.source)
    return len(ids)


def depends(item: _Item, others: Sequence[_Item]) -> bool:
    """Return whether a document is added in another way than another one, or has its id, or may be a duplicate of it.

    With keys this only sees exact duplicates. :func:`share_keys` sees the others.
    """
    if any(item.options != other.options or item.document.id == other.document.id for other in others):
        return True
    ours, rule = item.document, item.options.rule
    if any(ours.fingerprint.digest == other.document.fingerprint.digest for other in others):
        return True
    if rule.keys:
        return False
    distances = (hamming_distance(ours.fingerprint.value, other.document.fingerprint.value) for other in others)
    return any(distance is not None and distance <= rule.max_distance for distance in distances)


def share_keys(items: Sequence[_Item], others: Sequence[_Item]) -> list[bool]:
    """Return for each document whether one of the others may share enough keys with it."""
    queries = [item.options.rule.queries(item.document.keys) for item in items]
    if not any(queries):
        return [False] * len(items)
    table = KeyTable()
    keys = [other.document.keys for other in others if other.document.keys is not None]
    table.add([own.values for own in keys], [own.length for own in keys])
    return table.may_share(queries).tolist()  # type: ignore[no-any-return]  # NumPy says Any


class _Unlocking:
    """A store for code that holds a lock: others may take the lock during each call of the store's methods."""

    def __init__(self, store: Store, lock: threading.Lock) -> None:
        self._store = store
        self._lock = lock

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        return partial(self._unlocked, found) if callable(found) else found

    def _unlocked(self, method: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        self._lock.release()
        try:
            return method(*args, **kwargs)
        finally:
            self._lock.acquire()


def raise_for_duplicate(outcome: Outcome) -> None:
    """Raise for a duplicate that was not stored because of ``on_duplicate="fail"``.

    :raises DuplicateFound: naming the original.
    """
    if outcome.duplicate_of is not None and not outcome.stored:
        raise DuplicateFound(
            f"{outcome.id!r} is a duplicate of {outcome.duplicate_of!r}: it is not stored (on_duplicate is 'fail')"
        )
