"""Tables of words that a Scheme names: IDF tables and lists of stop words.

A Scheme does not hold a table of the user. It holds the identity of the table: ``sha256:`` and the first 16 hex digits
of the SHA-256 of the table in canonical form (one line for each entry, sorted). Two tables with the same identity give
the same fingerprints.

**IDF** (inverse document frequency): rare words have a high IDF. The weights ``tf_idf`` use it. There are two sources:
jieba's table, or a custom table in jieba's format: a line ``word idf`` for each word, in UTF-8. A word that is not in
the table gets the mean of the table. (jieba uses the median. Here the mean is one of the fixed ``RULES`` of a Scheme:
the median would change fingerprints.)

**Stop words** do not tell what a text is about. (Words of one character are dropped by a separate rule.) List 1 belongs
to this package: Chinese function words, phrases with which news items name their source, and English function words. It
is never edited; another list is a new file with a new name. A Scheme names ``1``, ``none``, or the identity of a custom
list.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from es_simhash.errors import InputError, shown
from es_simhash.text.characters import fold_scripts
from es_simhash.text.features import UNIT, to_decimal, to_units
from es_simhash.text.normalisation import normalise
from es_simhash.text.scheme import DEFAULT, Scheme, check_scheme
from es_simhash.text.tokens import jieba_folder, segmenter, tokenize

if TYPE_CHECKING:
    from collections.abc import Iterator

STOP_WORDS = frozenset(Path(__file__).with_name("stop_words_1.txt").read_text(encoding="utf-8").split())

LISTS: dict[str, frozenset[str]] = {"1": STOP_WORDS, "none": frozenset()}
"""The lists that a Scheme can name without a file."""

_DECIMAL = Context(prec=28)  # its logarithm is rounded correctly, so it is the same on every machine


@dataclass(frozen=True)
class IdfTable:
    """The IDF of each word. Make a table with :meth:`of` or :meth:`read`.

    :param units: the IDF of each normalised word as an integer in units of 1/1024, 1 or more.
    :raises InputError: if there are no words.
    """

    units: Mapping[str, int]

    def __post_init__(self) -> None:
        if not self.units:
            raise InputError(
                "the IDF table has no words: write one line 'word idf' for each word, or use DocumentFrequencies"
            )

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
        if not isinstance(numbers, Mapping):
            raise InputError(f"the IDFs are {shown(numbers)}: pass a dict of words and their IDFs")
        return cls(_parse_rows((f"the IDF of {word!r}", word, number) for word, number in numbers.items()))

    @classmethod
    def read(cls, stream: Iterable[bytes], name: str) -> IdfTable:
        """Read a table from a file. Empty lines are skipped.

        :param stream: the file, opened in binary mode.
        :param name: the name of the file, for error messages.
        :raises InputError: if the file has no words or a line is invalid; the message names the file and the line.
        """
        return cls(_parse_rows((place, *_parse_line(line, place)) for place, line in read_lines(stream, name)))


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
            raise InputError(f"{name}: the IDF {shown(number)} is not a positive finite number: correct or remove it")
        if normalised in table:
            raise InputError(f"{name}: the word {normalised!r} occurs twice: remove one of the two")
        table[normalised] = units
    return table


@cache
def jieba_idf() -> IdfTable:
    """Return jieba's IDF table. It is loaded at the first call. Its words are not normalised."""
    table = (jieba_folder() / "analyse" / "idf.txt").read_text(encoding="utf-8")
    rows = map(str.split, table.splitlines())
    return IdfTable({word: to_units(float(number)) or 0 for word, number in rows})


class DocumentFrequencies:
    """Counts in how many documents each word occurs, for an IDF table. A million distinct words take some 200 MB.

    A sample of some 100,000 documents is enough: further words are mostly numbers, names and misspellings. The IDF of a
    word that occurs in df of N documents is ``ln((1 + N) / (1 + df)) + 1``. This is the smoothed form of scikit-learn's
    TfidfTransformer (``smooth_idf=True``), after Spärck Jones, "A statistical interpretation of term specificity and
    its application in retrieval", Journal of Documentation 28 (1972). It is never below 1. So every word of a text has
    some weight, and a table from a few documents has no extreme values.

    :param scheme: of the fingerprints that the table is for.
    """

    def __init__(self, scheme: Scheme = DEFAULT) -> None:
        check_scheme(scheme)
        self._scheme = scheme
        self._counts: Counter[str] = Counter()
        self.documents = 0

    def add(self, text: str) -> None:
        """Count each distinct word of one more document once.

        :raises InputError: if the text is not a string, or has a lone surrogate. Then the text is not counted.
        """
        words = tokenize(self._scheme.normalise(text), segmenter())
        self.documents += 1
        self._counts.update(set(words))

    def table(self) -> IdfTable:
        """Return the IDF table of the documents so far. The same documents give the same table on every machine.

        :raises InputError: if there are no words.
        """
        if not self._counts:
            raise InputError("cannot make an IDF table: the documents have no words")
        total = Decimal(1 + self.documents)
        logarithms = {count: _DECIMAL.ln(_DECIMAL.divide(total, 1 + count)) for count in set(self._counts.values())}
        units = {count: round((logarithm + 1) * UNIT) for count, logarithm in logarithms.items()}
        return IdfTable({word: units[count] for word, count in self._counts.items()})


@dataclass(frozen=True)
class StopWords:
    """A custom list of stop words, in place of list 1. Make it with :meth:`of` or :meth:`read`.

    :param words: the normalised words.
    :raises InputError: if there are no words.
    """

    words: frozenset[str]

    def __post_init__(self) -> None:
        if not self.words:
            raise InputError("the list of stop words is empty: write one on each line, or choose the list 'none'")

    @cached_property
    def identity(self) -> str:
        """The name of this list in a Scheme. Lists of the same words, in any order, have the same name."""
        return identity(self.words)

    @classmethod
    def of(cls, words: Iterable[str]) -> StopWords:
        """Build the list of these words. Words are normalised, as a text is (full width, case).

        :raises InputError: if there are no words, or one is invalid.
        """
        if isinstance(words, str) or not isinstance(words, Iterable):
            raise InputError(f"the stop words are {shown(words)}: pass a list of strings")
        return cls(frozenset(normalise_word(word, f"stop word {number}") for number, word in enumerate(words, 1)))

    @classmethod
    def read(cls, stream: Iterable[bytes], name: str) -> StopWords:
        """Read a list from a file: UTF-8, one word on each line. Empty lines are skipped.

        :param stream: the file, opened in binary mode.
        :param name: the name of the file, for error messages.
        :raises InputError: if the file has no words or a line is invalid; the message names the file and the line.
        """
        return cls(frozenset(normalise_word(word, place) for place, word in read_lines(stream, name)))


# --- how a table is named and read ------------------------------------------------------------------------------------


def identity(lines: Iterable[str]) -> str:
    """Return the identity of the table that has these lines, in any order."""
    sha256 = hashlib.sha256()
    for line in sorted(lines):
        sha256.update(line.encode() + b"\n")
    return f"sha256:{sha256.hexdigest()[:16]}"


def read_lines(stream: object, name: str) -> Iterator[tuple[str, str]]:
    """Yield the place (``name:12``) and the stripped text of each line of a table that is not empty.

    :param stream: the file, opened in binary mode.
    :param name: the name of the file.
    :raises InputError: if it is no such file; if a line is not UTF-8; the message names the line.
    """
    for number, data in enumerate(stream if isinstance(stream, Iterable) else [stream], 1):
        place = f"{name}:{number}"
        if not isinstance(data, bytes):
            raise InputError(f"{place} is {shown(data)}, no line of bytes: open the file in binary mode")
        try:
            line = data.decode("utf-8-sig" if number == 1 else "utf-8").strip()
        except UnicodeDecodeError as error:
            raise InputError(f"{place}: not UTF-8 at byte {error.start + 1}: convert the file to UTF-8") from error
        if line:
            yield place, line


def normalise_word(word: object, name: str) -> str:
    """Return the word in the form that it has in a normalised text, in the script that it is written in.

    :param name: names the word in error messages, for example ``stop.txt:12``.
    :raises InputError: if it is not a string, or if the normalised word is empty.
    """
    try:
        normalised = normalise(word, "as_written")  # type: ignore[arg-type]  # raises InputError if it is not a string
    except InputError as error:
        raise InputError(f"{name}: {str(error).replace('the text', 'the word', 1)}") from error
    if not normalised:
        raise InputError(f"{name}: the word {word!r} is empty after normalisation: remove it")
    return normalised
