"""A DuplicateRule under the Scheme of a store, with the texts of stored documents where texts confirm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from es_simhash.similarity.confirm import Confirm
from es_simhash.verbs.texts import Texts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_simhash.contract import Flow, Row
    from es_simhash.fingerprinting.fingerprinter import Fingerprinter
    from es_simhash.similarity.rule import DuplicateRule


@dataclass(frozen=True)
class ResolvedRule:
    """A DuplicateRule under one Scheme.

    :param max_distance: in bits; below 0 fingerprints are not compared.
    :param bits: width of the fingerprints.
    :param blank_digest: the digest of an empty text. It is no exact duplicate of another.
    :param texts: compares the texts of near-duplicates; None if texts do not confirm.
    """

    max_distance: int
    bits: int
    blank_digest: str
    texts: Texts | None = None

    def are_near(self, left: Row, right: Row) -> bool:
        """Return whether two documents are within max_distance or exact duplicates. Texts are not compared."""
        if left.digest == right.digest != self.blank_digest:
            return True
        if left.fingerprint is None or right.fingerprint is None:
            return False
        return (left.fingerprint ^ right.fingerprint).bit_count() <= self.max_distance

    def duplicates(self, pairs: Sequence[tuple[Row, Row]]) -> Flow[list[tuple[Row, Row]]]:
        """Return those of the pairs of stored documents that are duplicates. Texts are compared, if they confirm."""
        near = [pair for pair in pairs if self.are_near(*pair)]
        if self.texts is None:
            return near
        compared = {row.id for left, right in near if left.digest != right.digest for row in (left, right)}
        stored = yield from self.texts.stored(compared)
        return [
            (left, right)
            for left, right in near
            if left.digest == right.digest or self.texts.confirms(stored.get(left.id), stored.get(right.id))
        ]


def resolve(rule: DuplicateRule, fingerprinter: Fingerprinter) -> ResolvedRule:
    """Return the rule under the Scheme of a Fingerprinter.

    :raises InputError: if the Scheme's fingerprints are too short for the rule's max_distance.
    """
    scheme = fingerprinter.scheme
    texts = None
    if rule.confirm is not None:
        texts = Texts(Confirm(rule.confirm, rule.measure, fingerprinter), rule.text_fields)
    return ResolvedRule(rule.bits_allowed(scheme), scheme.bits, scheme.blank_digest, texts)
