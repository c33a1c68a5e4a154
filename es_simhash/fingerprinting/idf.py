"""IDF (inverse document frequency) tables: rare words have a high IDF. Some kinds of weights use it.

There are two sources: jieba's table, or a custom table in jieba's format: a line ``word idf`` for each word, in UTF-8.
A word that is not in the table gets the mean of the table. (jieba uses the median. Here the mean is one of the
fixed ``RULES`` of a Scheme: the median would change fingerprints.)
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from es_simhash.errors import InputError
from es_simhash.fingerprinting.script import fold_scripts
from es_simhash.fingerprinting.tables import identity, normalise_word, read_lines
from es_simhash.fingerprinting.units import to_decimal, to_units

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


@dataclass(frozen=True)
class IdfTable:
    """The IDF of each word. Make a table with :meth:`of` or :meth:`read`.

    :param units: the IDF of each normalised word as an integer in units of 1/1024, 1 or more.
    :raises InputError: if there are no words.
    """

    units: Mapping[str, int]

    def __post_init__(self) -> None:
        if not self.units:
            raise InputError("the IDF table has no words: make a table from documents with es-simhash idf")

    @cached_property
    def mean(self) -> int:
        """The IDF of a word that is not in the table: the rounded mean of the table, in units of 1/1024."""
        return round(Fraction(sum(self.units.values()), len(self.units)))

    @cached_property
    def identity(self) -> str:
        """The name of this table in a Scheme. Tables with the same words and IDFs, in any order, have the same name."""
        return identity(f"{word} {units}" for word, units in self.units.items())

    def folded(self) -> IdfTable:
        """Return the table with simplified words. Words that become one get the smaller of their IDFs."""
        table: dict[str, int] = {}
        for word, units in zip(fold_scripts(self.units), self.units.values(), strict=True):
            table[word] = min(units, table.get(word, units))
        return IdfTable(table)

    def lines(self) -> Iterator[str]:
        """Return the lines that :meth:`read` reads back: ``word idf``, sorted by word, without line breaks."""
        return (f"{word} {to_decimal(self.units[word])}" for word in sorted(self.units))

    @classmethod
    def of(cls, numbers: Mapping[str, float]) -> IdfTable:
        """Build the table of these words and their IDFs. Words are normalised, as a text is (full width, case).

        :raises InputError: if there are no words, if a word or an IDF is invalid, or if a word occurs twice.
        """
        return cls(_parse_rows((f"the IDF of {word!r}", word, number) for word, number in numbers.items()))

    @classmethod
    def read(cls, stream: Iterable[bytes], name: str) -> IdfTable:
        """Read a table from a file. Empty lines are skipped.

        :param stream: the file, opened in binary mode.
        :param name: the name of the file, for error messages.
        :raises InputError: if the file has no words or a line is invalid; the message names the file and the line.
        """
        units = _parse_rows((place, *_parse_line(line, place)) for place, line in read_lines(stream, name))
        if not units:
            raise InputError(f"{name} has no words: write one line 'word idf' for each word, or use es-simhash idf")
        return cls(units)


def _parse_line(line: str, place: str) -> tuple[str, float | str]:
    """Return the word and its IDF; the IDF as a string if it is not a number."""
    parts = line.split()
    if len(parts) != 2:
        raise InputError(
            f"{place}: the line has {len(parts)} instead of 2 columns: "
            "write a word, a space and its IDF, such as '暴雨 7.25'"
        )
    word, number = parts
    try:
        return word, float(number)
    except ValueError:
        return word, number


def _parse_rows(rows: Iterable[tuple[str, str, object]]) -> dict[str, int]:
    """Return the IDF of each normalised word in units of 1/1024. A row is (name for error messages, word, IDF)."""
    table: dict[str, int] = {}
    for name, word, number in rows:
        normalised = normalise_word(word, name)
        units = to_units(number)
        if units is None:
            raise InputError(f"{name}: the IDF {number!r} is not a positive finite number: correct or remove it")
        if normalised in table:
            raise InputError(f"{name}: the word {normalised!r} occurs twice: remove one of the two")
        table[normalised] = units
    return table


@cache
def jieba_idf() -> IdfTable:
    """Return jieba's IDF table. It is loaded at the first call. Its words are not normalised."""
    package = find_spec("jieba")
    assert package is not None
    assert package.origin is not None
    path = Path(package.origin).with_name("analyse").joinpath("idf.txt")
    rows = (line.split() for line in path.read_text(encoding="utf-8").splitlines())
    return IdfTable({word: to_units(float(number)) or 0 for word, number in rows})
