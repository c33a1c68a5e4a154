"""Find the documents that are near a text or a stored document: candidates, Hamming filter, texts that confirm."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from es_simhash.contract import Candidates, Fetch, Probe, ask
from es_simhash.errors import InputError
from es_simhash.search.hamming import rows_within
from es_simhash.verbs.texts import BATCH

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from es_simhash.contract import Flow, Row
    from es_simhash.fingerprinting.fingerprinter import Fingerprint
    from es_simhash.verbs.rule import ResolvedRule
    from es_simhash.verbs.texts import StoredText, Texts


@dataclass(frozen=True)
class Match:
    """A stored document that is near.

    :param distance: Hamming distance in bits.
    :param exact: the normalised texts have one digest. The distance is 0 then.
    :param similarity: of the texts, where they confirm, 1 for an exact duplicate; else None.
    """

    id: str
    distance: int
    exact: bool
    similarity: float | None = None


def similar(
    texts: Sequence[str],
    fingerprints: Sequence[Fingerprint],
    rule: ResolvedRule,
    filter: Mapping[str, Any] | None = None,
) -> Flow[list[list[Match]]]:
    """Return for each text the stored documents that are duplicates of it.

    :param fingerprints: of the texts.
    :param filter: a filter that the documents must match.
    :returns: a list of Matches for each text: by distance, exact duplicates first, then by id.
    :raises InputError: naming a near-duplicate without a text to confirm.
    """
    probes = tuple(Probe(fingerprint.value, fingerprint.copy_digest) for fingerprint in fingerprints)
    matches = yield from _near(probes, rule, filter)
    if rule.texts is None:
        return matches
    confirmed = []
    for text, some in zip(texts, matches, strict=True):
        confirmed.append((yield from _confirmed(some, rule.texts.confirm.features(text), rule.texts)))
    return confirmed


def similar_to_stored(id: str, rule: ResolvedRule, filter: Mapping[str, Any] | None = None) -> Flow[list[Match]]:
    """Return the stored documents that are duplicates of a stored document, without that document.

    :raises InputError: if there is no such document, or it has no fingerprint; if it has no text to confirm.
    """
    row = (yield from ask(Fetch((id,)))).get(id)
    if row is None:
        raise InputError(f"there is no document with id {id!r}: ingest it first, or give its text")
    if not row.digest:
        raise InputError(f"document {id!r} has no fingerprint: ingest it again")
    found = yield from _near((Probe(row.fingerprint, row.digest),), rule, filter)
    matches = [match for match in found[0] if match.id != id]
    if rule.texts is None:
        return matches
    own = (yield from rule.texts.stored([id])).get(id)
    return (yield from _confirmed(matches, own, rule.texts))


def _confirmed(matches: list[Match], own: StoredText, texts: Texts) -> Flow[list[Match]]:
    """Return the Matches with similar texts. Some texts are fetched at a time, since there may be many Matches."""
    confirmed: list[Match] = []
    for start in range(0, len(matches), BATCH):
        some = matches[start : start + BATCH]
        stored = yield from texts.stored(match.id for match in some if not match.exact)
        for match in some:
            similarity = 1.0 if match.exact else texts.similarity(own, stored.get(match.id))
            if texts.is_enough(similarity):
                confirmed.append(replace(match, similarity=similarity))
    return confirmed


def _near(probes: tuple[Probe, ...], rule: ResolvedRule, filter: Mapping[str, Any] | None) -> Flow[list[list[Match]]]:
    rows = yield from ask(Candidates(probes, rule.max_distance, rule.bits, filter))
    near = rows_within(
        [probe.fingerprint for probe in probes], [row.fingerprint for row in rows], rule.max_distance, rule.bits
    )
    return [_matches(probe, rows, some) for probe, some in zip(probes, near, strict=True)]


def _matches(probe: Probe, rows: Sequence[Row], near: Sequence[tuple[int, int]]) -> list[Match]:
    found = {rows[index].id: Match(rows[index].id, distance, False) for index, distance in near}
    if probe.digest is not None:
        found |= {row.id: Match(row.id, 0, True) for row in rows if row.digest == probe.digest}
    return sorted(found.values(), key=lambda match: (match.distance, not match.exact, match.id))
