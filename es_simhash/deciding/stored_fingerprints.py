"""The fingerprints of a store in the memory of an ingest: it looks up only documents that are near one of them.

A look-up costs more, the larger the index. In a large ingest nearly all look-ups find nothing. So an ingest reads the
fingerprints of the store, 32 bytes of memory for each: before its first batch if the store is small, else once it has
looked up many documents in comparison with those that are stored. Until then, and in a small ingest, each document is
looked up in the store.

If they would take more than a quarter of the free memory, each document is looked up in the store again.

Nothing is missed that search found at the last refresh of the ingest: a document near a fingerprint here, or without a
fingerprint, is still looked up. What the ingest has written since then is in its Memory, and is added at the next
refresh. What other programs have written is read at the next refresh, or after 30 seconds; until then it is not
found. If they write a lot, each document is looked up in the store from then on.

Among near-equal documents nearly every one is near another, and a search by segments finds most of the store. So the
nearest fingerprints are found here, and only their documents are looked up.

Where keys find the candidates, the keys of the store are held in place of its fingerprints: some 1,000 bytes for a
document of 25 keys, merges included.
"""

from __future__ import annotations

import logging
import threading
import time
from functools import cached_property
from typing import TYPE_CHECKING

from es_simhash.errors import InputError, StoreError
from es_simhash.free_memory import free_memory
from es_simhash.search.key_table import KeyTable, most_texts_held
from es_simhash.search.near_index import LARGEST_DISTANCE, NearIndex, most_held

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from es_simhash.contract import FingerprintPage, Row, Store
    from es_simhash.deciding.limits import Limits
    from es_simhash.deciding.outcome import Document
    from es_simhash.deciding.rule import ResolvedRule

_log = logging.getLogger("es_simhash")

WORTHWHILE = 8
"""Fingerprints are read if the store has at most so many documents for each document that was looked up. To read one
takes less than an eighth of the time of a look-up."""


class StoredFingerprints:
    """The fingerprints of all documents that search finds, unless there are too many of them.

    :param rule: of the ingest.
    """

    def __init__(self, store: Store, rule: ResolvedRule, limits: Limits) -> None:
        self._store = store
        self._limits = limits
        self._bits = rule.bits
        self._rule = rule
        self._usable = rule.keys or rule.max_distance <= LARGEST_DISTANCE
        self._table: NearIndex | KeyTable | None = None
        self._after: Any = None
        self._looked_up = 0
        self._read_at = 0.0
        self._began = False
        self._counts = True
        """Nothing was read since the last refresh, so writes of other programs can be told from those of this one."""
        self._lock = threading.Lock()

    def to_look_up(self, documents: Sequence[Document]) -> Sequence[Document]:
        """Return the documents that may have a duplicate that search found at the last refresh."""
        self._looked_up += len(documents)
        with self._lock:
            if not self._began and self._usable and len(documents) >= self._limits.first:
                self._read_more((), None)
            elif self._table is not None and time.monotonic() - self._read_at > self._limits.fresh:
                self._counts = False
                self._read_more((), None)
            self._began = True
        table = self._table
        if table is None:
            return documents
        if isinstance(table, KeyTable):
            queries = [self._rule.queries(document.keys) for document in documents]
            # A text without keys may have an exact duplicate.
            found = table.may_share(queries).tolist()
            return [each for each, some, share in zip(documents, queries, found, strict=True) if share or not some]
        values = [document.fingerprint.value for document in documents]
        near = iter(table.may_be_near([value for value in values if value is not None]).tolist())
        return [each for each, value in zip(documents, values, strict=True) if value is None or next(near)]

    def nearest(self, fingerprints: Sequence[int]) -> list[list[int]] | None:
        """Return for each fingerprint the stored ones that are nearest to it; None if this is not known."""
        table = self._table
        if not isinstance(table, NearIndex) or len(table) > self._limits.named:
            return None
        return table.nearest(fingerprints)

    def refreshed(self, rows: Iterable[Row], writes: int) -> None:
        """Add what search finds since a refresh.

        :param rows: what the ingest has written since the refresh before.
        :param writes: how many writes these took.
        """
        if not self._usable:
            return
        with self._lock:
            self._read_more(*((rows, writes) if self._counts else ((), None)))
            self._counts = True

    @cached_property
    def _most(self) -> int:
        """The largest number of documents whose fingerprints, or keys, are held."""
        free = free_memory()
        if self._rule.keys:
            return most_texts_held(free)
        return most_held(free, self._bits)

    @property
    def _what(self) -> str:
        return "keys" if self._rule.keys else "fingerprints"

    def drop(self) -> None:
        """Look each document up from now on: search finds at once what is written."""
        with self._lock:  # the next look-up may be reading them
            self._table, self._usable = None, False

    def _read_more(self, rows: Iterable[Row], writes: int | None) -> None:
        """Read what search finds since the last time.

        :param writes: see :meth:`refreshed`; None if it is not known how many of the writes are its own.
        """
        table, self._table = self._table, None
        if table is None:
            after, own, most = None, None, min(self._most, WORTHWHILE * self._looked_up)
            near = NearIndex(self._bits, max(0, self._rule.max_distance), positions=False)
            table = KeyTable() if self._rule.keys else near
            rows = ()  # they are read with all
        else:
            after, own, most = self._after, writes, None
        _add_rows(table, tuple(rows))
        began = time.monotonic()
        try:
            page = self._store.read_fingerprints(after, own, most, keys=self._rule.keys)
            if page is not None and writes is not None and page.others > self._limits.others * writes:
                self._usable = False
                return
            if page is not None and after is None:
                _log.info("reading the %s of all documents that are stored", self._what)
            while page is not None and page.more:
                _add_page(table, page)
                page = self._store.read_fingerprints(page.after, keys=self._rule.keys)
        except (StoreError, InputError) as error:
            if isinstance(error, StoreError) and error.retryable:
                raise
            _log.warning(
                "each document is looked up in the store, because its %s cannot be read: %s", self._what, error
            )
            self._usable = False
            return
        if page is None:
            return
        _add_page(table, page)
        self._usable = len(table) <= self._most
        if self._usable:
            self._table, self._after, self._read_at = table, page.after, began


def _add_rows(table: NearIndex | KeyTable, rows: Sequence[Row]) -> None:
    if isinstance(table, NearIndex):
        table.add([row.fingerprint for row in rows])
    else:
        table.add([row.keys for row in rows], [row.length for row in rows])


def _add_page(table: NearIndex | KeyTable, page: FingerprintPage) -> None:
    if isinstance(table, NearIndex):
        table.add(page.values)
    else:
        table.add([keys for keys, _ in page.keys], [length for _, length in page.keys])
