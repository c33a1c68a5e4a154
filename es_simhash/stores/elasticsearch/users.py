"""Requests on seen items: the object ``seen`` of a user's document, beside fields that are not ours.

A change is a partial update on condition of the document's sequence number: Elasticsearch merges it into the document
as it is, so that other fields stay, or refuses it with 409 if anything was written since it was read.
"""

from __future__ import annotations

import binascii
from base64 import b64decode, b64encode
from typing import TYPE_CHECKING, Any

from es_simhash.contract import (
    Changed,
    ChangeUsers,
    DescribeSeen,
    FetchUsers,
    ListUsers,
    RemoveUsers,
    SetUpSeen,
    UserState,
)
from es_simhash.drive import pauses_after_conflicts
from es_simhash.errors import ConflictError
from es_simhash.stores.elasticsearch.failures import complete, item_reason, passes
from es_simhash.stores.elasticsearch.mapping import SEEN
from es_simhash.stores.elasticsearch.steps import (
    CHANGED_SINCE,
    Call,
    condition,
    describe,
    results,
    set_up,
    steps,
    stored,
    with_ids,
)

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from es_simhash.drive import Pause
    from es_simhash.stores.elasticsearch.steps import Steps

PAGE = 1_000
BULK_BYTES = 10_000_000
"""Bytes of filters in one bulk request; a server takes ten times that."""
REMOVAL_DEADLINE = 10.0
"""Seconds after which a removal that other writers keep beating is given up."""


@steps.register(DescribeSeen)
def _describe_seen(op: DescribeSeen, index: str, name: str) -> Steps:
    return (yield from describe(SEEN, index, name))


@steps.register(SetUpSeen)
def _set_up_seen(op: SetUpSeen, index: str, name: str) -> Steps:
    return (yield from set_up(SEEN, op.config, index, name))


@steps.register(FetchUsers)
def _fetch_users(op: FetchUsers, index: str, name: str) -> Steps:
    docs = yield from stored(op.users, ("seen",), index, name)
    return {doc["_id"]: _state(doc) for doc in docs}


@steps.register(ChangeUsers)
def _change_users(op: ChangeUsers, index: str, name: str) -> Steps:
    conflicts: set[str] = set()
    refused: dict[str, str] = {}
    for states in _by_bytes(op):
        operations = [line for user, state in states.items() for line in _operation(user, state)]
        answer = yield Call("bulk", {"index": index, "operations": operations})
        for item in answer["items"]:
            (result,) = item.values()
            # A document that vanished since it was read is a conflict too: the next reading finds none.
            if result["status"] in CHANGED_SINCE or passes(result, result["status"]):
                conflicts.add(result["_id"])
            elif result["status"] >= 300:
                refused[result["_id"]] = item_reason(result["error"])
    return Changed(frozenset(conflicts), refused)


@steps.register(RemoveUsers)
def _remove_users(op: RemoveUsers, index: str, name: str) -> Generator[Call | Pause, Any, set[str]]:
    left, removed = op.users, set[str]()
    waits = pauses_after_conflicts(REMOVAL_DEADLINE)
    while True:
        docs = yield from stored(left, None, index, name)
        operations = [line for doc in docs if doc["_source"].get("seen") for line in _removal(doc)]
        if not operations:
            return removed
        answer = yield Call("bulk", {"index": index, "operations": operations})
        done = results(answer, name)
        removed |= {result["_id"] for result in done if result["status"] < 300}
        left = tuple(result["_id"] for result in done if result["status"] in CHANGED_SINCE)
        if not left:
            return removed
        if (pause := next(waits, None)) is None:
            users = ", ".join(left)
            raise ConflictError(f"the seen items of users {users} were not removed: others wrote faster; try later")
        yield pause


@steps.register(ListUsers)
def _list_users(op: ListUsers, index: str, name: str) -> Steps:
    query = {
        "bool": {
            "filter": [{"range": {"seen.newest": {"gt": 0, "lt": op.before}}}],
            "must_not": [with_ids(op.without)],
        }
    }
    arguments = {"index": index, "query": query, "size": PAGE, "source": False, "track_total_hits": False}
    answer = yield Call("search", {**arguments, "sort": ["_doc"], "allow_partial_search_results": False})
    complete(answer, name)
    return [hit["_id"] for hit in answer["hits"]["hits"]]


def _state(doc: dict[str, Any]) -> UserState:
    seen = doc["_source"].get("seen") or {}
    version = (doc["_seq_no"], doc["_primary_term"])
    try:
        filters = tuple(b64decode(value, validate=True) for value in seen.get("filters") or ())
        forgotten = {each["item"]: int(each["generation"]) for each in seen.get("forgotten") or ()}
        return UserState(filters, int(seen.get("newest") or 0), forgotten, version)
    except (binascii.Error, TypeError, ValueError, AttributeError, KeyError) as error:
        return UserState(version=version, damaged=f"the field `seen` is not what this library writes ({error})")


def _by_bytes(op: ChangeUsers) -> Iterator[dict[str, UserState]]:
    chunk: dict[str, UserState] = {}
    size = 0
    for user, state in op.states.items():
        chunk[user] = state
        size += sum(map(len, state.filters))
        if size >= BULK_BYTES:
            yield chunk
            chunk, size = {}, 0
    if chunk:
        yield chunk


def _operation(user: str, state: UserState) -> tuple[dict[str, Any], dict[str, Any]]:
    seen = {
        "filters": [b64encode(value).decode() for value in state.filters],
        "newest": state.newest,
        # An array, which a partial update replaces; an object would be merged, and keep what was taken off.
        "forgotten": [{"item": item, "generation": generation} for item, generation in state.forgotten.items()],
    }
    if state.version is None:
        return {"create": {"_id": user}}, {"seen": seen}
    return {"update": {"_id": user, **condition(state.version)}}, {"doc": {"seen": seen}}


def _removal(doc: dict[str, Any]) -> list[dict[str, Any]]:
    where = {"_id": doc["_id"], **condition((doc["_seq_no"], doc["_primary_term"]))}
    if doc["_source"].keys() == {"seen"}:
        return [{"delete": where}]
    return [{"update": where}, {"doc": {"seen": None}}]
