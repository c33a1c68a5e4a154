"""IDF (inverse document frequency): how telling a word is, for the weights that ask for it.

Two sources: the table that jieba brings, or one of the user's own, in jieba's format: a line ``word idf`` for each
word, UTF-8. A word that is in no table counts as the mean of the table. (jieba itself takes the median; the mean is
what fingerprints were made with, and they are for ever.)
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from es_simhash.errors import InputError
from es_simhash.fingerprinting.tables import entry, identity, read_lines
from es_simhash.fingerprinting.units import in_words, to_units

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


@dataclass(frozen=True)
class IdfTable:
    """How telling each word is.

    :param units: of each normalised word, in whole units of 1/1024, from 1; as :meth:`of` and :meth:`read` make them.
    :raises InputError: if there are no words.
    """

    units: Mapping[str, int]

    def __post_init__(self) -> None:
        if not self.units:
            raise InputError("no words in the IDF table: es-simhash idf makes one from documents")

    @cached_property
    def mean(self) -> int:
        """What counts for a word that is not in the table, in units of 1/1024."""
        return round(Fraction(sum(self.units.values()), len(self.units)))

    @cached_property
    def identity(self) -> str:
        """What a Scheme calls this table: equal for equal words of equal weights, in whatever order."""
        return identity(f"{word} {units}" for word, units in self.units.items())

    def lines(self) -> Iterator[str]:
        """The table as :meth:`read` reads it, sorted by word: ``word idf`` for each, with no line break."""
        return (f"{word} {in_words(self.units[word])}" for word in sorted(self.units))

    @classmethod
    def of(cls, numbers: Mapping[str, float]) -> IdfTable:
        """The table of these words and numbers; full width and case of a word don't count, as in a text.

        :raises InputError: if there are none, one can't be used, or a word comes twice.
        """
        return cls(_checked((f"the IDF of {word!r}", word, number) for word, number in numbers.items()))

    @classmethod
    def read(cls, stream: Iterable[bytes], name: str) -> IdfTable:
        """The table in a file; empty lines don't count.

        :param stream: opened in binary mode.
        :param name: of the file, for messages.
        :raises InputError: naming the file, the line and the fix.
        """
        units = _checked((place, *_parse(line, place)) for place, line in read_lines(stream, name))
        if not units:
            raise InputError(f"{name} has no words: write 'word idf' a line; es-simhash idf makes such a table")
        return cls(units)


def _parse(line: str, place: str) -> tuple[str, float | str]:
    parts = line.split()
    if len(parts) != 2:
        raise InputError(f"{place}: {len(parts)} columns: a word, a space and its IDF are wanted, such as '暴雨 7.25'")
    word, number = parts
    try:
        return word, float(number)
    except ValueError:
        return word, number


def _checked(rows: Iterable[tuple[str, str, object]]) -> dict[str, int]:
    table: dict[str, int] = {}
    for place, word, number in rows:
        normalised = entry(word, place)
        units = to_units(number)
        if units is None:
            raise InputError(f"{place}: the IDF {number!r} is not a positive finite number: mend it or take it out")
        if normalised in table:
            raise InputError(f"{place}: the word {normalised!r} comes a second time: take one of them out")
        table[normalised] = units
    return table


@cache
def jieba_idf() -> IdfTable:
    """The table that jieba brings, loaded at the first call; its words are not normalised."""
    package = find_spec("jieba")
    assert package is not None
    assert package.origin is not None
    path = Path(package.origin).with_name("analyse").joinpath("idf.txt")
    rows = (line.split() for line in path.read_text(encoding="utf-8").splitlines())
    return IdfTable({word: to_units(float(number)) or 0 for word, number in rows})
