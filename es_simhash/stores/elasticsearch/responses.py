"""Errors that the body of a response reports, as errors of :mod:`es_simhash.errors`: one line, with what to do.

This module reads bodies only. It imports no client.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from es_simhash.errors import IncompleteAnswer, InputError, SimhashError, StoreError
from es_simhash.stores.elasticsearch.failures import passes, unavailable
from es_simhash.stores.elasticsearch.index_faults import index_fault

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from es_simhash.stores.elasticsearch.calls import Index

_POSITION = re.compile(r": \[\d+:\d+\] ")
"""Line and column in the JSON of a document."""

_BAD_QUERY = frozenset({"parse_exception", "parsing_exception", "query_shard_exception", "x_content_parse_exception"})


class NoDocument(StoreError):
    """There is no document with the id that was asked for."""


def error_from_body(body: Any, status: int, name: str) -> SimhashError:
    """Return the error that a body reports. An item of a multi-search or of a bulk request has the same form.

    :param status: the HTTP status of the response, or of the item.
    :param name: the store's name, for the message.
    """
    kind = _type(body)
    fault = index_fault_of(body, status, name)
    if fault is not None:
        return fault
    if passes(body, status):
        return unavailable(body, status, reason(body) if _error(body) else "", name)
    if status == 400 and {kind, _root_type(body)} & _BAD_QUERY:
        return InputError(f"{name} does not understand the query: {reason(body)}: check the filter")
    if status == 404 and isinstance(body, dict) and body.get("found") is False:
        return NoDocument(f"{name} has no document {body.get('_id')!r}")
    if "no handler found for uri" in reason(body):
        return StoreError(f"{name} does not know this request")
    return StoreError(f"{name} refused with HTTP {status}: {reason(body)}")


def index_fault_of(body: Any, status: int, name: str) -> SimhashError | None:
    """Return the error for a body that reports a fault of the whole index; None for any other body."""
    return index_fault(_type(body), status, reason(body), name)


def item_fault(result: Mapping[str, Any], index: Index) -> SimhashError | None:
    """Return the error for a result of a bulk request that reports a fault of a whole index; None for any other one.

    :param result: behind an alias with the name of its index. The message names that index, and not the alias.
    """
    if "error" not in result:
        return None
    name, member = index.name, result.get("_index")
    if index.members.several and member is not None:
        name = f"{name.partition('?')[0].rpartition('/')[0]}/{member}"
    return index_fault_of(result, result["status"], name)


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
    :raises IncompleteAnswer: if the search timed out, or if a shard failed.
    """
    if body.get("timed_out"):
        raise IncompleteAnswer(f"{name}: the search timed out before it was complete: try again, or narrow the filter")
    shards = body["_shards"]
    if shards["failed"]:
        failures = [{"error": failure.get("reason")} for failure in shards.get("failures", [])]
        first = reason(failures[0]) if failures else "no reason given"
        raise IncompleteAnswer(
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
