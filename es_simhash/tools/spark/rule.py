"""A DuplicateRule under one Scheme, as the joins use it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from es_simhash.fingerprinting.fingerprinter import Fingerprinter
    from es_simhash.similarity.confirm import Confirm
    from es_simhash.similarity.rule import DuplicateRule
    from es_simhash.tools.spark.keys import Salting


@dataclass(frozen=True)
class PairRule:
    """Which pairs of documents are duplicates.

    :param max_distance: in bits; below 0 fingerprints are not compared.
    :param bits: width of the fingerprints.
    :param blank_digest: the digest of an empty text. It is no exact duplicate of another.
    :param confirm: compares the texts of near-duplicates; None if texts do not confirm.
    :param keys: candidates come from the keys of the texts, and fingerprints limit nothing unless ``limited``.
    :param limited: near-duplicates found by keys must be within ``max_distance`` too.
    :param salting: how the rows of a common key are divided.
    """

    max_distance: int
    bits: int
    blank_digest: str
    confirm: Confirm | None
    keys: bool
    limited: bool
    salting: Salting


def pair_rule(rule: DuplicateRule, fingerprinter: Fingerprinter, salting: Salting, *, keys: bool) -> PairRule:
    """Return the rule under the Scheme of a Fingerprinter.

    :param keys: candidates come from the keys of the texts.
    :raises InputError: if the Scheme's fingerprints are too short for the rule's max_distance.
    """
    scheme = fingerprinter.scheme
    confirm = rule.comparison(fingerprinter)
    limited = rule.max_distance is not None
    return PairRule(rule.bits_allowed(scheme), scheme.bits, scheme.blank_digest, confirm, keys, limited, salting)
