"""Each verb repeats a request until the deadline; a call that broke off is completed by the next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import Documents, SeenItems
from es_simhash.errors import StoreUnavailable
from tests.es_node.proxy import Answer, Drop
from tests.faults import RULE, contents, contents_of, ingest, news

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.es_node.proxy import Fault, Proxy, Request

pytestmark = [pytest.mark.elasticsearch, pytest.mark.slow]

NEWS = news()
GONE = [str(number) for number in range(0, 40, 3)]
EVERY = ["_bulk", "_msearch", "_mget", "_doc", "_refresh", "_search", "_pit", "_count"]
TURNS = 5
"""Of ten requests so many find a server that is too busy."""
VERBS: dict[str, Callable[[Documents], Any]] = {
    "similar": lambda client: client.similar(NEWS[0]["text"]),
    "similar_to": lambda client: client.similar_to("0"),
    "fetch": lambda client: client.fetch(["0"]),
    "export": lambda client: list(client.export()),
    "group": lambda client: client.group(),
    "remove": lambda client: client.remove(["0"]),
    "add": lambda client: client.add(NEWS[0]),
    "backfill": lambda client: list(client.backfill()),
}


def now_and_then(request: Request, numbers: Any) -> Answer | None:
    """Of each 10 requests the first 5 find a server that is too busy."""
    is_ours = request.verb in EVERY or request.method == "GET"
    return Answer(503) if is_ours and next(numbers) % 10 < TURNS else None


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_repeats_a_request_until_the_deadline(proxy: Proxy, address: str, direct: str, verb: str) -> None:
    ingest(direct, NEWS)
    numbers = iter(range(10_000))
    proxy.rule = lambda request: now_and_then(request, numbers)
    with Documents(address, deadline=60) as client:
        answer = VERBS[verb](client)
    assert len(proxy.faults) >= TURNS
    if verb == "remove":
        assert contents(direct).keys() == {document["id"] for document in NEWS[1:]}
    else:
        with Documents(direct) as client:
            assert repr(VERBS[verb](client)) == repr(answer)


def test_seen_items_repeat_a_request_until_the_deadline(proxy: Proxy, elasticsearch_url: str, index_name: str) -> None:
    with SeenItems(f"{elasticsearch_url}/{index_name}", generations=2) as seen:
        seen.setup()
    numbers = iter(range(10_000))
    proxy.rule = lambda request: now_and_then(request, numbers)
    with SeenItems(f"{proxy.url}/{index_name}", deadline=60) as seen:
        assert seen.add("ann", ["a", "b"]) == 2
        assert seen.unseen("ann", ["a", "c"]) == ["c"]
        assert seen.rotate().failed == {}
    assert len(proxy.faults) >= TURNS


def calls_until_done(proxy: Proxy, fault: Fault, work: Callable[[], Any]) -> int:
    """Call it until nothing happens to it, each call with the fault one request later; how many calls broke off."""
    broken = 0
    for count in range(100):
        numbers = iter(range(10_000))

        def rule(request: Request, first: int = count, numbers: Any = numbers) -> Fault | None:
            counts = request.verb in EVERY and request.method != "DELETE"  # a point in time that stays open expires
            return fault if counts and first <= next(numbers) < first + 4 else None

        proxy.rule = rule
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


@pytest.mark.parametrize("verb", ["group", "remove"])
@pytest.mark.parametrize("done", [False, True])
def test_a_verb_that_broke_off_is_completed_when_a_call_comes_to_its_end(
    proxy: Proxy, address: str, direct: str, verb: str, done: bool
) -> None:
    work: dict[str, Callable[[Documents], Any]] = {
        "group": lambda client: client.group(),
        "remove": lambda client: client.remove(GONE),
    }
    with Documents("memory://") as reference, Documents(direct) as documents:
        for client in (reference, documents):
            client.setup(rule="exact" if verb == "group" else RULE)
            client.add_many(NEWS)
            client.setup(rule=RULE)
        work[verb](reference)
        after = contents_of(reference)
    with Documents(address, deadline=0) as client:
        client.fetch([])  # it has asked for the mapping by now
        assert calls_until_done(proxy, Drop(done=done), lambda: work[verb](client)) > 1
    assert contents(direct) == after
