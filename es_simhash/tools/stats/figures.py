"""What a store holds. All fingerprints are read, page by page, into a table on disk."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from es_simhash.contract import KeysState, Scan, Space, pages
from es_simhash.fingerprinting.encoding import SEGMENT_BITS, segment_columns, segment_count
from es_simhash.tools.review.group_table import GroupTable, no_progress
from es_simhash.tools.stats.seen_figures import SeenFigures, seen_figures

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from es_simhash import Documents
    from es_simhash.contract import Store
    from es_simhash.fingerprinting.scheme import Scheme
    from es_simhash.tools.review.group_table import Progress

HOT = 500
"""A value is hot if more documents share it: a search may leave some of them out, and takes longer."""
SHOWN = 10
"""Values and groups that are named."""
_COUNTED = 1_000
"""Fingerprints and keys that are counted."""


@dataclass(frozen=True)
class Frequent:
    """The values that most documents share.

    :param values: pairs (value, documents), the most frequent first: those that several documents share, at most ten.
    :param hot: how many values more than 500 documents share; of fingerprints and keys at most 1,000.
    """

    values: tuple[tuple[str, int], ...] = ()
    hot: int = 0

    @classmethod
    def of(cls, pairs: Sequence[tuple[str, int]]) -> Frequent:
        """Return the summary of pairs (value, documents), the most frequent first."""
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
    :param keys: the most frequent keys of texts; None if documents have no keys.
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


def stats(documents: Documents, *, progress: Progress = no_progress) -> Stats:
    """Return figures of what a store holds: documents, copies, groups, what is hot, bytes, filters of users.

    It reads all fingerprints. They are held in a temporary file, some 150 bytes each.

    :param progress: is called with ``read`` and a number of documents or users.
    :raises NotSetUp: if the store was not set up, neither for documents nor for seen items.
    """
    store = documents.store
    scheme = store.describe()
    config = store.describe_seen()
    if scheme is None and config is None:
        documents.keys()  # raises NotSetUp, which names the next step
    figures = None if scheme is None else _document_figures(store, scheme, progress)
    seen = None if config is None else seen_figures(store, config, progress)
    return Stats(documents.name, figures, seen, store.measure_space())


def _document_figures(store: Store, scheme: Scheme, progress: Progress) -> DocumentFigures:
    store.refresh()
    documents = store.count(Scan(fields=()))
    without = store.count(Scan(fields=(), missing=True))
    segments = np.zeros((segment_count(scheme.bits), 1 << SEGMENT_BITS), dtype=np.int64)
    with GroupTable() as table:
        for page in pages(store, Scan()):
            table.add(page.rows, progress)
            values = [row.fingerprint for row in page.rows if row.fingerprint is not None]
            for counts, column in zip(segments, segment_columns(values, scheme.bits), strict=True):
                np.add.at(counts, column, 1)
        totals = table.totals()
        largest = tuple((summary.group, summary.members) for summary in table.summaries(SHOWN))
        lost = table.lost_originals()
        fingerprints = [(f"{value:0{scheme.bits // 4}x}", number) for value, number in table.fingerprints(_COUNTED)]
    has_keys = store.describe_keys() is not KeysState.NONE
    return DocumentFigures(
        scheme=scheme.version,
        documents=documents,
        fingerprinted=totals.documents - totals.too_short,
        too_short=totals.too_short,
        without=without,
        damaged=max(0, documents - without - totals.documents),
        exact_copies=totals.exact,
        near_copies=totals.members - totals.groups - totals.exact,
        lost_originals=lost,
        groups=totals.sizes,
        largest=largest,
        distances={bits: number for bits, number in totals.distances.items() if bits is not None},
        fingerprints=Frequent.of(fingerprints),
        segments=Frequent.of(sorted(_shared_segments(segments), key=lambda pair: (-pair[1], pair[0]))),
        keys=Frequent.of(store.count_keys(_COUNTED)) if has_keys else None,
        rule=str(store.describe_rule()),
    )


def _shared_segments(segments: NDArray[np.int64]) -> Iterator[tuple[str, int]]:
    """Yield pairs (segment, documents) for the segments that several documents share.

    :param segments: how many documents have each value, a row for each segment.
    """
    for number, counts in enumerate(segments):
        for value in np.flatnonzero(counts > 1).tolist():
            yield f"{number}:{value:04x}", int(counts[value])
