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


@pytest.mark.parametrize("on_duplicate", ["index", "skip"])
def test_an_ingest_over_connections_that_break_leaves_what_one_without_does(
    proxy: Proxy, address: str, direct: str, on_duplicate: Any
) -> None:
    proxy.rule = breaking(seed=1, share=0.5)
    outcomes = [o for run in RUNS for o in ingest(address, run, on_duplicate=on_duplicate)]
    assert len(proxy.faults) > 20
    assert (outcomes, contents(direct)) == unharmed(*RUNS, on_duplicate=on_duplicate)
