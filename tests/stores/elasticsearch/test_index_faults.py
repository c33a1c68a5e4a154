"""Responses that report a fault of the whole index, as the server writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from elastic_transport import ApiResponseMeta, HttpHeaders, NodeConfig
from elasticsearch import AuthorizationException

from es_simhash.contract import Link, UserState
from es_simhash.errors import AccessDenied, NotSetUp, StoreError, StoreUnavailable
from es_simhash.stores.elasticsearch.client import DIALECT
from es_simhash.stores.elasticsearch.documents import annotate, relink, remove, write
from es_simhash.stores.elasticsearch.users import change_users
from tests.contract.documents import entry
from tests.stores.elasticsearch.answered import index_with

if TYPE_CHECKING:
    from collections.abc import Callable

DENIED = {
    "type": "security_exception",
    "reason": "action [indices:data/write/bulk[s]] is unauthorized for user [reader] with effective roles [reader] on "
    "indices [news], this action is granted by the index privileges [create_doc,create,delete,index,write,all]",
}
FAULTS = [
    pytest.param(403, DENIED, AccessDenied, "unauthorized for user .reader.*: add the privilege", id="privilege"),
    pytest.param(
        403,
        {"type": "cluster_block_exception", "reason": "index [news] blocked by: [FORBIDDEN/8/index write (api)];"},
        StoreError,
        "http://here/news is blocked .*index write .api.*: remove the block",
        id="block",
    ),
    pytest.param(
        429,
        {"type": "cluster_block_exception", "reason": "index [news] blocked by: [TOO_MANY_REQUESTS/12/disk usage …];"},
        StoreUnavailable,
        "the disk of the server is full .*: make room",
        id="disk",
    ),
    pytest.param(404, {"type": "index_not_found_exception", "reason": "no such index"}, NotSetUp, "init", id="gone"),
]
WRITES: list[tuple[str, Callable[..., Any], tuple[Any, ...]]] = [
    ("index", write, ((entry("a", 5), entry("b", 6)), 64)),
    ("update", annotate, ((entry("a", 5).row, entry("b", 6).row), 64)),
    ("delete", remove, (("a", "b"),)),
    ("update", relink, ({"a": Link("a", None, (1, 1)), "b": Link("b", None, (1, 1))},)),
    ("create", change_users, ({"a": UserState(), "b": UserState()},)),
]


@pytest.mark.parametrize(("operation", "method", "arguments"), WRITES, ids=[method.__name__ for _, method, _ in WRITES])
@pytest.mark.parametrize(("status", "error", "kind", "message"), FAULTS)
def test_an_item_with_a_fault_of_the_index_is_an_error_of_the_request(
    operation: str,
    method: Callable[..., Any],
    arguments: tuple[Any, ...],
    status: int,
    error: Any,
    kind: type[StoreError],
    message: str,
) -> None:
    good = {operation: {"_id": "a", "status": 200, "result": "updated"}}
    bad = {operation: {"_id": "b", "status": status, "error": error}}
    with pytest.raises(kind, match=message):
        method(index_with({"errors": True, "items": [good, bad]}), *arguments)


@pytest.mark.parametrize(("status", "error", "kind", "message"), FAULTS)
def test_so_is_a_response(status: int, error: Any, kind: type[StoreError], message: str) -> None:
    meta = ApiResponseMeta(
        status, "1.1", HttpHeaders({"x-elastic-product": "Elasticsearch"}), 0.1, NodeConfig("http", "here", 9200)
    )
    body = {"error": {"root_cause": [error], **error}, "status": status}
    translated = DIALECT.translate(AuthorizationException(error["type"], meta, body), "http://here/news")
    with pytest.raises(kind, match=message):
        raise translated
