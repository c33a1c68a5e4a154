"""What the responses of a server mean: a proxy gives some in place of the server's own."""

from __future__ import annotations

import itertools
import json
import uuid
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.request import Request, urlopen

import pytest

from es_simhash import SeenItems
from es_simhash.bloom.seen import SeenConfig
from es_simhash.errors import AccessDenied, ConflictError, InputError, NotSetUp, StoreError, StoreUnavailable
from es_simhash.rows import Entry, Scan, StoreQuery, UserState
from es_simhash.store.address import open_store
from es_simhash.store.elastic import pages
from es_simhash.store.elastic.rows import OWN_FIELDS
from es_simhash.store.elastic.store import ElasticStore
from tests.es_node import proxy
from tests.es_node.fixtures import ELASTICSEARCH, OPENSEARCH
from tests.es_node.proxy import Answer, Proxy
from tests.store.documents import DOCUMENTS, entry, put

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from es_simhash.store.protocol import Store

SHARDS = {"total": 1, "successful": 1, "skipped": 0, "failed": 0}
HITS = {"timed_out": False, "_shards": SHARDS, "hits": {"hits": []}}
"""The body of the response to a search."""


class Wire:
    """An index, and a proxy in front of its server that records requests and gives answers of the test.

    ``sent`` has the kind of each request, such as ``POST _bulk``.
    """

    def __init__(self, proxy: Proxy, address: str) -> None:
        self.sent: list[str] = []
        self.server, _, self.index = address.removeprefix("opensearch+").rpartition("/")
        self._address = f"{address.partition('http')[0]}{proxy.url}/{self.index}"
        self._kind = ""
        self._answers: Iterator[Any] = iter(())
        proxy.rule = self._answer

    def opened(self, deadline: float = 60) -> Store:
        """Return the store behind the proxy. It is set up."""
        return open_store(self._address, deadline=deadline)

    def answer(self, kind: str, answers: Iterable[Answer | Callable[[proxy.Request], Answer | None]]) -> None:
        """Give these answers to the first requests of a kind, or what these functions return; None passes one on."""
        self.sent.clear()
        self._kind, self._answers = kind, iter(answers)

    def _answer(self, request: proxy.Request) -> Answer | None:
        self.sent.append(f"{request.method} {request.verb}")
        answer = next(self._answers, None) if self.sent[-1] == self._kind else None
        return answer(request) if callable(answer) else answer

    def done(self, request: proxy.Request) -> Any:
        """Send a request to the server, and return the body of the response."""
        headers = {"Content-Type": "application/json"}
        with urlopen(Request(f"{self.server}{request.path}", request.body, headers, method=request.method)) as answer:
            return json.load(answer)


@pytest.fixture(scope="module", params=[ELASTICSEARCH, OPENSEARCH])
def address(request: pytest.FixtureRequest) -> Iterator[str]:
    """A new index of each product for documents and seen items."""
    prefix = "" if request.param == "elasticsearch" else "opensearch+"
    address = f"{prefix}{request.getfixturevalue(f'{request.param}_url')}/test-{uuid.uuid4().hex[:16]}"
    with closing(open_store(address)) as store:
        assert isinstance(store, ElasticStore)
        store.set_up(replace(DOCUMENTS, seen=SeenConfig()))
        yield address
        store.connection.send("DELETE", "")


@pytest.fixture
def wire(address: str) -> Iterator[Wire]:
    """That index behind a proxy."""
    with Proxy(address.removeprefix("opensearch+")) as proxy:
        yield Wire(proxy, address)


def error(kind: str, reason: str = "why") -> dict[str, Any]:
    """Return the body of an error."""
    return {"error": {"type": kind, "reason": reason, "root_cause": [{"type": kind, "reason": reason}]}}


def test_the_mapping_has_each_field_of_ours() -> None:
    mapping = json.loads(Path("mappings/documents.json").read_text(encoding="utf-8"))["mappings"]
    assert mapping["properties"]["simhash"]["properties"].keys() == set(OWN_FIELDS)


@pytest.mark.parametrize(
    ("status", "body"),
    [(429, {}), (502, {}), (503, error("unavailable_shards_exception")), (500, error("node_closed_exception"))],
)
def test_a_request_is_repeated_while_the_server_is_busy(wire: Wire, status: int, body: Any) -> None:
    wire.answer("POST _mget", [Answer(status, body)] * 2)
    assert wire.opened().read(["missing"]) == {}


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
    wire.answer("POST _count", itertools.repeat(Answer(status, error(kind))))
    with pytest.raises(expected, match=words) as raised:
        wire.opened().count(Scan())
    assert [sent for sent in wire.sent if sent != "GET "] == ["POST _count"]
    assert type(raised.value) is expected
    assert "\n" not in str(raised.value)


def test_a_document_that_a_pipeline_drops_is_refused(wire: Wire) -> None:
    wire.answer("POST _bulk", [Answer(200, {"items": [{"create": {"_id": "a", "status": 200, "result": "noop"}}]})])
    assert wire.opened().write([entry("a")]).refused == {"a": "an ingest pipeline of the server dropped it"}


def test_a_write_into_an_index_that_is_gone_is_no_conflict(wire: Wire) -> None:
    gone = {"status": 404, **error("index_not_found_exception")}
    wire.answer("POST _bulk", [Answer(200, {"items": [{"update": {"_id": "a", **gone}}]})])
    with pytest.raises(NotSetUp, match="there is no such index"):
        wire.opened().write([entry("a")])


def by_the_client(done: Any) -> Answer | None:
    """Return the response after which the client sends a bulk request again that was done."""
    return Answer(502, {})


def by_the_server(done: Any) -> Answer | None:
    """Return no response yet: a node that gets none from the node with the shard asks another one, unknown to us."""
    return None


def for_each_document(done: Any) -> Answer | None:
    """Return the response by which the primary did a bulk request, but did not hear of its copies."""
    failed = {"status": 503, **error("unavailable_shards_exception")}
    return Answer(200, {"items": [{kind: {**it, **failed} for kind, it in i.items()} for i in done["items"]]})


@pytest.mark.parametrize("repeated", [by_the_client, by_the_server, for_each_document])
def test_a_write_that_is_repeated_does_not_conflict_with_itself(
    wire: Wire, repeated: Callable[[Any], Answer | None]
) -> None:
    def repeat_once() -> None:
        wire.answer("POST _bulk", [lambda request: repeated(wire.done(request))])

    store = wire.opened()
    store.remove(dict.fromkeys(["a", "b", "c", "ann"]))
    versions = put(store, entry("b", 1), entry("c", 1)).versions
    repeat_once()
    written = store.write([entry("a"), entry("b", 2, version=versions["b"]), entry("c", version=(9, 3))])
    assert written.conflicts == {"c"}
    assert written.versions.keys() == {"a", "b"}
    repeat_once()
    linked = {id: stored.row._replace(duplicate_of="a") for id, stored in store.read(["b", "c"]).items()}
    links = store.write([Entry(linked["b"], keys=None), Entry(linked["c"]._replace(version=(9, 3)), keys=None)])
    assert links.conflicts == {"c"}
    assert links.versions.keys() == {"b"}
    repeat_once()
    seen = UserState({"filters": ["eA=="], "newest": 5})
    assert store.write_users({"ann": seen}).versions.keys() == {"ann"}
    assert store.write_users({"ann": seen}).conflicts == {"ann"}, "another program wrote an equal state"
    for other_fields in ({}, {"city": "北京"}):
        document = json.dumps({**other_fields, "seen": seen.seen}).encode()
        wire.done(proxy.Request("PUT", f"/{wire.index}/_doc/ann", document))
        nothing = replace(store.read_users(["ann"])["ann"], seen=None)
        repeat_once()
        assert not store.write_users({"ann": nothing}).conflicts
        assert [state.seen for state in store.read_users(["ann"]).values()] == [None] * len(other_fields)


FAILED = {"_shards": {**SHARDS, "failed": 1, "failures": [{"reason": {"type": "node_closed_exception"}}]}}
GONE = {"_shards": {**SHARDS, "failed": 1, "failures": [{"reason": {"type": "no_shard_available_action_exception"}}]}}
BUSY = {**error("es_rejected_execution_exception"), "status": 429}
SEARCHES: dict[str, Callable[[Store], object]] = {
    "POST _search": lambda store: store.search([StoreQuery(1)], None, originals=True),
    "POST _msearch": lambda store: store.search([StoreQuery(digest="d" * 32)], None, originals=False),
    "POST _mget": lambda store: store.read(["a"]),
    "POST _count": lambda store: store.count(Scan()),
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
    answer = Answer(200, PARTS[action](incomplete) if action in PARTS else {**HITS, **incomplete})
    wire.answer(action, [answer, answer])
    SEARCHES[action](wire.opened())
    wire.answer(action, itertools.repeat(answer))
    with pytest.raises(StoreUnavailable):
        SEARCHES[action](wire.opened(deadline=0.1))


@pytest.mark.parametrize(
    "lost",
    [
        Answer(200, {**HITS, **GONE}),
        Answer(200, {**HITS, "_shards": {**SHARDS, "total": 2}}),
        Answer(503, error("no_shard_available_action_exception")),
        Answer(503, error("search_phase_execution_exception")),
        Answer(404, error("search_context_missing_exception")),
        Answer(500, error("illegal_state_exception", "no node found for id: YmVuVPxITiWCRtXr9Sg8qw")),
    ],
    ids=["a shard", "a shard of OpenSearch", "all shards", "all of OpenSearch", "the search", "the node"],
)
def test_a_scan_goes_on_by_another_point_in_time_when_a_node_has_lost_its_shard(wire: Wire, lost: Answer) -> None:
    pages = list(wire.opened().scan(Scan()))
    wire.answer("POST _search", [lost, lost])
    assert list(wire.opened().scan(Scan())) == pages
    opening, *others = [sent for sent in wire.sent if sent.startswith("POST")]
    assert opening in ("POST _pit", "POST point_in_time")
    assert others == ["POST _search", *[opening, "POST _search"] * 2]
    wire.answer("POST _search", itertools.repeat(lost))
    with pytest.raises(StoreUnavailable):
        list(wire.opened(deadline=0.1).scan(Scan()))


@pytest.mark.parametrize("by_order", [True, False])
@pytest.mark.parametrize("lost_at", [1, 2, 3])
def test_a_scan_that_goes_on_returns_each_document_once(
    wire: Wire, lost_at: int, by_order: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "PAGE", 3)
    store = wire.opened()
    put(store, *(entry(f"scan {number}", order=1 + number // 4) for number in range(10)))
    scan = Scan(by_order=by_order)
    wire.answer("POST _search", [])
    whole = [one.row.id for page in store.scan(scan) for one in page]
    undisturbed = wire.sent.count("POST _search")
    wire.answer("POST _search", [*[lambda request: None] * lost_at, Answer(200, {**HITS, **GONE})])
    scanned = [one.row.id for page in store.scan(scan) for one in page]
    if by_order or "opensearch" in store.name:
        assert wire.sent.count("POST _search") <= undisturbed + 3, "what was read is not read again"
    assert sorted(scanned) == sorted(set(scanned)) == sorted(whole)
    assert len(whole) >= 10


def test_a_damaged_row_is_left_out_and_named(wire: Wire, caplog: pytest.LogCaptureFixture) -> None:
    id = wire.server  # a warning of a document is given once
    damaged = {"_index": "i", "_id": id, "_seq_no": 0, "_primary_term": 1}
    damaged |= {"_source": {"simhash": {"digest": "d", "fp": "no number"}}}
    wire.answer("POST _mget", [Answer(200, {"docs": [{**damaged, "found": True}]})])
    [stored] = wire.opened().read([id]).values()
    assert (stored.row.digest, stored.row.fingerprint) == ("", None)
    assert id in caplog.text


def test_seen_items_that_another_program_writes_meanwhile_are_removed_or_named(wire: Wire) -> None:
    conflict = Answer(200, {"items": [{"delete": {"status": 409, **error("version_conflict_engine_exception")}}]})
    for deadline, count in ((0, 1), (60, 3)):
        seen = SeenItems(wire.opened(), deadline=deadline)
        seen.add("bob", ["a"])
        wire.answer("POST _bulk", [conflict] * count)
        if not deadline:
            with pytest.raises(
                ConflictError, match="user 'bob' were not stored: gave up after 0 s of version conflicts"
            ):
                seen.remove("bob")
        assert seen.remove("bob")
        assert not seen.remove("bob")
