"""Scheme: all choices that change a fingerprint or a digest.

Two fingerprints can be compared only if they were made under equal Schemes. A store keeps the Scheme that it was set up
with, and refuses a client that uses another one. Each choice is a field of the Scheme. ``RULES`` is the number of the
fixed rules: the normalisation, script table 1, the text of HTML, the rule for words, jieba's dictionary and IDF table,
stop list 1, and the smallest number of features. A change to a fixed rule gets a new number, and the old rules stay
available beside it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

from es_simhash.errors import InputError, shown
from es_simhash.text.characters import SCRIPTS
from es_simhash.text.features import WEIGHTS
from es_simhash.text.markup import MARKUPS, text_of_html
from es_simhash.text.normalisation import DIGESTS, check_text, digest, normalise
from es_simhash.text.votes import HASHES

if TYPE_CHECKING:
    from collections.abc import Iterable

RULES = 1
"""The number of the fixed rules: the normalisation, script table 1, the text of HTML, the rule for words, jieba 0.42's
dictionary and IDF table, stop list 1, and the smallest number of features."""

_IDENTITY = re.compile("sha256:[0-9a-f]{16}")


@dataclass(frozen=True)
class Scheme:
    """The choices behind a fingerprint. Equal Schemes give equal bits on every machine.

    :param bits: the fingerprint width: 64 (four segments of 16 bits) or 128 (eight segments).
    :param weights: how the count of a word (tf) becomes its weight: ``sqrt_tf``, ``tf``, ``tf_idf`` or ``equal`` (1
        for every word).
    :param hash: the hash of a word: ``murmur3``, ``jenkins``, or ``fnv1a_64``, which has 64 bits only.
    :param digest: the digest of the normalised text: ``md5`` or ``sha256``.
    :param idf: the IDF table, for the weights ``tf_idf``: ``jieba`` for jieba's table, or the identity of a custom
        table (``IdfTable.identity``), which is passed to the Fingerprinter.
    :param stop_words: the list of stop words: ``1`` for the list of this package, ``none``, or the identity of a custom
        list (``StopWords.identity``), which is passed to the Fingerprinter.
    :param script: ``simplified``: traditional and variant Han characters are compared as simplified ones, so that a
        traditional copy is an exact duplicate; or ``as_written``.
    :param markup: ``none``: texts are plain; or ``html``: the text of a page or fragment is compared, without tags,
        scripts and entities. This needs the extra ``html``.
    :raises InputError: if a value is unknown, or if two values cannot be combined.
    """

    bits: int = 64
    weights: str = "sqrt_tf"
    hash: str = "murmur3"
    digest: str = "md5"
    idf: str = "jieba"
    stop_words: str = "1"
    script: str = "simplified"
    markup: str = "none"

    def __post_init__(self) -> None:
        _check_choice("bits", self.bits, (64, 128))
        _check_choice("weights", self.weights, WEIGHTS)
        _check_choice("hash", self.hash, HASHES)
        _check_choice("digest", self.digest, DIGESTS)
        _check_choice("idf", self.idf, ("jieba",), custom=True)
        _check_choice("stop_words", self.stop_words, ("1", "none"), custom=True)
        _check_choice("script", self.script, SCRIPTS)
        _check_choice("markup", self.markup, MARKUPS)
        if self.hash == "fnv1a_64" and self.bits != 64:
            raise InputError(f"Scheme.hash 'fnv1a_64' has 64 bits, but Scheme.bits is {self.bits}: use another hash")
        if self.idf != "jieba" and self.weights != "tf_idf":
            raise InputError(
                f"Scheme.idf names a custom table, but Scheme.weights {self.weights!r} use no IDF: "
                "use the weights tf_idf"
            )

    @cached_property
    def blank_digest(self) -> str:
        """Digest of the empty text, which is never an exact duplicate."""
        return digest("", self.digest)

    def normalise(self, text: str) -> str:
        """Return the text as it is compared under this Scheme: without markup, and normalised.

        :raises InputError: if it is not a string, or has a lone surrogate; if it is too long; if the extra ``html`` is
            not installed.
        """
        if self.markup == "html":
            check_text(text)
            text = text_of_html(text)
        return normalise(text, self.script)

    @property
    def version(self) -> str:
        """One line with ``RULES`` and all choices, in the order of the fields. Equal strings mean equal Schemes."""
        return ":".join(map(str, self.to_dict().values()))

    def to_dict(self) -> dict[str, Any]:
        """Return ``rules`` and all choices as plain values for JSON. :meth:`from_dict` reads them back."""
        return {"rules": RULES, **{field.name: getattr(self, field.name) for field in fields(self)}}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Scheme:
        """Return the Scheme that :meth:`to_dict` wrote.

        :raises InputError: if this release does not have its rules, if a choice is missing or unknown, or if the
            value of a choice is invalid.
        """
        if not isinstance(values, Mapping):
            raise InputError(f"the Scheme is damaged: it is {shown(values)}, not an object with its choices")
        choices = dict(values)
        rules = choices.pop("rules", None)
        if rules != RULES:
            raise InputError(
                f"the Scheme has rules {shown(rules)}, this release of es_simhash has rules {RULES}: upgrade es_simhash"
            )
        names = {field.name for field in fields(cls)}
        if differing := choices.keys() ^ names:
            raise InputError(f"the Scheme has missing or unknown choices {sorted(differing)}: upgrade es_simhash")
        return cls(**choices)


def check_scheme(scheme: object) -> None:
    """Check that a caller gives a Scheme.

    :raises InputError: if it is none.
    """
    if not isinstance(scheme, Scheme):
        raise InputError(f"the scheme is {shown(scheme)}: use a Scheme, or a Fingerprinter where one is taken")


def is_identity(name: object) -> bool:
    """Return True if ``name`` has the form of an identity of a custom table."""
    return isinstance(name, str) and _IDENTITY.fullmatch(name) is not None


def _check_choice(field: str, value: object, choices: Iterable[Any], *, custom: bool = False) -> None:
    """Raise InputError if the value is not one of the choices; ``custom`` allows the identity of a custom table."""
    if custom and is_identity(value):
        return
    choices = list(choices)
    if type(value) not in (int, str) or value not in choices:
        table = ", or the identity of a custom table, sha256:…" if custom else ""
        raise InputError(f"Scheme.{field} is {shown(value)}: use one of {', '.join(map(str, choices))}{table}")


DEFAULT = Scheme()
