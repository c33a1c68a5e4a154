"""Seen items: the object ``seen`` of a user's document.

The document may have fields of other programs. A change is a partial update with the document's sequence number as its
condition. Elasticsearch merges the change into the document, so other fields stay. If the document was written after it
was read, Elasticsearch refuses the update with the status 409.
"""

from __future__ import annotations

import binascii
from base64 import b64decode, b64encode
from typing import TYPE_CHECKING, Any

from es_simhash.contract import Changed, UserState
from es_simhash.errors import ConflictError
from es_simhash.retries import Waits
from es_simhash.stores.elasticsearch.by_id import CONFLICT, bulk, if_version, stored_documents, version_of, with_ids
from es_simhash.stores.elasticsearch.documents import written_by
from es_simhash.stores.elasticsearch.mapping import SEEN
from es_simhash.stores.elasticsearch.set_up import describe_part, set_up_part

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from es_simhash.bloom.seen import SeenConfig
    from es_simhash.stores.elasticsearch.index import Index

PAGE = 1_000
"""Users in one reply to ListUsers."""
BULK_BYTES = 10_000_000
"""Bytes of filters in one bulk request. A server takes ten times as many."""
REMOVAL_DEADLINE = 10.0
"""Seconds after which a removal gives up, if other programs keep writing the same documents."""


def describe_seen(index: Index) -> SeenConfig | None:
    """Return the configuration of seen items; None if the index was not set up for them."""
    return describe_part(SEEN, index)


def set_up_seen(index: Index, config: SeenConfig) -> str:
    """Make the index, or add the field to an index that exists."""
    return set_up_part(SEEN, config, index)


def fetch_users(index: Index, users: tuple[str, ...]) -> dict[str, UserState]:
    documents = stored_documents(users, ("seen",), index)
    return {document["_id"]: _state(document) for document in documents}


def change_users(index: Index, states: Mapping[str, UserState]) -> Changed:
    conflicts: set[str] = set()
    refused: dict[str, str] = {}
    for some in _by_bytes(states):
        # A document that was removed after it was read is a conflict too. The next read does not find it.
        written = written_by([(user, _operation(user, state, index)) for user, state in some.items()], index)
        conflicts |= written.conflicts | written.busy
        refused |= written.refused
    return Changed(frozenset(conflicts), refused)


def remove_users(index: Index, users: tuple[str, ...]) -> set[str]:
    return remove_users_within(index, users, REMOVAL_DEADLINE)


def remove_users_within(index: Index, users: tuple[str, ...], deadline: float) -> set[str]:
    """Remove the seen items of users, and return the users that had some.

    :param deadline: seconds after which it gives up, if other programs keep writing the same documents.
    """
    left, removed = users, set[str]()
    waits = Waits.after_conflict(deadline)
    while True:
        documents = stored_documents(left, None, index)
        operations = [
            line for document in documents if document["_source"].get("seen") for line in _removal(document, index)
        ]
        if not operations:
            return removed
        results = bulk(operations, index)
        removed |= {result["_id"] for result in results if result["status"] < 300}
        left = tuple(result["_id"] for result in results if result["status"] in CONFLICT)
        if not left:
            return removed
        if not waits.wait():
            raise ConflictError(
                f"{index.name}: the seen items of users {', '.join(left)} were not removed, because other programs "
                "keep writing their documents: try again later"
            )


def list_users(index: Index, before: int, without: tuple[str, ...] = ()) -> list[str]:
    query = {
        "bool": {
            "filter": [{"range": {"seen.newest": {"gt": 0, "lt": before}}}],
            "must_not": [with_ids(without)],
        }
    }
    search = {"query": query, "size": PAGE, "_source": False, "track_total_hits": False, "sort": ["_doc"]}
    return [hit["_id"] for hit in index.search(search)["hits"]["hits"]]


def _state(document: dict[str, Any]) -> UserState:
    seen = document["_source"].get("seen") or {}
    version = version_of(document)
    try:
        filters = tuple(b64decode(value, validate=True) for value in seen.get("filters") or ())
        forgotten = {each["item"]: int(each["generation"]) for each in seen.get("forgotten") or ()}
        return UserState(filters, int(seen.get("newest") or 0), forgotten, version)
    except (binascii.Error, TypeError, ValueError, AttributeError, KeyError, OverflowError) as error:
        return UserState(version=version, damaged=f"the field `seen` is not what this library writes ({error})")


def _by_bytes(states: Mapping[str, UserState]) -> Iterator[dict[str, UserState]]:
    """Yield the states in parts of about BULK_BYTES."""
    chunk: dict[str, UserState] = {}
    size = 0
    for user, state in states.items():
        chunk[user] = state
        size += sum(map(len, state.filters))
        if size >= BULK_BYTES:
            yield chunk
            chunk, size = {}, 0
    if chunk:
        yield chunk


def _operation(user: str, state: UserState, index: Index) -> tuple[dict[str, Any], dict[str, Any]]:
    seen = {
        "filters": [b64encode(value).decode() for value in state.filters],
        "newest": state.newest,
        # A partial update replaces an array. It would merge an object, and keep the items that are no longer in it.
        "forgotten": [{"item": item, "generation": generation} for item, generation in state.forgotten.items()],
    }
    if state.version is None:
        return {"create": {"_id": user}}, {"seen": seen}
    return {"update": {"_id": user, **if_version(state.version, index)}}, {"doc": {"seen": seen}}


def _removal(document: dict[str, Any], index: Index) -> list[dict[str, Any]]:
    target = {"_id": document["_id"], **if_version(version_of(document), index)}
    if document["_source"].keys() == {"seen"}:
        return [{"delete": target}]
    return [{"update": target}, {"doc": {"seen": None}}]
