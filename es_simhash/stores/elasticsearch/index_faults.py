"""Faults of a whole index: a block, a closed index, required routing, a missing privilege.

The server answers each document of a bulk request with the same failure. So the failure is an error of the request:
it ends the run, and it is said once. The error of a full disk is retryable, because the server removes its block by
itself when the disk has room again (since Elasticsearch 7.4). All others last until somebody changes the index or the
user.
"""

from __future__ import annotations

from es_simhash.errors import AccessDenied, NotSetUp, SimhashError, StoreError, StoreUnavailable, set_up_by

_BLOCKS = {5: "read_only", 7: "read", 8: "write", 9: "metadata"}
"""The block that each number in the reason of the server stands for."""


def index_fault(kind: str, status: int, reason: str, name: str) -> SimhashError | None:
    """Return the error for a failure that concerns every document of the index; None for any other failure.

    :param kind: type of the failure, as the server names it.
    :param status: HTTP status of the response, or of the item of a bulk request.
    :param reason: what the server says, as one line.
    :param name: the store's name, for the message.
    """
    if kind == "cluster_block_exception" and status == 429:
        return StoreUnavailable(
            f"{name} takes no writes, because the disk of the server is full ({reason}): make room on that disk; the "
            "server removes the block then"
        )
    if kind == "cluster_block_exception" and status == 403:
        return StoreError(f"{name} is blocked ({reason}): {_unblock(reason, name)}, then repeat")
    if kind == "index_closed_exception":
        return StoreError(f"{name}: the index is closed ({reason}): open it (POST {_index(name)}/_open), then repeat")
    if kind == "routing_missing_exception":
        return StoreError(
            f"{name}: the index requires routing ({reason}): name the value with routing='…' (at the end of the "
            "address: ?routing=…), or use another index"
        )
    if kind == "security_exception" and status == 403:
        return AccessDenied(
            f"{name} does not permit this to your user ({reason}): add the privilege; docs/operations.md lists those "
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
