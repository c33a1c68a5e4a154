"""Segmenters: Han runs to words, the same words from each.

A segmenter finds the most probable path through jieba's dictionary; jieba does that, and rjieba (the same algorithm and
dictionary in Rust, the extra ``fast``) does it many times as fast. What the path leaves as single characters goes
through jieba's hidden Markov model for words that are in no dictionary: always jieba's own one, since rjieba's breaks
ties otherwise (of repeated characters). On mixed text the two differ everywhere, so they get nothing but Han runs.
"""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Callable
from functools import cache, lru_cache
from importlib import import_module
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING, Any

from es_simhash.errors import InputError

if TYPE_CHECKING:
    from types import ModuleType

Segmenter = Callable[[str], list[str]]
"""From Han runs, a line each, to the words of all of them in order."""

SEGMENTERS = ("jieba", "rjieba")

_OWN_JIEBA = "es_simhash_jieba"
_loading = threading.RLock()


def chosen(name: str | None) -> str:
    """The name of a segmenter that there is; without one, rjieba where it is installed, else jieba.

    :raises InputError: if the name is not known, or rjieba is not installed.
    """
    name = name or ("rjieba" if find_spec("rjieba") else "jieba")
    if name not in SEGMENTERS:
        raise InputError(f"segmenter {name!r}: use one of {', '.join(SEGMENTERS)}")
    if not find_spec(name):
        raise InputError(f"the segmenter {name} is not installed: pip install 'es-simhash[fast]'")
    return name


def segmenter(name: str | None = None) -> Segmenter:
    """The segmenter of that name, as :func:`chosen`. Its dictionary is loaded once a process, at the first call."""
    name = chosen(name)
    with _loading:
        return _segmenter(name)


@cache
def _segmenter(name: str) -> Segmenter:
    path = _jieba_path() if name == "jieba" else _rjieba_path()
    recognise = _recognise()

    def segment(lines: str) -> list[str]:
        words: list[str] = []
        singles = ""
        for word in (*path(lines), "\n"):
            if len(word) == 1 and word != "\n":
                singles += word
                continue
            if singles:
                words += recognise(singles) if len(singles) > 1 else (singles,)
                singles = ""
            if word != "\n":
                words.append(word)
        return words

    return segment


def _jieba_path() -> Callable[[str], Any]:
    jieba = _own_jieba()
    tokenizer = jieba.Tokenizer()
    # Not by its own loading, which reads and writes a cache file in the common temporary directory, and logs.
    with Path(str(jieba.__file__)).with_name("dict.txt").open("rb") as dictionary:
        tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(dictionary)
    tokenizer.initialized = True
    return lambda lines: tokenizer.lcut(lines, HMM=False)


def _rjieba_path() -> Callable[[str], Any]:
    import rjieba

    cut = rjieba.Jieba().cut
    return lambda lines: cut(lines, False)


def _recognise() -> Callable[[str], tuple[str, ...]]:
    finalseg = import_module(f"{_own_jieba().__name__}.finalseg")

    # The same few characters stand between words again and again.
    @lru_cache(maxsize=1 << 17)
    def recognise(singles: str) -> tuple[str, ...]:
        return tuple(finalseg.cut(singles))

    return recognise


@cache
def _own_jieba() -> ModuleType:
    """A copy of jieba of our own: what the program adds to jieba's dictionary, or deletes, changes no fingerprint."""
    spec = find_spec("jieba")
    assert spec is not None
    assert spec.origin is not None
    own = spec_from_file_location(
        _OWN_JIEBA, spec.origin, submodule_search_locations=list(spec.submodule_search_locations or ())
    )
    assert own is not None
    assert own.loader is not None
    module = module_from_spec(own)
    sys.modules[_OWN_JIEBA] = module
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # old escape sequences, pkg_resources
        own.loader.exec_module(module)
    return module
