"""Faults in the midst of each verb: it retries until the deadline; a call that broke off is completed by the next."""

from __future__ import annotations

import asyncio
import json
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from elasticsearch import Elasticsearch

from es_simhash import AsyncDocuments, AsyncSeenItems, Documents, SeenItems
from es_simhash.contract import Scan
from es_simhash.deciding.group import group
from es_simhash.deciding.remove import remove_matching
from es_simhash.errors import StoreUnavailable, StoreUnreachable
from es_simhash.retries import Patience
from es_simhash.stores.address import open_store
from tests.cli import es_simhash
from tests.es_node.proxy import Answer, Drop, times
from tests.faults import BATCH, MAX_DISTANCE, contents, contents_of, ingest, later, news
from tests.limited import resolved

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.es_node.proxy import Fault, Proxy, Request, Rule

pytestmark = [pytest.mark.elasticsearch, pytest.mark.slow]

NEWS = news()
GONE = [str(n) for n in range(0, 40, 3)]
EVERY = ["_bulk", "_msearch", "_mget", "_doc", "_refresh", "_search", "_pit"]
FAULTS = [Answer(503), Drop(done=False), Drop(done=True)]


def nth(count: int, fault: Fault) -> Rule:
    """The first requests pass, and from the count on this happens to four: as often as the client tries it.

    A point in time that cannot be closed is no fault: it expires.
    """
    numbers = iter(range(10_000))

    def rule(request: Request) -> Fault | None:
        counts = request.verb in EVERY and request.method != "DELETE"
        return fault if counts and count <= next(numbers) < count + 4 else None

    return rule


def until_done(proxy: Proxy, fault: Fault, work: Callable[[], Any]) -> int:
    """Call it until nothing happens to it, each call with the fault one request later; how many calls broke off.

    A lost page of a scan is read again from another point in time, so such a call does not break off.
    """
    broken = 0
    for count in range(100):
        proxy.rule = nth(count, fault)
        before = len(proxy.faults)
        try:
            work()
        except StoreUnavailable:
            broken += 1
            continue
        if len(proxy.faults) == before:
            proxy.rule = lambda request: None
            return broken
    raise AssertionError("it never came to an end")


@pytest.fixture
def library(address: str) -> Iterator[Documents]:
    with Documents(address, deadline=0) as library:
        library.fetch([])  # it has asked for the mapping by now
        yield library


@pytest.mark.parametrize("fault", FAULTS)
def test_groups_are_complete_when_a_call_comes_to_its_end(
    proxy: Proxy, library: Documents, direct: str, fault: Fault
) -> None:
    with Documents("sqlite:///:memory:") as reference:
        for documents in (NEWS[::-1], later(NEWS)):
            list(reference.ingest(documents, rule="fingerprint", max_distance=0))
            ingest(direct, documents, rule="fingerprint", max_distance=0)
        before = contents_of(reference)
        assert contents(direct) == before
        for client in (reference, library):
            client.setup(rule="fingerprint", max_distance=MAX_DISTANCE)
        reference.group(rule="fingerprint", max_distance=MAX_DISTANCE)
        after = contents_of(reference)
    assert sum(before[id] != after[id] for id in before) > 8
    rule = resolved(library, rule="fingerprint", max_distance=MAX_DISTANCE)
    assert until_done(proxy, fault, lambda: group(library.store, rule, batch=4)) > 3
    assert contents(direct) == after


@pytest.mark.parametrize("fault", FAULTS)
def test_removed_documents_are_gone_and_so_are_the_links_to_them(
    proxy: Proxy, library: Documents, direct: str, fault: Fault
) -> None:
    with Documents("sqlite:///:memory:") as reference:
        list(reference.ingest(NEWS, rule="fingerprint", max_distance=MAX_DISTANCE))
        ingest(direct, NEWS, rule="fingerprint")
        assert any(row[3] in GONE for row in contents(direct).values())
        reference.remove(GONE, rule="fingerprint", max_distance=MAX_DISTANCE)
        after = contents_of(reference)
    assert until_done(proxy, fault, lambda: library.remove(GONE, rule="fingerprint", max_distance=MAX_DISTANCE)) > 3
    assert contents(direct) == after


@pytest.mark.parametrize("fault", FAULTS)
def test_what_matches_is_removed_when_a_call_comes_to_its_end(
    proxy: Proxy, library: Documents, direct: str, fault: Fault
) -> None:
    clause = {"ids": {"values": GONE}}
    ingest(direct, NEWS, rule="fingerprint")
    rule = resolved(library, rule="fingerprint", max_distance=MAX_DISTANCE)
    assert until_done(proxy, fault, lambda: remove_matching(library.store, clause, rule, batch=5)) > 3
    left = contents(direct)
    assert left.keys() == {document["id"] for document in NEWS} - set(GONE)
    assert not any(group in GONE or original in GONE for _, _, group, original in left.values())


@pytest.fixture
def bare(elasticsearch_url: str, index_name: str) -> None:
    """An index of documents without fingerprints."""
    with Elasticsearch(elasticsearch_url) as client:
        operations = [line for each in NEWS for line in ({"index": {"_id": each["id"]}}, each)]
        client.bulk(index=index_name, operations=operations, refresh=True)


def backfill(library: Documents, **options: Any) -> list[Any]:
    return list(library.backfill("text", rule="fingerprint", max_distance=MAX_DISTANCE, batch_size=BATCH, **options))


def every_copy_is_known(library: Documents) -> bool:
    """Whether as many documents duplicate another as after a look at all of them together."""

    def copies() -> int:
        return sum(original is not None for _, _, _, original in contents_of(library).values())

    before = copies()
    library.group(rule="fingerprint", max_distance=MAX_DISTANCE)
    return 5 < before == copies()


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("workers", [0, 1])
def test_each_document_has_one_outcome_of_a_backfill_that_was_not_answered(
    bare: None, proxy: Proxy, address: str, fault: Fault, workers: int
) -> None:
    proxy.rule = times(6, fault, "_bulk")
    with Documents(address) as library:
        outcomes = backfill(library, workers=workers)
        assert sorted(outcome.id for outcome in outcomes) == sorted(document["id"] for document in NEWS)
        found = contents_of(library)
        assert {o.id: o.duplicate_of for o in outcomes} == {id: row[3] for id, row in found.items()}
        assert every_copy_is_known(library)


@pytest.mark.parametrize("workers", [0, 1])
def test_a_backfill_asks_again_for_the_documents_themselves(
    bare: None, proxy: Proxy, address: str, workers: int
) -> None:
    proxy.rule = times(9, Answer(503), "_search", "_refresh", "_pit")
    with Documents(address) as library:
        outcomes = backfill(library, workers=workers)
        assert len(proxy.faults) == 9
        assert {outcome.id for outcome in outcomes} == contents_of(library).keys()
        assert len(outcomes) == len(NEWS)


# --- retries -------------------------------------------------------------------------------------------------------

TEXT = NEWS[0]["text"]
LOOK_UPS: dict[str, Callable[[Any], Any]] = {
    "similar": lambda client: client.similar(TEXT, rule="fingerprint", max_distance=MAX_DISTANCE),
    "similar_to": lambda client: client.similar_to("0", rule="fingerprint", max_distance=MAX_DISTANCE),
    "fetch": lambda client: client.fetch(["0"]),
    "missing": lambda client: client.missing(),
    "group": lambda client: client.group(rule="fingerprint", max_distance=MAX_DISTANCE),
    "remove": lambda client: client.remove(["0"], rule="fingerprint", max_distance=MAX_DISTANCE),
    "remove_matching": lambda client: client.remove_matching(
        {"ids": {"values": ["0"]}}, rule="fingerprint", max_distance=MAX_DISTANCE
    ),
    "export": lambda client: client.export(),
    "export_texts": lambda client: client.export_texts(),
}
TURNS = 5
"""The client itself sends a request four times. So the first request is retried by the verb, too."""


def now_and_then(fault: Fault) -> Rule:
    """Of each 10 requests the first 5 have the fault."""
    numbers = iter(range(10_000))
    return lambda request: (
        fault if request.verb in [*EVERY, "_mapping", "_count"] and next(numbers) % 10 < TURNS else None
    )


def result_of(kind: str, address: str, verb: Callable[[Any], Any], classes: tuple[Any, Any]) -> Any:
    if kind == "sync":
        with classes[0](address, deadline=60) as client:
            found = verb(client)
            return list(found) if hasattr(found, "__next__") else found

    async def run() -> Any:
        async with classes[1](address, deadline=60) as client:
            found = verb(client)
            return [each async for each in found] if hasattr(found, "__anext__") else await found

    return asyncio.run(run())


@pytest.mark.parametrize("kind", ["sync", "async"])
@pytest.mark.parametrize("verb", LOOK_UPS)
def test_every_verb_retries_a_request_until_the_deadline(
    proxy: Proxy, address: str, direct: str, verb: str, kind: str
) -> None:
    ingest(direct, NEWS, rule="fingerprint")
    proxy.rule = now_and_then(Answer(503))
    found = result_of(kind, address, LOOK_UPS[verb], (Documents, AsyncDocuments))
    assert len(proxy.faults) >= TURNS
    proxy.rule = lambda request: None
    if verb == "remove":
        assert contents(direct).keys() == {document["id"] for document in NEWS[1:]}
    elif verb not in ("remove_matching", "group"):
        again = result_of(kind, address, LOOK_UPS[verb], (Documents, AsyncDocuments))
        assert sorted(map(repr, found)) == sorted(map(repr, again)) if isinstance(found, list) else found == again


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_seen_items_retry_a_request_until_the_deadline(
    proxy: Proxy, elasticsearch_url: str, index_name: str, kind: str
) -> None:
    classes = (SeenItems, AsyncSeenItems)
    with SeenItems(f"{elasticsearch_url}/{index_name}") as seen:
        seen.setup()
    address = f"{proxy.url}/{index_name}"
    proxy.rule = now_and_then(Answer(503))
    assert result_of(kind, address, lambda seen: seen.add("ann", ["a", "b"]), classes) == 2
    assert result_of(kind, address, lambda seen: seen.unseen("ann", ["a", "c"]), classes) == ["c"]
    assert result_of(kind, address, lambda seen: seen.rotate(), classes).failed == {}
    assert len(proxy.faults) >= TURNS


def test_a_point_in_time_that_cannot_be_closed_ends_no_verb(proxy: Proxy, address: str, direct: str) -> None:
    ingest(direct, NEWS)
    proxy.rule = lambda request: Answer(503) if request.method == "DELETE" else None
    assert contents(address) == contents(direct)
    assert proxy.faults


def test_a_store_that_was_never_reached_is_an_error_at_once() -> None:
    with (
        Documents("http://127.0.0.1:1,127.0.0.1:2/news") as documents,
        pytest.raises(StoreUnreachable, match="reached"),
    ):
        documents.similar(TEXT, rule="fingerprint")


def test_seen_add_of_a_file_prints_what_is_done_and_where_it_stopped(
    proxy: Proxy, elasticsearch_url: str, index_name: str, tmp_path: Path
) -> None:
    address = f"{proxy.url}/{index_name}"
    with SeenItems(address) as seen:
        seen.setup()
    lines = "".join(json.dumps({"user": f"user-{number}", "items": ["a"]}) + "\n" for number in range(1_000))
    (tmp_path / "log.jsonl").write_text(lines)
    bulks = iter(range(10_000))
    proxy.rule = lambda request: Drop(done=False) if request.verb == "_bulk" and next(bulks) > 0 else None
    done = es_simhash("seen", "add", "log.jsonl", "--store", address, "--deadline", "0.2", cwd=tmp_path)
    assert done.code == 1
    assert done.out == "1,000 lines, 1,000 items, 500 not seen before\n500 users failed\n"
    assert done.err.count("failed: the seen items of user") == 500
    assert done.err.endswith("es-simhash: the store is away; no line after log.jsonl:1000 was read\n")


# --- a point in time that is lost ------------------------------------------------------------------------------------


@pytest.mark.parametrize("losses", [1, 3])
def test_a_scan_goes_on_exactly_after_its_point_in_time_was_lost(
    elasticsearch_url: str, direct: str, losses: int
) -> None:
    ingest(direct, NEWS)
    with closing(open_store(direct, patience=Patience())) as store, Elasticsearch(elasticsearch_url) as client:
        client.indices.put_settings(index=direct.rpartition("/")[2], settings={"refresh_interval": "-1"})
        scan: Scan | None = Scan(size=4)
        found: list[str] = []
        for page_number in range(10_000):
            page = store.scan(scan)
            found += [row.id for row in page.rows]
            if (scan := scan.following(page)) is None:
                break
            if page_number % 3 == 1 and losses:
                losses -= 1
                client.close_point_in_time(id=page.after.reading.id)
                # The order of the next point in time is another one.
                client.update(index=direct.rpartition("/")[2], id=found[0], doc={"more": losses}, refresh=True)
        assert not losses
        assert sorted(found) == sorted(document["id"] for document in NEWS)
