"""A server that is too busy, for whole requests or for single documents."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import StoreUnavailable
from tests.es_node.proxy import BusyItems, operations
from tests.faults import contents, ingest, news, unharmed

if TYPE_CHECKING:
    from tests.es_node.proxy import Proxy, Request

pytestmark = [pytest.mark.elasticsearch, pytest.mark.slow]

NEWS = news()
STUCK = {"0", "2", "7", "11", "12", "38"}


@pytest.mark.parametrize("on_duplicate", ["index", "skip"])
def test_documents_that_the_server_has_no_time_for_are_sent_again(
    proxy: Proxy, address: str, direct: str, on_duplicate: Any
) -> None:
    tried: Counter[str] = Counter()

    def rule(request: Request) -> BusyItems | None:
        """Every other document is turned away twice."""
        if request.verb != "_bulk":
            return None
        tried.update(id for _, id, _ in operations(request.body))
        return BusyItems({id for id, count in tried.items() if count <= 2 and int(id) % 2})

    proxy.rule = rule
    outcomes = ingest(address, NEWS, on_duplicate=on_duplicate)
    assert (outcomes, contents(direct)) == unharmed(NEWS, on_duplicate=on_duplicate)
    assert set(tried.values()) == {1, 3}


def test_a_server_that_stays_too_busy_for_a_document_ends_the_run_with_the_next_step(
    proxy: Proxy, address: str
) -> None:
    proxy.rule = lambda request: BusyItems(STUCK) if request.verb == "_bulk" else None
    with pytest.raises(StoreUnavailable, match=r"is too busy or not ready .*: try again later"):
        ingest(address, NEWS, deadline=0)
