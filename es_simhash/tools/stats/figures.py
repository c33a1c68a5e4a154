"""What a store holds. All fingerprints are read, page by page.

Memory: some 200 bytes a document.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from es_simhash.contract import (
    KeysState,
    Scan,
    Space,
    pages,
)
from es_simhash.fingerprinting.encoding import columns, to_array
from es_simhash.search.hamming import paired_distances
from es_simhash.tools.stats.seen_figures import SeenFigures, seen_figures

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from es_simhash import Documents
    from es_simhash.contract import Row, Store

HOT = 500
"""A value is hot if more documents share it: a search may leave some of them out, and takes longer."""
SHOWN = 10
"""Values and groups that are named."""
_KEYS = 1_000
"""Keys that are counted."""


@dataclass(frozen=True)
class Frequent:
    """The values that most documents share.

    :param values: pairs (value, documents), the most frequent first: those that several documents share, at most ten.
    :param hot: how many values more than 500 documents share.
    """

    values: tuple[tuple[str, int], ...] = ()
    hot: int = 0

    @classmethod
    def of(cls, counts: Iterable[tuple[str, int]]) -> Frequent:
        """Return the summary of pairs (value, documents), the most frequent first."""
        pairs = list(counts)
        shared = tuple((value, number) for value, number in pairs[:SHOWN] if number > 1)
        return cls(shared, sum(1 for _, number in pairs if number > HOT))


@dataclass(frozen=True)
class DocumentFigures:
    """Figures of the documents.

    :param scheme: version of the Scheme.
    :param documents: all of them.
    :param fingerprinted: documents with a fingerprint.
    :param too_short: documents whose text is too short for a fingerprint. Exact duplicates of them are found.
    :param without: documents that were never fingerprinted: a backfill does it.
    :param damaged: documents whose fields another program changed, so that they cannot be used.
    :param exact_copies: members of groups with the text of the head of their group, beside the heads.
    :param near_copies: the other members of groups, beside the heads. The report counts in the same way.
    :param lost_originals: documents that are linked to an original that does not exist: ``group`` repairs them.
    :param groups: by size, from 2 on, the number of groups.
    :param largest: pairs (head of the group, documents), the largest first; at most ten.
    :param distances: by distance in bits, how many near copies have it from the head of their group. Near copies
        without a fingerprint, which keys found, are left out.
    :param fingerprints: the most frequent fingerprints, in hex digits.
    :param segments: the most frequent segments (16 bits of a fingerprint): number of the segment, ``:``, hex digits.
    :param keys: the most frequent keys of texts; None if documents have no keys. ``hot`` is at most 1,000.
    :param rule: the rule and the names of fields that the store keeps, in words; empty if it keeps none.
    """

    scheme: str
    documents: int
    fingerprinted: int
    too_short: int
    without: int
    damaged: int
    exact_copies: int
    near_copies: int
    lost_originals: int
    groups: dict[int, int]
    largest: tuple[tuple[str, int], ...]
    distances: dict[int, int]
    fingerprints: Frequent
    segments: Frequent
    keys: Frequent | None
    rule: str


@dataclass(frozen=True)
class Stats:
    """The result of ``stats``.

    :param store: its address, without credentials.
    :param documents: None if the store was not set up for documents.
    :param seen: None if the store was not set up for seen items.
    :param space: the bytes of the store, and of each field.
    """

    store: str
    documents: DocumentFigures | None
    seen: SeenFigures | None
    space: Space

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as a JSON object."""
        return asdict(self)


def stats(documents: Documents, *, progress: Callable[[str, int], object] = lambda stage, number: None) -> Stats:
    """Return figures of what a store holds: documents, copies, groups, what is hot, bytes, filters of users.

    It reads all fingerprints. Memory: some 200 bytes a document.

    :param progress: is called with ``read`` and a number of documents or users.
    :raises NotSetUp: if the store was not set up, neither for documents nor for seen items.
    """
    store = documents.store
    scheme = store.describe()
    config = store.describe_seen()
    if scheme is None and config is None:
        documents.keys()  # raises NotSetUp, which names the next step
    figures = None if scheme is None else _document_figures(store, scheme.version, scheme.bits, progress)
    seen = None if config is None else seen_figures(store, config, progress)
    return Stats(documents.name, figures, seen, store.measure_space())


@dataclass
class _Columns:
    """What is kept of the Rows, a column for each value.

    Ids and digests are kept as their hashes of 64 bits. Two of a million ids have the same hash with a probability of
    1 to 37 million.
    """

    bits: int
    rows: int = 0
    fingerprints: list[NDArray[np.uint64]] = field(default_factory=list)
    hashes: list[NDArray[np.int64]] = field(default_factory=list)
    heads: dict[int, str] = field(default_factory=dict)

    def add(self, rows: Sequence[Row]) -> None:
        """Add a page of Rows."""
        self.rows += len(rows)
        self.fingerprints.append(to_array((row.fingerprint or 0 for row in rows), self.bits))
        values = [
            (hash(row.id), hash(row.digest), hash(row.group), hash(row.duplicate_of or ""), row.fingerprint is not None)
            for row in rows
        ]
        self.hashes.append(np.array(values, dtype=np.int64).reshape(-1, 5))
        self.heads.update((hash(row.group), row.group) for row in rows if row.group != row.id)

    def arrays(self) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """Return the fingerprints, shape (n,) or (n, 2); and the hashes, shape (5, n)."""
        empty = to_array((), self.bits)
        hashes = np.concatenate([np.empty((0, 5), dtype=np.int64), *self.hashes])
        return np.concatenate([empty, *self.fingerprints]), hashes.T


def _document_figures(store: Store, version: str, bits: int, progress: Callable[[str, int], object]) -> DocumentFigures:
    store.refresh()
    documents = store.count(Scan(fields=()))
    without = store.count(Scan(fields=(), missing=True))
    found = _Columns(bits)
    for page in pages(store, Scan()):
        found.add(page.rows)
        progress("read", len(page.rows))
    has_keys = store.describe_keys() is not KeysState.NONE
    fingerprints, (ids, digests, groups, originals, with_value) = found.arrays()
    by_size, largest = _groups(groups)
    exact, near, distances = _copies(fingerprints, with_value, ids, digests, groups)
    usable = fingerprints[with_value == 1]
    return DocumentFigures(
        scheme=version,
        documents=documents,
        fingerprinted=len(usable),
        too_short=found.rows - len(usable),
        without=without,
        damaged=max(0, documents - without - found.rows),
        exact_copies=exact,
        near_copies=near,
        lost_originals=_lost(ids, originals),
        groups=by_size,
        largest=tuple((found.heads[head], size) for head, size in largest),
        distances=distances,
        fingerprints=_frequent_fingerprints(usable),
        segments=_frequent_segments(usable),
        keys=Frequent.of(store.count_keys(_KEYS)) if has_keys else None,
        rule=str(store.describe_rule()),
    )


def _groups(heads: NDArray[np.int64]) -> tuple[dict[int, int], list[tuple[int, int]]]:
    """Return the number of groups by size, from 2 on, and pairs (hash of the head, size) of the largest groups.

    :param heads: hash of the head of each document's group.
    """
    different, sizes = np.unique(heads, return_counts=True)
    largest = np.argsort(-sizes, kind="stable")[:SHOWN]
    by_size = np.bincount(sizes, minlength=2)
    found = {size: int(by_size[size]) for size in range(2, len(by_size)) if by_size[size]}
    return found, [
        (head, size)
        for head, size in zip(different[largest].tolist(), sizes[largest].tolist(), strict=True)
        if size > 1
    ]


def _copies(
    fingerprints: NDArray[np.uint64],
    with_value: NDArray[np.int64],
    ids: NDArray[np.int64],
    digests: NDArray[np.int64],
    heads: NDArray[np.int64],
) -> tuple[int, int, dict[int, int]]:
    """Return the number of exact copies, of near copies, and the distances of these from the heads of their groups.

    A copy is a member of a group beside its head. The report counts in the same way.

    :param with_value: 1 for a document with a fingerprint, else 0.
    :param heads: hash of the head of each document's group.
    """
    _, group_of, sizes = np.unique(heads, return_inverse=True, return_counts=True)
    in_groups = sizes[group_of] > 1
    copies = np.flatnonzero(in_groups & (heads != ids))
    targets, exists = _documents(ids, heads[copies])
    exact = exists & (digests[copies] == digests[targets])
    near = int(in_groups.sum()) - int((sizes > 1).sum()) - int(exact.sum())
    compared = exists & ~exact & (with_value[copies] + with_value[targets] == 2)
    bits = paired_distances(fingerprints[copies[compared]], fingerprints[targets[compared]])
    return int(exact.sum()), near, dict(sorted(Counter(bits.tolist()).items()))


def _lost(ids: NDArray[np.int64], originals: NDArray[np.int64]) -> int:
    """Return how many documents are linked to an original that does not exist.

    :param originals: hash of the original of each document, or of an empty string.
    """
    _, exists = _documents(ids, originals[originals != hash("")])
    return int((~exists).sum())


def _documents(ids: NDArray[np.int64], named: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the index of each named document, and whether it exists. The index of one that does not is any other."""
    if not len(named):
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.bool_)
    order = np.argsort(ids)
    at = np.searchsorted(ids[order], named)
    at[at == len(order)] = 0
    targets = order[at]
    return targets, ids[targets] == named


def _frequent_fingerprints(fingerprints: NDArray[np.uint64]) -> Frequent:
    different, counts = np.unique(fingerprints, axis=0, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    named = []
    for index in order[:SHOWN].tolist():
        words = np.atleast_1d(different[index]).tolist()
        named.append(("".join(f"{word:016x}" for word in words), int(counts[index])))
    return Frequent(Frequent.of(named).values, int((counts > HOT).sum()))


def _frequent_segments(fingerprints: NDArray[np.uint64]) -> Frequent:
    pairs: list[tuple[str, int]] = []
    number = 0
    for word in columns(fingerprints):
        for shift in range(48, -1, -16):
            counts = np.bincount((word >> np.uint64(shift) & np.uint64(0xFFFF)).astype(np.int64), minlength=1)
            frequent = np.flatnonzero(counts > 1)
            pairs += ((f"{number}:{value:04x}", int(counts[value])) for value in frequent.tolist())
            number += 1
    return Frequent.of(sorted(pairs, key=lambda pair: (-pair[1], pair[0])))
