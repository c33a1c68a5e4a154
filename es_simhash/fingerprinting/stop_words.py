"""Stop words: words that do not tell what a text is about. (Words of one character are dropped by a separate rule.)

List 1 belongs to this package: Chinese function words, phrases with which news items name their source, and English
function words. It is never edited; another list is a new file with a new name. A Scheme names ``1``, ``none``, or the
identity of a custom list.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from es_simhash.errors import InputError
from es_simhash.fingerprinting.tables import identity, normalise_word, read_lines

if TYPE_CHECKING:
    from collections.abc import Iterable

STOP_WORDS = frozenset(Path(__file__).with_name("stop_words_1.txt").read_text(encoding="utf-8").split())

LISTS: dict[str, frozenset[str]] = {"1": STOP_WORDS, "none": frozenset()}
"""The lists that a Scheme can name without a file."""


@dataclass(frozen=True)
class StopWords:
    """A custom list of stop words, in place of list 1. Make it with :meth:`of` or :meth:`read`.

    :param words: the normalised words.
    :raises InputError: if there are no words.
    """

    words: frozenset[str]

    def __post_init__(self) -> None:
        if not self.words:
            raise InputError("the list of stop words is empty: add words, or choose the list 'none'")

    @cached_property
    def identity(self) -> str:
        """The name of this list in a Scheme. Lists of the same words, in any order, have the same name."""
        return identity(self.words)

    @classmethod
    def of(cls, words: Iterable[str]) -> StopWords:
        """Build the list of these words. Words are normalised, as a text is (full width, case).

        :raises InputError: if there are no words, or one is invalid.
        """
        if isinstance(words, str):
            raise InputError("stop words are passed as one string: pass a list of strings")
        return cls(frozenset(normalise_word(word, f"stop word {number}") for number, word in enumerate(words, 1)))

    @classmethod
    def read(cls, stream: Iterable[bytes], name: str) -> StopWords:
        """Read a list from a file: UTF-8, one word on each line. Empty lines are skipped.

        :param stream: the file, opened in binary mode.
        :param name: the name of the file, for error messages.
        :raises InputError: if the file has no words or a line is invalid; the message names the file and the line.
        """
        words = frozenset(normalise_word(word, place) for place, word in read_lines(stream, name))
        if not words:
            raise InputError(f"{name} has no stop words: write one on each line, or choose the list 'none'")
        return cls(words)
