"""Laws of building an IDF table: the formula with exact counts."""

from __future__ import annotations

from decimal import Decimal, localcontext
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from es_simhash.errors import InputError
from es_simhash.text.tables import DocumentFrequencies, IdfTable
from tests.text.test_normalisation import plain_normalise
from tests.text.test_tokens import SENTENCES, mixed_texts, plain_tokenize

if TYPE_CHECKING:
    from collections.abc import Iterable

some_texts = st.lists(mixed_texts | st.sampled_from(SENTENCES), min_size=1, max_size=6)


def plain_table(texts: list[str]) -> dict[str, int]:
    documents = [set(plain_tokenize(plain_normalise(text))) for text in texts]
    table = {}
    for word in set().union(*documents):
        count = sum(word in document for document in documents)
        with localcontext() as context:
            context.prec = 60
            table[word] = round(1024 * (Decimal(1 + len(texts)) / (1 + count)).ln() + 1024)
    return table


def idf_table(texts: Iterable[str]) -> IdfTable:
    frequencies = DocumentFrequencies()
    for text in texts:
        frequencies.add(text)
    return frequencies.table()


@given(some_texts)
def test_a_table_is_the_formula_for_every_word(texts: list[str]) -> None:
    expected = plain_table([*texts, "暴雨 雨"])
    assert idf_table(iter([*texts, "暴雨 雨"])).units == expected


def test_an_invalid_text_is_refused_and_not_counted() -> None:
    made = DocumentFrequencies()
    made.add("暴雨")
    with pytest.raises(InputError, match="lone surrogate"):
        made.add("大桥\ud83d")
    assert made.documents == 1


@pytest.mark.parametrize("texts", [[], ["", "，。！"]])
def test_without_words_there_is_no_table(texts: list[str]) -> None:
    with pytest.raises(InputError, match="cannot make an IDF table: the documents have no words"):
        idf_table(texts)
