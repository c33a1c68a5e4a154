"""The keys of texts in the file: entries of a key and a document, sorted, as in :mod:`es_simhash.near.key_index`.

A q-gram holds the length of its text, so a range of lengths is a range of entries. The bit above the key tells copies
from heads, so a crowd of copies hides no head.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from es_simhash.near.key_index import ENTRIES_OF_KEY, ENTRIES_OF_QUERY, with_length
from es_simhash.search.encoding import KEY_BITS
from es_simhash.search.keys import ROUNDED_TO, rarity

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from sqlite3 import Connection

    from numpy.typing import NDArray

    from es_simhash.search.keys import KeyQuery

    Integers = NDArray[np.int64]
    Range = tuple[int, int]
    """The first and the last entry of a key with some lengths."""

_COPY = 1 << KEY_BITS
_KEY_BYTES = 5
"""Bytes of a key in the row of a document, the lowest first."""


class KeysOf(NamedTuple):
    """The keys of one document.

    :param document: its position.
    :param length: word characters of its text.
    """

    document: int
    keys: Sequence[int]
    length: int | None
    is_copy: bool


# --- write ---------------------------------------------------------------------------------------------------------


def add(documents: Sequence[KeysOf], connection: Connection) -> None:
    """Add the keys of documents."""
    connection.executemany("INSERT OR IGNORE INTO keys VALUES (?, ?)", _entries(documents))


def remove(documents: Sequence[KeysOf], connection: Connection) -> None:
    """Remove the keys of documents."""
    connection.executemany("DELETE FROM keys WHERE key = ? AND document = ?", _entries(documents))


def _entries(documents: Sequence[KeysOf]) -> Iterable[tuple[int, int]]:
    """Return the entries of documents, sorted: neighbours are in one page of the file."""
    counts = [len(document.keys) for document in documents]
    keys = np.fromiter(chain.from_iterable(document.keys for document in documents), np.uint64, sum(counts))
    lengths = np.repeat(np.array([document.length or 0 for document in documents], dtype=np.int64), counts)
    copies = np.repeat(np.array([document.is_copy * _COPY for document in documents], dtype=np.uint64), counts)
    positions = np.repeat(np.array([document.document for document in documents], dtype=np.int64), counts)
    entries = with_length(keys, lengths) | copies
    order = np.lexsort((positions, entries))
    return zip(entries[order].tolist(), positions[order].tolist(), strict=True)


def to_bytes(keys: Sequence[int]) -> bytes:
    """Return keys as the row of a document has them."""
    return np.array(keys, dtype="<u8").view(np.uint8).reshape(-1, 8)[:, :_KEY_BYTES].tobytes()


def from_bytes(keys: bytes) -> tuple[int, ...]:
    """Return the keys in the row of a document."""
    padded = np.zeros((len(keys) // _KEY_BYTES, 8), dtype=np.uint8)
    padded[:, :_KEY_BYTES] = np.frombuffer(keys, dtype=np.uint8).reshape(-1, _KEY_BYTES)
    return tuple(padded.view("<u8")[:, 0].tolist())


# --- search --------------------------------------------------------------------------------------------------------


class Scored(NamedTuple):
    """The documents that may fulfil a query.

    :param positions: of the documents.
    :param scores: the sum of the rarities of the shared keys that were read.
    :param cut: not all entries of the keys were read. Then some of the documents do not fulfil the query.
    """

    positions: Integers
    scores: NDArray[np.float64]
    cut: bool


class KeySearch:
    """A search in one state of the file. It remembers what it read, because many texts of a batch share keys.

    :param heads: look for heads alone.
    """

    def __init__(self, connection: Connection, *, heads: bool) -> None:
        self._connection = connection
        self._parts = (0,) if heads else (0, _COPY)
        self._read: dict[Range, list[int]] = {}
        sql = "SELECT max(position) FROM documents"
        self._total: int = connection.execute(sql).fetchone()[0] or 0

    def near(self, queries: Iterable[KeyQuery]) -> Scored:
        """Return the documents that fulfil one of some queries, each with its largest score."""
        scored = [self._near(query) for query in queries]
        positions = np.concatenate([one.positions for one in scored])
        scores = np.concatenate([one.scores for one in scored])
        order = np.lexsort((-scores, positions))
        positions, first = np.unique(positions[order], return_index=True)
        return Scored(positions, scores[order][first], any(one.cut for one in scored))

    def _near(self, query: KeyQuery) -> Scored:
        looked_up, needed = query.rarest()
        entries = [(entry_range, self._first(entry_range)) for entry_range in _ranges(query)]
        entries = sorted(entries, key=lambda pair: len(pair[1]))[: max(0, looked_up)]
        cut = sum(len(documents) > ENTRIES_OF_KEY for _, documents in entries)
        lists = [documents for _, documents in entries]
        if cut and needed > 1:
            # The rarest keys are whole. The others share what may be read for one query.
            whole = sum(map(len, lists[:-cut]))
            most = max(ENTRIES_OF_KEY, (ENTRIES_OF_QUERY - whole) // cut)
            lists[-cut:] = [self._documents(entry_range, most + 1) for entry_range, _ in entries[-cut:]]
            cut = sum(len(documents) > most for documents in lists)
        counts = [len(documents) for documents in lists]
        every = np.fromiter(chain.from_iterable(lists), np.int64, sum(counts))
        rarities = np.repeat(np.array([rarity(count, self._total) for count in counts], dtype=np.float64), counts)
        positions, of_entry, shared = np.unique(every, return_inverse=True, return_counts=True)
        scores = np.bincount(of_entry, rarities, len(positions)).astype(np.float64).round(ROUNDED_TO)
        fulfils = shared >= max(1, needed - cut)
        return Scored(positions[fulfils], scores[fulfils], bool(cut))

    def _first(self, entry_range: Range) -> list[int]:
        """Return the first documents of a key: one more than ENTRIES_OF_KEY if it has more."""
        if (documents := self._read.get(entry_range)) is None:
            documents = self._read[entry_range] = self._documents(entry_range, ENTRIES_OF_KEY + 1)
        return documents

    def _documents(self, entry_range: Range, most: int) -> list[int]:
        """Return up to ``most`` documents of a key, heads first."""
        lowest, highest = entry_range
        documents: list[int] = []
        for part in self._parts:
            found = self._connection.execute(
                "SELECT document FROM keys WHERE key BETWEEN ? AND ? LIMIT ?",
                [lowest + part, highest + part, most - len(documents)],
            )
            documents += [document for (document,) in found]
        return documents


def _ranges(query: KeyQuery) -> Iterable[Range]:
    """Return the range of entries of each key of a query."""
    keys = np.array(query.keys, dtype=np.uint64)
    shortest, longest = query.lengths or (0, 127)
    lowest = with_length(keys, np.full(len(keys), shortest, dtype=np.int64))
    highest = with_length(keys, np.full(len(keys), longest, dtype=np.int64))
    return zip(lowest.tolist(), highest.tolist(), strict=True)
