"""Make the Fingerprint of a text: normalise, tokenize, weigh, hash, add the votes, take the signs.

The method is Simhash (Charikar, "Similarity estimation techniques from rounding algorithms", STOC 2002; Manku, Jain
and Das Sarma, "Detecting near-duplicates for web crawling", WWW 2007).

First the words of fifty texts are weighed, then the votes of all fifty are added. Short texts take half more time if
each is finished before the next: each step pushes the tables of the others out of the processor's cache.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

from es_simhash.errors import InputError, shown
from es_simhash.parts import in_parts
from es_simhash.text import encoding
from es_simhash.text.characters import fold_scripts
from es_simhash.text.features import canonical_form, parse_features, weigh
from es_simhash.text.normalisation import digest
from es_simhash.text.scheme import DEFAULT, Scheme, check_scheme, is_identity
from es_simhash.text.tables import LISTS, IdfTable, StopWords, jieba_idf
from es_simhash.text.tokens import segmenter, tokenize
from es_simhash.text.votes import aggregate
from es_simhash.values import value

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from typing_extensions import Self

    from es_simhash.text.features import Features

TOGETHER = 50
"""Texts that are fingerprinted together."""


@value
class Fingerprint:
    """The fingerprint and the digest of one text.

    :param value: the fingerprint as an unsigned integer of ``bits`` bits; None if the text has too few features.
    :param digest: hex digest of the normalised text, or of the caller's features. Exact duplicates have equal digests.
    :param features: the number of distinct features; 0 if ``value`` is None.
    :param bits: the fingerprint width.
    :param blank: True if the normalised text is empty. Such a text has a digest, but it is never an exact duplicate.
    """

    value: int | None
    digest: str
    features: int
    bits: int
    blank: bool = False

    @property
    def hex(self) -> str | None:
        """The fingerprint in hex digits; None if there is no fingerprint."""
        return None if self.value is None else f"{self.value:0{self.bits // 4}x}"

    @property
    def segments(self) -> tuple[str, ...]:
        """The 16-bit segments, four hex digits each; empty if there is no fingerprint."""
        return () if self.value is None else encoding.hex_segments(self.value, self.bits)

    @property
    def copy_digest(self) -> str | None:
        """The digest that exact duplicates share; None if the normalised text is empty."""
        return None if self.blank else self.digest

    def __repr__(self) -> str:
        value = "None, too few features" if self.hex is None else f"0x{self.hex}"
        return f"Fingerprint({value}, digest={self.digest!r}, features={self.features})"

    def distance(self, other: Fingerprint) -> int | None:
        """Return the Hamming distance in bits; None if either text has no fingerprint.

        :raises InputError: if the fingerprint widths differ.
        """
        if self.bits != other.bits:
            raise InputError(
                f"cannot compare a fingerprint of {self.bits} bits with one of {other.bits} bits: "
                "make both under one Scheme"
            )
        return encoding.hamming_distance(self.value, other.value)


class Fingerprinter:
    """Makes fingerprints under one Scheme. A Fingerprinter can be pickled, including its tables.

    >>> from es_simhash.text.tables import IdfTable
    >>> table = IdfTable.of({"暴雨": 5.5, "预警": 4.25, "气象台": 6})
    >>> Fingerprinter(Scheme(weights="tf_idf"), idf=table).scheme.version
    '1:64:tf_idf:murmur3:md5:sha256:57050590ca78ec02:1:simplified:none'

    :param scheme: the choices that change a fingerprint. The Scheme of the Fingerprinter also names the tables that are
        passed.
    :param idf: a custom IDF table, for the weights ``tf_idf``.
    :param stop_words: a custom list of stop words.
    :raises InputError: if the Scheme names a custom table or list that is not passed, or another one than the one that
        is passed, or does not use it.
    """

    def __init__(
        self, scheme: Scheme = DEFAULT, *, idf: IdfTable | None = None, stop_words: StopWords | None = None
    ) -> None:
        check_scheme(scheme)
        for name, table, kind in (("idf", idf, IdfTable), ("stop_words", stop_words, StopWords)):
            if table is not None and not isinstance(table, kind):
                raise InputError(f"{name} is {shown(table)}: use {kind.__name__}.of(…) or {kind.__name__}.read(…)")
        self.scheme = replace(
            scheme,
            idf=_named("idf", "IDF table", scheme.idf, idf),
            stop_words=_named("stop_words", "list of stop words", scheme.stop_words, stop_words),
        )
        self._makes_values = True
        # Tables hold words as they are written; the tokens of a text are in the script of the Scheme.
        self._idf = idf.folded() if idf and scheme.script == "simplified" else idf
        self._stop_words = stop_words.words if stop_words else LISTS[scheme.stop_words]
        if scheme.script == "simplified":
            self._stop_words = frozenset(fold_scripts(self._stop_words))

    def __repr__(self) -> str:
        return f"Fingerprinter({self.scheme.version!r})"

    def fingerprint(self, text: str) -> Fingerprint:
        """Return the fingerprint and the digest of one text.

        :raises InputError: if the text is not a string, or has a lone surrogate.
        """
        [made] = self.fingerprints([text])
        return made

    def fingerprints(self, texts: Iterable[str]) -> list[Fingerprint]:
        """Return the fingerprint of each text, in order. Each one equals the fingerprint of the text alone."""
        return self.fingerprints_normalised(list(map(self.scheme.normalise, texts)))

    def fingerprints_normalised(self, normalised: Sequence[str]) -> list[Fingerprint]:
        """:meth:`fingerprints` of texts that ``scheme.normalise`` has returned."""
        return list(chain.from_iterable(map(self._fingerprints, in_parts(normalised, TOGETHER))))

    def _fingerprints(self, normalised: Sequence[str]) -> list[Fingerprint]:
        scheme, values = self.scheme, [0] * len(normalised)
        weights: list[dict[str, int]] = [{}] * len(normalised)
        if self._makes_values:
            segment = segmenter()
            weights = [self.weigh(tokenize(text, segment)) for text in normalised]
            values = aggregate(weights, scheme.hash, scheme.bits)
        return [
            Fingerprint(value if own else None, digest(text, scheme.digest), len(own), scheme.bits, blank=not text)
            for text, own, value in zip(normalised, weights, values, strict=True)
        ]

    def digests_alone(self) -> Self:
        """Return one that makes digests of texts under the same Scheme, and no fingerprints, which takes less time."""
        other = copy(self)
        other._makes_values = False
        return other

    def fingerprint_features(self, features: Features) -> Fingerprint:
        """Return the fingerprint of the caller's features, with the hash and the width of the Scheme.

        The features are not normalised, and there is no smallest number of them (``MIN_FEATURES`` does not apply).
        The digest is the digest of their canonical form (``features.py``).

        :param features: pairs of a string and a weight, or a mapping. A weight is any positive finite number, such as
            a level from 1 to 5. It is rounded to 1/1024.
        :raises InputError: if there are no features, or if one is invalid; the message names the feature.
        """
        weights = parse_features(features)
        [value] = aggregate([weights], self.scheme.hash, self.scheme.bits)
        return Fingerprint(value, digest(canonical_form(weights), self.scheme.digest), len(weights), self.scheme.bits)

    def weigh(self, tokens: Iterable[str]) -> dict[str, int]:
        """Return the features of a text under the Scheme, each with its weight in units of 1/1024.

        :param tokens: the tokens of the text, in order.
        :returns: empty if the text has too few features.
        """
        scheme = self.scheme
        idf = (self._idf or jieba_idf()) if scheme.weights == "tf_idf" else None
        return weigh(tokens, scheme.weights, self._stop_words, idf)


def _named(field: str, description: str, named: str, table: IdfTable | StopWords | None) -> str:
    """Return the value of a field of the Scheme, which names a table.

    :param named: by the Scheme that was passed.
    :raises InputError: if that is the identity of another table.
    """
    if not is_identity(named):
        return table.identity if table else named
    if table is None:
        raise InputError(
            f"Scheme.{field} names the custom {description} {named}, which is not loaded: "
            f"pass it to the Fingerprinter ({field}=…), and this to Documents (fingerprinter=…), in Python"
        )
    if table.identity != named:
        raise InputError(
            f"Scheme.{field} is {named}, but the {description} that was passed is {table.identity}: "
            "pass the one that the Scheme names"
        )
    return named


def fingerprint(text: str | None = None, scheme: Scheme = DEFAULT, *, features: Features | None = None) -> Fingerprint:
    """Return the fingerprint and the digest of one text, or of the caller's features.

    >>> fingerprint("市气象台发布暴雨橙色预警，部分路段已经积水").features
    7
    >>> fingerprint(features=[("美国", 4), ("51区", 5), ("飞碟", 5)]).hex
    'ce68fad8520692ca'

    :param features: used in place of a text; see :meth:`Fingerprinter.fingerprint_features`.
    :raises InputError: if the text is not a string, or has a lone surrogate; if a feature is invalid; if both text and
        features are passed.
    """
    if features is None:
        return Fingerprinter(scheme).fingerprint(text)  # type: ignore[arg-type]  # None raises InputError there
    if text is not None:
        raise InputError("both a text and features are passed: pass one of them")
    return Fingerprinter(scheme).fingerprint_features(features)


def fingerprinter_of(scheme: Scheme | Fingerprinter | None) -> Fingerprinter:
    """Return the Fingerprinter that a caller gives, or that of a Scheme; None for that of ``Scheme()``."""
    return scheme if isinstance(scheme, Fingerprinter) else Fingerprinter(DEFAULT if scheme is None else scheme)
