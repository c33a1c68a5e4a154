"""Find the documents that are near a text or a stored document. Nothing is written."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from es_simhash.decide.texts import Texts
from es_simhash.errors import InputError
from es_simhash.rows import Row
from es_simhash.similarity.confirm import TextFeatures, similar_among
from es_simhash.similarity.text_fields import text_of
from es_simhash.text.encoding import hamming_distance
from es_simhash.text.keys import TextKeys, keys_of_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from es_simhash.decide.rule import ResolvedRule
    from es_simhash.rows import Hits
    from es_simhash.store.protocol import Filter, Store

AHEAD = 2_000
"""Texts that are read together before several texts are compared."""


class Matches(list["Match"]):
    """A list of Matches: the exact ones, then the most similar first, or the nearest by fingerprint.

    :ivar left_out: at least so many more documents may be near, and were not compared. The list is complete if it is 0.
    """

    def __init__(self, matches: Iterable[Match] = (), left_out: int = 0) -> None:
        super().__init__(matches)
        self.left_out = left_out

    @property
    def complete(self) -> bool:
        """Every duplicate is in the list."""
        return not self.left_out


@dataclass(frozen=True)
class Match:
    """A stored document that is near.

    :param distance: by the rule ``fingerprint``, the Hamming distance in bits; else None.
    :param exact: the normalised texts have one digest.
    :param similarity: of the texts, where they decide, 1 for an exact duplicate; else None.
    """

    id: str
    distance: int | None
    exact: bool
    similarity: float | None = None


def similar(
    store: Store,
    texts: Sequence[str],
    rule: ResolvedRule,
    filter: Filter | None = None,
    times: Sequence[int] | None = None,
) -> list[Matches]:
    """Return for each text the stored documents that are duplicates of it.

    :param times: of the texts, in milliseconds since 1970; needed if the rule has a window.
    """
    features = [TextFeatures(text, rule.fingerprinter) for text in texts]
    normalised = [own.normalised for own in features]
    nothing = [None] * len(texts)
    values: Sequence[int | None] = nothing
    if rule.by == "fingerprint":
        values = [made.value for made in rule.fingerprinter.fingerprints_normalised(normalised)]
    keys: Sequence[TextKeys | None] = keys_of_texts(normalised) if rule.by == "keys" else nothing
    rows = [
        Row("", value, own.digest if own.normalised else "", time=time)
        for value, own, time in zip(values, features, times or nothing, strict=True)
    ]
    probes = [rule.probe(row, key) for row, key in zip(rows, keys, strict=True)]
    hits = store.search(probes, filter, heads=False)
    reader = Texts(store, rule)
    _read_ahead(reader, rows, hits, rule)
    return [matches_among(*one, rule, reader.of_rows) for one in zip(rows, features, hits, strict=True)]


def similar_to_fingerprint(store: Store, row: Row, rule: ResolvedRule, filter: Filter | None = None) -> Matches:
    """Return the stored documents that are duplicates by a fingerprint and a digest. No text is compared.

    :param rule: one that compares no texts.
    """
    [hits] = store.search([rule.probe(row, None)], filter, heads=False)
    return matches_among(row, None, hits, rule, Texts(store, rule).of_rows)


def similar_to_stored(store: Store, id: str, rule: ResolvedRule, filter: Filter | None = None) -> Matches:
    """Return the stored documents that are duplicates of a stored document, without that document.

    :raises InputError: if there is no such document, or it has no fingerprint; if it has no text although texts decide.
    """
    stored = store.read([id], rule.text_fields).get(id)
    if stored is None:
        raise InputError(f"there is no document with id {id!r}: ingest it first, or give its text")
    if not stored.row.digest:
        raise InputError(f"document {id!r} has no fingerprint: ingest it again, or run backfill")
    if rule.min_similarity is None:
        matches = similar_to_fingerprint(store, stored.row, rule, filter)
    else:
        text = text_of(stored.source or {}, rule.text_fields)
        times = None if stored.row.time is None else [stored.row.time]
        [matches] = similar(store, [text], rule, filter, times)
    return Matches((match for match in matches if match.id != id), matches.left_out)


def _read_ahead(reader: Texts, rows: Sequence[Row], hits: Sequence[Hits], rule: ResolvedRule) -> None:
    """Read the texts of the candidates of several texts together."""
    if rule.min_similarity is None:
        return
    pairs = ((row, other) for row, found in zip(rows, hits, strict=True) for other in found.rows)
    reader.read_ahead(islice((other for row, other in pairs if other.digest != row.digest), AHEAD))


def matches_among(
    row: Row,
    features: TextFeatures | None,
    hits: Hits,
    rule: ResolvedRule,
    texts: Callable[[Sequence[Row]], Sequence[TextFeatures | None]],
) -> Matches:
    """Return the documents that are duplicates, of those that may be.

    :param row: what is known of the text that asks.
    :param features: of this text; None if there is only its fingerprint.
    :param texts: returns the features of the texts of documents; None for one that has changed.
    """
    exact = {other.id: other for other in [*hits.same, *hits.rows] if row.digest and other.digest == row.digest}
    candidates = [other for other in hits.rows if other.id not in exact and rule.allows(row, other)]
    if rule.min_similarity is None or features is None:
        near = [Match(other.id, hamming_distance(row.fingerprint, other.fingerprint), False) for other in candidates]
        near.sort(key=lambda match: (match.distance, match.id))
        return Matches([*(Match(id, 0, True) for id in sorted(exact)), *near], hits.left_out)
    known = [(other.id, text) for other, text in zip(candidates, texts(candidates), strict=True) if text is not None]
    similarities = similar_among(features, [text for _, text in known], rule.chosen)
    near = [Match(known[index][0], None, False, similarity) for index, similarity in similarities]
    near.sort(key=lambda match: (-(match.similarity or 0), match.id))
    return Matches([*(Match(id, None, True, 1.0) for id in sorted(exact)), *near], hits.left_out)
