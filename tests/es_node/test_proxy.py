"""The proxy does what its rule says. The tests of faults do not see whether a request that is dropped was done."""

from __future__ import annotations

from urllib.request import urlopen

import pytest

from tests.es_node.proxy import Answer, Drop, Proxy, times


@pytest.mark.parametrize("done", [False, True])
def test_a_dropped_request_has_no_answer_whether_it_was_done_or_not(done: bool) -> None:
    with Proxy("", lambda request: Answer(200)) as target, Proxy(target.url, times(1, Drop(done), "_bulk")) as proxy:
        with pytest.raises(OSError, match="closed connection without response"):
            urlopen(f"{proxy.url}/news/_bulk", b"{}")
        assert len(target.faults) == done
        with urlopen(f"{proxy.url}/news/_bulk", b"{}") as answer:
            assert answer.status == 200
