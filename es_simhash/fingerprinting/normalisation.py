"""Normalised text, and the digest that marks exact copies.

Normalisation takes away what a reader does not see: width and compatibility forms (NFKC: ＡＢＣ１ is abc1),
case, invisible characters that crawlers bring along, the kind of quotation marks, and the amount of white space.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from typing import TYPE_CHECKING

from es_simhash.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

DIGESTS: dict[str, Callable[[bytes], str]] = {
    "md5": lambda data: hashlib.md5(data, usedforsecurity=False).hexdigest(),
    "sha1": lambda data: hashlib.sha1(data, usedforsecurity=False).hexdigest(),
    "sha256": lambda data: hashlib.sha256(data).hexdigest(),
    "blake2b": lambda data: hashlib.blake2b(data, digest_size=16).hexdigest(),
}

# Control characters that are no white space; soft hyphen, zero-width characters and joiners, direction marks, the
# byte-order mark; variation selectors.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u180b-\u180e\u200b-\u200f\u202a-\u202e"
    "\u2060-\u2064\u2066-\u206f\ufe00-\ufe0f\ufeff\ufff9-\ufffb\U000e0100-\U000e01ef]"
)
# What editors and input methods write for one and the same quotation mark, apostrophe or hyphen.
_VARIANTS = (("\u2018", "'"), ("\u2019", "'"), ("\u201c", '"'), ("\u201d", '"'), ("\u2010", "-"))
_FULL_WIDTH = re.compile("[\uff01-\uff5e\u3000]")
_SURROGATE = re.compile("[\ud800-\udfff]")


def normalise(text: str) -> str:
    """The text as it is compared: NFKC, case folded, without invisible characters, quotes plain, white space single.

    :raises InputError: if it isn't a string, or has a lone surrogate.
    """
    if not isinstance(text, str):
        raise InputError(f"the text is of type {type(text).__name__}: give a string")
    check_surrogates(text, "the text")
    # Full-width punctuation alone would send every Chinese text down NFKC's slow path. To put in its
    # decompositions beforehand does not change what NFKC gives.
    narrow = _FULL_WIDTH.sub(_narrow, _INVISIBLE.sub("", text))
    # Folding can bring forth what NFKC would change again (Unicode, section 3.13, D147).
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", narrow).casefold())
    for variant, plain in _VARIANTS:
        folded = folded.replace(variant, plain)
    return " ".join(folded.split())


def _narrow(wide: re.Match[str]) -> str:
    return " " if wide[0] == "\u3000" else chr(ord(wide[0]) - 0xFEE0)


def check_surrogates(text: str, name: str) -> None:
    """Refuse half a character: such a string has no UTF-8 form.

    :raises InputError: naming the place.
    """
    if found := _SURROGATE.search(text):
        raise InputError(
            f"{name} has a lone surrogate (\\u{ord(found[0]):04x}) at character {found.start() + 1}: "
            "it was cut inside a character; mend it where it was cut"
        )


def digest(normalised: str, name: str) -> str:
    """Hex digest of a normalised text: equal for exact copies."""
    return DIGESTS[name](normalised.encode())
