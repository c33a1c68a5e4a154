"""What a failure of the server means: which error of es_simhash it is, and whether the same request may work later.

A failure is told by the HTTP status and by the types of the error and its causes, at any depth: the server wraps the
failure of a node in that of a shard, and that one in the failure of a phase of the search.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from es_simhash.errors import (
    AccessDenied,
    InputError,
    NotSetUp,
    SimhashError,
    StoreError,
    StoreUnavailable,
    TooLarge,
    set_up_by,
)
from es_simhash.store.description import moved

if TYPE_CHECKING:
    from collections.abc import Mapping

_PASSING = re.compile(
    r"rejected_execution|circuit_breaking|timeout|throttling"  # a node has too much work
    r"|node_|connect_transport|send_request_transport"  # a node ended, or the connection to it broke
    r"|master|cluster_manager|failed_to_commit|coordination_state"  # there is no elected master, or it is changing
    r"|(?<!query_)shard|retry_on|already_closed|engine_closed|task_cancelled"  # a shard starts, stops or moves
)
"""Parts of the types of failures that pass, whatever the HTTP status says."""
_NO_SHARD = "no_shard_available_action_exception"
_LOST = re.compile(
    rf"{_NO_SHARD}|search_context_missing_exception"  # no node has the shard, or what the search needs of it
    "|illegal_state_exception: no node found"  # OpenSearch: the node of a point in time is away
)
"""Parts of the types and reasons of failures after which a point in time does not work any more."""
_NO_UUID = "_na_"
"""What an error names in place of the uuid of an index that does not exist."""
_BLOCKED = "cluster_block_exception"
_BAD_QUERY = frozenset(
    {"parse_exception", "parsing_exception", "query_shard_exception", "x_content_parse_exception"}
    | {"search_phase_execution_exception"}  # of another reason, such as a sort by words
)


class PointLost(StoreUnavailable):
    """No node has a shard, or what a search needs of it. A point in time, which is bound to nodes, never comes back."""


def types_of(body: Any) -> set[str]:
    """Return the types of an error in a body, and of all its causes."""
    return set(re.findall(r'"type": "(\w+)"', json.dumps(body)))


def reason_of(body: Any) -> str:
    """Return the reason that a body gives, as one line."""
    error: Any = body if not isinstance(body, dict) else body.get("error") or body.get("message") or body.get("Message")
    if not isinstance(error, dict):
        return " ".join(str(error or "no reason given").split())
    cause = (error.get("root_cause") or [error])[0]
    text = f"{cause.get('type', 'error')}: {cause.get('reason', 'no reason given')}"
    inner = error.get("caused_by", {}).get("reason")
    return " ".join((f"{text} ({inner})" if inner and inner not in text else text).split())


def passes(body: Any, status: int) -> bool:
    """Return whether the same request may work later.

    :param body: of a response; or an item of a bulk request or of a multi-search.
    :param status: of the response, or of the item.
    """
    types = types_of(body)
    return status in (429, 502, 503, 504) or (_BLOCKED not in types and any(map(_PASSING.search, types)))


def error_of(body: Any, status: int, name: str, credentials: str = "the credentials") -> SimhashError:
    """Return the error that a body reports. An item of a bulk request or of a multi-search has the same form.

    :param status: HTTP status of the response, or of the item.
    :param name: of the store.
    :param credentials: what to check if the server does not take them.
    """
    types, why = types_of(body), reason_of(body)
    if status == 401:
        return AccessDenied(f"{name} does not take these credentials: check {credentials}")
    if (fault := index_fault(body, status, name)) is not None:
        return fault
    is_lost = _LOST.search(" ".join([why, *types])) or (status == 503 and "search_phase_execution_exception" in types)
    if is_lost or passes(body, status):
        kind = PointLost if is_lost else StoreUnavailable
        return kind(f"{name} is too busy or not ready (HTTP {status}, {why}): try again later")
    if status == 413:
        return TooLarge(
            f"{name} takes no request of this size (http.max_content_length): leave large fields out of the documents"
        )
    if status == 400 and types & _BAD_QUERY:
        return InputError(f"{name} does not understand the query: {why}: check the filter, or the search")
    return StoreError(f"{name} refused with HTTP {status}: {why}")


def index_fault(body: Any, status: int, name: str) -> SimhashError | None:
    """Return the error for a fault of the whole index; None for any other one.

    It comes with each document of a bulk request, but it ends the request, and it is said once.
    """
    types, why = types_of(body), reason_of(body)
    index = name.rpartition("/")[2]
    if _BLOCKED in types and status == 429:
        return StoreUnavailable(
            f"{name} takes no writes, because the disk of the server is full ({why}): make room on that disk; the "
            "server removes the block then"
        )
    if _BLOCKED in types and status == 403:
        return StoreError(
            f"{name} is blocked ({why}): remove the block (PUT {index}/_settings with null for each block that GET "
            f"{index}/_settings shows), then repeat"
        )
    if "index_closed_exception" in types:
        index = next(iter(re.findall(r'"index": "([^"]+)"', json.dumps(body))), index)  # of an alias
        return StoreError(
            f"{name}: the index {index} is closed ({why}): open it (POST {index}/_open), or take it out of the alias, "
            "then repeat"
        )
    if status == 403:
        return AccessDenied(
            f"{name} does not permit this to your user ({why}): add the privilege; docs/operation.md lists those of "
            "each command"
        )
    if "index_not_found_exception" in types:
        return NotSetUp(f"{name}: there is no such index: correct the name, or {set_up_by(name)}")
    return None


def check_answer(body: Mapping[str, Any], name: str) -> None:
    """Check a response: it has all shards, and so has each part of a response to several requests, which is no error.

    :raises SimhashError: if not. ``retryable`` says whether to try again.
    """
    parts = body.get("docs", body.get("responses"))
    for part in parts if isinstance(parts, list) else [body]:  # a mapping is an object by the names of indices
        if "error" in part and ("status" in part or part is not body):
            raise error_of(part, part.get("status", 500), name)
        if part.get("timed_out"):
            raise StoreUnavailable(
                f"{name}: the search timed out before it was complete: try again, or narrow the filter"
            )
        shards = part.get("_shards", {})
        failed = shards.get("failed")
        if "skipped" in shards:  # a search: OpenSearch does not count shards as failed that no node has
            failed = failed or shards["total"] - shards["successful"]
        if failed:
            failures = shards.get("failures") or [{"reason": {"type": _NO_SHARD}}]
            error = {"root_cause": [failure.get("reason") or {} for failure in failures], "failed_shards": failures}
            raise error_of({"error": error}, 500, f"{name}: {failed} of {shards['total']} shards")


def check_indices(body: Mapping[str, Any], indices: Mapping[str, str], name: str) -> None:
    """Check that what a response holds of documents comes from the indices that were described.

    :param indices: their uuids by their names; empty if none were described.
    :raises StoreChanged: if not. Of an index that was made again under its name only the errors of documents tell.
    """
    parts = body.get("responses", [body])
    hits = [hit for part in parts if "hits" in part for hit in part["hits"]["hits"]]
    items = [result for item in body.get("items", ()) for result in item.values()]
    errors = [item["error"] for item in items if isinstance(item.get("error"), dict)]
    named = {one["_index"] for one in (*hits, *body.get("docs", ()), *items) if "error" not in one and "_index" in one}
    uuids = {error["index_uuid"] for error in errors if error.get("index_uuid", _NO_UUID) != _NO_UUID}
    if indices and not (named <= indices.keys() and uuids <= set(indices.values())):
        raise moved(name)
