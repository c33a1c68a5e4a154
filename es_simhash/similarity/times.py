"""Times of documents, and the window around a time.

A time is a whole number of milliseconds since 1970, in UTC. A field holds it in one of two forms. Elasticsearch reads
them in the same way (``strict_date_optional_time||epoch_millis``, the default format of its date fields):

- ISO 8601: a year, a month, a day, ``T`` and an hour, minutes, seconds, a fraction, an offset. What comes after
  the year may be missing: ``2024``, ``2024-05-01``, ``2024-05-01T08:30:00.5+08:00``. What is missing has the smallest
  value. Without an offset the time is UTC. A space may stand in place of the ``T``, as in a date field of Elasticsearch
  with the format ``yyyy-MM-dd HH:mm:ss``.
- the milliseconds themselves, in 12 or 13 digits. A number of four digits is a year. Other numbers are no times: as
  milliseconds, 20240501 and seconds would be in January 1970.
"""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any

from es_simhash.errors import InputError, shown
from es_simhash.filters import field_values
from es_simhash.input.values import json_form

if TYPE_CHECKING:
    from collections.abc import Mapping

LONGEST = timedelta(days=36_500)
"""The longest window. All bounds of a window around a time are then numbers that every store can compare."""
FORMS = "ISO 8601, such as 2024-05-01 or 2024-05-01T08:30:00+08:00, or milliseconds since 1970 (12 or 13 digits)"
"""How to write a time, for messages."""
_ISO = re.compile(
    r"([0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2})(?:[T ]([0-9]{2})(?::([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,9}))?)?)?"
    r"(Z|[+-][0-9]{2}(?::?[0-9]{2})?)?)?)?)?"
)
_MILLISECONDS = re.compile("-?[0-9]{12,13}")
MILLISECOND = timedelta(milliseconds=1)
_EPOCH = datetime(1970, 1, 1)  # all arithmetic is in UTC, without time zones
_FIRST = (datetime.min - _EPOCH) // MILLISECOND
_LAST = (datetime.max - _EPOCH) // MILLISECOND
_LARGEST_OFFSET = timedelta(hours=18)
_UNITS = {"d": timedelta(days=1), "h": timedelta(hours=1), "m": timedelta(minutes=1)}


def length_of(time: timedelta) -> str:
    """Return a length of time as people type it.

    >>> length_of(timedelta(days=7)), length_of(timedelta(hours=36)), length_of(timedelta(seconds=90))
    ('7d', '36h', '90s')
    """
    for unit, one in _UNITS.items():
        if not time % one:
            return f"{time // one}{unit}"
    return f"{time.total_seconds():g}s"


def parse_time(value: Any) -> int | None:
    """Return the time that a value stands for, in milliseconds since 1970; None if it is no time.

    :param value: of JSON; or a datetime or a date, also of numpy, which is written in ISO 8601. A whole float is read
        as an integer: a data frame has floats where values are missing.
    """
    if hasattr(value, "tolist"):  # of numpy
        value = json_form(value)
    if isinstance(value, date):
        value = value.isoformat()
    if isinstance(value, float) and value.is_integer() and abs(value) > 9999:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    if isinstance(value, int) and not _FIRST <= value <= _LAST:
        return None  # also an integer of very many digits, which cannot be written
    text = str(value)
    if (iso := _ISO.fullmatch(text)) is not None:
        return _from_iso(iso)
    return int(text) if _MILLISECONDS.fullmatch(text) else None


def _from_iso(iso: re.Match[str]) -> int | None:
    year, month, day, hour, minute, second, fraction, offset = iso.groups()
    try:
        known = datetime(int(year), int(month or 1), int(day or 1), int(hour or 0), int(minute or 0), int(second or 0))
    except ValueError:
        return None
    since = (known - _EPOCH) // MILLISECOND + int((fraction or "0")[:3].ljust(3, "0"))
    ahead = timedelta()
    if offset and offset != "Z":
        minutes = int(offset[-2:]) if len(offset) > 3 else 0
        ahead = timedelta(hours=int(offset[1:3]), minutes=minutes) * (-1 if offset[0] == "-" else 1)
        if minutes > 59 or abs(ahead) > _LARGEST_OFFSET:
            return None
    return since - ahead // MILLISECOND


def checked_time(time: object) -> int:
    """Return the time that a caller gives, in milliseconds since 1970.

    :param time: a string or a number as in a document, a datetime or a date; without a time zone it is UTC.
    :raises InputError: if it is no time.
    """
    parsed = parse_time(time)
    if parsed is None:
        raise InputError(f"the time {shown(time)} is no date: use {FORMS}")
    return parsed


def time_of(document: Mapping[str, Any], field: str) -> int:
    """Return the time of a document, in milliseconds since 1970.

    :param field: name of the field with the time; a dot leads into an object.
    :raises InputError: if the field is missing, has several values, or holds no date.
    """
    values = field_values(document, field)
    if not values:
        raise InputError(
            f"no time in field {field!r}: name the field that holds the time (--time-field; time_field in Python)"
        )
    if len(values) > 1:
        raise InputError(f"the field {field!r} holds {len(values)} times: use one")
    time = parse_time(values[0])
    if time is None:
        raise InputError(f"the time in field {field!r} is {shown(values[0])}, which is no date: use {FORMS}")
    return time
