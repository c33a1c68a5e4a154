"""What a run holds in memory, and from where on it asks the store."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The limits of one run.

    :param window: the largest number of written documents that are compared in memory. Then the store makes them
        searchable.
    :param recent: characters of the documents that were written last and are kept: at most 64 MB of Chinese text.
    :param features: characters of compared texts whose features are kept: some 20 bytes for each.
    :param first: documents in the first batch of an ingest that is not small. Before it the fingerprints of a small
        store are read.
    :param others: writes of other programs for each write of this one. If there are more, each document is looked up,
        so that theirs are found as soon as search finds them.
    :param fresh: seconds. If fingerprints were read longer ago, what other programs have written is read.
    :param named: the most fingerprints in memory among which the nearest to a document is searched. That takes 1 ms.
    :param nearest: the nearest neighbours of each document whose texts are fetched for a whole batch at once.
    :param texts: documents whose texts are fetched together.
    :param links: documents whose links are read, or written, together when their originals change.
    """

    window: int = 20_000
    recent: int = 32_000_000
    features: int = 4_000_000
    first: int = 100
    others: float = 0.1
    fresh: float = 30.0
    named: int = 2_000_000
    nearest: int = 8
    texts: int = 100
    links: int = 500


LIMITS = Limits()
