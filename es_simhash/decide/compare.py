"""The comparison of two texts: what they are to each other by a rule, and why."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from es_simhash.decide.judge import Side, judge
from es_simhash.decide.rule import ResolvedRule
from es_simhash.rows import Row
from es_simhash.similarity.confirm import TextFeatures, similarities
from es_simhash.similarity.differences import Difference, contradict, differences
from es_simhash.similarity.measures import cosine
from es_simhash.similarity.rule import rule_of
from es_simhash.text.fingerprinter import Fingerprint, Fingerprinter, fingerprinter_of
from es_simhash.text.keys import share_enough
from es_simhash.text.scheme import DEFAULT, Scheme
from es_simhash.text.tokens import segmenter, tokenize

if TYPE_CHECKING:
    from es_simhash.decide.judge import Relation
    from es_simhash.similarity.rule import DuplicateRule


@dataclass(frozen=True)
class Comparison:
    """The comparison of two texts: a, which is stored, and b, which is new.

    :param relation: what b is to a in a store with keys: ``exact``, ``copy``, ``contradicts`` (similar enough, but they
        say different things at one place) or ``different``. A store also limits how many texts it compares with one
        document; two texts do not show that limit.
    :param similarity: of the texts, by what the rule measures, from 0 to 1; contradictions have no part in it. None if
        texts do not decide, as by the rules ``fingerprint`` and ``exact``. Then the next two are None, too.
    :param contradict: the texts contradict each other too much for duplicates, if the rule refuses this.
    :param is_found: in a store, a look-up of b finds a: enough keys are common.
    :param contradictions: what stands in a in the place of something else in b, such as another number: what each of
        them has there.
    :param others: the other differences: what was added, left out, or said in other words. Counters and clocks in
        longer texts are in neither.
    :param distance: Hamming distance of the fingerprints in bits; None if one of the texts is too short for one.
    :param cosine: of the word counts, from 0 to 1, with stop words and words of one character. No rule uses it.
    """

    rule: DuplicateRule
    relation: Relation
    similarity: float | None
    contradict: bool | None
    is_found: bool | None
    contradictions: tuple[Difference, ...]
    others: tuple[Difference, ...]
    distance: int | None
    cosine: float
    a: Fingerprint
    b: Fingerprint

    @property
    def is_duplicate(self) -> bool:
        """A store takes b for a duplicate of a: the relation is ``exact`` or ``copy``."""
        return self.relation in ("exact", "copy")


def compare(
    a: str, b: str, scheme: Scheme | Fingerprinter = DEFAULT, *, rule: str | DuplicateRule | None = None
) -> Comparison:
    """Compare two texts by a rule.

    >>> made = compare("市气象台6时发布暴雨预警，部分路段积水", "市气象台8时发布暴雨预警，部分路段积水")
    >>> made.relation, round(made.similarity, 2), made.contradictions
    ('contradicts', 0.94, (Difference(a='6', b='8'),))

    :param scheme: the Scheme of the fingerprints, or a Fingerprinter. A Scheme with your own IDF table or stop words
        needs a Fingerprinter that holds them.
    :param rule: its name, or a DuplicateRule; by default ``copy``. ``within`` and ``text_field`` have no effect.
    :raises InputError: if a text is not a string, or has a lone surrogate; if the rule is invalid.
    """
    fingerprinter = fingerprinter_of(scheme)
    chosen = replace(rule_of(rule), within=None, time_field=None)
    resolved = ResolvedRule(chosen, fingerprinter, keys=True)
    texts = stored, new = TextFeatures(a, fingerprinter), TextFeatures(b, fingerprinter)
    ours, theirs = fingerprinter.fingerprints_normalised([text.normalised for text in texts])
    earlier, later = (
        Side(Row("", made.value, made.copy_digest or "", text.keys.length), text)
        for made, text in zip((ours, theirs), texts, strict=True)
    )
    [judged] = judge(later, [earlier], resolved)
    similarity = contradicting = is_found = None
    if resolved.compares_texts:
        [similarity] = similarities(new, [stored], chosen, exactly=True)
        contradicting = contradict(*texts)
        is_found = share_enough(new.keys, stored.keys, chosen.min_similarity or 0.0)
    relation = "different" if judged.relation != "exact" and is_found is False else judged.relation
    contradictions, others = differences(*texts)
    return Comparison(
        rule=chosen,
        relation=relation,
        similarity=similarity,
        contradict=contradicting,
        is_found=is_found,
        contradictions=contradictions,
        others=others,
        distance=judged.distance,
        cosine=cosine(*(tokenize(text.normalised, segmenter()) for text in texts)),
        a=ours,
        b=theirs,
    )
