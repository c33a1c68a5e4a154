"""Scheme: every choice that changes a fingerprint or a digest, so that stored ones can be compared for ever.

Two fingerprints compare only if they were made under equal Schemes. A store keeps the Scheme that it was set
up with and is refused to anybody who brings another. What can be chosen is a field here; what can't (the
normalisation, the cutting of words, jieba's dictionary and table, the words of stop list 1) is covered by
``RULES``: a change to any of those is a new number, beside which the old one stays available.

A choice that is added later has a default that stands for what was done before, and is written only where it is
another: what earlier releases wrote, and what they would write, stays as it is.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from es_simhash.errors import SchemeError
from es_simhash.fingerprinting.hashing import HASH_BITS, HASHES
from es_simhash.fingerprinting.normalisation import DIGESTS, digest
from es_simhash.fingerprinting.stop_words import LISTS
from es_simhash.fingerprinting.tables import is_identity
from es_simhash.fingerprinting.tokens import OF_CHARACTERS, TOKENS
from es_simhash.fingerprinting.weights import WEIGHTS

if TYPE_CHECKING:
    from collections.abc import Mapping

RULES = 1
"""The number of the fixed rules: NFKC and case folding, word cutting, jieba 0.42's dictionary, stop words 1."""

SEGMENT_BITS = 16

_FIRST = ("bits", "weights", "hash", "digest", "min_features")  # the choices of the first release, always written


@dataclass(frozen=True)
class Scheme:
    """The choices behind a fingerprint; equal Schemes give equal bits on every machine.

    :param bits: length of a fingerprint; 64, in four segments of 16, or 128, in eight.
    :param weights: how a word's count (tf) becomes its weight: ``sqrt_tf``, ``tf``, ``log_tf`` (1 + ln tf),
        ``tf_idf``, ``sqrt_tf_idf``, ``idf`` (whatever the count) or ``equal`` (1 for every word).
    :param hash: the hash of a word: ``murmur3``, ``jenkins``, or ``fnv1a_64``, which has 64 bits only.
    :param digest: the digest of the normalised text, any of ``md5``, ``sha1``, ``sha256``, ``blake2b``.
    :param min_features: a text with fewer distinct features gets no fingerprint. Stop words and words of one
        character are left out as long as this many others remain.
    :param idf: the IDF table, where the weights ask for one: ``jieba`` for the one that it brings, or the identity of
        one's own (``IdfTable.identity``), which is given to the Fingerprinter.
    :param stop_words: the list of stop words: ``1`` for the one that comes along, ``none``, or the identity of one's
        own (``StopWords.identity``), which is given to the Fingerprinter. Under characters there are none.
    :param tokens: what a text is cut into: ``words``; ``words_with_neighbours``, where each two that follow each
        other are a feature too; ``characters``, every two of them; or ``han_characters``, single ones, and other words.
    :raises SchemeError: for a value that is not known, or two that don't go together.
    """

    bits: int = 64
    weights: str = "sqrt_tf"
    hash: str = "murmur3"
    digest: str = "md5"
    min_features: int = 4
    idf: str = "jieba"
    stop_words: str = "1"
    tokens: str = "words"

    def __post_init__(self) -> None:
        _known("bits", self.bits, (64, 128))
        _known("weights", self.weights, WEIGHTS)
        _known("hash", self.hash, HASHES)
        _known("digest", self.digest, DIGESTS)
        if type(self.min_features) is not int or self.min_features < 1:
            raise SchemeError(f"Scheme.min_features is {self.min_features!r}: use a whole number from 1")
        _known("idf", self.idf, ("jieba",), own=True)
        _known("stop_words", self.stop_words, LISTS, own=True)
        _known("tokens", self.tokens, TOKENS)
        if self.bits > HASH_BITS[self.hash]:
            raise SchemeError(
                f"Scheme.hash is {self.hash!r}, which has no {self.bits} bits: use one of "
                f"{', '.join(name for name, bits in HASH_BITS.items() if bits >= self.bits)}"
            )
        if self.idf != "jieba" and not WEIGHTS[self.weights].idf:
            raise SchemeError(
                f"Scheme.idf is a table of its own, and Scheme.weights {self.weights!r} ask for none: use one of "
                f"{', '.join(name for name, weight in WEIGHTS.items() if weight.idf)}"
            )
        if self.stop_words != "1" and self.tokens in OF_CHARACTERS:
            raise SchemeError(
                f"Scheme.stop_words is {self.stop_words!r}, and Scheme.tokens {self.tokens!r} have none: leave it out"
            )

    @property
    def segments(self) -> int:
        """How many 16-bit segments a fingerprint has."""
        return self.bits // SEGMENT_BITS

    @property
    def max_distance(self) -> int:
        """The largest distance for which a store promises to find everything: just under two bits a segment."""
        return 2 * self.segments - 1

    @property
    def blank_digest(self) -> str:
        """The digest of an empty text, which is nobody's copy."""
        return digest("", self.digest)

    @property
    def version(self) -> str:
        """One string for all of it; equal strings, equal Schemes."""
        choices = [getattr(self, name) for name in _FIRST]
        return ":".join(map(str, (RULES, *choices, *(f"{name}={value}" for name, value in self._later.items()))))

    @property
    def _later(self) -> dict[str, Any]:
        """Choices that came after the first release, as far as they are not the default: what went before is theirs."""
        every = {field.name: (getattr(self, field.name), field.default) for field in fields(self)}
        return {name: value for name, (value, default) in every.items() if name not in _FIRST and value != default}

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON; :meth:`from_dict` reads them back."""
        return {"rules": RULES, **{name: getattr(self, name) for name in _FIRST}, **self._later}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Scheme:
        """The Scheme that :meth:`to_dict` wrote, in this release or an earlier one.

        :raises SchemeError: if it was written by rules that this release doesn't have, or isn't a Scheme.
        """
        choices = dict(values)
        rules = choices.pop("rules", None)
        if rules != RULES:
            raise SchemeError(f"a Scheme by rules {rules!r}; this release of es_simhash has rules {RULES}: upgrade it")
        known = {field.name for field in fields(cls)}
        if differing := (choices.keys() - known) | (set(_FIRST) - choices.keys()):
            raise SchemeError(f"a Scheme with unknown or missing choices {sorted(differing)}: upgrade es_simhash")
        return cls(**choices)


def _known(name: str, value: object, choices: Any, *, own: bool = False) -> None:
    if own and is_identity(value):
        return
    if type(value) not in (int, str) or value not in choices:
        table = ", or the identity of a table of your own, sha256:…" if own else ""
        raise SchemeError(f"Scheme.{name} is {value!r}: use one of {', '.join(map(str, choices))}{table}")


DEFAULT = Scheme()
CONFIRMED = Scheme(bits=128, weights="equal", min_features=3, tokens="han_characters")
"""What finds most of Chinese text, short or long, where texts confirm; without that it takes too much for near. The
measurements, and what it can't promise of short texts, are in the README."""
