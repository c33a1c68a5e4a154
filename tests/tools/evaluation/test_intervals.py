"""The interval of Wilson: figures of the literature, and its law."""

from __future__ import annotations

from math import isclose

import pytest
from hypothesis import given
from hypothesis import strategies as st

from es_simhash.tools.evaluation.intervals import wilson


@pytest.mark.parametrize(
    ("successes", "count", "low", "high"),
    # R. G. Newcombe, "Two-sided confidence intervals for the single proportion", Statistics in Medicine 17 (1998),
    # table I, method 3.
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_it_has_the_figures_of_the_literature(successes: int, count: int, low: float, high: float) -> None:
    assert [round(end, 4) for end in wilson(successes, count)] == [low, high]


@given(count=st.integers(1, 10_000), data=st.data())
def test_it_holds_the_share_and_its_ends_are_where_the_share_is_1_96_standard_errors_away(
    count: int, data: st.DataObject
) -> None:
    successes = data.draw(st.integers(0, count))
    share = successes / count
    low, high = wilson(successes, count)
    assert 0 <= low <= share + 1e-12
    assert share - 1e-12 <= high <= 1
    for end in (low, high):
        assert isclose((share - end) ** 2, 1.959964**2 * end * (1 - end) / count, rel_tol=1e-5, abs_tol=1e-12)


def test_of_none_nothing_is_known() -> None:
    assert wilson(0, 0) == (0, 1)
