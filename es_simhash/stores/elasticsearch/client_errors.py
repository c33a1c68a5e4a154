"""Failures that every client reports, as errors of :mod:`es_simhash.errors`: one line, with what to do.

This module imports no client.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from es_simhash.errors import AccessDenied, SimhashError, StoreUnreachable, TooLarge
from es_simhash.stores.elasticsearch.failures import passes
from es_simhash.stores.elasticsearch.responses import error_from_body, index_fault_of, reason

if TYPE_CHECKING:
    from collections.abc import Callable


def untrusted(name: str, why: str) -> SimhashError:
    """Return the error for a TLS connection that failed.

    :param name: the store's name.
    :param why: what the client says, in one line.
    """
    return AccessDenied(
        f"{name}: the TLS connection is not trusted ({why}): name the file of the authority's certificate with "
        f"ca_certs (--ca-certs), or use http:// if the server has no TLS"
    )


def timed_out(name: str) -> SimhashError:
    """Return the error for a response that did not come in time."""
    return StoreUnreachable(f"{name} did not answer in time: try again, or raise request_timeout (--timeout)")


def unreachable(name: str, why: str) -> SimhashError:
    """Return the error for a connection that failed. The parameters are those of :func:`untrusted`."""
    return StoreUnreachable(f"{name} can't be reached ({why}): check that it is running, and check the address")


def error_of_response(
    body: Any, status: int, name: str, credentials: str, other: Callable[[], SimhashError | None]
) -> SimhashError:
    """Return the error for a response with an HTTP status of 400 or more.

    :param credentials: what to check if the server does not take them.
    :param other: returns the error that only this product has; None if the response is none of these.
    """
    if status == 401:
        return AccessDenied(f"{name} does not take these credentials: check {credentials}")
    if (fault := index_fault_of(body, status, name)) is not None:
        return fault
    if status == 403:
        return AccessDenied(f"{name} does not permit this to your user: {reason(body)}")
    if passes(body, status):
        return error_from_body(body, status, name)
    if status == 413:
        return TooLarge(
            f"{name} takes no request of this size (http.max_content_length): split it, or leave fields out"
        )
    return other() or error_from_body(body, status, name)


def first_line(error: Exception) -> str:
    """Return the first line of the message of an exception."""
    return str(getattr(error, "message", error)).splitlines()[0]
