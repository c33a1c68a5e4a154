"""A cluster of three nodes, of which one is killed at any moment: every verb ends as if none were."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest
from elasticsearch import Elasticsearch

from es_simhash import Documents
from es_simhash.store.elastic.pages import PAGE
from tests.es_node.proxy import Delay, Proxy
from tests.faults import RULE, contents_of, news, unharmed
from tests.faults.cluster import VERBS, NodeKiller, new_index, opened

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.es_node.node import Node

pytestmark = [pytest.mark.slow, pytest.mark.nightly]

KILLS = 2


def a_scan_goes_on_without_a_node(nodes: list[Node]) -> None:
    documents = [{"id": str(number), "text": str(number)} for number in range(PAGE + 1)]
    with new_index(nodes) as address, opened(address, documents) as client:
        rows = client.export()
        ids = [next(rows).id]
        nodes[1].kill()  # its shards move to other nodes
        ids += [row.id for row in rows]
        nodes[1].restart()
    assert sorted(ids) == sorted(document["id"] for document in documents)


def ends_calmly(nodes: list[Node], verb: str) -> None:
    with NodeKiller(nodes, KILLS) as killer:
        done = VERBS[verb](nodes, killer)
    assert (killer.kills, killer.masters) == (KILLS, KILLS // 2)
    assert done > 0


@pytest.mark.elasticsearch
@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_ends_as_a_calm_run_although_nodes_and_the_master_are_killed(
    mortal_cluster: list[Node], verb: str
) -> None:
    ends_calmly(mortal_cluster, verb)


@pytest.mark.elasticsearch
def test_a_scan_goes_on_although_a_node_is_away(mortal_cluster: list[Node]) -> None:
    a_scan_goes_on_without_a_node(mortal_cluster)


@pytest.mark.opensearch
@pytest.mark.parametrize("mortal_cluster", ["opensearch"], indirect=True)
def test_an_ingest_and_a_scan_on_opensearch_end_as_calm_ones(mortal_cluster: list[Node]) -> None:
    ends_calmly(mortal_cluster, "ingest")
    a_scan_goes_on_without_a_node(mortal_cluster)


@pytest.mark.elasticsearch
def test_a_slow_node_is_left_for_another_one(mortal_cluster: list[Node]) -> None:
    documents = news(40)
    with ExitStack() as stack:
        address = stack.enter_context(new_index(mortal_cluster))
        slow = stack.enter_context(Proxy(mortal_cluster[0].url, lambda request: Delay(3)))
        index = address.rpartition("/")[2]
        hosts = ",".join(each.removeprefix("http://") for each in (slow.url, *(n.url for n in mortal_cluster[1:])))
        client = stack.enter_context(Documents(f"http://{hosts}/{index}", request_timeout=2, deadline=120))
        client.setup(RULE)
        outcomes = list(client.ingest(documents))
        assert slow.faults
        assert (outcomes, contents_of(client)) == unharmed(documents)


@pytest.mark.elasticsearch
def test_an_ingest_outlasts_a_full_disk(mortal_cluster: list[Node]) -> None:
    documents = news(40)
    block = "index.blocks.read_only_allow_delete"  # what the server sets when a disk is full, and removes again
    with (
        new_index(mortal_cluster) as address,
        Documents(address, deadline=120) as client,
        Elasticsearch(mortal_cluster[0].url, request_timeout=60) as server,
    ):
        index = address.rpartition("/")[2]
        client.setup(RULE)
        lift = threading.Timer(4, lambda: server.indices.put_settings(index=index, settings={block: None}))

        def given() -> Iterator[dict[str, Any]]:
            for number, document in enumerate(documents):
                if number == 20:
                    server.indices.put_settings(index=index, settings={block: True})
                    lift.start()
                yield document

        outcomes = list(client.ingest(given()))
        assert lift.finished.is_set()
        assert (outcomes, contents_of(client)) == unharmed(documents)
