"""What each main call sends, to both products: method, path, parameters and body.

The sync and the async class send the same bytes.
"""

from __future__ import annotations

import asyncio
import json
import time
from datetime import timedelta
from itertools import chain
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import AsyncDocuments, AsyncSeenItems, Documents, SeenItems, fingerprint
from es_simhash.deciding.content import content_of
from tests.limited import in_batches
from tests.recording import INDEX, PRODUCTS, Sent, Wire, clauses, found, hit, simhash_of
from tests.rules import keywords_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Prepare = Callable[[Wire], None]
    Call = tuple[str, tuple[Any, ...], dict[str, Any]]
    """A method, its arguments and its keywords."""

STORM = "市气象台今晨发布暴雨橙色预警，城区部分路段已经出现积水，交警提醒市民提前规划路线，注意出行安全。"
METRO = "地铁三号线今日开通试运营，线路全长三十一公里，设车站二十四座，全程运行时间约四十六分钟。"
ROW_FIELDS = [f"simhash.{name}" for name in ("fp", "fp1", "digest", "group", "duplicate_of", "written")]
NOW = 1_700_000_000
CLASSES: dict[str, tuple[Any, Any]] = {"documents": (Documents, AsyncDocuments), "seen": (SeenItems, AsyncSeenItems)}

products = pytest.mark.parametrize("product", PRODUCTS)


@pytest.fixture(autouse=True)
def clock_that_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: float(NOW))
    monkeypatch.setattr(time, "time_ns", lambda: NOW * 10**9)


def call(name: str, *arguments: Any, **options: Any) -> Call:
    return name, arguments, options


def played(product: str, kind: str, *calls: Call, prepare: Prepare | None = None, **options: Any) -> Any:
    """Make some calls on one object, sync and async, and return the results and the requests of the last call.

    :param kind: one of CLASSES.
    :param prepare: changes the wire before the first call.
    :param options: of the class.
    """
    sync, other = (Wire(product), Wire(product))
    for wire in (sync, other):
        if prepare is not None:
            prepare(wire)
    results, sent = _played(sync, CLASSES[kind][0], calls, options)
    assert asyncio.run(_aplayed(other, CLASSES[kind][1], calls, options)) == results
    assert [each for each in other.sent if each.path != "/"] == [each for each in sync.sent if each.path != "/"]
    return results, sent


def _played(wire: Wire, kind: Any, calls: tuple[Call, ...], options: Any) -> tuple[list[Any], list[Sent]]:
    results: list[Any] = []
    with wire.client() as client, kind(client, index=INDEX, **options) as opened:
        for name, arguments, keywords in calls:
            before = len(wire.sent)
            result = getattr(opened, name)(*arguments, **keywords)
            results.append(list(result) if hasattr(result, "__next__") else result)
    return results, wire.sent[before:]


async def _aplayed(wire: Wire, kind: Any, calls: tuple[Call, ...], options: Any) -> list[Any]:
    results: list[Any] = []
    async with wire.client(is_async=True) as client, kind(client, index=INDEX, **options) as opened:
        for name, arguments, keywords in calls:
            result = getattr(opened, name)(*arguments, **keywords)
            results.append([each async for each in result] if hasattr(result, "__anext__") else await result)
    return results


def actions(sent: list[Sent]) -> list[str]:
    return [each.action for each in sent]


def only(sent: list[Sent], action: str) -> Sent:
    """The one request with this method and this end of its path."""
    (request,) = (each for each in sent if each.action == action)
    return request


def searches(sent: list[Sent]) -> Iterator[dict[str, Any]]:
    """The bodies of all searches."""
    for each in sent:
        if each.path.endswith("/_msearch"):
            yield from each.json[1::2]
        elif each.path.endswith(("/_search", "/_count")) and each.body:
            yield each.json


def searching(*hits: dict[str, Any]) -> Prepare:
    """Searches find these hits."""
    return lambda wire: wire.hits.extend(hits)


# --- documents -----------------------------------------------------------------------------------------------------


@products
def test_similar_is_one_multi_search_for_segments_and_digest(product: str) -> None:
    (matches,), _ = played(product, "documents", call("similar", STORM), prepare=searching(hit("a", STORM)))
    assert [(match.id, match.distance) for match in matches] == [("a", 0)]
    _, sent = played(product, "documents", call("similar", STORM), call("similar", STORM))
    assert [each.action for each in sent if each.action != "GET _mapping"] == ["POST _msearch"]
    assert (sent[-1].path, sent[-1].parameters) == ("/news/_msearch", {})
    header, body = only(sent, "POST _msearch").json
    assert header == {"allow_partial_search_results": False}
    assert body.keys() == {
        "query",
        "size",
        "sort",
        "_source",
        "docvalue_fields",
        "seq_no_primary_term",
        "track_total_hits",
    }
    assert (body["_source"], body["track_total_hits"], body["size"]) == (False, False, 1_000)
    assert (body["docvalue_fields"], body["sort"], body["seq_no_primary_term"]) == (ROW_FIELDS, ["_doc"], True)
    made = fingerprint(STORM)
    terms = [pair for each in clauses(body["query"], "terms") for pair in each.items()]
    assert {name for name, _ in terms} == {"simhash.digest", *(f"simhash.s{n}" for n in range(4))}
    assert ("simhash.digest", [made.digest]) in terms
    for number, segment in enumerate(made.segments):
        assert any(name == f"simhash.s{number}" and segment in values for name, values in terms)


@products
def test_add_searches_and_then_creates_the_document_in_a_bulk_request(product: str) -> None:
    document = {"id": "b", "text": STORM, "n": 1}
    (_, added), sent = played(product, "documents", call("add", {"id": "a", "text": METRO}), call("add", document))
    assert added.outcome == "new"
    assert actions(sent) == ["POST _msearch", "POST _bulk"]
    search, bulk = sent
    assert [clause for body in search.json[1::2] for clause in clauses(body, "terms") if "_id" in clause] == [
        {"_id": ["b"]}
    ]
    assert (bulk.path, bulk.parameters) == ("/news/_bulk", {"filter_path": "errors,items.*.status,items.*.error"})
    operation, written = bulk.json
    assert operation == {"create": {"_id": "b"}}, "search says that it is not stored, but another program may store it"
    simhash = simhash_of("b", STORM, written=written["simhash"]["written"])
    segments = {f"s{number}": segment for number, segment in enumerate(fingerprint(STORM).segments)}
    content = content_of(json.dumps(document))
    assert written == {"simhash": {**simhash, **segments, "content": content}, **document}
    assert bulk.body.endswith(b"\n")


@products
def test_add_reads_a_document_that_search_has_found_and_replaces_it(product: str) -> None:
    def prepare(wire: Wire) -> None:
        wire.put("b", {"simhash": simhash_of("b", METRO), "text": METRO})
        searching(hit("b", METRO))(wire)

    calls = call("add", {"id": "a", "text": METRO + "全文"}), call("add", {"id": "b", "text": STORM})
    (_, added), sent = played(product, "documents", *calls, prepare=prepare)
    assert added.outcome == "updated"
    assert sent[1].parameters == {"_source_includes": "simhash"}
    assert actions(sent)[:4] == ["POST _msearch", "GET b", "POST _msearch", "POST _bulk"]
    assert sent[3].json[0] == {"index": {"_id": "b", "if_seq_no": 0, "if_primary_term": 3}}


@products
def test_ingest_is_one_read_one_search_and_one_write_for_a_batch_and_a_refresh_at_its_end(product: str) -> None:
    documents = [{"id": "a", "text": STORM}, {"id": "b", "text": METRO}]
    (_, outcomes), sent = played(product, "documents", call("similar", STORM), call("ingest", documents))
    assert [outcome.outcome for outcome in outcomes] == ["new", "new"]
    assert [action for action in actions(sent) if action not in ("GET _mapping", "POST _count")] == [
        "GET index.uuid",
        "POST _search",  # no document has custom routing
        "GET index.uuid",
        "GET health",
        "POST _mget",
        "POST _msearch",
        "GET index.uuid",  # it is the same index before a batch is written, and before its outcomes are returned
        "PUT _mapping",  # the first write lets the index keep the rule
        "POST _bulk",
        "GET index.uuid",
        "POST _refresh",
    ]
    read = only(sent, "POST _mget")
    assert (read.path, read.parameters, read.json) == (
        "/news/_mget",
        {"_source_includes": "simhash"},
        {"ids": ["a", "b"]},
    )
    (search,) = only(sent, "POST _msearch").json[1::2]
    assert search["collapse"] == {"field": "simhash.digest"}
    lines = only(sent, "POST _bulk").json
    assert lines[::2] == [{"create": {"_id": "a"}}, {"create": {"_id": "b"}}]
    assert [(line["simhash"]["group"], line["id"], line["text"]) for line in lines[1::2]] == [
        ("a", "a", STORM),
        ("b", "b", METRO),
    ]


@products
def test_remove_deletes_by_ids_after_a_refresh_and_looks_for_links_to_them(product: str) -> None:
    def prepare(wire: Wire) -> None:
        wire.put("a", {"simhash": simhash_of("a", STORM), "text": STORM})

    (_, removed), sent = played(product, "documents", call("keys"), call("remove", ["a", "b"]), prepare=prepare)
    assert removed == {"a"}
    bulk = only(sent, "POST _bulk")
    assert bulk.path == "/news/_bulk"
    assert sorted(bulk.json, key=str) == [{"delete": {"_id": "a"}}, {"delete": {"_id": "b"}}]
    steps = ["link" if b'{"simhash.duplicate_of"' in each.body else each.action for each in sent]
    steps = [step for step in steps if step in ("link", "POST _refresh", "POST _bulk")]
    assert steps[0] == "POST _refresh"
    assert steps[steps.index("POST _bulk") :] == ["POST _bulk", "POST _refresh", "link"]
    links = [list(clauses(each.json, "terms")) for each in sent if b'{"simhash.duplicate_of"' in each.body]
    assert all(any("a" in terms.get("simhash.duplicate_of", ()) for terms in each) for each in links)


def one_page(*hits: dict[str, Any]) -> Prepare:
    """The points in time have these hits."""

    def prepare(wire: Wire) -> None:
        wire.answer = lambda sent: found(*hits) if sent.path == "/_search" else None
        for each in hits:
            simhash = {name.removeprefix("simhash."): value[0] for name, value in each.get("fields", {}).items()}
            wire.put(each["_id"], each.get("_source") or {"simhash": simhash})

    return prepare


@products
def test_group_changes_a_link_only_of_the_version_that_was_read(product: str) -> None:
    # The sequence numbers are those that put() gives.
    prepare = one_page(hit("a", STORM, seq_no=0), hit("b", STORM, seq_no=1))
    (_, report), sent = played(product, "documents", call("keys"), call("group"), prepare=prepare)
    assert (report.documents, report.changed, report.conflicts) == (2, 1, 0)
    assert only(sent, "POST _bulk").json == [
        {"update": {"_id": "b", "if_seq_no": 1, "if_primary_term": 3}},
        {"doc": {"simhash": {"group": "a", "duplicate_of": "a"}}},
    ]
    path, opened, key = {
        "elasticsearch": ("_pit", {}, "id"),
        "opensearch": ("_search/point_in_time", {"allow_partial_pit_creation": "false"}, "pit_id"),
    }[product]
    points = [each for each in sent if each.path.endswith(("_pit", "point_in_time"))]
    assert [(each.method, each.path) for each in points] == [("POST", f"/news/{path}"), ("DELETE", f"/{path}")]
    assert points[0].parameters.items() >= opened.items()
    assert points[1].json == {key: "pit"}


@products
def test_backfill_changes_a_document_only_in_the_version_that_was_read(product: str) -> None:
    source = {"text": STORM}
    document = {"_index": INDEX, "_id": "a", "_seq_no": 0, "_primary_term": 3, "_source": source, "sort": [0]}

    def prepare(wire: Wire) -> None:
        def answer(sent: Sent) -> Any:
            lacks_fingerprint = wire.documents["a"]["_source"] == source
            return found(*[document] * lacks_fingerprint) if sent.path == "/_search" else None

        wire.put("a", source)
        wire.answer = answer

    (_, outcomes), sent = played(product, "documents", call("keys"), call("backfill", "text"), prepare=prepare)
    assert [(outcome.id, outcome.outcome) for outcome in outcomes] == [("a", "new")]
    operation, change = only(sent, "POST _bulk").json
    assert operation == {"update": {"_id": "a", "if_seq_no": 0, "if_primary_term": 3}}
    assert change.keys() == {"doc"}
    assert change["doc"].keys() == {"simhash"}, "no field of another program is written"
    simhash = change["doc"]["simhash"]
    assert simhash.items() >= simhash_of("a", STORM, written=simhash["written"]).items()
    assert {"duplicate_of", "keys", "length"} <= {name for name, value in simhash.items() if value is None}


# --- times ---------------------------------------------------------------------------------------------------------


@products
def test_within_is_a_range_with_both_ends(product: str) -> None:
    def prepare(wire: Wire) -> None:
        wire.mapping["properties"]["date"] = {"type": "date"}

    day = 86_400_000
    options = {"within": timedelta(days=1), "time_field": "date"}
    _, sent = played(
        product, "documents", call("similar", STORM, time=10 * day, **keywords_of(options)), prepare=prepare
    )
    limits = {"format": "epoch_millis", "gte": 9 * day, "lt": 11 * day + 1}
    assert [each for search in searches(sent) for each in clauses(search, "range")] == [{"date": limits}]
    document = {"id": "a", "text": STORM, "date": 10 * day}
    for verb, given in (("ingest", [document]), ("add", document)):
        _, sent = played(product, "documents", call(verb, given, **keywords_of(options)), prepare=prepare)
        ranges = [each["date"] for search in searches(sent) for each in clauses(search, "range")]
        assert ranges
        assert all((each["gte"], each["lt"]) == (9 * day, 11 * day + 1) for each in ranges)


# --- routing -------------------------------------------------------------------------------------------------------


@products
def test_each_request_on_documents_names_the_routing_and_each_search_has_a_filter_for_it(product: str) -> None:
    def prepare(wire: Wire) -> None:
        hits = [hit(id, STORM, seq_no, _routing="acme") for seq_no, id in enumerate("ab")]
        wire.answer = lambda sent: found(*hits) if sent.path == "/_search" else None
        for id in "ab":
            wire.put(id, {"simhash": simhash_of(id, STORM), "text": STORM}, routing="acme")

    calls = [
        call("similar", STORM),
        call("add", {"id": "c", "text": METRO}),
        call("add", {"id": "c", "text": STORM}),
        call("ingest", [{"id": "d", "text": METRO}, {"id": "e", "text": METRO}]),
        call("group"),
        call("fetch", ["a", "b"]),
        call("remove", ["a"]),
        call("missing"),
        call("export"),
    ]
    sent: list[Sent] = []
    for each in calls:
        sent += played(product, "documents", each, prepare=prepare, routing="acme")[1]
    routed = {"_bulk", "_mget", "_count", "_search", "_pit", "point_in_time", "_msearch"}
    checked = set()
    for each in sent:
        action = each.path.rpartition("/")[2]
        if (action not in routed and "/_doc/" not in each.path) or each.method == "DELETE":
            continue
        checked.add(action if action in routed else "_doc")
        if action == "_msearch":
            assert all(header["routing"] == "acme" for header in each.json[::2])
        elif each.path != "/_search":  # a point in time was opened with the routing
            assert each.parameters["routing"] == "acme", each
    assert checked == (routed | {"_doc"}) - {"point_in_time" if product == "elasticsearch" else "_pit"}
    for search in searches(sent):
        assert {"term": {"_routing": "acme"}} in search["query"]["bool"]["filter"], search


# --- fingerprints in memory ------------------------------------------------------------------------------------------


def test_an_ingest_finds_what_search_finds_later_than_documents_with_higher_sequence_numbers() -> None:
    """Another program's write is in flight when the fingerprints are read.

    They are read at the start, and read on after each 20,000 documents that the run has written.
    """
    wire = Wire("elasticsearch")
    theirs = hit("theirs", STORM, seq_no=19_000, sort=[19_000])
    wire.hits = [theirs]
    readings: list[int] = []

    def search(body: dict[str, Any]) -> dict[str, Any] | None:
        if body.get("sort") == [{"_seq_no": "desc"}]:
            readings.append(wire.writes)
            others = len(readings) > 1  # their write has a sequence number, too
            return found(hit("last", METRO, sort=[wire.writes - 1 + others]))
        if body.get("sort") == [{"_seq_no": "asc"}]:
            ((above, to),) = ((each["_seq_no"]["gt"], each["_seq_no"]["lte"]) for each in clauses(body, "range"))
            return found(*[theirs] * (len(readings) > 2 and above < 19_000 <= to))
        return None

    def answer(sent: Sent) -> Any:
        if sent.action != "POST _msearch":
            return None
        bodies = [search(body) or wire.search(body) for body in sent.json[1::2]]
        return {"responses": [body | {"status": 200} for body in bodies]}

    wire.answer = answer
    documents = ({"id": number, "text": f"短{number}"} for number in range(40_000))
    with wire.client() as client, Documents(client, index=INDEX) as opened:
        outcomes = in_batches(opened, 2_000).ingest(
            chain(documents, [{"id": "ours", "text": STORM}]), rule="fingerprint"
        )
        last = list(outcomes)[-1]
    assert readings == [0, 20_000, 40_000]
    assert (last.outcome, last.duplicate_of) == ("exact_duplicate", "theirs")


# --- seen items ----------------------------------------------------------------------------------------------------


@products
def test_seen_items_are_created_and_then_changed_only_in_the_version_that_was_read(product: str) -> None:
    (count,), sent = played(product, "seen", call("add", "ann", ["x", "y"]))
    assert count == 2
    assert only(sent, "GET ann").path == "/news/_doc/ann"
    assert only(sent, "GET ann").parameters == {"_source_includes": "seen"}
    operation, document = only(sent, "POST _bulk").json
    assert operation == {"create": {"_id": "ann"}}
    assert document.keys() == {"seen"}
    assert document["seen"].keys() == {"filters", "newest", "forgotten"}
    (_, added), sent = played(product, "seen", call("add", "ann", ["x"]), call("add", "ann", ["y"]))
    assert added == 1
    assert actions(sent) == ["GET ann", "POST _bulk"]
    operation, change = sent[1].json
    assert operation == {"update": {"_id": "ann", "if_seq_no": 0, "if_primary_term": 3}}
    assert change.keys() == {"doc"}
    assert change["doc"].keys() == {"seen"}, "no field of another program is written"


@products
def test_unseen_reads_and_writes_nothing(product: str) -> None:
    (_, left), sent = played(product, "seen", call("add", "ann", ["x"]), call("unseen", "ann", ["x", "y"]))
    assert left == ["y"]
    assert [(each.action, each.parameters) for each in sent] == [("GET ann", {"_source_includes": "seen"})]
    given = {"ann": ["x", "y"], "bob": ["x"]}
    (_, every), sent = played(product, "seen", call("add", "ann", ["x"]), call("unseen_many", given))
    assert every == {"ann": ["y"], "bob": ["x"]}
    assert [(each.action, each.json) for each in sent] == [("POST _mget", {"ids": ["ann", "bob"]})]


@products
def test_forget_keeps_the_filter_and_adds_to_the_list_of_forgotten_items(product: str) -> None:
    calls = call("add", "ann", ["x", "y"]), call("forget", "ann", ["x"])
    (_, forgotten), sent = played(product, "seen", *calls)
    assert forgotten == 1
    assert actions(sent) == ["GET ann", "POST _bulk"]
    operation, change = sent[1].json
    assert operation == {"update": {"_id": "ann", "if_seq_no": 0, "if_primary_term": 3}}
    assert [each.keys() for each in change["doc"]["seen"]["forgotten"]] == [{"item", "generation"}]
    results, _ = played(product, "seen", *calls, call("unseen", "ann", ["x", "y"]))
    assert results[-1] == ["x"]


@products
def test_remove_of_seen_items_deletes_a_document_that_has_nothing_else_and_else_only_the_field(product: str) -> None:
    def prepare(wire: Wire) -> None:
        wire.put("bob", {"name": "Bob"})

    for user, lines in {
        "ann": [{"delete": {"_id": "ann", "if_seq_no": 1, "if_primary_term": 3}}],
        "bob": [{"update": {"_id": "bob", "if_seq_no": 1, "if_primary_term": 3}}, {"doc": {"seen": None}}],
    }.items():
        _, sent = played(product, "seen", call("add", user, ["x"]), call("remove", user), prepare=prepare)
        assert only(sent, "POST _bulk").json == lines
