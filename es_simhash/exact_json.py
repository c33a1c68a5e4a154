"""JSON whose numbers stay as they are written: 0.10, 1e3 and 1.0 are not made 0.1 and 1000.0 on their way through."""

from __future__ import annotations

import json
from math import isinf
from typing import Any


class WrittenFloat(float):
    """A float that knows its text in the JSON that it was read from."""

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str) -> WrittenFloat:
        """Return the float of a text."""
        number = super().__new__(cls, text)
        number.text = text
        return number


def exact_float(text: str) -> float:
    """Return the float of a JSON number. It knows its text if Python would write it in another way.

    :raises ValueError: if it is too large for a float.
    """
    number = float(text)
    if isinf(number):
        raise ValueError(f"the number {text} is too large: write it as a string")
    return number if repr(number) == text else WrittenFloat(text)


def loads(text: str | bytes) -> Any:
    """Return the value of a JSON text; its floats know how they were written."""
    return json.loads(text, parse_float=WrittenFloat)


def dumps(value: Any) -> str:
    """Return the JSON text of a value of :func:`loads`, on one line. Lone surrogates are escaped."""
    if isinstance(value, dict):
        return f"{{{','.join(f'{_string(name)}:{dumps(each)}' for name, each in value.items())}}}"
    if isinstance(value, list):
        return f"[{','.join(map(dumps, value))}]"
    if isinstance(value, WrittenFloat):
        return value.text
    return _string(value) if isinstance(value, str) else json.dumps(value)


def has_written_floats(value: Any) -> bool:
    """Return whether a WrittenFloat is in a value of JSON."""
    if isinstance(value, dict):
        return any(map(has_written_floats, value.values()))
    if isinstance(value, list):
        return any(map(has_written_floats, value))
    return isinstance(value, WrittenFloat)


def _string(value: str) -> str:
    return json.dumps(value, ensure_ascii=False).encode(errors="backslashreplace").decode()
