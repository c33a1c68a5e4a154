"""What kind is a character, and what is its simplified form? Tables by code point, so that numpy looks up all
characters of a text at once.

**Kinds** follow the Unicode categories of the running Python. Newer versions of Unicode add characters; they do not
change the kind of those that exist.

**Script folding**: traditional and variant Han characters become simplified ones, by a frozen table. A traditional copy
of a simplified text becomes the same text, so that it is an exact duplicate. The dictionary of the word segmenter has
simplified words, so it knows the words of both. The table maps single characters, whatever stands beside them. Where
one traditional character is two in the other script, it becomes the more common one: 乾 becomes 干, 瞭 becomes 了, 著
becomes 着. It does so in a simplified text too (乾隆, 瞭望, 著作). A text is only compared in this form; what is stored
stays as it is written.

``script_1.txt`` has a class a line: the character that the others become, then the others.
It was made from the dictionaries of OpenCC (Apache-2.0, see ``script_1.NOTICE.txt``). It is never edited: another table
is a new file and a new name.
"""

from __future__ import annotations

import unicodedata
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

WORD = 1
"""Letters, digits and other numbers: Unicode's categories L and N."""
MARK = 2
"""Combining marks, such as accents, vowel signs and points: the categories Mn and Mc."""
UNSPACED = 4
"""Han characters, kana and bopomofo: no white space stands between the words that they write."""
HAN = 8
"""Han characters, and 〇."""

SCRIPTS = ("simplified", "as_written")
"""What a text can be compared in: folded to simplified characters, or as it is written."""

CODE_POINTS = 0x110000
_LAST_WITH_A_KIND = 0x20000  # beyond are Han characters, and then none with a kind but variation selectors
# Whole blocks: Han and its extensions.
_HAN = ((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x3FFFD))
# 々〆〇, numerals and marks of repetition; hiragana and katakana; bopomofo; phonetic extensions of katakana; old kana.
UNSPACED_RANGES = (
    *_HAN,
    *((0x3005, 0x3007), (0x3021, 0x3029), (0x3031, 0x3035), (0x3038, 0x303C), (0x3041, 0x3096), (0x309D, 0x309F)),
    *((0x30A1, 0x30FA), (0x30FC, 0x30FF), (0x3105, 0x312F), (0x31A0, 0x31BF), (0x31F0, 0x31FF), (0x1AFF0, 0x1B16F)),
)


def codes_of(text: str) -> NDArray[np.uint32]:
    """Return the code points of a text, of shape (n,). The text has no lone surrogate."""
    return np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)


def text_of(codes: NDArray[np.uint32]) -> str:
    """Return the text that has these code points."""
    return codes.tobytes().decode("utf-32-le")


@cache
def kinds() -> NDArray[np.uint8]:
    """Return the kinds of every code point, as a sum of the constants of this module; 0 for one that has none."""
    table = np.zeros(CODE_POINTS, dtype=np.uint8)
    for code in range(_LAST_WITH_A_KIND):
        category = unicodedata.category(chr(code))
        table[code] = WORD if category[0] in "LN" else MARK if category in ("Mn", "Mc") else 0
    for first, last in _HAN:
        table[first : last + 1] = WORD
    for first, last in UNSPACED_RANGES:
        table[first : last + 1] |= UNSPACED
    for first, last in (*_HAN, (0x3007, 0x3007)):
        table[first : last + 1] |= HAN
    return table


def fold_script(text: str, script: str = "simplified") -> str:
    """Return the text with each character in its simplified form, and without radicals.

    >>> fold_script("臺灣鐵路，臺北車站")
    '台湾铁路，台北车站'

    :param text: in NFKC. The result is as long, and is in NFKC.
    :param script: ``as_written`` for the text without radicals alone.
    """
    return text if text.isascii() else text_of(_folded_codes(script).take(codes_of(text)))


def fold_scripts(words: Iterable[str]) -> list[str]:
    """Return each word folded, in order. The words have no line breaks."""
    joined = "\n".join(words)
    return fold_script(joined).split("\n") if joined else []


# Those of CJK Radicals Supplement that look like a whole character; Unicode's EquivalentUnifiedIdeograph.txt.
RADICALS = (
    "⺌小⺍小⺎兀⺟母⺠民⺩王⺫目⺬示⺮竹⺶羊⺷羊⺼肉⺽臼⻁虎⻂衣⻃西⻄西⻅见⻆角⻉贝⻊足⻋车⻎辶⻏邑⻑长⻒长⻓长⻔门⻗雨⻘青⻙韦⻚页⻛风⻜飞⻝食"
    "⻡首⻢马⻣骨⻤鬼⻥鱼⻦鸟⻧卤⻨麦⻩黄⻪黾⻫齐⻬齐⻭齿⻮齿⻯龙⻰龙⻱龟⻲龟⻳龟⺄乙⺈刀⺊卜⺒巳⺓幺⺗心⺛旡⺝月⺜日⺧牛⺪疋"
)


@cache
def _folded_codes(script: str) -> NDArray[np.uint32]:
    """Return what each code point becomes, most of them themselves: of shape (0x110000,)."""
    table = np.arange(CODE_POINTS, dtype=np.uint32)
    if script == "simplified":
        for line in Path(__file__).with_name("script_1.txt").read_text(encoding="utf-8").split():
            one, *others = codes_of(line)
            table[others] = one
    table[codes_of(RADICALS[::2])] = table[codes_of(RADICALS[1::2])]
    return table
