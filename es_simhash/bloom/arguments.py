"""Checks of the numbers that callers pass. A number out of range raises an InputError that says the range."""

from __future__ import annotations

import math
import operator
import reprlib
from typing import SupportsFloat, SupportsIndex

from es_simhash.errors import InputError


def whole_number(name: str, value: SupportsIndex, least: int, most: int) -> int:
    """Return a whole number as an int.

    :param value: an integer of any type, such as numpy's.
    :param least: the smallest allowed number.
    :param most: the largest allowed number.
    :raises InputError: if it is no whole number from ``least`` to ``most``. The message has its name and the range.
    """
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool) or not least <= number <= most:
        raise InputError(f"{name} must be a whole number from {least} to {most}, and is {shown(value)}")
    return number


def rate(name: str, value: SupportsFloat, least: float) -> float:
    """Return a rate as a float.

    :raises InputError: if it is no number from ``least`` to below 1. The message has its name and the range.
    """
    try:
        number = math.nan if isinstance(value, (bool, str)) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not least <= number < 1:
        raise InputError(f"{name} must be a number from {least} to below 1, and is {shown(value)}")
    return number


def shown(value: object) -> str:
    """Return a value as a short text for an error message."""
    try:
        return reprlib.repr(value)
    except ValueError:  # Python converts no very long integer to digits
        return "an integer of very many digits"
