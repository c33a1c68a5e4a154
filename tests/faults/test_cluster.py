"""A cluster of three nodes, of which one is killed at any moment: every verb ends as if none were."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest
from elasticsearch import Elasticsearch

from es_simhash import Documents
from tests.es_node.proxy import Delay, Proxy
from tests.faults import MAX_DISTANCE, contents_of, news
from tests.faults.cluster import VERBS, NodeKiller, address_of, calm, new_index

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.es_node.node import Node

pytestmark = [pytest.mark.elasticsearch, pytest.mark.slow]

KILLS = 2


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_ends_as_a_calm_run_although_nodes_and_the_master_are_killed(
    mortal_cluster: list[Node], verb: str
) -> None:
    with NodeKiller(mortal_cluster, KILLS) as killer:
        figures = VERBS[verb](mortal_cluster, killer)
    assert (killer.kills, killer.masters) == (KILLS, KILLS // 2)
    assert figures.runs > 0
    assert figures.documents > 0
    assert figures.lost == 0


def test_a_slow_node_is_left_for_another_one(mortal_cluster: list[Node]) -> None:
    documents = news(40)
    with ExitStack() as stack:
        address = stack.enter_context(new_index(mortal_cluster))
        slow = stack.enter_context(Proxy(mortal_cluster[0].url, lambda request: Delay(3)))
        index = address.rpartition("/")[2]
        hosts = ",".join(each.removeprefix("http://") for each in (slow.url, *(n.url for n in mortal_cluster[1:])))
        client = stack.enter_context(Documents(f"http://{hosts}/{index}", request_timeout=2, deadline=120))
        client.setup(keys=False)
        outcomes = list(client.ingest(documents, rule="fingerprint", max_distance=MAX_DISTANCE, batch_size=5))
        assert slow.faults
        assert (outcomes, contents_of(client)) == calm(documents)


def test_a_client_that_sniffs_finds_the_nodes_that_its_address_does_not_name(mortal_cluster: list[Node]) -> None:
    documents = news(20)
    with new_index(mortal_cluster) as address:
        one = f"{mortal_cluster[0].url}/{address.rpartition('/')[2]}"
        with Documents(one, sniff_before_requests=True, deadline=120) as client:
            client.setup(keys=False)
            mortal_cluster[0].kill()
            try:
                outcomes = list(client.ingest(documents, rule="fingerprint", max_distance=MAX_DISTANCE, batch_size=5))
                assert (outcomes, contents_of(client)) == calm(documents)
            finally:
                mortal_cluster[0].restart()


def test_a_host_that_is_away_from_the_start_is_left_for_another_one(mortal_cluster: list[Node]) -> None:
    with new_index(mortal_cluster) as address:
        with Documents(address.replace("http://", "http://127.0.0.1:1,")) as client:
            client.setup(keys=False)
            assert client.similar("暴雨", rule="fingerprint") == []
        assert address == address_of(mortal_cluster, address.rpartition("/")[2])


def test_an_ingest_outlasts_a_full_disk(mortal_cluster: list[Node]) -> None:
    documents = news(40)
    block = "index.blocks.read_only_allow_delete"  # what the server sets when a disk is full, and removes again
    with (
        new_index(mortal_cluster) as address,
        Documents(address, deadline=120) as client,
        Elasticsearch(mortal_cluster[0].url, request_timeout=60) as server,
    ):
        index = address.rpartition("/")[2]
        client.setup(keys=False)
        lift = threading.Timer(4, lambda: server.indices.put_settings(index=index, settings={block: None}))

        def given() -> Iterator[dict[str, Any]]:
            for number, document in enumerate(documents):
                if number == 20:
                    server.indices.put_settings(index=index, settings={block: True})
                    lift.start()
                yield document

        outcomes = list(client.ingest(given(), rule="fingerprint", max_distance=MAX_DISTANCE, batch_size=5))
        assert lift.finished.is_set()
        assert (outcomes, contents_of(client)) == calm(documents)
