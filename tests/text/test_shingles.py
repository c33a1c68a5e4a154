"""Laws of the numbers of shingles."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from es_simhash.text.shingles import distinct, in_common, shingles_of_texts

numbers = st.lists(st.integers(0, 9), max_size=12)


@given(a=st.text("天地a1", max_size=8), b=st.text("天地a1", max_size=8))
def test_shingles_are_equal_where_their_characters_are(a: str, b: str) -> None:
    ours, theirs = ({words[at : at + 5] for at in range(max(len(words) - 4, min(1, len(words))))} for words in (a, b))
    numbers = [set(shingles_of_texts([text])[0].tolist()) for text in (a, b)]
    assert (len(numbers[0]), len(numbers[1])) == (len(ours), len(theirs))
    assert len(numbers[0] & numbers[1]) == len(ours & theirs)


@given(numbers, st.lists(numbers, min_size=1, max_size=4))
def test_distinct_numbers_and_those_in_common_are_those_of_sets(a: list[int], others: list[list[int]]) -> None:
    ours, *theirs = (distinct(np.array(each, dtype=np.uint64)) for each in (a, *others))
    assert ours.tolist() == sorted(set(a))
    assert in_common(ours, theirs).tolist() == [len(set(a) & set(other)) for other in others]
