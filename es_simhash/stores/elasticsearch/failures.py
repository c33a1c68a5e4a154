"""What the client raises and the server answers, in the words of ``es_simhash.errors``: one line, with the fix."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from elastic_transport import ConnectionError as TransportConnectionError
from elastic_transport import SerializationError, TlsError
from elasticsearch import ApiError, ConnectionTimeout, TransportError, UnsupportedProductError

from es_simhash.errors import (
    AccessDenied,
    IncompleteAnswer,
    InputError,
    NotSetUp,
    SimhashError,
    StoreError,
    StoreUnavailable,
    TooLarge,
    WrongServer,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

BUSY = frozenset({429, 502, 503, 504})
_PASSING = frozenset(
    {
        "no_shard_available_action_exception",
        "unavailable_shards_exception",
        "es_rejected_execution_exception",
        "circuit_breaking_exception",
        "node_closed_exception",
        "node_disconnected_exception",
        "node_not_connected_exception",
        "process_cluster_event_timeout_exception",
    }
)
"""Types of errors that pass, in answers whose status does not say so."""

FAILURES = (ApiError, TransportError, UnsupportedProductError)
"""What a call of the client may raise."""

_NOT_UNDERSTOOD = frozenset(
    {"parse_exception", "parsing_exception", "query_shard_exception", "x_content_parse_exception"}
)

_CLIENT = version("elasticsearch")


def translate(error: Exception, name: str) -> SimhashError:
    """The error to raise instead; ``name`` is the store's address."""
    if isinstance(error, TlsError):
        return AccessDenied(
            f"{name}: no trusted TLS connection ({_first_line(error)}): give the authority's certificate with "
            "ca_certs (--ca-certs), or http:// if the server speaks no TLS"
        )
    if isinstance(error, ConnectionTimeout):
        return StoreUnavailable(f"{name} did not answer in time: try again, or raise request_timeout (--timeout)")
    if isinstance(error, TransportConnectionError):
        return StoreUnavailable(
            f"{name} can't be reached ({_first_line(error)}): is it running, and is the address right?"
        )
    if isinstance(error, UnsupportedProductError | SerializationError):
        return WrongServer(f"what answers at {name} is not an Elasticsearch: check the address")
    if isinstance(error, ApiError):
        return _api_error(error, name)
    return StoreError(f"{name}: {_first_line(error)}")


def _api_error(error: ApiError, name: str) -> SimhashError:
    status = error.meta.status
    if status == 401:
        return AccessDenied(f"{name} does not take these credentials: check user and password, or ELASTIC_API_KEY")
    if status == 403:
        return AccessDenied(f"{name} forbids this: {_reason(error.body)}")
    if status in BUSY:
        return StoreUnavailable(f"{name} is too busy or not ready (HTTP {status}): try again later")
    if status == 413:
        return TooLarge(
            f"{name} takes no request of this size (http.max_content_length): split it, or leave fields out"
        )
    if "media_type_header_exception" in str(error.body):
        return WrongServer(
            f"{name} is older than the installed client, elasticsearch {_CLIENT}: pip install 'elasticsearch>=8.19,<9'"
        )
    if "x-elastic-product" not in error.meta.headers:
        return WrongServer(f"what answers at {name} is not an Elasticsearch (HTTP {status}): check the address")
    return from_body(error.body, status, name)


def from_body(body: Any, status: int, name: str) -> SimhashError:
    """The error for an answer that says so in its body; an item of a multi-search has the same form."""
    kind = _type(body)
    if kind == "index_not_found_exception":
        return NotSetUp(f"{name}: there is no such index: run `es-simhash init --store {name}`, or setup() in code")
    if passes(body, status):
        return StoreUnavailable(f"{name} is too busy or not ready ({_reason(body)}): try again later")
    if status == 400 and {kind, _root_type(body)} & _NOT_UNDERSTOOD:
        return InputError(f"{name} does not understand the query: {_reason(body)}: check the filter clause")
    return StoreError(f"{name} refused with HTTP {status}: {_reason(body)}")


def passes(body: Any, status: int) -> bool:
    """The same may succeed later; an item of a bulk request has this form, too."""
    return status in BUSY or _type(body) in _PASSING


def complete(body: Mapping[str, Any], name: str) -> None:
    """Make sure that a search answered for every shard and to its end.

    :raises IncompleteAnswer: otherwise.
    """
    if body.get("timed_out"):
        raise IncompleteAnswer(f"{name}: the search timed out before it was complete: try again, or narrow the filter")
    failed = body["_shards"]["failed"]
    if failed:
        reasons = body["_shards"].get("failures", [])
        first = _reason({"error": reasons[0].get("reason", {})}) if reasons else "no reason given"
        raise IncompleteAnswer(f"{name}: {failed} of {body['_shards']['total']} shards failed: {first}")


def item_reason(error: Mapping[str, Any]) -> str:
    """Why one document of a bulk request was refused."""
    return _reason({"error": error})


def _error(body: Any) -> Any:
    return body.get("error", {}) if isinstance(body, dict) else {}


def _type(body: Any) -> str:
    error = _error(body)
    return str(error.get("type", "")) if isinstance(error, dict) else ""


def _root_type(body: Any) -> str:
    error = _error(body)
    causes = error.get("root_cause") if isinstance(error, dict) else None
    return str(causes[0].get("type", "")) if causes else ""


def _reason(body: Any) -> str:
    error = _error(body)
    if not isinstance(error, dict):
        return str(error)
    cause = (error.get("root_cause") or [error])[0]
    reason = f"{cause.get('type', 'error')}: {cause.get('reason', 'no reason given')}"
    inner = error.get("caused_by", {}).get("reason")
    return " ".join((f"{reason} ({inner})" if inner else reason).split())  # the server may write several lines


def _first_line(error: Exception) -> str:
    return str(getattr(error, "message", error)).splitlines()[0]
