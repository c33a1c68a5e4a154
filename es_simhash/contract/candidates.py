"""Which documents may be near others: what to look for, and what was found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from es_simhash.search.hamming import hamming_distance
from es_simhash.search.nearest import nearest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from es_simhash.contract.rows import Probe, Row
    from es_simhash.search.keys import KeyQuery
    from es_simhash.search.nearest import Crowd, Nearest

    KeySearch = tuple[tuple[KeyQuery, ...], tuple[int, int] | None, int]
    """The queries of a Probe, its times, and the most documents."""

_ANY_NUMBER = 1 << 62


@dataclass(frozen=True)
class Found:
    """What ``candidates`` found.

    :param rows: no document comes twice.
    :param left_out: for the index of a Probe, how many documents were left out, because ``most``, ``nearest`` or
        ``per_fingerprint`` others come before them. Probes without such documents are not named. A store may count
        documents that the filter or ``one_per_digest`` excludes, and it may stop counting at 500.
    :param ids: those of the request's ``ids`` that a document has.
    """

    rows: list[Row]
    left_out: Mapping[int, int] = field(default_factory=dict)
    ids: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Candidates:
    """A look-up of everything within ``max_distance`` of a Probe's fingerprint, with its digest, or with the keys that
    one of its queries asks for.

    The Rows have their keys and lengths if a Probe has queries; else they come without.

    :param max_distance: in bits; below 0 the store looks at digests alone.
    :param bits: width of the fingerprints.
    :param filter: a filter that the documents must match.
    :param without: ids to leave out.
    :param one_per_digest: of documents with one digest, return the one that was written first. They have the same text,
        so the same fingerprint and the same keys. If Probes have times: of the documents with one digest in the times
        of one Probe, return at least the one that was written first.
    :param most: of the documents that fulfil the queries of one Probe, return at most so many, unless the Probe says
        another number: those whose shared keys have the largest sum of :func:`~es_simhash.search.keys.rarity`
        (the largest one over the queries that the document fulfils), then those written first. Where these are equal
        too, the store chooses. Documents with one digest count once if ``one_per_digest``. A store may know the rarity
        only roughly, and it may read only the first 500 documents of a key.
    :param per_fingerprint: of the documents with one fingerprint, return at most so many that only their fingerprint
        finds: those written first. None for all. ``left_out`` counts the others, unless it is 1: then the first stands
        for all of them. Digests are not limited. None if Probes have times.
    :param nearest: of the documents near one Probe's fingerprint, return the nearest so many; those of one distance by
        their write order. Documents with one fingerprint count as at most ``per_fingerprint``, as one if
        ``one_per_digest``. None for all. ``left_out`` counts the others. A store may return more.
    :param counted: False if the caller needs no numbers: then ``left_out`` may be 1 for any Probe.
    :param time_field: the field with the time, for Rows with their times. A Probe with times needs it.
    :param ids: say which of these ids a document has. Its filter and fingerprint do not matter. As a search, this does
        not see what was just written.
    """

    probes: tuple[Probe, ...]
    max_distance: int
    bits: int
    filter: Mapping[str, Any] | None = None
    without: tuple[str, ...] = ()
    one_per_digest: bool = False
    most: int = 20
    per_fingerprint: int | None = None
    nearest: int | None = None
    counted: bool = True
    time_field: str | None = None
    ids: tuple[str, ...] = ()

    def fingerprints(self, probes: Sequence[Probe]) -> list[int]:
        """Return the fingerprints to look for, of some of the Probes."""
        return [p.fingerprint for p in probes if p.fingerprint is not None and self.max_distance >= 0]

    def nearest_of(self, crowds: Mapping[int, Crowd], probes: Sequence[Probe]) -> Nearest:
        """Return the fingerprints near some of the Probes whose documents are read.

        :param crowds: by fingerprint, its documents.
        """
        asked = list(dict.fromkeys(self.fingerprints(probes)))
        counts_as = 1 if self.one_per_digest else self.per_fingerprint or _ANY_NUMBER
        return nearest(asked, crowds, self.max_distance, self.bits, self.nearest, counts_as)

    def left_out_of(self, crowds: Mapping[int, int], far: Mapping[int, int]) -> dict[int, int]:
        """Return how many documents were left out, by the index of the Probe.

        :param crowds: by fingerprint, how many documents were left out because ``per_fingerprint`` others have it.
        :param far: by the fingerprint of a Probe, how many were left out because ``nearest`` others are nearer.
        """
        left_out = {
            n: far[p.fingerprint]
            for n, p in enumerate(self.probes)
            if p.fingerprint is not None and p.fingerprint in far
        }
        if self.per_fingerprint == 1:
            return left_out
        for fingerprint, count in crowds.items():
            for index, probe in enumerate(self.probes):
                distance = hamming_distance(fingerprint, probe.fingerprint)
                if distance is not None and distance <= self.max_distance:
                    left_out[index] = left_out.get(index, 0) + count
        return left_out

    @property
    def with_keys(self) -> bool:
        """A Probe has queries, so the Rows come with their keys."""
        return any(probe.queries for probe in self.probes)

    def key_searches(self) -> dict[KeySearch, list[int]]:
        """Return the different searches by keys, each with the indices of its Probes.

        Queries that no document can fulfil are left out.
        """
        found: dict[KeySearch, list[int]] = {}
        for index, probe in enumerate(self.probes):
            queries = tuple(query for query in probe.queries if len(query.keys) >= max(1, query.minimum))
            if queries:
                most = self.most if probe.most is None else probe.most
                found.setdefault((queries, probe.times, most), []).append(index)
        return found
