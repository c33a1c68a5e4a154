"""Seen items: the object ``seen`` of a user's document.

The document may have fields of other programs. A change is a partial update on the version that was read, so other
fields stay.
"""

from __future__ import annotations

import binascii
from base64 import b64decode, b64encode
from typing import TYPE_CHECKING, Any

from es_simhash.errors import ConflictError
from es_simhash.retries import Waits
from es_simhash.store.elastic.documents import bulk, get_documents
from es_simhash.store.elastic.rows import if_version, version_of
from es_simhash.store.elastic.scan import pages
from es_simhash.store.types import UserState

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from es_simhash.store.elastic.connection import Connection
    from es_simhash.store.types import Written

REMOVAL_DEADLINE = 10.0
"""Seconds after which a removal gives up, if other programs keep writing the same documents."""


def read_users(connection: Connection, users: Sequence[str]) -> dict[str, UserState]:
    """Return the states of users."""
    return {document["_id"]: _state(document) for document in get_documents(connection, users, ["seen"])}


def write_users(connection: Connection, states: Mapping[str, UserState]) -> Written:
    """Write the state of each user, on its version.

    A conflict after a request was repeated is no conflict if the state is as it should become. Without a repetition
    another program wrote an equal state: it has added the same items, and they are not new.
    """
    operations = {user: _operation(user, state) for user, state in states.items()}
    return bulk(connection, operations, lambda document: _state(document) == states[document["_id"]])


def remove_users(connection: Connection, users: Sequence[str]) -> frozenset[str]:
    """Remove the seen items of users, and return the users that had some."""
    left, removed = list(users), set[str]()
    waits = Waits.after_conflict(REMOVAL_DEADLINE)
    while True:
        documents = [document for document in get_documents(connection, left, None) if document["_source"].get("seen")]
        if not documents:
            return frozenset(removed)
        written = bulk(connection, {document["_id"]: _removal(document) for document in documents})
        removed |= written.versions.keys()
        left = sorted(written.conflicts)
        if not left:
            return frozenset(removed)
        if not waits.wait():
            raise ConflictError(
                f"{connection.name}: the seen items of users {', '.join(left)} were not removed, because other "
                "programs keep writing their documents: try again later"
            )


def list_users(connection: Connection, before: int) -> Iterator[list[str]]:
    """Yield the users whose newest generation started before a time."""
    query = {"bool": {"filter": [{"range": {"seen.newest": {"gt": 0, "lt": before}}}]}}
    for hits in pages(connection, query, [], {"_source": False, "track_total_hits": False}):
        yield [hit["_id"] for hit in hits]


def _state(document: Mapping[str, Any]) -> UserState:
    seen = document["_source"].get("seen") or {}
    version = version_of(document)
    try:
        filters = tuple(b64decode(value, validate=True) for value in seen.get("filters") or ())
        forgotten = {item["item"]: int(item["generation"]) for item in seen.get("forgotten") or ()}
        return UserState(filters, int(seen.get("newest") or 0), forgotten, version)
    except (binascii.Error, TypeError, ValueError, AttributeError, KeyError, OverflowError) as error:
        return UserState(version=version, damaged=f"the field `seen` is not what this library writes ({error})")


def _operation(user: str, state: UserState) -> tuple[dict[str, Any], dict[str, Any]]:
    seen = {
        "filters": [b64encode(value).decode() for value in state.filters],
        "newest": state.newest,
        # A partial update replaces an array. It would merge an object, and keep the items that are no longer in it.
        "forgotten": [{"item": item, "generation": generation} for item, generation in state.forgotten.items()],
    }
    if state.version is None:
        return {"create": {"_id": user}}, {"seen": seen}
    return {"update": {"_id": user, **if_version(state.version)}}, {"doc": {"seen": seen}}


def _removal(document: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
    target = {"_id": document["_id"], **if_version(version_of(document))}
    if document["_source"].keys() == {"seen"}:
        return ({"delete": target},)
    return {"update": target}, {"doc": {"seen": None}}
