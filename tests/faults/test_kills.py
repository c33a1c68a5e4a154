"""A node is killed in the midst of each verb, and comes back: the verb ends as if nothing were."""

from __future__ import annotations

import threading
import uuid
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from elasticsearch import Elasticsearch

from es_simhash import Documents, SeenItems
from tests.es_node.proxy import Proxy
from tests.faults import RULE, contents, contents_of, news

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.es_node.node import Node
    from tests.es_node.proxy import Request

pytestmark = [pytest.mark.elasticsearch, pytest.mark.slow]

NEWS = news(600)
"""More than a batch."""
GONE = [str(number) for number in range(0, 600, 3)]


@pytest.fixture
def direct(mortal_node: Node) -> str:
    address = f"{mortal_node.url}/test-{uuid.uuid4().hex[:16]}"
    with Documents(address, request_timeout=60) as documents:
        documents.setup(rule=RULE)
    return address


@contextmanager
def killed(node: Node, address: str, nth: int = 1) -> Iterator[str]:
    """Yield an address of the same index behind a proxy. It kills the node before it sees a bulk request."""
    restarting = threading.Thread(target=node.restart)
    left = nth

    def rule(request: Request) -> None:
        nonlocal left
        left -= request.verb == "_bulk"
        if left == 0 and request.verb == "_bulk":
            node.kill()
            restarting.start()

    with Proxy(node.url, rule) as proxy:
        yield f"{proxy.url}/{address.rpartition('/')[2]}"
        restarting.join()  # raises if the node was not killed


def grouped_by_another_rule(client: Documents) -> None:
    client.setup(rule="exact")
    client.add_many(NEWS)
    client.setup(rule=RULE)


WORK: dict[str, tuple[Callable[[Documents], Any], Callable[[Documents], Any], int]] = {
    "ingest": (lambda client: None, lambda client: list(client.ingest(NEWS)), 2),
    "add": (lambda client: None, lambda client: [client.add(each) for each in NEWS[:10]], 3),
    "group": (grouped_by_another_rule, lambda client: client.group(), 1),
    "remove": (lambda client: client.add_many(NEWS), lambda client: client.remove(GONE), 1),
}
"""What is done before, the verb, and the bulk request before which the node is killed."""


@pytest.mark.parametrize("verb", WORK)
def test_a_verb_does_what_it_does_without_a_kill(mortal_node: Node, direct: str, verb: str) -> None:
    prepare, work, nth = WORK[verb]
    with Documents("memory://") as reference, Documents(direct) as documents:
        reference.setup(RULE)
        for client in (reference, documents):
            prepare(client)
        expected = work(reference), contents_of(reference)
    with killed(mortal_node, direct, nth) as address, Documents(address, deadline=120) as documents:
        result = work(documents)
    assert (result, contents(direct)) == expected


def test_backfill(mortal_node: Node) -> None:
    index = f"test-{uuid.uuid4().hex[:16]}"
    with Elasticsearch(mortal_node.url, request_timeout=60) as client:
        operations = [line for each in NEWS for line in ({"index": {"_id": each["id"]}}, each)]
        client.bulk(index=index, operations=operations, refresh=True)
    direct = f"{mortal_node.url}/{index}"
    with Documents(direct) as documents:
        documents.setup(rule=RULE)
    with killed(mortal_node, direct, nth=2) as address, Documents(address, deadline=120) as documents:
        outcomes = list(documents.backfill())
    assert sorted(outcome.id or "" for outcome in outcomes) == sorted(document["id"] for document in NEWS)
    assert {o.id: o.duplicate_of for o in outcomes} == {id: row[3] for id, row in contents(direct).items()}


def test_seen_items(mortal_node: Node) -> None:
    direct = f"{mortal_node.url}/test-{uuid.uuid4().hex[:16]}"
    with SeenItems(direct) as seen:
        seen.setup()
    with killed(mortal_node, direct) as address, SeenItems(address, deadline=120) as seen:
        added: Any = seen.add("ann", ["a", "b"])
        assert added == 2
    with SeenItems(direct) as seen:
        assert seen.unseen("ann", ["a", "b", "c"]) == ["c"]
