"""The description of the server in OpenAPI 3.1, made of the operations and their fields."""

from __future__ import annotations

from typing import Any

from es_simhash import __version__
from es_simhash.tools.serve.fields import FIELDS
from es_simhash.tools.serve.operations import OPERATIONS, Operation

_PROBLEM = {"$ref": "#/components/responses/Problem"}
_PROBLEM_SCHEMA = {
    "type": "object",
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "What is wrong, and what to do."},
    },
}


def openapi(with_token: bool) -> dict[str, Any]:
    """Return the description.

    :param with_token: requests need a token.
    """
    components: dict[str, Any] = {
        "responses": {
            "Problem": {
                "description": "The request was not answered (RFC 9457). 503 may be sent again after Retry-After.",
                "content": {"application/problem+json": {"schema": _PROBLEM_SCHEMA}},
            }
        }
    }
    if with_token:
        components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "es_simhash", "version": __version__, "description": "Near-duplicates, and seen items."},
        "paths": {each.path: {"post": _described(each)} for each in OPERATIONS}
        | {path: {"get": _state(what)} for path, what in _STATES.items()},
        "components": components,
        **({"security": [{"token": []}]} if with_token else {}),
    }


_STATES = {
    "/healthz": "The server runs",
    "/readyz": "The store can be searched",
    "/metrics": "Metrics for Prometheus",
    "/openapi.json": "This description",
}


def _state(what: str) -> dict[str, Any]:
    return {"summary": what, "responses": {"200": {"description": what}, "503": _PROBLEM}}


def _described(operation: Operation) -> dict[str, Any]:
    request, answer = operation.example
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {name: FIELDS[name] for name in operation.fields},
        "additionalProperties": False,
        "allOf": [{"oneOf": [{"required": [name]} for name in names]} for names in operation.one_of],
    }
    done = {"description": operation.summary, "content": {"application/json": {"example": answer}}}
    responses = {
        "200": done,
        **dict.fromkeys(("400", "401", "408", "413", "422", "500", "502", "503"), _PROBLEM),
    }
    if operation.path == "/add":
        responses["207"] = {**done, "description": "Some of the documents were rejected or failed"}
    return {
        "operationId": operation.name,
        "summary": operation.summary,
        "requestBody": {"required": True, "content": {"application/json": {"schema": schema, "example": request}}},
        "responses": responses,
    }
