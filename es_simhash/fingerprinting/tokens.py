"""Split a normalised text into tokens: words, or single Han characters with the other words.

Runs of Han characters (Han runs) are found first. Only they go to the word segmenter (``word_segmenters.py``). All
other words follow the rule of ``_WORD``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from es_simhash.fingerprinting.word_segmenters import Segmenter

# The characters that jieba's segmenter treats as Chinese. Each Han character outside this range is a word by itself.
_HAN = "\u4e00-\u9fd5"
_RARE_HAN = "\u3007\u3400-\u4dbf\u9fd6-\u9fff\uf900-\ufaff\U00020000-\U0003fffd"
# The time and memory of a segmenter grow faster than the length of a run. Text with punctuation never reaches this
# length.
_LONGEST_RUN = 512

_RUN = f"[{_HAN}]{{1,{_LONGEST_RUN}}}"
_SPLIT = re.compile(f"({_RUN})")
# Letters and digits; also accents and vowel signs, in scripts that write them as separate characters.
_LETTER = f"(?:[^\\W_{_HAN}{_RARE_HAN}]|[\u0300-\u036f\u0900-\u0963\u0966-\u109f])"
_WORD = re.compile(
    f"[{_RARE_HAN}]"
    f"|[0-9]+(?:[.,][0-9]+)+{_LETTER}*"  # 3.14, 1,000, 3.0t
    f"|{_LETTER}+(?:[-']{_LETTER}+)*"  # words, f-35, don't
)


_PUNCTUATION = frozenset(["", " ", *",.:;!?'\"()[]-·…。、《》〈〉「」『』【】〔〕"])
"""Strings that often stand between two Han runs of a normalised text. None of them has a word."""

_RUN_OR_WORD = re.compile(f"({_RUN})|{_WORD.pattern}")
_HAN_OR_WORD = re.compile(f"[{_HAN}]|{_WORD.pattern}")

TOKENS = ("words", "han_characters")
"""The kinds of tokens. With ``han_characters`` there are no stop words, and words of one character are kept."""


def tokenize(normalised: str, segment: Segmenter, tokens: str = "words") -> list[str]:
    """Return the tokens of a normalised text.

    ``words``
        The words of the Han runs in order, then the other words in order.
    ``han_characters``
        Each Han character, and the other words as under ``words``, all in the order of the text.

    :param segment: splits Han runs, one on each line, into words; see ``word_segmenters.py``.
    :param tokens: one of ``TOKENS``.
    """
    if tokens == "han_characters":
        return _HAN_OR_WORD.findall(normalised)
    between, words = _split(normalised, segment)
    # What stands between the runs is short, and no word reaches over a run. Most of it is one punctuation mark.
    return words + _WORD.findall("\n".join([each for each in between if each not in _PUNCTUATION]))


def words_in_order(normalised: str, segment: Segmenter) -> list[str]:
    """Return the words of a normalised text, all in the order of the text."""
    words: list[str] = []
    rest = iter(_split(normalised, segment)[1])
    for found in _RUN_OR_WORD.finditer(normalised):
        if found[1] is None:
            words.append(found[0])
            continue
        left = len(found[0])
        while left:
            words.append(next(rest))
            left -= len(words[-1])
    return words


def _split(normalised: str, segment: Segmenter) -> tuple[list[str], list[str]]:
    """Return what stands between the Han runs of a text, and the words of the runs in order."""
    # One call for all runs, one on each line: a call itself costs about as much as the segmentation of one run.
    between_and_runs = _SPLIT.split(normalised)  # in turn
    return between_and_runs[::2], segment("\n".join(between_and_runs[1::2]))
