"""Values of Python and of data frames in the types that JSON has."""

from __future__ import annotations

import json
from collections import Counter
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from math import nan
from typing import TYPE_CHECKING, Any
from uuid import UUID

from es_simhash.errors import InputError, one_line, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_PLAIN = frozenset({str, int, bool, type(None)})
_LONGEST = 400
"""Digits of a decimal that becomes a number. No store has numbers of more."""


def json_form(value: Any) -> Any:
    """Return a value of a type that JSON lacks in one that it has.

    Times are in ISO 8601, a length of time is a number of seconds, a UUID is a string. A decimal is the number of its
    digits, and a string if no number of JSON has all of them.

    :raises TypeError: for a value of another type.
    """
    name = type(value).__name__
    if name in ("NaTType", "NAType"):  # missing values of pandas
        return None
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, timedelta):  # that of pandas has nanoseconds
        whole = Decimal(value.days * 86_400 + value.seconds) * 10**9 + value.microseconds * 1000
        return json_form((whole + getattr(value, "nanoseconds", 0)).scaleb(-9))
    if isinstance(value, Decimal):
        if not value.is_finite():
            return nan if value.is_nan() else float(value)
        is_whole = value.as_tuple().exponent >= 0  # type: ignore[operator]  # it is finite
        number = int(value) if is_whole and value.adjusted() < _LONGEST else float(value)
        return number if Decimal(repr(number)) == value else str(value)
    if isinstance(value, UUID):
        return str(value)
    if hasattr(value, "tolist"):  # a number, a time or an array of numpy
        form, kind = value.tolist(), str(getattr(value, "dtype", ""))
        if not kind.endswith("64[ns]") or form is None:
            return form
        if isinstance(form, list):  # numpy makes bare numbers of nanoseconds
            return list(value)
        if kind == "timedelta64[ns]":
            return json_form(Decimal(form).scaleb(-9))
        return str(value).removesuffix("000").removesuffix(".000000")
    raise TypeError(f"a value of the type {name}, which JSON does not have")


to_json = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=json_form).encode
"""Returns a document as JSON."""


def not_json(document: Mapping[str, Any], error: Exception) -> InputError:
    """Return the error for a document that cannot be written as JSON: it names the first field that cannot be.

    :param error: why the document cannot be written.
    """
    for name, field in document.items():
        try:
            to_json(field)
        except (TypeError, ValueError, RecursionError) as of_field:
            place = f"; in field {name!r}: leave it out, or give it as text"
            return InputError(f"the document cannot be written as JSON: {one_line(of_field)}{place}")
    return InputError(f"the document cannot be written as JSON: {one_line(error)}")


def plain(value: Any) -> Any:
    """Return a value of a table with the types that JSON has: missing values as None, bytes as the text that they are.

    A value of another type is returned as it is. The document is then rejected with a reason that names the type.
    """
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is float:
        return value if value == value else None  # not a number stands for a missing value
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    try:
        if isinstance(value, bytes):  # some programs write strings as binary
            return value.decode()
        form = json_form(value)
    except (TypeError, UnicodeDecodeError):
        return value
    return value if type(form) is kind else plain(form)


def unique_names(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    """Return a dict of names and values.

    :raises ValueError: if a name is there twice.
    """
    values: dict[Any, Any] = {}
    for name, value in pairs:
        if name in values:
            raise ValueError(f"the name {name!r} is there twice")
        values[name] = value
    return values


def check_columns(columns: Iterable[Any], place: str) -> None:
    """Check that each column has a name of its own.

    :param place: for the message: the name of the file.
    :raises InputError: if two have one name.
    """
    for column, count in Counter(columns).most_common(1):
        if count > 1:
            raise InputError(f"{place}: the column {shown(column)} is there twice: give each column its own name")
