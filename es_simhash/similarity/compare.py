"""The comparison of two texts: what they are to each other by a rule, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from es_simhash.similarity.confirm import TextFeatures, similarities
from es_simhash.similarity.differences import Difference, contradict, differences
from es_simhash.similarity.rule import rule_of
from es_simhash.text.fingerprinter import Fingerprint, Fingerprinter
from es_simhash.text.keys import key_queries
from es_simhash.text.scheme import DEFAULT, Scheme

if TYPE_CHECKING:
    from es_simhash.similarity.rule import DuplicateRule

Verdict = Literal["exact_duplicate", "near_duplicate", "different"]


@dataclass(frozen=True)
class Comparison:
    """The comparison of two texts: a, which is stored, and b, which is new.

    :param verdict: what b is to a in a store with keys. A store also limits how many texts it compares with one
        document; two texts do not show that limit.
    :param similarity: of the texts, by what the rule measures, from 0 to 1; contradictions have no part in it. None if
        texts do not decide, as by the rules ``fingerprint`` and ``exact``. Then the next two are None, too.
    :param contradict: the texts contradict each other too much for duplicates, if the rule refuses this.
    :param share_keys: the texts have enough keys in common: in a store, a look-up of b finds a.
    :param contradictions: what stands in a in the place of something else in b, such as another number: what each of
        them has there.
    :param others: the other differences: what was added, left out, or said in other words. Counters and clocks in
        longer texts are in neither.
    :param distance: Hamming distance of the fingerprints in bits; None if one of the texts is too short for one.
    """

    rule: DuplicateRule
    verdict: Verdict
    similarity: float | None
    contradict: bool | None
    share_keys: bool | None
    contradictions: tuple[Difference, ...]
    others: tuple[Difference, ...]
    distance: int | None
    a: Fingerprint
    b: Fingerprint


def compare(
    a: str, b: str, scheme: Scheme | Fingerprinter = DEFAULT, *, rule: str | DuplicateRule | None = None
) -> Comparison:
    """Compare two texts by a rule.

    >>> made = compare("市气象台6时发布暴雨预警，部分路段积水", "市气象台8时发布暴雨预警，部分路段积水")
    >>> made.verdict, round(made.similarity, 2), made.contradictions
    ('different', 0.94, (Difference(a='6', b='8'),))

    :param scheme: the Scheme of the fingerprints, or a Fingerprinter. A Scheme with your own IDF table or stop words
        needs a Fingerprinter that holds them.
    :param rule: its name, or a DuplicateRule; by default ``copy``. ``within`` and ``text_field`` have no effect.
    :raises InputError: if a text is not a string, or has a lone surrogate; if the rule is invalid.
    """
    fingerprinter = scheme if isinstance(scheme, Fingerprinter) else Fingerprinter(scheme)
    chosen = rule_of(rule)
    texts = stored, new = TextFeatures(a, fingerprinter), TextFeatures(b, fingerprinter)
    ours, theirs = fingerprinter.fingerprints_normalised([text.normalised for text in texts])
    distance = ours.distance(theirs)
    is_near = distance is not None and chosen.max_distance is not None and distance <= chosen.max_distance
    similarity = contradicting = share_keys = None
    if chosen.min_similarity is not None:
        [similarity] = similarities(new, [stored], chosen, exactly=True)
        contradicting = contradict(*texts)
        queries = key_queries(new.keys, chosen.min_similarity)
        share_keys = any(query.is_fulfilled_by(stored.keys.values, stored.keys.length) for query in queries)
        is_near = (
            share_keys
            and similarity >= chosen.min_similarity
            and not (chosen.contradictions == "refuse" and contradicting)
        )
    contradictions, others = differences(*texts)
    return Comparison(
        rule=chosen,
        verdict="exact_duplicate" if ours.is_copy(theirs) else "near_duplicate" if is_near else "different",
        similarity=similarity,
        contradict=contradicting,
        share_keys=share_keys,
        contradictions=contradictions,
        others=others,
        distance=distance,
        a=ours,
        b=theirs,
    )
