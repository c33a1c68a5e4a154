"""What texts and keys say about two texts.

The decision is that of ``ingest`` and ``similar`` for a text b that looks for a stored text a. A store also limits how
many texts it compares with one document. Two texts alone do not show that limit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from es_simhash.errors import InputError
from es_simhash.search import minhash
from es_simhash.search.keys import key_queries
from es_simhash.similarity.confirm import have_agreeing_numbers

if TYPE_CHECKING:
    from es_simhash.fingerprinting.fingerprinter import Fingerprinter
    from es_simhash.search.keys import KeyQuery, TextKeys
    from es_simhash.similarity.confirm import TextFeatures
    from es_simhash.similarity.rule import DuplicateRule

KeyKind = Literal["bands", "q-grams"]


@dataclass(frozen=True)
class SharedKeys:
    """The keys of one kind that text b looks for, and how many of them text a has.

    :param kind: ``bands`` (MinHash bands) or ``q-grams``.
    :param shared: the number of these keys that a has.
    :param asked: the number that a must have at least.
    :param keys: the number of keys that b looks for.
    :param lengths: the smallest and the largest number of word characters that a may have; None for any.
    :param candidate: a has enough of the keys, and a length in the range.
    """

    kind: KeyKind
    shared: int
    asked: int
    keys: int
    lengths: tuple[int, int] | None
    candidate: bool


@dataclass(frozen=True)
class TextDecision:
    """What texts and keys say about two texts, a and b, under a rule by which texts decide.

    :param similarity: by the measure of the rule.
    :param lengths: the number of word characters of a and of b.
    :param only_a: the numbers that a has and b has not, or not as often; sorted.
    :param only_b: the same for b.
    :param numbers_agree: a rule with ``numbers_agree`` accepts these numbers.
    :param keys: one for each kind of keys that b looks for; empty if b has no word character.
    :param confirmed: the texts confirm.
    :param found_by_keys: in a store with keys, a has enough of b's keys, and the texts confirm.
    """

    similarity: float
    lengths: tuple[int, int]
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    numbers_agree: bool
    keys: tuple[SharedKeys, ...]
    confirmed: bool
    found_by_keys: bool

    @property
    def candidate(self) -> bool:
        """The keys of b find a."""
        return any(shared.candidate for shared in self.keys)


def decide(a: TextFeatures, b: TextFeatures, rule: DuplicateRule, fingerprinter: Fingerprinter) -> TextDecision:
    """Return what texts and keys say about two texts. The ``max_distance`` of the rule has no effect.

    :param a: of a text that is stored.
    :param b: of a text that is looked up, such as a new document.
    :raises InputError: if the rule does not compare texts.
    """
    comparison = rule.comparison(fingerprinter)
    if comparison is None:
        raise InputError(f"the rule {rule.rule!r} does not compare texts: use 'copy' or 'contained'")
    similarity = replace(comparison, least=0.0, numbers_agree=False).similarity(a, b)  # it is returned as it is
    agree = have_agreeing_numbers(a, b, comparison.measure)
    accepted = agree or not comparison.numbers_agree
    keys = tuple(_shared_keys(query, a.keys) for query in key_queries(b.keys, comparison.least))
    candidate = any(shared.candidate for shared in keys)
    confirmed = accepted and similarity >= comparison.least
    return TextDecision(
        similarity=similarity,
        lengths=(len(a.words), len(b.words)),
        only_a=tuple(sorted((a.numbers - b.numbers).elements())),
        only_b=tuple(sorted((b.numbers - a.numbers).elements())),
        numbers_agree=agree,
        keys=keys,
        confirmed=confirmed,
        found_by_keys=candidate and confirmed,
    )


def _shared_keys(query: KeyQuery, stored: TextKeys) -> SharedKeys:
    return SharedKeys(
        kind="bands" if minhash.is_band(query.keys[0]) else "q-grams",
        shared=len(set(query.keys).intersection(stored.values)),
        asked=query.minimum,
        keys=len(query.keys),
        lengths=query.lengths,
        candidate=query.is_fulfilled_by(stored.values, stored.length),
    )
