"""Tokenize: normalised text to words, or to characters.

Han runs are cut out first, and only they go to the word segmenter (segmenters.py); all other words are cut by the rule
of ``_WORD``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from es_simhash.errors import InputError

if TYPE_CHECKING:
    from es_simhash.fingerprinting.word_segmenters import Segmenter

# What jieba's dictionary segmenter takes for Chinese. Han characters beyond it are words of one character.
_HAN = "\u4e00-\u9fd5"
_RARE_HAN = "\u3007\u3400-\u4dbf\u9fd6-\u9fff\uf900-\ufaff\U00020000-\U0003fffd"
# The time and memory of a segmenter grow faster than the run; text with punctuation never gets here.
_LONGEST_RUN = 512

_RUN = re.compile(f"[{_HAN}]{{1,{_LONGEST_RUN}}}")
# Letters and digits; and the vowel signs and accents of scripts that write them as characters of their own.
_LETTER = f"(?:[^\\W_{_HAN}{_RARE_HAN}]|[\u0300-\u036f\u0900-\u0963\u0966-\u109f])"
_WORD = re.compile(
    f"[{_RARE_HAN}]"
    f"|[0-9]+(?:[.,][0-9]+)+{_LETTER}*"  # 3.14, 1,000, 3.0t
    f"|{_LETTER}+(?:[-']{_LETTER}+)*"  # words, f-35, don't
)


_RUN_OR_WORD = re.compile(f"({_RUN.pattern})|{_WORD.pattern}")
_HAN_OR_WORD = re.compile(f"[{_HAN}]|{_WORD.pattern}")
_CHARACTER = re.compile(f"[{_HAN}{_RARE_HAN}]|{_LETTER}")

TOKENS = ("words", "words_with_neighbours", "characters", "han_characters")
"""What a text can be cut into: words; words, of which pairs of neighbours become features too; pairs of characters; Han
characters, and other words."""
OF_CHARACTERS = ("characters", "han_characters")
"""Those under which a single character counts, and there are no stop words."""

CHARACTERS = 2
"""How many characters a token has under ``characters``: what Elasticsearch's cjk analyzer takes of Chinese text."""

BETWEEN = "_"
"""What stands between the two words of a pair; no word has one."""


def tokenize(normalised: str, segment: Segmenter, tokens: str = "words") -> list[str]:
    """The tokens of a normalised text.

    ``words``: those of its Han runs in their order, then the others in theirs. ``words_with_neighbours``: the same
    words, all in the order of the text. ``characters``: every two letters or digits that follow each other once all
    else (white space, punctuation) is taken out; of a single one, that. ``han_characters``: each Han
    character, and the other words as under ``words``, all in their order.

    :param segment: cuts lines of Han runs into words, see segmenters.py.
    """
    if tokens == "han_characters":
        return _HAN_OR_WORD.findall(normalised)
    if tokens == "characters":
        kept = "".join(_CHARACTER.findall(normalised))
        return [kept[start : start + CHARACTERS] for start in range(len(kept) - 1)] or list(kept)
    # One call for all runs, a line each: a call costs about as much as segmenting a run.
    words = segment("\n".join(_RUN.findall(normalised)))
    if tokens == "words":
        return words + _WORD.findall(normalised)
    return _in_order(normalised, words)


def _in_order(normalised: str, words_of_runs: list[str]) -> list[str]:
    """Put the words of the Han runs and the others into the order of the text."""
    words: list[str] = []
    rest = iter(words_of_runs)
    for found in _RUN_OR_WORD.finditer(normalised):
        if found[1] is None:
            words.append(found[0])
            continue
        left = len(found[0])
        while left:
            words.append(next(rest))
            left -= len(words[-1])
    return words


def known_tokens(tokens: str) -> str:
    """The same, if it is one of ``TOKENS``.

    :raises InputError: if it isn't.
    """
    if tokens not in TOKENS:
        raise InputError(f"tokens {tokens!r}: use one of {', '.join(TOKENS)}")
    return tokens
