"""Find the documents that are near a text or a stored document. Nothing is written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from es_simhash.decide.judge import Side, contradiction, judge
from es_simhash.decide.texts import Texts
from es_simhash.errors import InputError
from es_simhash.parts import in_parts
from es_simhash.rows import Row
from es_simhash.similarity.confirm import TextFeatures
from es_simhash.similarity.text_fields import text_of
from es_simhash.text.keys import TextKeys, keys_of_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from es_simhash.decide.judge import Judged, Relation
    from es_simhash.decide.rule import ResolvedRule
    from es_simhash.rows import Hits
    from es_simhash.similarity.differences import Difference
    from es_simhash.store.protocol import Filter, Store

TOGETHER = 100
"""Texts that are looked for together, and whose candidates are read together."""
AHEAD = 2_000
"""Candidates that are read together at most."""


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

    :param relation: what the text is to it: ``exact``, ``copy`` or, if they were asked for, ``contradicts``.
    :param similarity: of the texts, where they decide, 1 for an exact duplicate; else None.
    :param distance: by the rule ``fingerprint``, the Hamming distance in bits; else None.
    :param differences: where it contradicts: ``a`` stands in the stored document, ``b`` in the text.
    """

    id: str
    relation: Relation
    similarity: float | None = None
    distance: int | None = None
    differences: tuple[Difference, ...] = ()

    @property
    def exact(self) -> bool:
        """The normalised texts have one digest."""
        return self.relation == "exact"

    def to_dict(self) -> dict[str, Any]:
        """Return the fields for JSON. Without contradictions ``differences`` is omitted."""
        values = {"id": self.id, "relation": self.relation, "similarity": self.similarity, "distance": self.distance}
        found = [difference._asdict() for difference in self.differences]
        return values | ({"differences": found} if found else {})


def similar(
    store: Store,
    texts: Sequence[str],
    rule: ResolvedRule,
    filter: Filter | None = None,
    times: Sequence[int] | None = None,
    *,
    contradicting: bool = False,
) -> list[Matches]:
    """Return for each text the stored documents that are duplicates of it.

    :param times: of the texts, in milliseconds since 1970; needed if the rule has a window.
    :param contradicting: return those that are similar enough and contradict, too.
    """
    features = [TextFeatures(text, rule.fingerprinter) for text in texts]
    normalised = [own.normalised for own in features]
    nothing = [None] * len(texts)
    values: Sequence[int | None] = nothing
    if rule.by == "fingerprint":
        values = [made.value for made in rule.fingerprinter.fingerprints_normalised(normalised)]
    keys: Sequence[TextKeys | None] = keys_of_words([own.words for own in features]) if rule.by == "keys" else nothing
    rows = [
        Row("", value, own.digest if own.normalised else "", None if key is None else key.length, time=time)
        for value, own, key, time in zip(values, features, keys, times or nothing, strict=True)
    ]
    reader, matches = Texts(store, rule), []
    for some in in_parts(list(zip(rows, features, keys, strict=True)), TOGETHER):
        queries = [rule.query(row, key, is_decision=False) for row, _, key in some]
        hits = store.search(queries, filter, originals=False)
        asked = list(zip(some, hits, strict=True))
        reader.of_rows(
            [other for (row, *_), found in asked for other in found.candidates if other.digest != row.digest][:AHEAD]
        )
        matches += [
            matches_among(Side(row, own), found, rule, reader.of_rows, contradicting=contradicting)
            for (row, own, _), found in asked
        ]
    return matches


def similar_to_fingerprint(store: Store, row: Row, rule: ResolvedRule, filter: Filter | None = None) -> Matches:
    """Return the stored documents that are duplicates by a fingerprint and a digest. No text is compared.

    :param rule: one that compares no texts.
    """
    [hits] = store.search([rule.query(row, None)], filter, originals=False)
    return matches_among(Side(row, None), hits, rule, Texts(store, rule).of_rows)


def similar_to_stored(
    store: Store, id: str, rule: ResolvedRule, filter: Filter | None = None, *, contradicting: bool = False
) -> Matches:
    """Return the stored documents that are duplicates of a stored document, without that document.

    :raises InputError: if there is no such document, or it has no fingerprint; if it has no text although texts decide.
    """
    stored = store.read([id], rule.text_fields).get(id)
    if stored is None:
        raise InputError(f"there is no document with id {id!r}: ingest it first, or give its text")
    if not stored.row.digest:
        raise InputError(f"document {id!r} has no fingerprint: ingest it again, or run backfill")
    if not rule.compares_texts:
        matches = similar_to_fingerprint(store, stored.row, rule, filter)
    else:
        text = text_of(stored.source or {}, rule.text_fields)
        times = None if stored.row.time is None else [stored.row.time]
        [matches] = similar(store, [text], rule, filter, times, contradicting=contradicting)
    return Matches((match for match in matches if match.id != id), matches.left_out)


def matches_among(
    document: Side,
    hits: Hits,
    rule: ResolvedRule,
    texts: Callable[[Sequence[Row]], Sequence[TextFeatures | None]],
    *,
    contradicting: bool = False,
) -> Matches:
    """Return the documents that are duplicates, of those that were found.

    :param document: what is known of the text that asks; without a text if there is only its fingerprint.
    :param texts: returns the features of the texts of documents; None for one that has changed.
    """
    row = document.row
    equal = {other.id: other for other in [*hits.equal, *hits.candidates] if row.digest and other.digest == row.digest}
    others = [other for other in hits.candidates if other.id not in equal and rule.may_be_near(row, other)]
    compared: list[Side] = [Side(other, None) for other in (*equal.values(), *([] if rule.compares_texts else others))]
    if rule.compares_texts:
        known = zip(others, texts(others), strict=True)
        compared += [Side(other, text) for other, text in known if text is not None]
    relations = ("exact", "copy", "contradicts") if contradicting else ("exact", "copy")
    judged = (one for one in judge(document, compared, rule) if one.relation in relations)
    return Matches((_match(document, one, rule) for one in judged), hits.left_out)


def _match(document: Side, judged: Judged, rule: ResolvedRule) -> Match:
    distance = None if rule.compares_texts else judged.distance
    found = contradiction(document, judged).differences if judged.relation == "contradicts" else ()
    return Match(judged.candidate.row.id, judged.relation, judged.similarity, distance, found)
