"""Connections that break, before the server has seen a request or after it has done what it was asked."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import Documents, StoreUnavailable
from tests.es_node.proxy import Delay, Drop, Proxy
from tests.faults import VERBS, contents, ingest, later, news, unharmed

if TYPE_CHECKING:
    from tests.es_node.proxy import Request, Rule

pytestmark = [pytest.mark.elasticsearch, pytest.mark.slow]

NEWS = news()
RUNS = [NEWS[start : start + 8] for start in range(0, len(NEWS), 8)] + [later(NEWS)]
"""Some runs, so that there are requests enough."""


def breaking(seed: int, share: float) -> Rule:
    """So many requests of each kind break, half of them unseen; which ones depends on nothing but the seed."""
    of = {verb: random.Random(f"{seed} {verb}") for verb in VERBS}

    def rule(request: Request) -> Drop | None:
        if request.verb not in of or of[request.verb].random() > share:
            return None
        return Drop(done=of[request.verb].random() < 0.5)

    return rule


def test_a_host_that_does_not_answer_is_replaced_by_another(direct: str, index_name: str) -> None:
    host = direct.removeprefix("http://").removesuffix(f"/{index_name}")
    for _ in range(5):  # a client begins with any of its hosts
        with Documents(f"http://127.0.0.1:9,{host},127.0.0.1:19/{index_name}", deadline=5) as documents:
            assert documents.fetch(["0"]) == {}


def test_a_call_ends_at_its_deadline_although_each_of_several_hosts_hangs(
    proxy: Proxy, elasticsearch_url: str, direct: str, index_name: str
) -> None:
    with Proxy(elasticsearch_url) as second:
        hosts = ",".join(each.url.removeprefix("http://") for each in (proxy, second))
        with Documents(f"http://{hosts}/{index_name}", deadline=2) as documents:
            documents.fetch(["0"])
            proxy.rule = second.rule = lambda request: Delay(10)
            began = time.monotonic()
            with pytest.raises(StoreUnavailable):
                documents.fetch(["0"])
            assert time.monotonic() - began < 8


def test_a_scan_that_is_left_does_not_wait_for_a_node_that_hangs(proxy: Proxy, address: str, direct: str) -> None:
    ingest(direct, NEWS)
    with Documents(address, deadline=60) as documents:
        exported = documents.export()
        next(exported)
        proxy.rule = lambda request: Delay(10)
        began = time.monotonic()
        exported.close()
        assert time.monotonic() - began < 8


@pytest.mark.parametrize("on_duplicate", ["index", "skip"])
def test_an_ingest_over_connections_that_break_leaves_what_one_without_does(
    proxy: Proxy, address: str, direct: str, on_duplicate: Any
) -> None:
    proxy.rule = breaking(seed=1, share=0.5)
    outcomes = [o for run in RUNS for o in ingest(address, run, on_duplicate=on_duplicate)]
    assert len(proxy.faults) > 20
    assert (outcomes, contents(direct)) == unharmed(*RUNS, on_duplicate=on_duplicate)
