"""Two texts side by side in a terminal."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from es_simhash.console.terminal import width_of
from es_simhash.tools.review.differences import Part
from es_simhash.tools.review.side_by_side import NARROWEST, side_by_side
from tests.console.test_terminal import texts


@given(texts, texts, st.integers(NARROWEST, 70))
def test_two_texts_stand_beside_each_other_in_columns_that_do_not_move(a: str, b: str, columns: int) -> None:
    left = (columns - 3) // 2
    for line in side_by_side([Part(same=False, a=a, b=b)], columns, colours=False):
        before, _, behind = line.partition(" |")
        assert width_of(before) == left
        assert width_of(behind) <= left + 1
