"""Errors that the body of a response reports, as errors of :mod:`es_simhash.errors`: one line, with what to do.

This module reads bodies only. It imports no client.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from es_simhash.errors import IncompleteAnswer, InputError, NotSetUp, SimhashError, StoreError
from es_simhash.stores.elasticsearch.failures import passes, unavailable

if TYPE_CHECKING:
    from collections.abc import Mapping

_BAD_QUERY = frozenset({"parse_exception", "parsing_exception", "query_shard_exception", "x_content_parse_exception"})


def error_from_body(body: Any, status: int, name: str) -> SimhashError:
    """Return the error that a body reports. An item of a multi-search or of a bulk request has the same form.

    :param status: the HTTP status of the response, or of the item.
    :param name: the store's name, for the message.
    """
    kind = _type(body)
    if kind == "index_not_found_exception":
        return NotSetUp(f"{name}: there is no such index: run `es-simhash init --store {name}`, or setup() in code")
    if passes(body, status):
        return unavailable(body, status, reason(body) if _error(body) else "", name)
    if status == 400 and {kind, _root_type(body)} & _BAD_QUERY:
        return InputError(f"{name} does not understand the query: {reason(body)}: check the filter")
    return StoreError(f"{name} refused with HTTP {status}: {reason(body)}")


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
    """Return why the server refused one document of a bulk request."""
    return reason({"error": error})


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
    return body.get("error", {}) if isinstance(body, dict) else {}


def _type(body: Any) -> str:
    error = _error(body)
    return str(error.get("type", "")) if isinstance(error, dict) else ""


def _root_type(body: Any) -> str:
    error = _error(body)
    causes = error.get("root_cause") if isinstance(error, dict) else None
    return str(causes[0].get("type", "")) if causes else ""
