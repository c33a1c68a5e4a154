"""The comparison of two texts: how similar they are, and which words make their fingerprints differ."""

from __future__ import annotations

from dataclasses import dataclass
from operator import eq
from typing import TYPE_CHECKING, Literal

from es_simhash.fingerprinting.features import UNIT
from es_simhash.fingerprinting.fingerprinter import Fingerprint, Fingerprinter
from es_simhash.fingerprinting.scheme import DEFAULT, Scheme
from es_simhash.similarity.confirm import TextFeatures, weights_of
from es_simhash.similarity.measures import cosine, jaccard
from es_simhash.similarity.rule import rule_of
from es_simhash.similarity.text_decision import decide

if TYPE_CHECKING:
    from es_simhash.similarity.rule import DuplicateRule
    from es_simhash.similarity.text_decision import TextDecision

Verdict = Literal["exact_duplicate", "near_duplicate", "different"]


@dataclass(frozen=True)
class Pull:
    """A feature that weighs more in one text than in the other, and so pulls their fingerprints apart.

    :param weight: its weight in the text where it weighs more.
    :param other: its weight in the other text; 0 if it does not occur there.
    """

    feature: str
    weight: float
    other: float


@dataclass(frozen=True)
class Side:
    """One of the two texts of a comparison.

    :param pulls: the features that weigh more in this text than in the other, the largest difference first.
    :param stop_words: the words of this text that were dropped because they are stop words, sorted.
    :param short_words: the other dropped words of this text; each has one character. Sorted.
    """

    fingerprint: Fingerprint
    pulls: tuple[Pull, ...]
    stop_words: tuple[str, ...]
    short_words: tuple[str, ...]


@dataclass(frozen=True)
class Comparison:
    """The comparison of two texts, a and b.

    :param distance: Hamming distance in bits; None if one of the texts is too short for a fingerprint.
    :param differing: the numbers of the bits that differ, 0 for the highest bit; empty without a distance.
    :param matching: for each segment, whether it is equal in both; empty without a distance.
    :param jaccard: Jaccard similarity of shingles of ``SHINGLE`` characters, from 0 to 1.
    :param cosine: cosine of the weighted words, from 0 to 1.
    :param verdicts: what b is to a at each max_distance, from 0 to the largest that the Scheme allows. Texts do not
        confirm.
    :param texts: what texts and keys say, if the rule has a ``confirm``; else None.
    :param verdict: what b is to a under the rule, in a store without keys.
    :param verdict_with_keys: the same in a store with keys; None if the rule has no ``confirm``.
    """

    scheme: Scheme
    a: Side
    b: Side
    distance: int | None
    differing: tuple[int, ...]
    matching: tuple[bool, ...]
    jaccard: float
    cosine: float
    verdicts: tuple[Verdict, ...]
    texts: TextDecision | None
    verdict: Verdict
    verdict_with_keys: Verdict | None


def compare(
    a: str, b: str, scheme: Scheme | Fingerprinter = DEFAULT, rule: str | DuplicateRule | None = None
) -> Comparison:
    """Compare two texts.

    >>> made = compare("市气象台发布暴雨橙色预警，部分路段积水", "市气象台发布暴雨红色预警，部分路段积水")
    >>> made.distance, round(made.jaccard, 2), made.a.pulls
    (8, 0.47, (Pull(feature='橙色', weight=1.0, other=0.0),))

    :param scheme: the Scheme of the fingerprints, or a Fingerprinter. A Scheme with your own IDF table or stop words
        needs a Fingerprinter that holds them.
    :param rule: a name or a DuplicateRule; ``copy`` by default.
    :raises InputError: if a text is not a string, or has a lone surrogate; if the rule is invalid.
    """
    chosen = rule_of(rule)
    fingerprinter = scheme if isinstance(scheme, Fingerprinter) else Fingerprinter(scheme)
    scheme = fingerprinter.scheme
    bits_allowed = chosen.bits_allowed(scheme)
    one, other = contents = TextFeatures(a, fingerprinter), TextFeatures(b, fingerprinter)
    equal = one.normalised == other.normalised
    ours, theirs = (fingerprinter.fingerprint_normalised(each.normalised) for each in contents)
    features = weights_of(one, other)
    distance = ours.distance(theirs)
    exact = ours.is_copy(theirs)
    texts = None if chosen.confirm is None else decide(*contents, chosen, fingerprinter)
    within = distance is not None and distance <= bits_allowed
    by_keys = texts is not None and texts.found_by_keys and (within or chosen.max_distance is None)
    return Comparison(
        scheme=scheme,
        a=_side(fingerprinter, ours, one.tokens, *features),
        b=_side(fingerprinter, theirs, other.tokens, *reversed(features)),
        distance=distance,
        differing=_differing(ours, theirs),
        matching=tuple(map(eq, ours.segments, theirs.segments)),
        jaccard=1.0 if equal else jaccard(one.shingles, other.shingles),
        cosine=1.0 if equal else cosine(*features),
        verdicts=tuple(_verdict(exact, distance is not None and distance <= k) for k in range(scheme.max_distance + 1)),
        texts=texts,
        verdict=_verdict(exact, within and (texts is None or texts.confirmed)),
        verdict_with_keys=None if texts is None else _verdict(exact, by_keys),
    )


def _side(
    fingerprinter: Fingerprinter, made: Fingerprint, words: list[str], ours: dict[str, int], theirs: dict[str, int]
) -> Side:
    weights = [(feature, weight, theirs.get(feature, 0)) for feature, weight in ours.items()]
    heavier = [(feature, weight, other) for feature, weight, other in weights if weight > other]
    heavier.sort(key=lambda each: (each[2] - each[1], each[0]))
    dropped = sorted(set(words) - ours.keys())
    return Side(
        fingerprint=made,
        pulls=tuple(Pull(feature, weight / UNIT, other / UNIT) for feature, weight, other in heavier),
        stop_words=tuple(filter(fingerprinter.is_stop_word, dropped)),
        short_words=tuple(word for word in dropped if not fingerprinter.is_stop_word(word)),
    )


def _differing(ours: Fingerprint, theirs: Fingerprint) -> tuple[int, ...]:
    if ours.value is None or theirs.value is None:
        return ()
    difference = ours.value ^ theirs.value
    return tuple(bit for bit in range(ours.bits) if difference >> (ours.bits - 1 - bit) & 1)


def _verdict(exact: bool, near: bool) -> Verdict:
    if exact:
        return "exact_duplicate"
    return "near_duplicate" if near else "different"
