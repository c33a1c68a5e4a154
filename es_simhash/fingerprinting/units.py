"""Weights as integers in units of 1/1024. A sum of integers does not depend on the order of its terms."""

from __future__ import annotations

from fractions import Fraction
from math import isfinite
from numbers import Rational, Real

UNIT = 1024


def to_units(number: object) -> int | None:
    """Return a number as an integer in units of 1/1024, at least 1.

    The result is rounded to the nearest integer, and a tie to the even one.

    :returns: None if ``number`` is not a positive finite number. True and False do not count as numbers.
    """
    if isinstance(number, bool) or not isinstance(number, Real):
        return None
    if isinstance(number, Rational):
        exact = Fraction(int(number.numerator), int(number.denominator))
    elif isfinite(number):
        exact = Fraction(float(number))
    else:
        return None
    return max(1, round(exact * UNIT)) if exact > 0 else None


def to_decimal(units: int) -> str:
    """Return a weight in units of 1/1024 as an exact decimal number, without trailing zeros."""
    whole, rest = divmod(units, UNIT)
    return f"{whole}.{rest * 10**10 // UNIT:010d}".rstrip("0").rstrip(".")
