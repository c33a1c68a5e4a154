"""Normalised text, and the digest that marks exact copies.

Normalisation takes away what a reader does not see: width and compatibility forms (NFKC: ＡＢＣ１ is abc1),
case, invisible characters that crawlers bring along, and the amount of white space.
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

# Soft hyphen, zero-width characters and joiners, direction marks, byte-order mark.
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufe00-\ufe0f\ufeff]"
)
_FULL_WIDTH = re.compile("[\uff01-\uff5e\u3000]")
_SURROGATE = re.compile("[\ud800-\udfff]")


def normalise(text: str) -> str:
    """The text as it is compared: NFKC, case folded, invisible characters out, white space single.

    :raises InputError: if it isn't a string, or has a lone surrogate.
    """
    if not isinstance(text, str):
        raise InputError(f"the text is of type {type(text).__name__}: give a string")
    check_surrogates(text, "the text")
    # Full-width punctuation alone would send every Chinese text down NFKC's slow path. To put in its
    # decompositions beforehand does not change what NFKC gives.
    narrow = _FULL_WIDTH.sub(_narrow, text)
    # Folding can bring forth what NFKC would change again (Unicode, section 3.13, D147).
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", narrow).casefold())
    return " ".join(_INVISIBLE.sub("", folded).split())


def _narrow(wide: re.Match[str]) -> str:
    return " " if wide[0] == "\u3000" else chr(ord(wide[0]) - 0xFEE0)


def check_surrogates(text: str, name: str) -> None:
    """Refuse half a character: such a string has no UTF-8 form.

    :raises InputError: naming the place.
    """
    if found := _SURROGATE.search(text):
        raise InputError(
            f"{name} has a lone surrogate (\\u{ord(found[0]):04x}) at character {found.start()}: "
            "it was cut inside a character; mend it where it was cut"
        )


def digest(normalised: str, name: str) -> str:
    """Hex digest of a normalised text: equal for exact copies."""
    return DIGESTS[name](normalised.encode())
