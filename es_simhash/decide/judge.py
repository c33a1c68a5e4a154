"""What is a document to others? The only place that says what a copy is.

| relation | the candidate has |
|---|---|
| ``exact`` | the same text, after normalisation |
| ``copy`` | a text that is similar enough and does not contradict; by ``fingerprint``, a near fingerprint |
| ``contradicts`` | a text that is similar enough and says something else at one place, such as another number |
| ``different`` | another text |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from es_simhash.similarity.confirm import similarities
from es_simhash.similarity.differences import contradict, differences
from es_simhash.text.encoding import hamming_distance
from es_simhash.values import value

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from es_simhash.decide.rule import ResolvedRule
    from es_simhash.rows import Row
    from es_simhash.similarity.confirm import TextFeatures
    from es_simhash.similarity.differences import Difference

Relation = Literal["exact", "copy", "contradicts", "different"]


class Side(NamedTuple):
    """One of two documents that are compared.

    :param text: None if texts do not decide, or only equal digests count.
    """

    row: Row
    text: TextFeatures | None


@dataclass(frozen=True)
class Contradiction:
    """A stored original that is similar enough to a document, and says something else at some places.

    :param differences: what each of them has there: ``a`` the original, ``b`` the document.
    """

    id: str
    similarity: float
    differences: tuple[Difference, ...]


@value
class Judged:
    """What a document is to a candidate.

    :param similarity: of the texts, where they decide; 1 for an exact copy. Of a different text it may be 0.
    :param distance: of the fingerprints in bits; None if one of the two has none.
    """

    candidate: Side
    relation: Relation
    similarity: float | None
    distance: int | None


def judge(document: Side, candidates: Sequence[Side], rule: ResolvedRule) -> Iterator[Judged]:
    """Yield what a document is to each candidate: the exact ones, then the most similar or the nearest, then others.

    Of equally similar ones the earliest comes first. Contradictions are looked for when a candidate has its turn, so
    whoever stops at the first copy looks for no others.

    :param candidates: with their texts, where texts decide. Whether their keys agree is not asked here.
    """
    exact, near, others = [], [], []
    for candidate in sorted(candidates, key=lambda side: (side.row.order, side.row.id)):
        if _is_exact(document, candidate, rule):
            exact.append(candidate)
        elif rule.may_be_near(document.row, candidate.row):
            near.append(candidate)
        else:
            others.append(candidate)
    for candidate in exact:
        yield Judged(candidate, "exact", 1.0 if rule.compares_texts else None, 0)
    yield from _by_texts(document, near, rule) if rule.compares_texts else _by_fingerprints(document, near)
    for candidate in others:
        yield Judged(candidate, "different", None, _distance(document, candidate))


def _by_texts(document: Side, candidates: Sequence[Side], rule: ResolvedRule) -> Iterator[Judged]:
    texts = [candidate.text for candidate in candidates if candidate.text is not None]
    if document.text is None or len(texts) < len(candidates):
        raise ValueError("a rule that compares texts needs the text of each document")
    ranked = list(zip(similarities(document.text, texts, rule.chosen), candidates, texts, strict=True)) if texts else []
    ranked.sort(key=lambda each: -each[0])
    for similarity, candidate, text in ranked:
        relation: Relation = "copy"
        if similarity < (rule.chosen.min_similarity or 0.0):
            relation = "different"
        elif rule.chosen.contradictions == "refuse" and contradict(document.text, text):
            relation = "contradicts"
        yield Judged(candidate, relation, similarity, _distance(document, candidate))


def _by_fingerprints(document: Side, candidates: Sequence[Side]) -> Iterator[Judged]:
    near = [Judged(candidate, "copy", None, _distance(document, candidate)) for candidate in candidates]
    yield from sorted(near, key=lambda judged: judged.distance or 0)  # near documents have fingerprints


def _is_exact(document: Side, candidate: Side, rule: ResolvedRule) -> bool:
    """Return whether the texts are equal. A digest may be that of a former text, so texts that are given decide."""
    row, other = document.row, candidate.row
    if row.digest != other.digest or not rule.is_digest_of_text(row.digest) or not rule.is_in_window(row, other):
        return False
    return document.text is None or candidate.text is None or document.text.normalised == candidate.text.normalised


def contradiction(document: Side, judged: Judged) -> Contradiction:
    """Return what contradicts in the texts of a document and of a candidate that was judged so."""
    if document.text is None or judged.candidate.text is None:
        raise ValueError("a contradiction is one of two texts")
    found, _ = differences(judged.candidate.text, document.text)
    return Contradiction(judged.candidate.row.id, judged.similarity or 0.0, found)


def _distance(document: Side, candidate: Side) -> int | None:
    return hamming_distance(document.row.fingerprint, candidate.row.fingerprint)
