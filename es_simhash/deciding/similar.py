"""Find the documents that are near a text or a stored document: candidates, Hamming filter, texts that confirm."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from es_simhash.contract import Candidates
from es_simhash.deciding.limits import LIMITS
from es_simhash.deciding.rule import check_time
from es_simhash.errors import InputError
from es_simhash.fingerprinting.encoding import to_array
from es_simhash.search.hamming import near_of_all
from es_simhash.search.keys import KeyIndex, keys_of_texts
from es_simhash.similarity.confirm import TextFeatures

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from es_simhash.contract import Probe, Row, Store
    from es_simhash.deciding.rule import ResolvedRule
    from es_simhash.deciding.texts import StoredText, Texts
    from es_simhash.search.keys import TextKeys


MOST_MATCHES = 1_000
"""The largest number of Matches by fingerprints, besides exact duplicates: the nearest."""
_TOGETHER = 1_000_000
"""The most characters that one request reads for several texts."""


class Matches(list["Match"]):
    """A list of Matches.

    :param left_out: about how many documents were left out, because too many share keys or have one fingerprint. The
        list is complete if it is 0.
    :param by_keys: keys found the candidates, so fingerprints limit nothing unless the rule has a ``max_distance``.
    """

    def __init__(self, matches: Iterable[Match] = (), left_out: int = 0, by_keys: bool = False) -> None:
        super().__init__(matches)
        self.left_out = left_out
        self.by_keys = by_keys

    @property
    def complete(self) -> bool:
        """Every duplicate is in the list."""
        return not self.left_out


@dataclass(frozen=True)
class Match:
    """A stored document that is near.

    :param distance: Hamming distance in bits; None if one of the two has no fingerprint.
    :param exact: the normalised texts have one digest. The distance is 0 then.
    :param similarity: of the texts, where they confirm, 1 for an exact duplicate; else None.
    """

    id: str
    distance: int | None
    exact: bool
    similarity: float | None = None


def similar(
    store: Store,
    texts: Sequence[str],
    rule: ResolvedRule,
    filter: Mapping[str, Any] | None = None,
    times: Sequence[int] | None = None,
    *,
    most: int = MOST_MATCHES,
) -> list[Matches]:
    """Return for each text the stored documents that are duplicates of it.

    :param times: of the texts, in milliseconds since 1970; needed if the rule has a window.
    :param filter: a filter that the documents must match.
    :param most: about so many of them are returned for a text, the nearest.
    :returns: a list of Matches for each text: by distance, exact duplicates first, then by id.
    :raises InputError: naming a near-duplicate without a text to confirm.
    """
    time_of: Sequence[int | None] = times or [None] * len(texts)
    # A text is normalised once, for its fingerprint and for what is compared of it.
    features = [TextFeatures(text, rule.fingerprinter) for text in texts]
    normalised = [own.normalised for own in features]
    fingerprints = rule.fingerprinter.fingerprints_normalised(normalised)
    keys: Sequence[TextKeys | None] = keys_of_texts(normalised) if rule.keys else [None] * len(texts)
    probes = tuple(
        rule.probe(fingerprint.value, fingerprint.copy_digest, own, time)
        for fingerprint, own, time in zip(fingerprints, keys, time_of, strict=True)
    )
    matches = _near(store, probes, rule, filter, most=most)
    if rule.texts is None:
        return matches
    return _confirmed(store, matches, features, rule.texts)


def similar_to_fingerprint(
    store: Store,
    value: int | None,
    digest: str | None,
    rule: ResolvedRule,
    filter: Mapping[str, Any] | None = None,
    time: int | None = None,
) -> Matches:
    """Return the stored documents that are duplicates by a fingerprint. No text confirms.

    :param value: unsigned, of the width of the store; None if there is none.
    :param digest: of the text; None to find no exact duplicates.
    """
    [found] = _near(store, (rule.probe(value, digest, None, time),), rule, filter)
    return found


def similar_to_stored(store: Store, id: str, rule: ResolvedRule, filter: Mapping[str, Any] | None = None) -> Matches:
    """Return the stored documents that are duplicates of a stored document, without that document.

    :raises InputError: if there is no such document, or it has no fingerprint; if it has no text to confirm, or no
        time where times count.
    """
    row = store.fetch((id,), rule.time_field).get(id)
    if row is None:
        raise InputError(f"there is no document with id {id!r}: ingest it first, or give its text")
    if row.damaged:
        raise InputError(row.damaged)
    if not row.digest:
        raise InputError(f"document {id!r} has no fingerprint: ingest it again")
    if rule.window is not None:
        check_time(store, row.id if row.time is None else None, rule.window.field)
    own: StoredText = None
    if rule.texts is not None:
        own = rule.texts.stored(store, [id]).get(id)
        if isinstance(own, InputError):
            raise own
    keys = own.keys if rule.keys and isinstance(own, TextFeatures) else None
    digest = None if row.digest == rule.blank_digest else row.digest  # an empty text has no exact duplicates
    probe = rule.probe(row.fingerprint, digest, keys, row.time)
    [found] = _near(store, (probe,), rule, filter, without=(id,))
    if rule.texts is None:
        return found
    [confirmed] = _confirmed(store, [found], [own], rule.texts)
    return confirmed


def _confirmed(store: Store, matches: Sequence[Matches], owns: Sequence[StoredText], texts: Texts) -> list[Matches]:
    """Return the Matches of each text whose texts are similar to it.

    :param owns: the text of each.
    """
    confirmed = [Matches((), each.left_out, each.by_keys) for each in matches]
    for parts in _parts(matches, owns):
        stored = texts.stored(store, (match.id for _, some in parts for match in some if not match.exact))
        for number, some in parts:
            own = owns[number]
            confirmed[number] += _similar(some, own, stored, texts)
    return confirmed


def _parts(matches: Sequence[Matches], owns: Sequence[StoredText]) -> Iterator[list[tuple[int, Sequence[Match]]]]:
    """Yield parts of the Matches, each for one request: pairs of the index of a text, and some of its Matches.

    A request reads a limited number of documents, and of characters: similar texts have about the same length.
    """
    parts: list[tuple[int, Sequence[Match]]] = []
    count = characters = 0
    for number, (each, own) in enumerate(zip(matches, owns, strict=True)):
        length = len(own.normalised) if isinstance(own, TextFeatures) else 0
        for start in range(0, len(each), LIMITS.texts):
            some = each[start : start + LIMITS.texts]
            if parts and (count + len(some) > LIMITS.texts or characters + len(some) * length > _TOGETHER):
                yield parts
                parts, count, characters = [], 0, 0
            parts.append((number, some))
            count += len(some)
            characters += len(some) * length
    yield parts


def _similar(matches: Sequence[Match], own: StoredText, stored: Mapping[str, StoredText], texts: Texts) -> list[Match]:
    """Return the Matches with similar texts."""
    near = [match for match in matches if not match.exact]
    found = dict(texts.similar_among(own, [stored.get(match.id) for match in near]))
    similar = {near[number].id: similarity for number, similarity in found.items()}
    similar |= {match.id: 1.0 for match in matches if match.exact}
    return [replace(match, similarity=similar[match.id]) for match in matches if match.id in similar]


def _near(
    store: Store,
    probes: tuple[Probe, ...],
    rule: ResolvedRule,
    filter: Mapping[str, Any] | None,
    without: tuple[str, ...] = (),
    most: int = MOST_MATCHES,
) -> list[Matches]:
    """Return for each Probe the documents that are near by fingerprint, digest or keys. Texts are not compared."""
    request = Candidates(
        probes,
        rule.search_distance,
        rule.bits,
        filter,
        without,
        nearest=most,
        per_fingerprint=None if rule.keys or rule.window is not None else most,
        time_field=rule.time_field,
    )
    found = store.candidates(request)
    rows = found.rows
    near: list[list[tuple[int, int | None]]]
    if rule.keys:
        keys = KeyIndex([row.keys for row in rows], [row.length for row in rows], [probe.queries for probe in probes])
        near = [rule.allowed(probe.fingerprint, rows, keys.fulfilling(probe.queries)) for probe in probes]
    else:
        near = _within_distance(probes, rows, rule)
    return [
        Matches(_matches(probe, rows, some), found.left_out.get(index, 0), rule.keys)
        for index, (probe, some) in enumerate(zip(probes, near, strict=True))
    ]


def _within_distance(
    probes: Sequence[Probe], rows: Sequence[Row], rule: ResolvedRule
) -> list[list[tuple[int, int | None]]]:
    """Return for each Probe the Rows within ``max_distance`` of its fingerprint: pairs (index, distance in bits)."""
    asked = {number: probe.fingerprint for number, probe in enumerate(probes) if probe.fingerprint is not None}
    stored = {index: row.fingerprint for index, row in enumerate(rows) if row.fingerprint is not None}
    numbers, indices = list(asked), list(stored)
    near: list[list[tuple[int, int | None]]] = [[] for _ in probes]
    left, right = to_array(list(asked.values()), rule.bits), to_array(list(stored.values()), rule.bits)
    for ones, others, bits in near_of_all(left, right, rule.max_distance):
        for one, other, distance in zip(ones.tolist(), others.tolist(), bits.tolist(), strict=True):
            near[numbers[one]].append((indices[other], distance))
    return near


def _matches(probe: Probe, rows: Sequence[Row], near: Sequence[tuple[int, int | None]]) -> list[Match]:
    found = {
        rows[index].id: Match(rows[index].id, distance, False)
        for index, distance in near
        if _in_times(rows[index], probe)
    }
    if probe.digest is not None:
        copies = (row for row in rows if row.digest == probe.digest and _in_times(row, probe))
        found |= {row.id: Match(row.id, 0, True) for row in copies}
    return sorted(found.values(), key=rank)


def _in_times(row: Row, probe: Probe) -> bool:
    if probe.times is None:
        return True
    return row.time is not None and probe.times[0] <= row.time <= probe.times[1]


def rank(match: Match) -> tuple[bool, int, bool, str]:
    """Return the key by which Matches are sorted: the nearest first, exact duplicates before others, then by id."""
    return match.distance is None, match.distance or 0, not match.exact, match.id
