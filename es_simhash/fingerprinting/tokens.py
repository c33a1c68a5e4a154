"""Split a normalised text into tokens: words, or single Han characters with the other words.

Runs of Han characters (Han runs) are found first. Only they go to the word segmenter. All other words follow the rule
of ``_WORD``.

The segmenter finds the most probable path through jieba's dictionary. jieba does this; rjieba (the same algorithm and
dictionary in Rust, installed where it has a wheel) is many times as fast. Single characters that are left on the path
go through a hidden Markov model, which finds words that are not in the dictionary. This is always jieba's model,
because rjieba's breaks ties differently (for repeated characters). On mixed text the two segmenters differ in many
ways, so they get only Han runs.
"""

from __future__ import annotations

import re
import sys
import threading
import warnings
from collections.abc import Callable
from functools import cache, lru_cache, partial
from importlib import import_module
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import ModuleType

Segmenter = Callable[[str], list[str]]
"""A function from Han runs, one on each line, to the words of all runs in order."""

_PRIVATE_NAME = "es_simhash_jieba"
_loading = threading.RLock()

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

    :param segment: splits Han runs, one on each line, into words; see :func:`segmenter`.
    :param tokens: one of ``TOKENS``.
    """
    if tokens == "han_characters":
        return _HAN_OR_WORD.findall(normalised)
    between_and_runs = _SPLIT.split(normalised)  # in turn
    # One call for all runs, one on each line: a call itself costs about as much as the segmentation of one run.
    words = segment("\n".join(between_and_runs[1::2]))
    # What stands between the runs is short, and no word reaches over a run. Most of it is one punctuation mark.
    return words + _WORD.findall("\n".join([each for each in between_and_runs[::2] if each not in _PUNCTUATION]))


def words_in_order(normalised: str, segment: Segmenter) -> list[str]:
    """Return the words of a normalised text, all in the order of the text."""
    words: list[str] = []
    rest = iter(tokenize(normalised, segment))  # those of the Han runs come first
    for found in _RUN_OR_WORD.finditer(normalised):
        if found[1] is None:
            words.append(found[0])
            continue
        left = len(found[0])
        while left:
            words.append(next(rest))
            left -= len(words[-1])
    return words


# --- the word segmenter ---------------------------------------------------------------------------------------------


def segmenter(name: str | None = None) -> Segmenter:
    """Return a segmenter. The first call in a process loads the dictionary.

    :param name: ``jieba`` or ``rjieba``; None for rjieba if it is installed, which is the faster one, else jieba.
    """
    with _loading:
        return _segmenter(name or _installed())


def tagged_words(text: str, name: str | None = None) -> list[tuple[str, str]]:
    """Return the words of the dictionary in a text, each with its part of speech as jieba has it, such as ``ns``.

    :param name: as for :func:`segmenter`.
    """
    with _loading:
        tag = _tagger(name or _installed())
    return tag(text)


def _installed() -> str:
    return "rjieba" if find_spec("rjieba") else "jieba"


@cache
def _segmenter(name: str) -> Segmenter:
    cut = partial(_jieba().lcut, HMM=False) if name == "jieba" else partial(_rjieba().cut, hmm=False)
    find_new_words = _new_word_finder()

    def segment(lines: str) -> list[str]:
        words: list[str] = []
        singles = ""
        # Most words have several characters, so they are tested first. A line break at the end ends the last line.
        for word in chain(cut(lines), "\n"):
            if len(word) > 1:
                if singles:
                    words += find_new_words(singles) if len(singles) > 1 else (singles,)
                    singles = ""
                words.append(word)
            elif word != "\n":
                singles += word
            elif singles:
                words += find_new_words(singles) if len(singles) > 1 else (singles,)
                singles = ""
        return words

    return segment


@cache
def _jieba() -> Any:
    """Return a tokenizer of jieba."""
    jieba = _private_jieba()
    tokenizer = jieba.Tokenizer()
    # jieba's own initialize() would log, and read and write a cache file in the shared temporary directory.
    with Path(str(jieba.__file__)).with_name("dict.txt").open("rb") as dictionary:
        tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(dictionary)
    tokenizer.initialized = True
    return tokenizer


@cache
def _rjieba() -> Any:
    """Return a tokenizer of rjieba."""
    import rjieba

    return rjieba.Jieba()


@cache
def _tagger(name: str) -> Callable[[str], list[tuple[str, str]]]:
    if name == "rjieba":
        return partial(_rjieba().tag, hmm=False)
    tagger = import_module(f"{_private_jieba().__name__}.posseg").POSTokenizer(_jieba())
    return lambda text: [(pair.word, pair.flag) for pair in tagger.cut(text, HMM=False)]


def _new_word_finder() -> Callable[[str], tuple[str, ...]]:
    """Return a function from Han characters to words, the same as ``jieba.finalseg.cut``.

    It is the Viterbi algorithm for four states: a character begins a word (B), is inside it (M), ends it (E), or is a
    word by itself (S). jieba's function is written for any states, and takes six times as long. The sums are added in
    the same order as there, and of two equal ones the same wins, so the words are the same.
    """
    model = import_module(f"{_private_jieba().__name__}.finalseg")
    least = model.MIN_FLOAT
    start_b, start_m, start_e, start_s = (model.start_P[state] for state in "BMES")
    emit_b, emit_m, emit_e, emit_s = (model.emit_P[state].get for state in "BMES")
    names = ("BM", "BE", "MM", "ME", "EB", "ES", "SB", "SS")
    b_m, b_e, m_m, m_e, e_b, e_s, s_b, s_s = (model.trans_P[name[0]].get(name[1], least) for name in names)

    # The same few characters often stand between words.
    @lru_cache(maxsize=1 << 17)
    def find_new_words(singles: str) -> tuple[str, ...]:
        first = singles[0]
        b, m = start_b + emit_b(first, least), start_m + emit_m(first, least)
        e, s = start_e + emit_e(first, least), start_s + emit_s(first, least)
        to_b, to_m, to_e, to_s = "B", "M", "E", "S"  # the states so far, of the best path to each state
        for character in singles[1:]:
            here = emit_b(character, least)
            of_e, of_s = e + e_b + here, s + s_b + here
            new_b, new_to_b = (of_s, to_s) if of_s >= of_e else (of_e, to_e)
            here = emit_m(character, least)
            of_b, of_m = b + b_m + here, m + m_m + here
            new_m, new_to_m = (of_m, to_m) if of_m >= of_b else (of_b, to_b)
            here = emit_s(character, least)
            of_e, of_s = e + e_s + here, s + s_s + here
            s, new_to_s = (of_s, to_s) if of_s >= of_e else (of_e, to_e)
            here = emit_e(character, least)
            of_b, of_m = b + b_e + here, m + m_e + here
            e, new_to_e = (of_m, to_m) if of_m >= of_b else (of_b, to_b)
            b, m = new_b, new_m
            to_b, to_m, to_e, to_s = new_to_b + "B", new_to_m + "M", new_to_e + "E", new_to_s + "S"
        states = to_s if s >= e else to_e
        ends = [index + 1 for index, state in enumerate(states) if state in "ES"]
        return tuple([singles[begin:end] for begin, end in zip([0, *ends], ends, strict=False)])

    return find_new_words


@cache
def _private_jieba() -> ModuleType:
    """Load a private copy of jieba, so that the program's changes to jieba's dictionary change no fingerprint."""
    spec = find_spec("jieba")
    assert spec is not None
    assert spec.origin is not None
    private = spec_from_file_location(
        _PRIVATE_NAME, spec.origin, submodule_search_locations=list(spec.submodule_search_locations or ())
    )
    assert private is not None
    assert private.loader is not None
    module = module_from_spec(private)
    sys.modules[_PRIVATE_NAME] = module
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # old escape sequences, pkg_resources
        private.loader.exec_module(module)
    return module
