"""From text to Fingerprint: normalise, tokenize, weigh, hash, aggregate, sign.

Simhash (Charikar, "Similarity estimation techniques from rounding algorithms", STOC 2002; Manku, Jain and Das
Sarma, "Detecting near-duplicates for web crawling", WWW 2007): each feature's hash votes on every bit with the
feature's weight, for it where the hash has a 1, against it where it has a 0; the sign of the sum is the bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from es_simhash.core import segments
from es_simhash.core.hashing import hasher
from es_simhash.core.scheme import DEFAULT, Scheme
from es_simhash.core.segmenters import chosen, segmenter
from es_simhash.core.text import digest, normalise
from es_simhash.core.tokens import tokenize
from es_simhash.core.weights import weigh
from es_simhash.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


@dataclass(frozen=True)
class Fingerprint:
    """What is known of one text.

    :param value: the fingerprint as an unsigned number of ``bits`` bits; None if the text has too little to say.
    :param digest: hex digest of the normalised text; equal for exact copies.
    :param features: how many distinct features were aggregated.
    :param blank: the normalised text is empty. It has a digest, but is nobody's copy.
    :param bits: length of the fingerprint.
    """

    value: int | None
    digest: str
    features: int
    blank: bool = False
    bits: int = 64

    @property
    def hex(self) -> str | None:
        """The fingerprint in hex digits, or None."""
        return None if self.value is None else f"{self.value:0{self.bits // 4}x}"

    @property
    def segments(self) -> tuple[str, ...]:
        """The 16-bit segments, four hex digits each; none if there is no fingerprint."""
        return () if self.value is None else segments.hex_segments(self.value, self.bits)

    def distance(self, other: Fingerprint) -> int | None:
        """Hamming distance in bits; None if either text has too little to say."""
        if self.value is None or other.value is None:
            return None
        if self.bits != other.bits:
            raise InputError(f"fingerprints of {self.bits} and {other.bits} bits don't compare: use one Scheme")
        return (self.value ^ other.value).bit_count()


class Fingerprinter:
    """Makes fingerprints under one Scheme.

    :param scheme: the choices that change a fingerprint.
    :param segmenter: ``"jieba"`` or ``"rjieba"``, which give the same; by default the faster one there is.
    :raises InputError: for a segmenter that is not known or not installed.
    """

    def __init__(self, scheme: Scheme = DEFAULT, segmenter: str | None = None) -> None:
        self.scheme = scheme
        self._segmenter = chosen(segmenter)

    def fingerprint(self, text: str) -> Fingerprint:
        """The fingerprint and the digest of one text.

        :raises InputError: if the text is not a string, or has a lone surrogate.
        """
        scheme = self.scheme
        normalised = normalise(text)
        words = tokenize(normalised, segmenter(self._segmenter))
        weights = weigh(words, scheme.weights, scheme.min_features)
        return Fingerprint(
            value=aggregate(weights, scheme.hash, scheme.bits) if weights else None,
            digest=digest(normalised, scheme.digest),
            features=len(weights),
            blank=not normalised,
            bits=scheme.bits,
        )

    def fingerprints(self, texts: Iterable[str]) -> list[Fingerprint]:
        """The fingerprint of each text, in their order; the same as one by one."""
        return [self.fingerprint(text) for text in texts]


def aggregate(weights: Mapping[str, int], hash_name: str, bits: int) -> int:
    """Add up the votes of the features and sign the sums.

    :param weights: whole-number weight of each feature; their order does not matter.
    :returns: a number of ``bits`` bits; bit i (from the highest) is 1 where the votes for it are the majority.
    """
    hash_word = hasher(hash_name, bits // 8)
    hashes = np.frombuffer(b"".join(map(hash_word, weights)), dtype=np.uint8).reshape(len(weights), bits // 8)
    # Sum of +w and -w is positive where the sum of +w alone is over half of all: one product, whole numbers.
    total = sum(weights.values())
    # A product of doubles is by far the fastest, and exact while no sum reaches 2**53; Python's numbers have no end.
    exact = np.float64 if total < 1 << 53 else np.object_
    votes = np.fromiter(weights.values(), dtype=exact, count=len(weights))
    in_favour = votes @ np.unpackbits(hashes, axis=1).astype(exact)
    return int.from_bytes(np.packbits((2 * in_favour > total).astype(bool)).tobytes(), "big")


def fingerprint(text: str, scheme: Scheme = DEFAULT) -> Fingerprint:
    """The fingerprint and the digest of one text.

    >>> fingerprint("市气象台发布暴雨橙色预警，部分路段已经积水").features
    7

    :raises InputError: if the text is not a string, or has a lone surrogate.
    """
    return Fingerprinter(scheme).fingerprint(text)
