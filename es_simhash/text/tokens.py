"""Split a normalised text into words.

Runs of Han characters (Han runs) are found first. Only they go to the word segmenter. All other words follow the rule
of ``_WORD``.

The segmenter finds the most probable path through jieba's dictionary. jieba does this; rjieba (the same algorithm and
dictionary in Rust, installed where it has a wheel) is many times as fast. Single characters that are left on the path
go through a hidden Markov model, which finds words that are not in the dictionary. rjieba's takes a tenth of the time.
But it breaks ties differently where a character is repeated: there it is always jieba's. (Of 465,844 other runs of 2 to
9 characters, common and rare ones, none differed; of 30,000 with repeated ones, 29.) On mixed text the two segmenters
differ in many ways, so they get only Han runs.
"""

from __future__ import annotations

import re
import sys
import threading
import warnings
from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from es_simhash.caches import cache_of_short

if TYPE_CHECKING:
    from collections.abc import Iterable
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

_CLAUSE = re.compile("[^,。;:!?、]*[,。;:!?、]|[^,。;:!?、]+")

_RUN_OR_WORD = re.compile(f"({_RUN})|{_WORD.pattern}")


def tokenize(normalised: str, segment: Segmenter) -> list[str]:
    """Return the tokens of a normalised text: the words of the Han runs in order, then the other words in order.

    :param segment: splits Han runs, one on each line, into words; see :func:`segmenter`.
    """
    between_and_runs = _SPLIT.split(normalised)  # in turn
    # One call for all runs, one on each line: a call itself costs about as much as the segmentation of one run.
    words = segment("\n".join(between_and_runs[1::2]))
    # What stands between the runs is short, and no word reaches over a run. Most of it is one punctuation mark.
    return words + _WORD.findall("\n".join([each for each in between_and_runs[::2] if each not in _PUNCTUATION]))


def words_in_order(normalised: str, segment: Segmenter) -> list[str]:
    """Return the words of a normalised text, all in the order of the text."""
    words: list[str] = []
    for found in _RUN_OR_WORD.finditer(normalised):
        words += [found[0]] if found[1] is None else segment(found[1])
    return words


# --- the word segmenter ---------------------------------------------------------------------------------------------


def segmenter(name: str | None = None) -> Segmenter:
    """Return a segmenter. The first call in a process loads the dictionary.

    :param name: ``jieba`` or ``rjieba``; None for rjieba if it is installed, which is the faster one, else jieba.
    """
    with _loading:
        return _segmenter(name or _installed())


def dictionary_words(text: str, name: str | None = None) -> list[str]:
    """Return the words of jieba's dictionary in a normalised text, in order, with what stands between them.

    :param name: as for :func:`segmenter`.
    """
    with _loading:
        cut, _ = _dictionary(name or _installed())
    return cut(text)


def part_of_speech(word: str, name: str | None = None) -> str:
    """Return the part of speech of a word as jieba's dictionary has it: ``ns``.

    :param name: as for :func:`segmenter`.
    """
    with _loading:
        _, tag = _dictionary(name or _installed())
    return tag(word)


def clauses(text: str) -> list[str]:
    """Return the clauses of a text, each with the sign behind it. No word reaches over such a sign."""
    found: list[str] = _CLAUSE.findall(text)
    return found


def _installed() -> str:
    return "rjieba" if find_spec("rjieba") else "jieba"


@cache
def _segmenter(name: str) -> Segmenter:
    cut = partial(_jieba().lcut, HMM=False) if name == "jieba" else partial(_rjieba().cut, hmm=False)
    # Without words rjieba has the model alone.
    model = None if name == "jieba" else partial(type(_rjieba()).empty().cut, hmm=True)

    @cache_of_short(1 << 15, 4)  # the same few characters often stand between words
    def find_new_words(singles: str) -> tuple[str, ...]:
        if model is not None and len({*singles}) == len(singles):
            return tuple(model(singles))
        with _loading:
            return tuple(_model_of_jieba()(singles))

    def segment(lines: str) -> list[str]:
        words: list[str] = []
        singles = ""
        for word in chain(cut(lines), "\n"):  # a line break at the end ends the last line
            if len(word) == 1 and word != "\n":
                singles += word
                continue
            if singles:
                words += find_new_words(singles) if len(singles) > 1 else (singles,)
                singles = ""
            if word != "\n":
                words.append(word)
        return words

    return segment


@cache
def _model_of_jieba() -> Callable[[str], Iterable[str]]:
    """Return jieba's hidden Markov model, a function from Han characters to words."""
    model: Callable[[str], Iterable[str]] = import_module(f"{_private_jieba().__name__}.finalseg").cut
    return model


@cache
def _jieba() -> Any:
    """Return a tokenizer of jieba."""
    tokenizer = _private_jieba().Tokenizer()
    # jieba's own initialize() would log, and read and write a cache file in the shared temporary directory.
    with (jieba_folder() / "dict.txt").open("rb") as dictionary:
        tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(dictionary)
    tokenizer.initialized = True
    return tokenizer


def jieba_folder() -> Path:
    """Return the folder with jieba's tables."""
    return Path(str(_private_jieba().__file__)).parent


@cache
def _rjieba() -> Any:
    """Return a tokenizer of rjieba."""
    import rjieba

    return rjieba.Jieba()


@cache
def _dictionary(name: str) -> tuple[Callable[[str], list[str]], Callable[[str], str]]:
    """Return what cuts a text into words of the dictionary, and what says the part of speech of one."""
    if name == "rjieba":
        cut, tagged = partial(_rjieba().cut, hmm=False), partial(_rjieba().tag, hmm=False)
        tag = cache_of_short(4_000, 8)(lambda word: tagged(word)[0][1])
    else:
        words = (jieba_folder() / "dict.txt").read_text(encoding="utf-8").splitlines()
        tags = {word: tag for word, _, tag in map(str.split, words)}
        cut, tag = partial(_jieba().lcut, HMM=False), lambda word: tags.get(word, "x")
    return cache_of_short(2_000, 60)(cut), tag


@cache
def _private_jieba() -> ModuleType:
    """Load a private copy of jieba, so that the program's changes to jieba's dictionary change no fingerprint."""
    spec: Any = find_spec("jieba")  # it is a dependency, so it is there
    folders = list(spec.submodule_search_locations)
    private: Any = spec_from_file_location(_PRIVATE_NAME, spec.origin, submodule_search_locations=folders)
    module = module_from_spec(private)
    sys.modules[_PRIVATE_NAME] = module
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # old escape sequences, pkg_resources
        private.loader.exec_module(module)
    return module
