"""Weights as whole numbers, in units of 1/1024: sums of whole numbers don't depend on their order."""

from __future__ import annotations

from fractions import Fraction
from math import isfinite
from numbers import Rational, Real

UNIT = 1024


def to_units(number: object) -> int | None:
    """The nearest whole number of units, and one at least; None for what is no positive finite number.

    A tie goes to the even one. True and False are no numbers here.
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


def in_words(units: int) -> str:
    """A weight as a decimal number, with every digit that it has and no others."""
    whole, rest = divmod(units, UNIT)
    return f"{whole}.{rest * 10**10 // UNIT:010d}".rstrip("0").rstrip(".")
