"""Stop words: words that say nothing of what a text is about. Words of one character are dropped by rule.

List 1 is of our own making: function words of Chinese, the phrases with which news items name their source, and
function words of English. It is never edited, another list is a new file and a new name. A Scheme names ``1``,
``none``, or the identity of a user's own list.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from es_simhash.errors import InputError
from es_simhash.fingerprinting.tables import entry, identity, read_lines

if TYPE_CHECKING:
    from collections.abc import Iterable

STOP_WORDS = frozenset(Path(__file__).with_name("stop_words_1.txt").read_text(encoding="utf-8").split())

LISTS: dict[str, frozenset[str]] = {"1": STOP_WORDS, "none": frozenset()}
"""What a Scheme can name without bringing it along."""


@dataclass(frozen=True)
class StopWords:
    """A list of one's own, in place of list 1.

    :param words: normalised, as :meth:`of` and :meth:`read` make them.
    :raises InputError: if there are none.
    """

    words: frozenset[str]

    def __post_init__(self) -> None:
        if not self.words:
            raise InputError("no stop words: name some, or choose the list 'none'")

    @cached_property
    def identity(self) -> str:
        """What a Scheme calls this list: equal for equal words, in whatever order."""
        return identity(self.words)

    @classmethod
    def of(cls, words: Iterable[str]) -> StopWords:
        """The list of these words; full width and case don't count, as in a text.

        :raises InputError: if there are none, or one can't be used.
        """
        if isinstance(words, str):
            raise InputError("stop words are wanted as a list of strings, this is one string")
        return cls(frozenset(entry(word, f"stop word {number}") for number, word in enumerate(words, 1)))

    @classmethod
    def read(cls, stream: Iterable[bytes], name: str) -> StopWords:
        """The list in a file: UTF-8, a word a line; empty lines don't count.

        :param stream: opened in binary mode.
        :param name: of the file, for messages.
        :raises InputError: naming the file, the line and the fix.
        """
        words = frozenset(entry(word, place) for place, word in read_lines(stream, name))
        if not words:
            raise InputError(f"{name} has no stop words: write one a line, or choose the list 'none'")
        return cls(words)
