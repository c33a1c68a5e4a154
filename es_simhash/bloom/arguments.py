"""What callers pass: numbers in their range, or an InputError that says the range."""

from __future__ import annotations

import math
import operator
import reprlib
from typing import SupportsFloat, SupportsIndex

from es_simhash.errors import InputError


def whole_number(name: str, value: SupportsIndex, least: int, most: int) -> int:
    """Return a whole number as an int, or raise InputError with its name and the allowed range."""
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool) or not least <= number <= most:
        raise InputError(f"{name} must be a whole number from {least} to {most}, and is {shown(value)}")
    return number


def rate(name: str, value: SupportsFloat, least: float) -> float:
    """Return a rate as a float, or raise InputError with its name and the allowed range: ``least`` to below 1."""
    try:
        number = math.nan if isinstance(value, (bool, str)) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not least <= number < 1:
        raise InputError(f"{name} must be a number from {least} to below 1, and is {shown(value)}")
    return number


def shown(value: object) -> str:
    """Return a value for an error message, shortened; Python refuses to write out a very long integer."""
    try:
        return reprlib.repr(value)
    except ValueError:
        return "an integer of very many digits"
