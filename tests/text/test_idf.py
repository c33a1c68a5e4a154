"""Laws of IDF tables: a written table reads back, equal tables have one identity, an error names the invalid line."""

from __future__ import annotations

import hashlib
import io
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from es_simhash.errors import InputError
from es_simhash.text.tables import IdfTable

words = st.text(st.sampled_from("暴雨预警气象台abc059-'é"), min_size=1, max_size=4)
tables = st.dictionaries(words, st.integers(1, 1 << 52), min_size=1, max_size=20)


def read(data: bytes) -> IdfTable:
    return IdfTable.read(io.BytesIO(data), "idf.txt")


@given(tables)
def test_a_table_that_is_written_is_read_back(units: dict[str, int]) -> None:
    table = IdfTable(units)
    lines = list(table.lines())
    assert lines == sorted(lines, key=lambda line: line.split(" ")[0])
    again = read("\n".join(lines).encode())
    assert (again, again.identity, again.mean) == (table, table.identity, table.mean)


@given(tables, st.data())
def test_the_identity_is_that_of_the_sorted_lines_whatever_their_order(
    units: dict[str, int], data: st.DataObject
) -> None:
    canonical = "".join(f"{line}\n" for line in sorted(f"{word} {weight}" for word, weight in units.items()))
    identity = f"sha256:{hashlib.sha256(canonical.encode()).hexdigest()[:16]}"
    assert IdfTable(dict(data.draw(st.permutations(list(units.items()))))).identity == identity


@given(tables)
def test_the_mean_is_rounded_to_a_whole_number_of_units(units: dict[str, int]) -> None:
    assert abs(IdfTable(units).mean - Fraction(sum(units.values()), len(units))) <= Fraction(1, 2)


def test_words_are_normalised_and_empty_lines_and_a_byte_order_mark_do_not_count() -> None:
    data = "\ufeffＴ恤 2\n\n  暴雨\t3.5  \r\n".encode()
    assert read(data).units == {"t恤": 2048, "暴雨": 3584} == IdfTable.of({"T恤": 2, "暴雨": 3.5}).units


GOOD = "暴雨 7.5\n".encode()
NO_WORDS = "the IDF table has no words: write one line 'word idf' for each word, or use DocumentFrequencies"
COLUMNS = "idf.txt:2: the line has {} instead of 2 columns: write a word, a space and its IDF, such as '暴雨 7.25'"
NO_NUMBER = "the IDF {} is not a positive finite number: correct or remove it"
IDFS = {"b": "'b'", "nan": "nan", "inf": "inf", "1e999": "inf", "-1": "-1.0", "0": "0.0"}
"""What is no number, and how it is shown."""


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", NO_WORDS),
        (b"\n \n", NO_WORDS),
        (GOOD + b"word\n", COLUMNS.format(1)),
        (GOOD + b"a 1 2\n", COLUMNS.format(3)),
        *((GOOD + f"a {idf}\n".encode(), f"idf.txt:2: {NO_NUMBER.format(shown)}") for idf, shown in IDFS.items()),
        (GOOD + b"\n" + GOOD, "idf.txt:3: the word '暴雨' occurs twice: remove one of the two"),
        (b"ab 1\n\xef\xbc\xa1b 2\n", "idf.txt:2: the word 'ab' occurs twice: remove one of the two"),
        ("\u200b 1".encode(), "idf.txt:1: the word '\\u200b' is empty after normalisation: remove it"),
        (GOOD + "预警 5\n".encode("gbk"), "idf.txt:2: not UTF-8 at byte 3: convert the file to UTF-8"),
        ("预警 5\n".encode("utf-16-le"), "idf.txt:1: not UTF-8 at byte 1: convert the file to UTF-8"),
        (b"\x1f\x8b\x08\x00", "idf.txt:1: not UTF-8 at byte 2: convert the file to UTF-8"),
    ],
)
def test_an_invalid_table_is_refused_with_file_line_and_fix(data: bytes, problem: str) -> None:
    with pytest.raises(InputError) as refused:
        read(data)
    assert str(refused.value) == problem


@pytest.mark.parametrize(
    ("numbers", "problem"),
    [
        ({}, NO_WORDS),
        ([("暴雨", 1)], "the IDFs are [('暴雨', 1)]: pass a dict of words and their IDFs"),
        ({"暴雨": -1}, f"the IDF of '暴雨': {NO_NUMBER.format(-1)}"),
        ({7: 1}, "the IDF of 7: the word is of type int: give a string"),
        ({"A": 1, "a": 1}, "the IDF of 'a': the word 'a' occurs twice: remove one of the two"),
    ],
)
def test_invalid_numbers_are_refused_and_the_word_is_named(numbers: Any, problem: str) -> None:
    with pytest.raises(InputError) as refused:
        IdfTable.of(numbers)
    assert str(refused.value) == problem
