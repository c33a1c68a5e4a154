"""From text to Fingerprint: normalise, tokenize, weigh, hash, aggregate, sign.

Simhash (Charikar, "Similarity estimation techniques from rounding algorithms", STOC 2002; Manku, Jain and Das
Sarma, "Detecting near-duplicates for web crawling", WWW 2007): each feature's hash votes on every bit with the
feature's weight, for it where the hash has a 1, against it where it has a 0; the sign of the sum is the bit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from es_simhash.errors import InputError, SchemeError
from es_simhash.fingerprinting import encoding
from es_simhash.fingerprinting.features import canonical, checked
from es_simhash.fingerprinting.hashing import hasher
from es_simhash.fingerprinting.normalisation import digest, normalise
from es_simhash.fingerprinting.scheme import DEFAULT, Scheme
from es_simhash.fingerprinting.stop_words import LISTS
from es_simhash.fingerprinting.tables import is_identity
from es_simhash.fingerprinting.tokens import OF_CHARACTERS, tokenize
from es_simhash.fingerprinting.weights import weigh
from es_simhash.fingerprinting.word_segmenters import chosen, segmenter

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from es_simhash.fingerprinting.features import Features
    from es_simhash.fingerprinting.idf import IdfTable
    from es_simhash.fingerprinting.stop_words import StopWords


@dataclass(frozen=True)
class Fingerprint:
    """What is known of one text.

    :param value: the fingerprint as an unsigned number of ``bits`` bits; None if the text has too little to say.
    :param digest: hex digest of the normalised text (or of the caller's own features); equal for exact copies.
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
        return () if self.value is None else encoding.hex_segments(self.value, self.bits)

    @property
    def copy_digest(self) -> str | None:
        """The digest that exact copies share; None if the text is empty, which is nobody's copy."""
        return None if self.blank else self.digest

    def is_copy(self, other: Fingerprint) -> bool:
        """Whether both normalised texts are the same, and not empty."""
        return self.copy_digest is not None and self.copy_digest == other.copy_digest

    def distance(self, other: Fingerprint) -> int | None:
        """Hamming distance in bits; None if either text has too little to say."""
        if self.value is None or other.value is None:
            return None
        if self.bits != other.bits:
            raise InputError(f"fingerprints of {self.bits} and {other.bits} bits don't compare: use one Scheme")
        return (self.value ^ other.value).bit_count()


class Fingerprinter:
    """Makes fingerprints under one Scheme. It can be pickled, tables and all.

    >>> from es_simhash.fingerprinting.idf import IdfTable
    >>> table = IdfTable.of({"暴雨": 5.5, "预警": 4.25, "气象台": 6})
    >>> Fingerprinter.using(Scheme(weights="tf_idf"), idf=table).scheme.version
    '1:64:tf_idf:murmur3:md5:4:idf=sha256:57050590ca78ec02'

    :param scheme: the choices that change a fingerprint.
    :param segmenter: ``"jieba"`` or ``"rjieba"``, which give the same; by default the faster one there is.
    :param idf: the table that the Scheme names, if it names one of the user's own.
    :param stop_words: the list that the Scheme names, if it names one of the user's own.
    :raises InputError: for a segmenter that is not known or not installed.
    :raises SchemeError: if the Scheme names another table or list than is given, or one that is not given.
    """

    def __init__(
        self,
        scheme: Scheme = DEFAULT,
        segmenter: str | None = None,
        *,
        idf: IdfTable | None = None,
        stop_words: StopWords | None = None,
    ) -> None:
        _same("idf", scheme.idf, idf, "IDF table")
        _same("stop_words", scheme.stop_words, stop_words, "list of stop words")
        self.scheme = scheme
        self._segmenter = chosen(segmenter)
        self._idf = idf
        self._stop_words = stop_words.words if stop_words else LISTS[scheme.stop_words]
        if scheme.tokens in OF_CHARACTERS:
            self._stop_words = LISTS["none"]

    @classmethod
    def using(
        cls,
        scheme: Scheme = DEFAULT,
        segmenter: str | None = None,
        *,
        idf: IdfTable | None = None,
        stop_words: StopWords | None = None,
    ) -> Fingerprinter:
        """One with tables of one's own, and with a Scheme that names them; the other choices are those of ``scheme``.

        :raises SchemeError: if a table has no part in that Scheme.
        """
        scheme = replace(
            scheme,
            idf=idf.identity if idf else scheme.idf,
            stop_words=stop_words.identity if stop_words else scheme.stop_words,
        )
        return cls(scheme, segmenter, idf=idf, stop_words=stop_words)

    def fingerprint(self, text: str) -> Fingerprint:
        """The fingerprint and the digest of one text.

        :raises InputError: if the text is not a string, or has a lone surrogate.
        """
        normalised = normalise(text)
        weights = self.weigh(self.tokenize(normalised))
        return self._made(weights, normalised)

    def fingerprints(self, texts: Iterable[str]) -> list[Fingerprint]:
        """The fingerprint of each text, in their order; the same as one by one."""
        return [self.fingerprint(text) for text in texts]

    def fingerprint_features(self, features: Features) -> Fingerprint:
        """The fingerprint of features of the caller's own, under the hash and the length of the Scheme.

        They are taken as they are, however few; the digest is that of their canonical form (``features.py``).

        :param features: pairs of a string and a weight, or a mapping: levels such as 1 to 5, or any positive finite
            numbers; they are rounded to 1/1024.
        :raises InputError: if there are none, or naming the one that can't be used.
        """
        weights = checked(features)
        return self._made(weights, canonical(weights))

    def tokenize(self, normalised: str) -> list[str]:
        """The tokens of a normalised text, as the Scheme has them cut; see ``fingerprinting/tokens.py``."""
        return tokenize(normalised, segmenter(self._segmenter), self.scheme.tokens)

    def weigh(self, tokens: Iterable[str], min_features: int | None = None) -> dict[str, int]:
        """The features that the Scheme makes of a text's tokens, each with its weight in units of 1/1024.

        :param min_features: in place of the Scheme's.
        :returns: empty if the text has too little to say.
        """
        scheme = self.scheme
        return weigh(
            tokens,
            scheme.weights,
            scheme.min_features if min_features is None else min_features,
            self._stop_words,
            self._idf,
            scheme.tokens == "words_with_neighbours",
            scheme.tokens in OF_CHARACTERS,
        )

    def is_stop_word(self, token: str) -> bool:
        """Whether a token is on the Scheme's list of stop words."""
        return token in self._stop_words

    def _made(self, weights: Mapping[str, int], digested: str) -> Fingerprint:
        scheme = self.scheme
        return Fingerprint(
            value=aggregate(weights, scheme.hash, scheme.bits) if weights else None,
            digest=digest(digested, scheme.digest),
            features=len(weights),
            blank=not digested,
            bits=scheme.bits,
        )


def _same(name: str, named: str, given: IdfTable | StopWords | None, what: str) -> None:
    option = name.replace("_", "-")
    if given is None and is_identity(named):
        raise SchemeError(f"Scheme.{name} is {named}: give the Fingerprinter that {what}, {name}=… (--{option} FILE)")
    if given is not None and given.identity != named:
        raise SchemeError(
            f"Scheme.{name} is {named}, the {what} given is {given.identity}: "
            "give the one that the Scheme names, or make both by Fingerprinter.using"
        )


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


def fingerprint(text: str | None = None, scheme: Scheme = DEFAULT, *, features: Features | None = None) -> Fingerprint:
    """The fingerprint and the digest of one text, or of features of the caller's own.

    >>> fingerprint("市气象台发布暴雨橙色预警，部分路段已经积水").features
    7
    >>> fingerprint(features=[("美国", 4), ("51区", 5), ("飞碟", 5)]).hex
    'ce68fad8520692ca'

    :param features: in place of a text; see :meth:`Fingerprinter.fingerprint_features`.
    :raises InputError: if the text is not a string, or has a lone surrogate; if a feature can't be used.
    """
    if features is None:
        return Fingerprinter(scheme).fingerprint(text)  # type: ignore[arg-type]  # None is refused there
    if text is not None:
        raise InputError("the text and features are given: give one of them")
    return Fingerprinter(scheme).fingerprint_features(features)
