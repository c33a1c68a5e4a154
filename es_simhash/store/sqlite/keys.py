"""The keys of texts in the file: entries of a key and a document, sorted, as in :mod:`es_simhash.near.key_index`.

A q-gram holds the length of its text, so a range of lengths is a range of entries. The bit above the key tells copies
from originals, so a crowd of copies hides no original.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from es_simhash.near.key_index import ENTRIES_OF_QUERY, with_length
from es_simhash.store.sqlite.schema import IS_COPY
from es_simhash.text.keys import KEY_BITS, ROUNDED_TO, rarities

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from sqlite3 import Connection

    from numpy.typing import NDArray

    from es_simhash.text.keys import KeyQuery

    Integers = NDArray[np.int64]
    Range = tuple[int, int]
    """The first and the last entry of a key with some lengths."""

_COPY = 1 << KEY_BITS


_ENTERED = "SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'entered'"
"""The position of the last document whose keys are entered. Those of later ones wait."""
_DOCUMENTS = "SELECT document FROM keys WHERE key BETWEEN ? AND ? LIMIT ?"
MOST_WAITING = 10_000
"""The keys of so many documents wait until they are entered together: then a page of the file that is written has many
of them. The entries of one batch lie on nearly all pages of a large file."""
FEW_ENTRIES = 32
"""So many entries of each key of a query are read first. A key with more of them is common."""
MORE_ENTRIES = 500
"""So many of each are read at least if too many keys are common."""
ENOUGH = 3
"""If a document must have so many of the rare keys, the common ones are not read."""


class KeysOf(NamedTuple):
    """The keys of one document, as its row has them.

    :param document: its position.
    :param keys: as :func:`to_bytes` returns them.
    :param length: word characters of its text.
    """

    document: int
    keys: bytes
    length: int | None
    is_copy: bool


# --- write ---------------------------------------------------------------------------------------------------------


def count_waiting(connection: Connection) -> int:
    """Return how many documents wait for their keys to be entered, at most."""
    sql = f"SELECT ifnull(max(position), 0) - ({_ENTERED}) FROM documents"
    return connection.execute(sql).fetchone()[0]  # type: ignore[no-any-return]


def enter_waiting(connection: Connection) -> None:
    """Enter the keys of the documents that wait for it."""
    sql = f"SELECT position, keys, length, {IS_COPY} FROM documents WHERE position > ({_ENTERED}) AND keys != x''"
    waiting = [KeysOf(*values) for values in connection.execute(sql)]
    connection.executemany("INSERT OR IGNORE INTO keys VALUES (?, ?)", _entries(waiting))
    connection.execute("UPDATE meta SET value = (SELECT ifnull(max(position), 0) FROM documents) WHERE key = 'entered'")


def remove(documents: Sequence[KeysOf], connection: Connection) -> None:
    """Remove the keys of documents."""
    connection.executemany("DELETE FROM keys WHERE key = ? AND document = ?", _entries(documents))


def _entries(documents: Sequence[KeysOf]) -> Iterable[tuple[int, int]]:
    """Return the entries of documents, sorted: neighbours are in one page of the file."""
    counts = [len(document.keys) // 8 for document in documents]
    keys = np.frombuffer(b"".join(document.keys for document in documents), "<u8")
    lengths = np.repeat(np.array([document.length or 0 for document in documents], dtype=np.int64), counts)
    copies = np.repeat(np.array([document.is_copy * _COPY for document in documents], dtype=np.uint64), counts)
    positions = np.repeat(np.array([document.document for document in documents], dtype=np.int64), counts)
    entries = with_length(keys, lengths) | copies
    order = np.lexsort((positions, entries))
    return zip(entries[order].tolist(), positions[order].tolist(), strict=True)


def to_bytes(keys: Sequence[int]) -> bytes:
    """Return keys as the row of a document has them: 8 bytes each, the lowest first."""
    return np.array(keys, dtype="<u8").tobytes()


def from_bytes(keys: bytes) -> tuple[int, ...]:
    """Return the keys in the row of a document."""
    return tuple(np.frombuffer(keys, "<u8").tolist())


# --- search --------------------------------------------------------------------------------------------------------


def near(queries: Iterable[KeyQuery], connection: Connection, *, originals: bool) -> tuple[dict[int, float], bool]:
    """Return the documents that may fulfil one of some queries, and whether there may be others.

    :param originals: look for originals alone.
    :returns: the largest score of each document, by its position: the sum of the rarities of the shared keys.
    """
    scores: dict[int, float] = {}
    is_cut = False
    for query in queries:
        positions, scored, is_part = _near(query, connection, originals=originals)
        is_cut |= is_part
        for position, score in zip(positions.tolist(), scored.tolist(), strict=True):
            scores[position] = max(score, scores.get(position, 0))
    return scores, is_cut


def _near(query: KeyQuery, connection: Connection, *, originals: bool) -> tuple[Integers, NDArray[np.float64], bool]:
    """Return the documents that may fulfil a query, their scores, and whether there may be others.

    A document that has T of n keys has T - c of those that are left without the c most common ones. So these need
    not be read whole, if T - c is large enough (the prefix filter, :meth:`KeyQuery.rarest`). If nearly all keys are
    common, very many texts share them. Then those are returned that share the most of what was read.
    """
    ranges = list(_ranges(query))
    for most in (FEW_ENTRIES, max(MORE_ENTRIES, ENTRIES_OF_QUERY // max(1, len(ranges)))):
        lists = [_documents(entries, most, connection, originals=originals) for entries in ranges]
        whole = [documents for documents in lists if len(documents) <= most]
        needed = query.minimum - (len(lists) - len(whole))
        if needed >= min(query.minimum, ENOUGH):
            break
    read = whole if needed > 0 else lists
    counts = [len(documents) for documents in read]
    every = np.fromiter(chain.from_iterable(read), np.int64, sum(counts))
    [total] = connection.execute("SELECT ifnull(max(position), 0) FROM documents").fetchone()
    weights = np.repeat(rarities(np.array(counts, dtype=np.int64), total), counts)
    positions, of_entry, shared = np.unique(every, return_inverse=True, return_counts=True)
    scores = np.bincount(of_entry, weights, len(positions)).astype(np.float64).round(ROUNDED_TO)
    fulfils = shared >= max(1, needed)
    return positions[fulfils], scores[fulfils], needed <= 0 and len(whole) < len(lists)


def _documents(entries: Range, most: int, connection: Connection, *, originals: bool) -> list[int]:
    """Return the documents of a key, originals first: one more than ``most`` if it has more."""
    lowest, highest = entries
    documents: list[int] = []
    for part in (0,) if originals else (0, _COPY):
        parameters = [lowest + part, highest + part, most + 1 - len(documents)]
        documents += [document for (document,) in connection.execute(_DOCUMENTS, parameters)]
    return documents


def _ranges(query: KeyQuery) -> Iterable[Range]:
    """Return the range of entries of each key of a query."""
    keys = np.array(query.keys, dtype=np.uint64)
    shortest, longest = query.lengths or (0, 127)
    lowest = with_length(keys, np.full(len(keys), shortest, dtype=np.int64))
    highest = with_length(keys, np.full(len(keys), longest, dtype=np.int64))
    return zip(lowest.tolist(), highest.tolist(), strict=True)
