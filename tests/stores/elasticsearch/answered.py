"""An Index whose client sends nothing: the test gives the responses, and looks at the Calls."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from es_simhash.stores.elasticsearch.client import DIALECT
from es_simhash.stores.elasticsearch.index import Index

if TYPE_CHECKING:
    from es_simhash.stores.elasticsearch.index import Request

SHARDS = {"total": 1, "successful": 1, "skipped": 0, "failed": 0}


class Answers:
    """A client that answers each Request with the next of some responses. A response that is an error is raised.

    :param last_again: the last response answers all further Calls too.
    """

    def __init__(self, *responses: Any, last_again: bool = False) -> None:
        self.calls: list[Request] = []
        self.responses = list(responses)
        self._last_again = last_again

    def answer(self, call: Request) -> Any:
        """Keep a Request, and return the body of its response."""
        self.calls.append(call)
        response = self.responses[0] if self._last_again and len(self.responses) == 1 else self.responses.pop(0)
        if isinstance(response, Exception):
            raise response
        return response


def index_with(*responses: Any, name: str = "news", last_again: bool = False) -> Index:
    """Return an Index that was not asked before, and gets these responses. Its client has the Calls."""
    dialect = replace(DIALECT, send=Answers.answer, body=lambda body: body)
    return Index(name, f"http://here/{name}", dialect, Answers(*responses, last_again=last_again))


def item(kind: str, id: str, status: int, error: str | None = None) -> dict[str, Any]:
    """Return the result of one document of a bulk request, as a server sends it."""
    result: dict[str, Any] = {"_id": id, "status": status}
    return {kind: result | ({"error": {"type": error, "reason": "…"}} if error else {"result": "done"})}


RETRYABLE = [
    (429, "es_rejected_execution_exception"),
    (503, "unavailable_shards_exception"),
    (500, "node_closed_exception"),
]
"""Statuses and errors of documents that may be written if they are sent again."""
