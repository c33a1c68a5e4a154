"""Laws of stop words: a custom list is a set of normalised words with an identity."""

from __future__ import annotations

import hashlib
import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from es_simhash.errors import InputError
from es_simhash.text.normalisation import normalise
from es_simhash.text.tables import LISTS, STOP_WORDS, IdfTable, StopWords

lists = st.lists(st.text(st.sampled_from("的了我们abcＡＢ"), min_size=1, max_size=3), min_size=1)


def read(data: bytes) -> StopWords:
    return StopWords.read(io.BytesIO(data), "stop.txt")


@given(lists, st.data())
def test_a_list_is_the_set_of_its_normalised_words_from_a_file_too(words: list[str], data: st.DataObject) -> None:
    made = StopWords.of(words)
    assert made.words == {normalise(word) for word in words}
    shuffled = data.draw(st.permutations(words))
    assert read("\n".join(shuffled).encode()) == StopWords.of(iter(shuffled)) == made
    canonical = "".join(f"{word}\n" for word in sorted(made.words))
    assert made.identity == f"sha256:{hashlib.sha256(canonical.encode()).hexdigest()[:16]}"


def test_the_lists_that_need_no_file_are_list_1_and_none() -> None:
    assert {"1": STOP_WORDS, "none": frozenset()} == LISTS
    assert len(STOP_WORDS) > 400


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "the list of stop words is empty: write one on each line, or choose the list 'none'"),
        (b" \n\n", "the list of stop words is empty: write one on each line, or choose the list 'none'"),
        (b"of\n" + "我们\n".encode("gb18030"), "stop.txt:2: not UTF-8 at byte 1: convert the file to UTF-8"),
        ("我们\n".encode("utf-16"), "stop.txt:1: not UTF-8 at byte 1: convert the file to UTF-8"),
    ],
)
def test_an_invalid_file_is_refused_with_line_and_fix(data: bytes, problem: str) -> None:
    with pytest.raises(InputError) as refused:
        read(data)
    assert str(refused.value) == problem


@pytest.mark.parametrize(("stream", "shown"), [(None, "None"), ("of", "'o'"), (["of"], "'of'"), (b"of", "111")])
@pytest.mark.parametrize("table", [StopWords, IdfTable])
def test_what_is_no_file_of_bytes_is_refused(table: Any, stream: Any, shown: str) -> None:
    with pytest.raises(InputError) as refused:
        table.read(stream, "words.txt")
    assert str(refused.value) == f"words.txt:1 is {shown}, no line of bytes: open the file in binary mode"


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ([], "the list of stop words is empty: write one on each line, or choose the list 'none'"),
        ("我们", "the stop words are '我们': pass a list of strings"),
        (None, "the stop words are None: pass a list of strings"),
        (["我们", 7], "stop word 2: the word is of type int: give a string"),
        (["\u200b"], "stop word 1: the word '\\u200b' is empty after normalisation: remove it"),
    ],
)
def test_invalid_words_are_refused(words: Any, problem: str) -> None:
    with pytest.raises(InputError) as refused:
        StopWords.of(words)
    assert str(refused.value) == problem
