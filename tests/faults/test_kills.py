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
from tests.faults import RULE, contents, contents_of, ingest, news, unharmed

if TYPE_CHECKING:
    from collections.abc import Iterator

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


def test_ingest(mortal_node: Node, direct: str) -> None:
    with killed(mortal_node, direct, nth=2) as address:
        outcomes = ingest(address, NEWS, deadline=120)
    assert (outcomes, contents(direct)) == unharmed(NEWS)


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


def test_group(mortal_node: Node, direct: str) -> None:
    with Documents("memory://") as reference, Documents(direct) as documents:
        for client in (reference, documents):
            client.setup(rule="exact")
            client.add_many(NEWS)
            client.setup(rule=RULE)
        reference.group()
        expected = contents_of(reference)
    with killed(mortal_node, direct) as address, Documents(address, deadline=120) as documents:
        documents.group()
    assert contents(direct) == expected


def test_remove(mortal_node: Node, direct: str) -> None:
    with Documents("memory://") as reference:
        reference.setup(RULE)
        list(reference.ingest(NEWS))
        reference.remove(GONE)
        expected = contents_of(reference)
    ingest(direct, NEWS)
    with killed(mortal_node, direct) as address, Documents(address, deadline=120) as documents:
        documents.remove(GONE)
    assert contents(direct) == expected


def test_add(mortal_node: Node, direct: str) -> None:
    with killed(mortal_node, direct, nth=3) as address, Documents(address, deadline=120) as documents:
        outcomes = [documents.add(document) for document in NEWS[:10]]
    assert [outcome.id for outcome in outcomes if outcome.stored] == [document["id"] for document in NEWS[:10]]
    assert contents(direct) == unharmed(NEWS[:10])[1]


def test_seen_items(mortal_node: Node) -> None:
    direct = f"{mortal_node.url}/test-{uuid.uuid4().hex[:16]}"
    with SeenItems(direct) as seen:
        seen.setup()
    with killed(mortal_node, direct) as address, SeenItems(address, deadline=120) as seen:
        added: Any = seen.add("ann", ["a", "b"])
        assert added == 2
    with SeenItems(direct) as seen:
        assert seen.unseen("ann", ["a", "b", "c"]) == ["c"]
