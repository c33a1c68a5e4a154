"""Find what is near: ask the store for candidates, keep those within max_distance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from es_simhash.core.segments import pairs_within, to_array
from es_simhash.errors import InputError
from es_simhash.ops import Candidates, Fetch, Probe, ask

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from es_simhash.core.fingerprint import Fingerprint
    from es_simhash.ops import Flow, Row


@dataclass(frozen=True)
class Match:
    """A document that is near.

    :param distance: Hamming distance in bits.
    :param exact: it is a copy: the normalised texts have one digest. Its distance is 0 then.
    """

    id: str
    distance: int
    exact: bool


def similar(
    fingerprints: Sequence[Fingerprint], max_distance: int, clause: Mapping[str, Any] | None = None
) -> Flow[list[list[Match]]]:
    """For each fingerprint everything within ``max_distance``, nearest first.

    :param clause: a query clause that the matches must satisfy.
    :returns: a list of Matches for each fingerprint; by distance, copies before others, then by id.
    """
    probes = tuple(Probe(f.value, None if f.blank else f.digest, f.bits) for f in fingerprints)
    return (yield from _near(probes, max_distance, clause))


def similar_to_stored(id: str, max_distance: int, clause: Mapping[str, Any] | None = None) -> Flow[list[Match]]:
    """Everything within ``max_distance`` of a document in the store, without that document.

    :raises InputError: if it is not there, or was never fingerprinted.
    """
    row = (yield from ask(Fetch((id,)))).get(id)
    if row is None:
        raise InputError(f"there is no document with the id {id!r}: ingest it first, or give its text")
    if not row.digest:
        raise InputError(f"the document {id!r} has no fingerprint: ingest it again")
    matches = yield from _near((Probe(row.fingerprint, row.digest, row.bits),), max_distance, clause)
    return [match for match in matches[0] if match.id != id]


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
