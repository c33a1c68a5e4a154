"""Errors as the answers of the server: each is a problem of RFC 9457, whose detail says what to do."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from es_simhash import NotSetUp, SchemeMismatch, SimhashError

if TYPE_CHECKING:
    from fastapi import Request


def problem(status: int, detail: str) -> Response:
    """Return the answer for an error."""
    body = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, "detail": detail}
    headers = {401: {"WWW-Authenticate": "Bearer"}, 503: {"Retry-After": "1"}}.get(status)
    # ASCII, so that an error can quote a lone surrogate.
    return Response(json.dumps(body), status, headers, "application/problem+json")


async def _failed(request: Request, error: SimhashError) -> Response:
    if error.retryable or isinstance(error, NotSetUp | SchemeMismatch):
        return problem(503, str(error))
    return problem(422 if isinstance(error, ValueError) else 502, str(error))


async def _invalid(request: Request, error: RequestValidationError) -> Response:
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return problem(400, f"the body is no JSON ({first['ctx']['error']}): correct it")
    if first["loc"] == ("body",) and not isinstance(error.body, dict):
        return problem(422, "the body is no JSON object: send one, with the header Content-Type: application/json")
    place = ".".join(str(each) for each in first["loc"] if each != "body") or "the body"
    return problem(422, f"{place}: {first['msg'].removeprefix('Value error, ')}: see /openapi.json")


async def _refused(request: Request, error: HTTPException) -> Response:
    allowed = (error.headers or {}).get("Allow")
    how = {
        400: "the body is no JSON, or is nested too deeply: correct it",
        404: f"there is no {request.url.path}: see /openapi.json",
        405: f"use {allowed}",
    }
    return problem(error.status_code, how.get(error.status_code, error.detail))


async def _unexpected(request: Request, error: Exception) -> Response:  # which uvicorn logs
    return problem(500, "an error of the server, which its log describes")


HANDLERS: Any = {
    SimhashError: _failed,
    RequestValidationError: _invalid,
    HTTPException: _refused,
    Exception: _unexpected,
}
"""What answers for each kind of error."""
