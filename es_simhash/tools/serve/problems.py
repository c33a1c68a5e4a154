"""Errors as JSON, in the form of RFC 9457 (application/problem+json). No answer has a traceback."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from es_simhash import (
    AccessDenied,
    FilterFormatError,
    FilterMismatch,
    InputError,
    NotSetUp,
    SchemeError,
    SchemeMismatch,
    SimhashError,
    TooLarge,
    Unsupported,
)

RETRY_SECONDS = 1
_STATUS: tuple[tuple[tuple[type[SimhashError], ...], int], ...] = (
    ((TooLarge,), 413),
    ((InputError, SchemeError, FilterFormatError, FilterMismatch, Unsupported), 422),
    ((NotSetUp, SchemeMismatch), 503),
    ((AccessDenied,), 502),
)


class Problem(Exception):
    """A request that is not answered as it was meant.

    :param detail: what is wrong, and what to do.
    """

    def __init__(self, status: int, detail: str, **headers: str) -> None:
        super().__init__(detail)
        self.status = status
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


def problem_of(error: SimhashError) -> Problem:
    """Return the problem that an error of the library is."""
    if error.retryable:
        return busy(str(error))
    status = next((status for kinds, status in _STATUS if isinstance(error, kinds)), 502)
    return Problem(status, str(error))


def busy(detail: str) -> Problem:
    """Return the problem of a request that may be sent again."""
    return Problem(503, detail, Retry_After=str(RETRY_SECONDS))


def problem_json(status: int, detail: str) -> dict[str, Any]:
    """Return the body of a problem."""
    return {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, "detail": detail}
