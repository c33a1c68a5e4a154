"""Scheme: every choice that changes a fingerprint or a digest, so that stored ones can be compared for ever.

Two fingerprints compare only if they were made under equal Schemes. A store keeps the Scheme that it was set
up with and is refused to anybody who brings another. What can be chosen is a field here; what can't (the
normalisation, the cutting of words, jieba's dictionary, the list of stop words) is covered by ``RULES``:
a change to any of those is a new number, beside which the old one stays available.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

from es_simhash.core.hashing import HASHES
from es_simhash.core.text import DIGESTS
from es_simhash.core.weights import WEIGHTS
from es_simhash.errors import SchemeError

if TYPE_CHECKING:
    from collections.abc import Mapping

RULES = 1
"""The number of the fixed rules: NFKC and case folding, word cutting, jieba 0.42's dictionary, stop words 1."""

SEGMENT_BITS = 16


@dataclass(frozen=True)
class Scheme:
    """The choices behind a fingerprint; equal Schemes give equal bits on every machine.

    :param bits: length of a fingerprint; 64, in four segments of 16.
    :param weights: how a word's count becomes its weight: ``sqrt_tf``, ``tf`` or ``tf_idf``.
    :param hash: the hash of a word: ``murmur3``.
    :param digest: the digest of the normalised text, any of ``md5``, ``sha1``, ``sha256``, ``blake2b``.
    :param min_features: a text with fewer distinct features gets no fingerprint. Stop words and words of one
        character are left out as long as this many others remain.
    :raises SchemeError: for a value that is not known.
    """

    bits: int = 64
    weights: str = "sqrt_tf"
    hash: str = "murmur3"
    digest: str = "md5"
    min_features: int = 4

    def __post_init__(self) -> None:
        _known("bits", self.bits, (64,))
        _known("weights", self.weights, WEIGHTS)
        _known("hash", self.hash, HASHES)
        _known("digest", self.digest, DIGESTS)
        if type(self.min_features) is not int or self.min_features < 1:
            raise SchemeError(f"Scheme.min_features is {self.min_features!r}: use a whole number from 1")

    @property
    def segments(self) -> int:
        """How many 16-bit segments a fingerprint has."""
        return self.bits // SEGMENT_BITS

    @property
    def max_distance(self) -> int:
        """The largest distance for which a store promises to find everything: just under two bits a segment."""
        return 2 * self.segments - 1

    @property
    def version(self) -> str:
        """One string for all of it; equal strings, equal Schemes."""
        return ":".join(map(str, (RULES, *asdict(self).values())))

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON; :meth:`from_dict` reads them back."""
        return {"rules": RULES, **asdict(self)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Scheme:
        """The Scheme that :meth:`to_dict` wrote.

        :raises SchemeError: if it was written by rules that this release doesn't have, or isn't a Scheme.
        """
        choices = dict(values)
        rules = choices.pop("rules", None)
        if rules != RULES:
            raise SchemeError(f"a Scheme by rules {rules!r}; this release of es_simhash has rules {RULES}: upgrade it")
        if differing := choices.keys() ^ {field.name for field in fields(cls)}:
            raise SchemeError(f"a Scheme with unknown or missing choices {sorted(differing)}: upgrade es_simhash")
        return cls(**choices)


def _known(name: str, value: object, choices: Any) -> None:
    if type(value) not in (int, str) or value not in choices:
        raise SchemeError(f"Scheme.{name} is {value!r}: use one of {', '.join(map(str, choices))}")


DEFAULT = Scheme()
