"""Laws of the units: a weight is the nearest integer in units of 1/1024, at least 1."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from es_simhash.text.features import to_decimal, to_units

positive = st.floats(min_value=0, exclude_min=True, allow_infinity=False) | st.fractions(Fraction(1, 10**9))


@given(positive | st.integers(1, 1 << 2000))
def test_units_are_the_nearest_integer_and_at_least_1(number: float | Fraction) -> None:
    units = to_units(number)
    assert units is not None
    assert units == 1 or abs(Fraction(number) * 1024 - units) <= Fraction(1, 2)


@given(st.integers(1, 1 << 200))
def test_conversion_to_decimal_digits_and_back_gives_the_same_units(units: int) -> None:
    assert Decimal(to_decimal(units)) * 1024 == units or units > 10**24
    assert Fraction(to_decimal(units)) * 1024 == units


@given(st.integers(1, 1 << 52))
def test_conversion_of_the_digits_to_a_double_and_back_gives_the_same_units(units: int) -> None:
    assert to_units(float(to_decimal(units))) == units


def test_numbers_of_numpy_are_numbers() -> None:
    numbers = (np.int64(5), np.uint8(5), np.float32(5), np.float64(5))
    assert [to_units(number) for number in numbers] == [5 * 1024] * 4


@pytest.mark.parametrize("other", [0, -1, -0.1, True, False, None, "5", 1j, float("nan"), float("inf"), [5]], ids=repr)
def test_a_value_that_is_not_a_positive_finite_number_has_no_units(other: object) -> None:
    assert to_units(other) is None
