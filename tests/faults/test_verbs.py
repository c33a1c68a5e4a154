"""Faults in the midst of group, backfill and remove: an error, and the same call completes it; never a wrong state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from elasticsearch import Elasticsearch

from es_simhash import Documents
from es_simhash.errors import StoreUnavailable
from tests.es_node.proxy import Answer, Drop, times
from tests.faults import BATCH, MAX_DISTANCE, contents, contents_of, ingest, later, news

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.es_node.proxy import Fault, Proxy, Rule

pytestmark = [pytest.mark.elasticsearch, pytest.mark.slow]

NEWS = news()
GONE = [str(n) for n in range(0, 40, 3)]
EVERY = ["_bulk", "_msearch", "_mget", "_refresh", "_search", "_pit"]
FAULTS = [Answer(503), Drop(done=False), Drop(done=True)]


def nth(count: int, fault: Fault) -> Rule:
    """The first requests pass, and from the count on this happens to four: as often as the client tries it."""
    numbers = iter(range(10_000))
    return lambda r: fault if r.verb in EVERY and count <= next(numbers) < count + 4 else None


def until_done(proxy: Proxy, fault: Fault, work: Callable[[], Any]) -> int:
    """Call it until it is done, each call with the fault one request later; how many calls broke off."""
    for broken in range(100):
        proxy.rule = nth(broken, fault)
        before = len(proxy.faults)
        try:
            work()
        except StoreUnavailable:
            continue
        assert len(proxy.faults) < before + 4
        proxy.rule = lambda request: None
        return broken
    raise AssertionError("it never came to an end")


@pytest.fixture
def library(address: str) -> Iterator[Documents]:
    with Documents(address) as library:
        library.fetch([])  # it has asked for the mapping by now
        yield library


@pytest.mark.parametrize("fault", FAULTS)
def test_groups_are_complete_when_a_call_comes_to_its_end(
    proxy: Proxy, library: Documents, direct: str, fault: Fault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("es_simhash.verbs.group.BATCH", 4)
    with Documents("sqlite:///:memory:") as reference:
        for documents in (NEWS[::-1], later(NEWS)):
            list(reference.ingest(documents, max_distance=0))
            ingest(direct, documents, max_distance=0)
        before = contents_of(reference)
        assert contents(direct) == before
        reference.group(max_distance=MAX_DISTANCE)
        after = contents_of(reference)
    assert sum(before[id] != after[id] for id in before) > 8
    assert until_done(proxy, fault, lambda: library.group(max_distance=MAX_DISTANCE)) > 3
    assert contents(direct) == after


@pytest.mark.parametrize("fault", FAULTS)
def test_removed_documents_are_gone_and_so_are_the_links_to_them(
    proxy: Proxy, library: Documents, direct: str, fault: Fault
) -> None:
    with Documents("sqlite:///:memory:") as reference:
        list(reference.ingest(NEWS, max_distance=MAX_DISTANCE))
        ingest(direct, NEWS)
        assert any(row[3] in GONE for row in contents(direct).values())
        reference.remove(GONE, max_distance=MAX_DISTANCE)
        after = contents_of(reference)
    assert until_done(proxy, fault, lambda: library.remove(GONE, max_distance=MAX_DISTANCE)) > 3
    assert contents(direct) == after


@pytest.mark.parametrize("fault", FAULTS)
def test_what_matches_is_removed_when_a_call_comes_to_its_end(
    proxy: Proxy, library: Documents, direct: str, fault: Fault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("es_simhash.verbs.remove.BATCH", 5)
    clause = {"ids": {"values": GONE}}
    ingest(direct, NEWS)
    assert until_done(proxy, fault, lambda: library.remove_matching(clause, max_distance=MAX_DISTANCE)) > 3
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
    return list(library.backfill("text", max_distance=MAX_DISTANCE, batch_size=BATCH, **options))


def every_copy_is_known(library: Documents) -> bool:
    """Whether as many documents duplicate another as after a look at all of them together."""

    def copies() -> int:
        return sum(original is not None for _, _, _, original in contents_of(library).values())

    before = copies()
    library.group(max_distance=MAX_DISTANCE)
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


@pytest.mark.parametrize("fault", FAULTS)
def test_a_backfill_that_broke_off_is_completed_by_the_next(
    bare: None, proxy: Proxy, address: str, fault: Fault
) -> None:
    with Documents(address) as library:
        assert until_done(proxy, fault, lambda: backfill(library, deadline=0)) > 3
        assert contents_of(library).keys() == {document["id"] for document in NEWS}
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
