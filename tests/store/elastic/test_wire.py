"""What the responses of a server mean; the requests are recorded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash.errors import AccessDenied, InputError, NotSetUp, StoreError, StoreUnavailable
from es_simhash.store.address import open_store
from es_simhash.store.elastic.rows import OWN_FIELDS
from es_simhash.store.types import Probe, Scan, UserState
from tests.recording import HITS, INDEX, SHARDS, Wire
from tests.store.documents import entry

if TYPE_CHECKING:
    from collections.abc import Callable

    from es_simhash.store.protocol import Store

Answer = Any


@pytest.fixture(params=["elasticsearch", "opensearch"])
def wire(request: pytest.FixtureRequest) -> Wire:
    """Return a server that records what it gets."""
    return Wire(request.param)


def opened(wire: Wire, deadline: float = 5) -> Store:
    """Return the store on a recording client."""
    return open_store(wire.client(), INDEX, deadline=deadline)


def first(wire: Wire, action: str, *answers: Answer) -> None:
    """Answer the first requests of a kind, such as ``POST _bulk``, in this way, and all others as usual.

    :param answers: each a status and a body; None for the usual answer.
    """
    left = list(answers)
    wire.answer = lambda sent: left.pop(0) if sent.action == action and left else None


def error(kind: str, reason: str = "why") -> dict[str, Any]:
    """Return the body of an error."""
    return {"error": {"type": kind, "reason": reason, "root_cause": [{"type": kind, "reason": reason}]}}


def item(kind: str, id: str, status: int, **more: Any) -> dict[str, Any]:
    """Return the response to a bulk request with one operation."""
    return {"items": [{kind: {"_id": id, "status": status, "_seq_no": 0, "_primary_term": 3, **more}}]}


def test_the_mapping_has_each_field_of_ours() -> None:
    mapping = json.loads(Path("mappings/documents.json").read_text(encoding="utf-8"))["mappings"]
    assert mapping["properties"]["simhash"]["properties"].keys() == set(OWN_FIELDS)


@pytest.mark.parametrize(
    ("status", "body"),
    [(429, {}), (502, {}), (503, error("unavailable_shards_exception")), (500, error("node_closed_exception"))],
)
def test_a_request_is_repeated_while_the_server_is_busy(wire: Wire, status: int, body: Any) -> None:
    first(wire, "POST _mget", (status, body), (status, body))
    assert opened(wire).read(["a"]) == {}
    assert len(wire.sent) == 3


@pytest.mark.parametrize(
    ("status", "kind", "expected", "words"),
    [
        (401, "security_exception", AccessDenied, "credentials"),
        (403, "security_exception", AccessDenied, "add the privilege"),
        (403, "cluster_block_exception", StoreError, "remove the block"),
        (400, "index_closed_exception", StoreError, "_open"),
        (404, "index_not_found_exception", NotSetUp, "init"),
        (400, "parsing_exception", InputError, "check the filter"),
        (400, "query_shard_exception", InputError, "check the filter"),
        (400, "unknown_exception", StoreError, "refused with HTTP 400"),
    ],
)
def test_an_error_says_what_to_do(wire: Wire, status: int, kind: str, expected: type[Exception], words: str) -> None:
    wire.answer = lambda _: (status, error(kind))
    with pytest.raises(expected, match=words) as raised:
        opened(wire).count(None)
    assert [sent.action for sent in wire.sent if sent.path != "/"] == ["POST _count"]
    assert type(raised.value) is expected
    assert "\n" not in str(raised.value)


def test_a_document_that_a_pipeline_drops_is_refused(wire: Wire) -> None:
    first(wire, "POST _bulk", item("create", "a", 200, result="noop"))
    assert opened(wire).write([entry("a")]).refused == {"a": "an ingest pipeline of the server dropped it"}


def by_the_client(done: Answer) -> Answer:
    """Return the response after which the client sends a bulk request again that was done."""
    return 502, {}


def by_the_server(done: Answer) -> Answer:
    """Return no response yet: a node that gets none from the node with the shard asks another one, unknown to us."""
    return None


def for_each_document(done: Answer) -> Answer:
    """Return the response by which the primary did a bulk request, but did not hear of its copies."""
    error = {"type": "unavailable_shards_exception", "reason": "why"}
    return {"items": [{kind: {**it, "status": 503, "error": error} for kind, it in i.items()} for i in done["items"]]}


@pytest.mark.parametrize("repeated", [by_the_client, by_the_server, for_each_document])
def test_a_write_that_is_repeated_does_not_conflict_with_itself(
    wire: Wire, repeated: Callable[[Answer], Answer]
) -> None:
    def repeat_once() -> None:
        left = [repeated]
        wire.answer = lambda sent: left.pop()(wire._usual(sent)) if sent.action == "POST _bulk" and left else None

    wire.put("b", {"simhash": {"digest": "d", "fp": 1}})
    wire.put("c", {"simhash": {"digest": "x", "fp": 1}})
    store = opened(wire)
    repeat_once()
    written = store.write([entry("a"), entry("b", 2, version=(0, 3)), entry("c", version=(9, 3))])
    assert written.conflicts == {"c"}
    assert written.versions.keys() == {"a", "b"}
    repeat_once()
    linked = {id: stored.row._replace(duplicate_of="a") for id, stored in store.read(["b", "c"]).items()}
    links = store.write_links({**linked, "c": linked["c"]._replace(version=(9, 3))})
    assert links.conflicts == {"c"}
    assert links.versions.keys() == {"b"}
    repeat_once()
    seen = UserState((b"x",), 5)
    assert store.write_users({"ann": seen}).versions.keys() == {"ann"}
    assert store.write_users({"ann": seen}).conflicts == {"ann"}, "another program wrote an equal state"


FAILED = {"_shards": {**SHARDS, "failed": 1, "failures": [{"reason": {"type": "node_closed_exception"}}]}}
GONE = {"_shards": {**SHARDS, "failed": 1, "failures": [{"reason": {"type": "no_shard_available_action_exception"}}]}}
BUSY = {**error("es_rejected_execution_exception"), "status": 429}
SEARCHES: dict[str, Callable[[Store], object]] = {
    "POST _search": lambda store: store.search([Probe(1)], None, heads=True),
    "POST _msearch": lambda store: store.search([Probe(digest="d")], None, heads=False),
    "POST _mget": lambda store: store.read(["a"]),
    "POST _count": lambda store: store.count(None),
    "POST _refresh": lambda store: store.refresh(),
}
PARTS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "POST _msearch": lambda part: {"responses": [HITS | part]},
    "POST _mget": lambda part: {"docs": [{"_id": "a", "found": False} | part]},
}
"""The body of a response with one incomplete part, for requests that ask several questions."""


@pytest.mark.parametrize("action", SEARCHES)
@pytest.mark.parametrize(
    "incomplete", [BUSY, FAILED, GONE, {"timed_out": True}], ids=["busy", "failed", "gone", "timed out"]
)
def test_a_request_is_repeated_while_a_part_of_the_response_is_incomplete(
    wire: Wire, action: str, incomplete: dict[str, Any]
) -> None:
    body = PARTS[action](incomplete) if action in PARTS else {**HITS, **incomplete}
    first(wire, action, body, body)
    SEARCHES[action](opened(wire))
    assert [sent.action for sent in wire.sent] == [action] * 3
    wire.answer = lambda sent: body
    with pytest.raises(StoreUnavailable):
        SEARCHES[action](opened(wire, deadline=0.1))


@pytest.mark.parametrize(
    "lost",
    [
        (200, {**HITS, **GONE}),
        (503, error("no_shard_available_action_exception")),
        (404, error("search_context_missing_exception")),
    ],
    ids=["a shard", "all shards", "the search"],
)
def test_a_scan_goes_on_by_another_point_in_time_when_a_node_has_lost_its_shard(
    wire: Wire, lost: tuple[int, Any]
) -> None:
    first(wire, "POST _search", lost, lost)
    assert list(opened(wire).scan(Scan())) == [[]]
    opening = "POST _pit" if wire.product == "elasticsearch" else "POST point_in_time"
    assert [sent.action for sent in wire.sent if sent.method == "POST"] == [opening, "POST _search"] * 3
    wire.answer = lambda sent: lost if sent.action == "POST _search" else None
    with pytest.raises(StoreUnavailable):
        list(opened(wire, deadline=0.1).scan(Scan()))


def test_a_damaged_row_is_left_out_and_named(wire: Wire, caplog: pytest.LogCaptureFixture) -> None:
    wire.put(f"bad {wire.product}", {"simhash": {"digest": "d", "fp": "no number"}})
    [stored] = opened(wire).read([f"bad {wire.product}"]).values()
    assert (stored.row.digest, stored.row.fingerprint) == ("", None)
    assert f"bad {wire.product}" in caplog.text
