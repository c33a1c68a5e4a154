"""Tokenize: normalised text to words.

Han runs are cut out first, and only they go to the word segmenter (segmenters.py); all other words are cut by the rule
of ``_WORD``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from es_simhash.core.segmenters import Segmenter

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


def tokenize(normalised: str, segment: Segmenter) -> list[str]:
    """The words of a normalised text: those of its Han runs in their order, then the others in theirs.

    :param segment: cuts lines of Han runs into words, see segmenters.py.
    """
    # One call for all runs, a line each: a call costs about as much as segmenting a run.
    return segment("\n".join(_RUN.findall(normalised))) + _WORD.findall(normalised)
