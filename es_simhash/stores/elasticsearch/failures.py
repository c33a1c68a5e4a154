"""What a failure of the server or of the client means: whether it passes, and which error of es_simhash it is.

Which failures pass: the same request may work later, so it is retried until the deadline. A failure passes if its HTTP
status is in BUSY, or if the type of one of its causes is in PASSING. A cause may stand at any depth: the server wraps
the failure of a node in that of a shard, and that one in the failure of a phase of the search. If other causes of the
same failure last, the next attempt shows them alone. The names are those of Elasticsearch and of OpenSearch. BLOCKED is
a type that passes by its status alone: the server itself lifts the block of a full disk (429) when there is room, and
that of a cluster that is not ready (503). Another block (403) lasts until somebody lifts it.

A fault of a whole index (a block, a closed index, required routing, a missing privilege) comes with each document of a
bulk request. It is an error of the request: it ends the run, and it is said once.

This module imports no client.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from es_simhash.errors import (
    AccessDenied,
    InputError,
    NotSetUp,
    SimhashError,
    StoreError,
    StoreUnavailable,
    StoreUnreachable,
    TooLarge,
    WrongServer,
    count_of,
    set_up_by,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from es_simhash.stores.elasticsearch.index import Index

# --- which failures pass -------------------------------------------------------------------------------------------


BUSY = frozenset({429, 502, 503, 504})
"""HTTP statuses of a server that is too busy or not ready."""

OVERLOAD = frozenset(
    {
        "es_rejected_execution_exception",
        "circuit_breaking_exception",
        "process_cluster_event_timeout_exception",
        "timeout_exception",
        # OpenSearch
        "rejected_execution_exception",
        "cluster_manager_throttling_exception",
    }
)
"""Types of failures of a node that has too much work. What the node holds is still there."""

AWAY = frozenset(
    {
        # A node ended, or the connection to it broke.
        "node_closed_exception",
        "node_disconnected_exception",
        "node_not_connected_exception",
        "connect_transport_exception",
        "send_request_transport_exception",
        "receive_timeout_transport_exception",
        "no_node_available_exception",
        # There is no elected master, or it is changing.
        "master_not_discovered_exception",
        "not_master_exception",
        "failed_to_commit_cluster_state_exception",
        "coordination_state_rejected_exception",
        # A shard starts, stops or moves to another node.
        "no_shard_available_action_exception",
        "unavailable_shards_exception",
        "shard_not_found_exception",
        "shard_not_in_primary_mode_exception",
        "no_longer_primary_shard_exception",
        "retry_on_primary_exception",
        "retry_on_replica_exception",
        "illegal_index_shard_state_exception",
        "index_shard_not_started_exception",
        "index_shard_recovering_exception",
        "index_shard_relocated_exception",
        "index_shard_closed_exception",
        "already_closed_exception",
        "engine_closed_exception",
        # A search or a point in time was lost with its node, or expired. A new one works.
        "search_context_missing_exception",
        "task_cancelled_exception",
        # OpenSearch: what it named anew, and what it added.
        "cluster_manager_not_discovered_exception",
        "not_cluster_manager_exception",
        "node_decommissioned_exception",
        "node_health_check_failure_exception",
        "node_weighed_away_exception",
        "primary_shard_closed_exception",
    }
)
"""Types of failures of a node, a master or a shard that is away. A point in time may be lost with it."""

PASSING = OVERLOAD | AWAY
"""Types of failures that pass, whatever the HTTP status says. A failure with an unknown type and status lasts."""

NO_NODE = "no node found for id"
"""How the reason of an ``illegal_state_exception`` begins, if a node left the cluster while a search or a point in time
began. The server has no type for this failure, so it gets that of a node that is not connected."""

BLOCKED = "cluster_block_exception"
"""The type of the failure of a request on a blocked index or cluster."""


def passes(body: Any, status: int) -> bool:
    """Return whether the same request may work later.

    :param body: of a response; or an item of a bulk request, of a multi-search or of a multi-get, or a failed shard as
        ``{"error": reason}``.
    :param status: the HTTP status of the response, or of the item.
    """
    types = set(types_of(body))
    return status in BUSY or (BLOCKED not in types and not types.isdisjoint(PASSING))


class ShardsAway(StoreUnavailable):
    """Nodes or shards are away, so a point in time may be lost. A new one works."""


def types_of(body: Any) -> Iterator[str]:
    """Yield the types of an error in a body, and of all its causes, at any depth."""
    open_: list[Any] = [body.get("error")] if isinstance(body, dict) else []
    while open_:
        error = open_.pop()
        if isinstance(error, list):
            open_ += error
        elif isinstance(error, dict):
            if isinstance(kind := error.get("type"), str):
                yield kind
                if kind == "illegal_state_exception" and str(error.get("reason")).startswith(NO_NODE):
                    yield "node_not_connected_exception"
            open_ += (error.get(key) for key in ("root_cause", "caused_by", "failed_shards", "reason"))


# --- faults of a whole index ---------------------------------------------------------------------------------------


_BLOCKS = {5: "read_only", 7: "read", 8: "write", 9: "metadata"}
"""The block that each number in the reason of the server stands for."""


def index_fault(body: Any, status: int, name: str) -> SimhashError | None:
    """Return the error for a body that reports a fault of the whole index; None for any other body.

    :param status: HTTP status of the response, or of the item of a bulk request.
    :param name: the store's name, for the message.
    """
    kind, why = _type(body), reason(body)
    if kind == "cluster_block_exception" and status == 429:
        return StoreUnavailable(
            f"{name} takes no writes, because the disk of the server is full ({why}): make room on that disk; the "
            "server removes the block then"
        )
    if kind == "cluster_block_exception" and status == 403:
        return StoreError(f"{name} is blocked ({why}): {_unblock(why, name)}, then repeat")
    if kind == "index_closed_exception":
        return StoreError(f"{name}: the index is closed ({why}): open it (POST {_index(name)}/_open), then repeat")
    if kind == "routing_missing_exception":
        return StoreError(
            f"{name}: the index requires routing ({why}): name the value with routing='…' (at the end of the "
            "address: ?routing=…), or use another index"
        )
    if kind == "security_exception" and status == 403:
        return AccessDenied(
            f"{name} does not permit this to your user ({why}): add the privilege; docs/operations.md lists those "
            "of each command"
        )
    if kind == "index_not_found_exception":
        return NotSetUp(f"{name}: there is no such index: correct the name, or {set_up_by(name)}")
    return None


def unblock(index: str, kind: str) -> str:
    """Return the request that removes a block of an index."""
    return f'PUT {index}/_settings {{"index.blocks.{kind}": null}}'


def _unblock(reason: str, name: str) -> str:
    for number, kind in _BLOCKS.items():
        if f"FORBIDDEN/{number}/" in reason:
            return f"remove the block from the settings of the index ({unblock(_index(name), kind)})"
    if "FORBIDDEN/6/" in reason:
        return "remove the block of the cluster (cluster.blocks.read_only of PUT _cluster/settings)"
    return "remove the block from the settings of the index"


def _index(name: str) -> str:
    """Return the index that a store's name ends with."""
    return name.partition("?")[0].rpartition("/")[2]


# --- bodies of responses -------------------------------------------------------------------------------------------


_POSITION = re.compile(r": \[\d+:\d+\] ")
"""Line and column in the JSON of a document."""

_BAD_QUERY = frozenset({"parse_exception", "parsing_exception", "query_shard_exception", "x_content_parse_exception"})


class NoDocument(StoreError):
    """There is no document with the id that was asked for."""


class UnknownRequest(StoreError):
    """The server has no such request, because it is too old, or lacks a part."""


def error_from_body(
    body: Any,
    status: int,
    name: str,
    credentials: str = "the credentials",
    other: SimhashError | None = None,
) -> SimhashError:
    """Return the error that a body reports. An item of a multi-search or of a bulk request has the same form.

    :param status: the HTTP status of the response, or of the item.
    :param name: the store's name, for the message.
    :param credentials: what to check if the server does not take them.
    :param other: the error that only this product has; None if the response is none of these.
    """
    if status == 404 and isinstance(body, dict) and body.get("found") is False:
        return NoDocument(f"{name} has no document {body.get('_id')!r}")
    if status == 401:
        return AccessDenied(f"{name} does not take these credentials: check {credentials}")
    if (fault := index_fault(body, status, name)) is not None:
        return fault
    why = reason(body)
    if status == 403:
        return AccessDenied(f"{name} does not permit this to your user: {why}")
    if passes(body, status):
        types = set(types_of(body))
        # Without a shard, none is left to say why.
        away = not types.isdisjoint(AWAY) or types == {"search_phase_execution_exception"}
        return (ShardsAway if away else StoreUnavailable)(
            f"{name} is too busy or not ready (HTTP {status}{f', {why}' if _error(body) else ''}): try again later"
        )
    if status == 413:
        return TooLarge(
            f"{name} takes no request of this size (http.max_content_length): split it, or leave fields out"
        )
    if other is not None:
        return other
    if status == 400 and {_type(body), _root_type(body)} & _BAD_QUERY:
        return InputError(f"{name} does not understand the query: {why}: check the filter")
    if "no handler found for uri" in why:
        return UnknownRequest(f"{name} does not know this request")
    return StoreError(f"{name} refused with HTTP {status}: {why}")


def is_error(body: Mapping[str, Any]) -> bool:
    """Return whether a body is that of an error. A proxy may send it with the HTTP status 200.

    The body that describes indices has their names as keys, and ``error`` may be one of them.
    """
    error = body.get("error")
    return isinstance(error, str) or (isinstance(error, dict) and "type" in error)


def check_count(found: Sequence[Any], asked: Sequence[Any], name: str) -> None:
    """Check that a response has one item for each that was asked for, in their order.

    :raises WrongServer: if not. The server may have done a part of the request.
    """
    if len(found) != len(asked):
        raise WrongServer(
            f"{name} answered {len(found):,} of {count_of(len(asked), 'item')} of a request: check the proxies between "
            "this program and the server, and repeat the run"
        )


def item_fault(result: Mapping[str, Any], index: Index) -> SimhashError | None:
    """Return the error for a result of a bulk request that reports a fault of a whole index; None for any other one.

    :param result: behind an alias with the name of its index. The message names that index, and not the alias.
    """
    if "error" not in result:
        return None
    name, member = index.name, result.get("_index")
    if index.members.several and member is not None:
        name = f"{name.partition('?')[0].rpartition('/')[0]}/{member}"
    return index_fault(result, result["status"], name)


def check_items(items: Sequence[Mapping[str, Any]], index: Index) -> None:
    """Check that the items of a bulk request do not report a fault of the whole index.

    Behind an alias an older index may take no writes while the newest one does. Then only the documents of the older
    one are refused.

    :param items: of the body, each with the result of one operation.
    :raises SimhashError: for the first item that reports a fault. Behind an alias of several indices: only if every
        item reports one, and not only items of older indices.
    """
    results = [result for item in items for result in item.values()]
    faults = [(result, fault) for result in results if (fault := item_fault(result, index)) is not None]
    if faults and index.members.several:
        older = index.members.names[:-1]
        if len(faults) < len(results) or all(result.get("_index") in older for result, _ in faults):
            return
    for _, fault in faults:
        raise fault


def check_complete(body: Mapping[str, Any], name: str) -> None:
    """Check that every shard answered, and that the search reached its end.

    :param body: of the response to a search or to a refresh.
    :raises StoreError: if the search timed out, or if a shard failed.
    """
    if body.get("timed_out"):
        raise StoreError(
            f"{name}: the search timed out before it was complete: try again, or narrow the filter", retryable=True
        )
    shards = body["_shards"]
    if shards["failed"]:
        failures = [{"error": failure.get("reason")} for failure in shards.get("failures", [])]
        first = reason(failures[0]) if failures else "no reason given"
        raise StoreError(
            f"{name}: {shards['failed']} of {shards['total']} shards failed: {first}",
            retryable=not failures or any(passes(failure, 200) for failure in failures),
        )


def item_reason(error: Mapping[str, Any]) -> str:
    """Return why the server refused one document of a bulk request.

    The position of the fault is left out, because it is not a position in the document as the user wrote it.
    """
    return _POSITION.sub(": ", reason({"error": error}))


def reason(body: Any) -> str:
    """Return the reason that a body gives, as one line."""
    error = _error(body)
    if not isinstance(error, dict):
        return str(error)
    cause = (error.get("root_cause") or [error])[0]
    text = f"{cause.get('type', 'error')}: {cause.get('reason', 'no reason given')}"
    inner = error.get("caused_by", {}).get("reason")
    return " ".join((f"{text} ({inner})" if inner else text).split())  # the server may write several lines


def _error(body: Any) -> Any:
    """Return the error in a body. A proxy in front of a server, as that of AWS, writes a message in its place."""
    if not isinstance(body, dict):
        return {}
    return body.get("error") or body.get("message") or body.get("Message") or {}


def _type(body: Any) -> str:
    error = _error(body)
    return str(error.get("type", "")) if isinstance(error, dict) else ""


def _root_type(body: Any) -> str:
    error = _error(body)
    causes = error.get("root_cause") if isinstance(error, dict) else None
    return str(causes[0].get("type", "")) if causes else ""


# --- what every client reports -------------------------------------------------------------------------------------


def untrusted(name: str, why: str) -> SimhashError:
    """Return the error for a TLS connection that failed.

    :param name: the store's name.
    :param why: what the client says, in one line.
    """
    return AccessDenied(
        f"{name}: the TLS connection is not trusted ({why}): name the file of the authority's certificate "
        "(ca_certs), or use http:// if the server has no TLS"
    )


def timed_out(name: str) -> SimhashError:
    """Return the error for a response that did not come in time."""
    return StoreUnreachable(f"{name} did not answer in time: try again, or wait longer (request_timeout)")


def unreachable(name: str, why: str) -> SimhashError:
    """Return the error for a connection that failed. The parameters are those of :func:`untrusted`."""
    return StoreUnreachable(f"{name} can't be reached ({why}): check that it is running, and check the address")


def first_line(error: Exception) -> str:
    """Return the first line of the message of an exception."""
    return str(getattr(error, "message", error)).splitlines()[0]
