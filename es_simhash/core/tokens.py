"""Tokenize: normalised text to words.

Han runs are cut out first, and only they go to the word segmenter; all other words are cut by the rule of
``_WORD``. This is what makes two segmenters interchangeable: on Han runs jieba and rjieba (the same
algorithm and dictionary in Rust, the extra ``fast``) give the same words, on mixed text they don't.
"""

from __future__ import annotations

import re
import threading
import warnings
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING

from es_simhash.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Segmenter = Callable[[str], Iterable[str]]

# What jieba's dictionary segmenter takes for Chinese. Han characters beyond it are words of one character.
_HAN = "\u4e00-\u9fd5"
_RARE_HAN = "\u3007\u3400-\u4dbf\u9fd6-\u9fff\uf900-\ufaff\U00020000-\U0003fffd"
# The time and memory of a segmenter grow faster than the run; text with punctuation never gets here.
_LONGEST_RUN = 512

_RUN = re.compile(f"[{_HAN}]{{1,{_LONGEST_RUN}}}")
_LETTER = f"[^\\W_{_HAN}{_RARE_HAN}]"
_WORD = re.compile(
    f"[{_RARE_HAN}]"
    f"|[0-9]+(?:[.,][0-9]+)+{_LETTER}*"  # 3.14, 1,000, 3.0t
    f"|{_LETTER}+(?:[-'’]{_LETTER}+)*"  # words, f-35, don't
)

SEGMENTERS = ("jieba", "rjieba")
_loading = threading.Lock()


def tokenize(normalised: str, segment: Segmenter) -> list[str]:
    """The words of a normalised text: those of its Han runs in their order, then the others in theirs.

    :param segment: cuts lines of Han runs into words, see :func:`segmenter`.
    """
    # One call for all runs, a line each: a call costs about as much as segmenting a run.
    words = [word for word in segment("\n".join(_RUN.findall(normalised))) if word != "\n"]
    return words + _WORD.findall(normalised)


def segmenter(name: str | None = None) -> Segmenter:
    """The segmenter of that name; without one, rjieba where it is installed, else jieba.

    Its dictionary is loaded once a process, at the first call.

    :raises InputError: if the name is not known, or rjieba is not installed.
    """
    name = name or ("rjieba" if find_spec("rjieba") else "jieba")
    if name not in SEGMENTERS:
        raise InputError(f"segmenter {name!r}: use one of {', '.join(SEGMENTERS)}")
    if not find_spec(name):
        raise InputError(f"the segmenter {name} is not installed: pip install 'es-simhash[fast]'")
    with _loading:
        return _jieba() if name == "jieba" else _rjieba()


@cache
def _jieba() -> Segmenter:
    # A dictionary of our own: words that the program adds to jieba's global one must not change fingerprints.
    # Nor is jieba's cache file used, which anyone may write: it lies in the common temporary directory.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # old escape sequences, pkg_resources
        import jieba
    tokenizer = jieba.Tokenizer()
    with jieba.get_module_res("dict.txt") as dictionary:
        tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(dictionary)
    tokenizer.initialized = True
    return tokenizer.lcut  # type: ignore[no-any-return]


@cache
def _rjieba() -> Segmenter:
    import rjieba

    return rjieba.Jieba().cut
