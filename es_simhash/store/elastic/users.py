"""Seen items as JSON: the object ``seen`` of a user's document.

The document may have fields of other programs. A change is a partial update on the version that was read, so other
fields stay.
"""

from __future__ import annotations

import binascii
from base64 import b64decode, b64encode
from typing import TYPE_CHECKING, Any

from es_simhash.store.elastic.rows import if_version, version_of
from es_simhash.store.types import UserState

if TYPE_CHECKING:
    from collections.abc import Mapping


def state_of(document: Mapping[str, Any]) -> UserState:
    """Return the state that a user's document holds."""
    seen = document["_source"].get("seen") or {}
    version = version_of(document)
    try:
        filters = tuple(b64decode(value, validate=True) for value in seen.get("filters") or ())
        forgotten = {item["item"]: int(item["generation"]) for item in seen.get("forgotten") or ()}
        return UserState(filters, int(seen.get("newest") or 0), forgotten, version)
    except (binascii.Error, TypeError, ValueError, AttributeError, KeyError, OverflowError) as error:
        return UserState(version=version, damaged=f"the field `seen` is not what this library writes ({error})")


def mark_of(document: Mapping[str, Any]) -> Any:
    """Return the mark of the write that made a user's document what it is."""
    seen = document["_source"].get("seen")
    return seen.get("mark") if isinstance(seen, dict) else None


def writing(user: str, state: UserState, mark: str) -> tuple[Any, ...]:
    """Return the lines of a bulk request that write the state of a user on its version.

    :param mark: of this write alone: another program may write an equal state.
    """
    seen = {
        "filters": [b64encode(value).decode() for value in state.filters],
        "newest": state.newest,
        # A partial update replaces an array. It would merge an object, and keep the items that are no longer in it.
        "forgotten": [{"item": item, "generation": generation} for item, generation in state.forgotten.items()],
        "mark": mark,
    }
    if state.version is None:
        return {"create": {"_id": user}}, {"seen": seen}
    return {"update": {"_id": user, **if_version(state.version)}}, {"doc": {"seen": seen}}


def removal(document: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the lines of a bulk request that remove the seen items from a user's document."""
    target = {"_id": document["_id"], **if_version(version_of(document))}
    if document["_source"].keys() == {"seen"}:
        return ({"delete": target},)
    return {"update": target}, {"doc": {"seen": None}}
