"""Checks of arguments. An error names the argument and what to use."""

from __future__ import annotations

import time
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from es_simhash.errors import InputError, shown
from es_simhash.similarity.text_fields import check_field_name
from es_simhash.similarity.times import checked_time
from es_simhash.text.ids import checked_id
from es_simhash.text.normalisation import check_text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    Time: TypeAlias = "str | int | datetime"

_LONGEST = 1e9
"""Seconds of the longest deadline, some 30 years: longer ones count as this."""


def checked_deadline(deadline: Any) -> float:
    """Return a number of seconds.

    :raises InputError: if it is no number from 0.
    """
    if isinstance(deadline, bool) or not isinstance(deadline, int | float) or not deadline >= 0:  # also false for nan
        raise InputError(f"deadline is {shown(deadline)}: use a number of seconds from 0")
    return float(min(deadline, _LONGEST))


def checked_fields(fields: Sequence[str] | None) -> tuple[str, ...] | None:
    """Return names of fields; None for ``"*"``, which is all of them.

    :raises InputError: for one name in place of a list; for a name that is no string.
    """
    if fields is None or (isinstance(fields, str) and fields == "*"):
        return None
    names = checked_list(fields, "fields", str)
    for name in names:
        check_field_name(name)
    return tuple(names)


def checked_ids(ids: Iterable[Any]) -> list[str]:
    """Return ids as strings.

    :raises InputError: for a value that cannot be an id; for what is no list of them.
    """
    return [checked_id(id, f"the id {shown(id)}") for id in checked_list(ids, "ids")]


def checked_list(values: Any, name: str, kind: type = object) -> list[Any]:
    """Return what a caller gives as a list.

    :param name: of the values, for the message.
    :param kind: the class of each of them.
    :raises InputError: for one string in place of a list; for what cannot be iterated; for a value of another class.
    """
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        what = "string" if isinstance(values, str) else type(values).__name__
        raise InputError(f"the {name} are one {what}, {shown(values)}: put it in a list")
    checked = list(values)
    for value in checked:
        if not isinstance(value, kind):
            raise InputError(f"one of the {name} is {shown(value)}: use a {kind.__name__} for each")
    return checked


def checked_texts(texts: Iterable[str]) -> list[str]:
    """Return the texts as a list.

    :raises InputError: for one text in place of a list; for a text that is no string, has a lone surrogate, or is too
        long.
    """
    checked = checked_list(texts, "texts")
    for text in checked:
        check_text(text)
    return checked


def checked_times(times: Iterable[Time] | None, texts: Sequence[str], window: int | None) -> list[int] | None:
    """Return the times of texts, in milliseconds since 1970; None if the rule has no window.

    :param window: of the rule.

    :raises InputError: if the rule needs times and there are none, or the other way round; for a value that is no time.
    """
    if window is None:
        if times is not None:
            raise InputError("a time counts only with within: set within and time_field too")
        return None
    if times is None:
        raise InputError("within compares times: give that of the text (--time; time in Python), such as 2024-05-01")
    checked = [checked_time(time) for time in checked_list(times, "times")]
    if len(checked) != len(texts):
        raise InputError(f"{len(texts)} texts have {len(checked)} times: give one time for each text")
    return checked


def checked_moment(moment: object, name: str) -> int | None:
    """Return a time in microseconds since 1970, from 0.

    :param moment: a datetime; without a time zone it is UTC. Or a timedelta before now.
    :param name: of the argument, for the message.
    :raises InputError: if it is something else.
    """
    if moment is None:
        return None
    if isinstance(moment, timedelta) and moment >= timedelta(0):
        return max(0, time.time_ns() // 1000 - moment // timedelta(microseconds=1))
    if isinstance(moment, datetime):
        return max(0, checked_time(moment) * 1000)
    raise InputError(f"{name} is {shown(moment)}: use a datetime, or a timedelta such as timedelta(hours=2)")
