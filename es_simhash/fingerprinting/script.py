"""Script folding: traditional and variant Han characters become simplified ones, by a frozen table.

A traditional copy of a simplified text becomes the same text, so that it is an exact duplicate. The dictionary of the
word segmenter has simplified words, so it knows the words of both. The table maps single characters, whatever stands
beside them. Where one traditional character is two in the other script, it becomes the more common one: 乾 becomes
干, 瞭 becomes 了, 著 becomes 着. It does so in a simplified text too (乾隆, 瞭望, 著作). A text is only compared in
this form; what is stored stays as it is written.

``script_1.txt`` has a class a line: the character that the others become, then the others.
``scripts/make-script-table`` makes it from the dictionaries of OpenCC (Apache-2.0, see ``script_1.NOTICE.txt``) and
holds the rules. It is never edited: another table is a new file and a new name.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from es_simhash.fingerprinting.characters import codes_of, text_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

SCRIPTS = ("simplified", "as_written")
"""What a text can be compared in: folded to simplified characters, or as it is written."""


def fold_script(text: str) -> str:
    """Return the text with each character in its simplified form.

    >>> fold_script("臺灣鐵路，臺北車站")
    '台湾铁路，台北车站'

    :param text: in NFKC. The result is as long, and is in NFKC.
    """
    return text if text.isascii() else text_of(folded_codes().take(codes_of(text)))


def fold_scripts(words: Iterable[str]) -> list[str]:
    """Return each word folded, in order. The words have no line breaks."""
    joined = "\n".join(words)
    return fold_script(joined).split("\n") if joined else []


@cache
def folded_codes() -> NDArray[np.uint32]:
    """Return what each code point becomes, most of them themselves: of shape (0x110000,)."""
    table = np.arange(0x110000, dtype=np.uint32)
    for line in Path(__file__).with_name("script_1.txt").read_text(encoding="utf-8").split():
        one, *others = codes_of(line)
        table[others] = one
    return table
