"""Ids of documents and of users, and the names of JSON's types."""

from __future__ import annotations

from numbers import Integral
from typing import Any
from uuid import UUID

from es_simhash.errors import InputError
from es_simhash.text.normalisation import check_surrogates

MAX_ID = 512
"""Bytes of an id, as in Elasticsearch."""


def checked_id(id: object, name: str) -> str:
    """Return the id of a document or a user as a string. So 1 and "1" are the same.

    :param id: a string, a UUID or a whole number.
    :param name: what it is, for messages.
    :raises InputError: if the value cannot be an id.
    """
    if isinstance(id, bool) or not isinstance(id, str | Integral | UUID):
        raise InputError(f"{name} is {kind_of(id)}: use a string or a whole number")
    try:
        text = str.__str__(id) if isinstance(id, str) else str(id if isinstance(id, UUID) else int(id))
    except ValueError as error:
        raise InputError(f"{name} is an integer with too many digits: use a string") from error
    check_surrogates(text, name)
    if "\0" in text:
        raise InputError(f"{name} has a zero byte: remove it")
    if not 1 <= len(text.encode()) <= MAX_ID:
        raise InputError(f"{name} has {len(text.encode()):,} bytes: use from 1 to {MAX_ID}")
    return text


def kind_of(value: Any) -> str:
    """Name the JSON type of a value, for messages."""
    names = {dict: "an object", list: "a list", str: "a string", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number" if isinstance(value, int | float) else f"a {type(value).__name__}")
