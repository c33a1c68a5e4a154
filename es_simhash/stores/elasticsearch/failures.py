"""Which failures of a server pass: the same request may work later, so it is retried until the deadline.

The rule: a failure passes if its HTTP status is in BUSY, or if the type of one of its causes is in PASSING. A cause may
stand at any depth: the server wraps the failure of a node in that of a shard, and that one in the failure of a phase of
the search. If other causes of the same failure last, the next attempt shows them alone.

The names are those of Elasticsearch and of OpenSearch.

BLOCKED is a type that passes by its status alone: the server itself lifts the block of a full disk (429) when there is
room, and that of a cluster that is not ready (503). Another block (403) lasts until somebody lifts it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from es_simhash.errors import StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterator

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


def unavailable(body: Any, status: int, reason: str, name: str) -> StoreUnavailable:
    """Return the error for a failure that passes.

    :param reason: from the body, in one line.
    :param name: the store's name, for the message.
    """
    kind = ShardsAway if _shards_are_away(body) else StoreUnavailable
    return kind(f"{name} is too busy or not ready (HTTP {status}{reason and f', {reason}'}): try again later")


def _shards_are_away(body: Any) -> bool:
    types = set(types_of(body))
    return not types.isdisjoint(AWAY) or types == {"search_phase_execution_exception"}  # no shard is left to say why


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
