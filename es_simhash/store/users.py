"""What a user has seen as a JSON object, as stores keep it."""

from __future__ import annotations

import binascii
from base64 import b64decode, b64encode
from typing import Any

from es_simhash.store.types import UserState


def to_json(state: UserState) -> dict[str, Any]:
    """Return the state of a user as a JSON object."""
    return {
        "filters": [b64encode(value).decode() for value in state.filters],
        "newest": state.newest,
        # A partial update replaces an array. It would merge an object, and keep the items that are no longer in it.
        "forgotten": [{"item": item, "generation": generation} for item, generation in state.forgotten.items()],
    }


def from_json(seen: Any, version: Any) -> UserState:
    """Return the state that :func:`to_json` wrote; one that is ``damaged`` if it did not write this.

    :param seen: None for a user who has seen nothing.
    """
    try:
        values = seen or {}
        filters = tuple(b64decode(value, validate=True) for value in values.get("filters") or ())
        forgotten = {item["item"]: int(item["generation"]) for item in values.get("forgotten") or ()}
        return UserState(filters, int(values.get("newest") or 0), forgotten, version)
    except (binascii.Error, TypeError, ValueError, AttributeError, KeyError, OverflowError) as error:
        return UserState(version=version, damaged=f"the seen items are not what this library writes ({error})")
