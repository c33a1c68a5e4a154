"""Connections that break, before the server has seen a request or after it has done what it was asked."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from tests.es_node.proxy import Drop
from tests.faults import VERBS, contents, ingest, later, news, unharmed

if TYPE_CHECKING:
    from tests.es_node.proxy import Proxy, Request, Rule

pytestmark = [pytest.mark.elasticsearch, pytest.mark.slow]

NEWS = news()
LATER = later(NEWS)


def breaking(seed: int, share: float) -> Rule:
    """So many requests of each kind break, half of them unseen; which ones depends on nothing but the seed."""
    of = {verb: random.Random(f"{seed} {verb}") for verb in VERBS}

    def rule(request: Request) -> Drop | None:
        if request.verb not in of or of[request.verb].random() > share:
            return None
        return Drop(done=of[request.verb].random() < 0.5)

    return rule


@pytest.mark.parametrize(
    ("kind", "workers", "on_duplicate"),
    [("sync", 0, "index"), ("async", 0, "skip"), ("sync", 2, "skip"), ("async", 2, "index")],
)
def test_an_ingest_over_connections_that_break_leaves_what_one_without_does(
    proxy: Proxy, address: str, direct: str, kind: str, workers: int, on_duplicate: Any
) -> None:
    proxy.rule = breaking(seed=workers, share=0.5)
    outcomes = ingest(address, NEWS, kind, workers=workers, on_duplicate=on_duplicate)
    outcomes += ingest(address, LATER, kind, workers=workers, on_duplicate=on_duplicate)
    assert len(proxy.faults) > 20
    assert outcomes == unharmed(NEWS, LATER, on_duplicate=on_duplicate)[0]
    assert contents(direct) == unharmed(NEWS, LATER, on_duplicate=on_duplicate)[1]


@pytest.mark.parametrize("seed", [0, 1])
def test_links_are_mended_once_though_the_server_s_word_is_lost(
    proxy: Proxy, address: str, direct: str, seed: int
) -> None:
    documents = news(60, seed)
    more = later(documents, seed)
    ingest(direct, documents)
    proxy.rule = breaking(seed, share=0.7)
    ingest(address, more)
    assert contents(direct) == unharmed(documents, more)[1]
