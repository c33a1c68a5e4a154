"""Checks of arguments. An error names the argument and what to use."""

from __future__ import annotations

import reprlib
import time
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from es_simhash.errors import InputError
from es_simhash.similarity.times import checked_time
from es_simhash.text.normalisation import check_surrogates, check_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import TypeAlias

    from es_simhash.similarity.times import Window

    Time: TypeAlias = "str | int | datetime"


def checked_deadline(deadline: Any) -> float:
    """Return a number of seconds.

    :raises InputError: if it is no number from 0.
    """
    if isinstance(deadline, bool) or not isinstance(deadline, int | float) or not deadline >= 0:  # also false for nan
        raise InputError(f"deadline is {deadline!r}: use a number of seconds from 0")
    return float(deadline)


def checked_fields(fields: Sequence[str] | None) -> tuple[str, ...] | None:
    """Return names of fields; None for ``"*"``, which is all of them.

    :raises InputError: for one name in place of a list; for a name that is no string.
    """
    if isinstance(fields, str) and fields != "*":
        raise InputError(f'the fields are one string, {fields!r}: put it in a list, or use "*" for whole documents')
    if fields is None or fields == "*":
        return None
    if not all(isinstance(name, str) for name in fields):
        raise InputError(f"the fields are {fields!r}: use a list of strings")
    return tuple(fields)


def checked_ids(ids: Iterable[Any]) -> list[str]:
    """Return ids as strings.

    :raises InputError: for an id that is no string and no whole number, or has a lone surrogate or too many digits;
        for one string in place of a list.
    """
    if isinstance(ids, str | bytes):
        raise InputError(f"the ids are one string, {ids!r}: put it in a list")
    return list(map(_checked_id, ids))


def _checked_id(id: Any) -> str:
    if isinstance(id, bool) or not isinstance(id, str | int) or id == "":
        raise InputError(f"{reprlib.repr(id)} cannot be an id: use a string or a whole number")
    try:
        text = str(id)
    except ValueError as error:
        raise InputError(f"an id is an integer with too many digits ({error}): use a string") from error
    check_surrogates(text, f"the id {text!r}")
    if "\0" in text:
        raise InputError(f"the id {text!r} has a zero byte, which no stored id has: correct it")
    return text


def checked_texts(texts: Iterable[str]) -> list[str]:
    """Return the texts as a list.

    :raises InputError: for one text in place of a list; for a text that is no string, has a lone surrogate, or is too
        long.
    """
    if isinstance(texts, str):
        raise InputError("the texts are one string: put it in a list, or use similar()")
    checked = list(texts)
    for text in checked:
        check_text(text)
    return checked


def checked_times(times: Iterable[Time] | None, texts: Sequence[str], window: Window | None) -> list[int] | None:
    """Return the times of texts, in milliseconds since 1970; None if the rule has no window.

    :param window: of the rule.

    :raises InputError: if the rule needs times and there are none, or the other way round; for a value that is no time.
    """
    if window is None:
        if times is not None:
            raise InputError("a time counts only with within: set within and time_field too")
        return None
    if times is None:
        raise InputError("within compares times: give the time of the text (time), such as 2024-05-01")
    if isinstance(times, str):
        raise InputError("the times are one string: put it in a list, or use similar()")
    checked = [checked_time(time) for time in times]
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
    if isinstance(moment, timedelta):
        return max(0, time.time_ns() // 1000 - moment // timedelta(microseconds=1))
    if isinstance(moment, datetime):
        return max(0, checked_time(moment) * 1000)
    raise InputError(f"{name} is {moment!r}: use a datetime, or a timedelta such as timedelta(hours=2)")


def check_workers(workers: object) -> None:
    """Check a number of processes.

    :raises InputError: if it is no whole number from 0.
    """
    if type(workers) is not int or workers < 0:
        raise InputError(f"workers is {workers!r}: use a whole number from 0")
