"""Find what is near: ask the store for candidates, keep those within max_distance, and whose texts agree."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from es_simhash.contract import Candidates, Fetch, Probe, ask
from es_simhash.errors import InputError
from es_simhash.fingerprinting.encoding import to_array
from es_simhash.search.hamming import pairs_within
from es_simhash.verbs.texts import BATCH

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from es_simhash.contract import Flow, Row
    from es_simhash.fingerprinting.fingerprinter import Fingerprint
    from es_simhash.similarity.confirm import Features
    from es_simhash.verbs.texts import Texts


@dataclass(frozen=True)
class Match:
    """A document that is near.

    :param distance: Hamming distance in bits.
    :param exact: it is a copy: the normalised texts have one digest. Its distance is 0 then.
    :param similarity: of the texts, where they confirm, 1 for a copy; None where they don't.
    """

    id: str
    distance: int
    exact: bool
    similarity: float | None = None


def similar(
    fingerprints: Sequence[Fingerprint],
    max_distance: int,
    clause: Mapping[str, Any] | None = None,
    texts: Texts | None = None,
    given: Sequence[str] = (),
) -> Flow[list[list[Match]]]:
    """For each fingerprint everything within ``max_distance``, nearest first.

    :param clause: a query clause that the matches must satisfy.
    :param texts: confirm them, if they are given.
    :param given: the text that each fingerprint is of, where texts confirm.
    :returns: a list of Matches for each fingerprint; by distance, copies before others, then by id.
    :raises InputError: naming a document that is near, and has no text to confirm by.
    """
    probes = tuple(Probe(f.value, f.copy_digest, f.bits) for f in fingerprints)
    matches = yield from _near(probes, max_distance, clause)
    if texts is None:
        return matches
    confirmed = []
    for text, some in zip(given, matches, strict=True):
        confirmed.append((yield from _confirmed(some, texts.confirm.features(text), texts)))
    return confirmed


def similar_to_stored(
    id: str, max_distance: int, clause: Mapping[str, Any] | None = None, texts: Texts | None = None
) -> Flow[list[Match]]:
    """Everything within ``max_distance`` of a document in the store, without that document.

    :raises InputError: if it is not there, or was never fingerprinted; if texts confirm, and there is none.
    """
    row = (yield from ask(Fetch((id,)))).get(id)
    if row is None:
        raise InputError(f"there is no document with the id {id!r}: ingest it first, or give its text")
    if not row.digest:
        raise InputError(f"the document {id!r} has no fingerprint: ingest it again")
    found = yield from _near((Probe(row.fingerprint, row.digest, row.bits),), max_distance, clause)
    matches = [match for match in found[0] if match.id != id]
    if texts is None:
        return matches
    own = (yield from texts.stored([id])).get(id)
    return (yield from _confirmed(matches, own, texts))


def _confirmed(matches: list[Match], own: Features | InputError | None, texts: Texts) -> Flow[list[Match]]:
    """The Matches whose texts agree; a few texts at a time, since there may be many Matches."""
    confirmed: list[Match] = []
    for start in range(0, len(matches), BATCH):
        some = matches[start : start + BATCH]
        stored = yield from texts.stored(match.id for match in some if not match.exact)
        for match in some:
            similarity = 1.0 if match.exact else texts.similarity(own, stored.get(match.id))
            if texts.agree(similarity):
                confirmed.append(replace(match, similarity=similarity))
    return confirmed


def _near(probes: tuple[Probe, ...], max_distance: int, clause: Mapping[str, Any] | None) -> Flow[list[list[Match]]]:
    rows = yield from ask(Candidates(probes, max_distance, clause))
    return [_matches(probe, rows, near) for probe, near in zip(probes, within(probes, rows, max_distance), strict=True)]


def within(probes: Sequence[Probe], rows: Sequence[Row], max_distance: int) -> list[list[tuple[int, int]]]:
    """The Hamming filter: for each Probe the rows near its fingerprint, as pairs (place in ``rows``, distance)."""
    found: list[list[tuple[int, int]]] = [[] for _ in probes]
    ours = [place for place, probe in enumerate(probes) if probe.fingerprint is not None]
    theirs = [place for place, row in enumerate(rows) if row.fingerprint is not None]
    if ours and theirs:
        bits = probes[ours[0]].bits
        left = to_array((probes[place].fingerprint or 0 for place in ours), bits)
        right = to_array((rows[place].fingerprint or 0 for place in theirs), bits)
        for i, j, distance in pairs_within(left, right, max_distance):
            found[ours[i]].append((theirs[j], distance))
    return found


def _matches(probe: Probe, rows: Sequence[Row], near: Sequence[tuple[int, int]]) -> list[Match]:
    found = {rows[place].id: Match(rows[place].id, distance, False) for place, distance in near}
    if probe.digest is not None:
        found |= {row.id: Match(row.id, 0, True) for row in rows if row.digest == probe.digest}
    return sorted(found.values(), key=lambda match: (match.distance, not match.exact, match.id))
