"""A call ends about at its deadline, if a server hangs."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import AsyncDocuments, Documents, SeenItems, StoreUnavailable
from tests.client import STORM
from tests.es_node.fixtures import ELASTICSEARCH, OPENSEARCH, new_addresses
from tests.es_node.proxy import Delay, Proxy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

DEADLINE = 2
HANGS = 30
ABOUT = DEADLINE + 5
"""A busy machine needs a while to end a call."""
NEWS = {"id": "0", "text": STORM}


@pytest.fixture
def hanging(request: pytest.FixtureRequest) -> Iterator[tuple[Proxy, str]]:
    """A proxy before a server, and the address through it of an index that was set up."""
    address = new_addresses(request, request.param)()
    with Documents(address) as documents:
        documents.setup()
    url = request.getfixturevalue(f"{request.param}_url")
    with Proxy(url) as proxy:
        yield proxy, address.replace(url, proxy.url)


def took(call: Callable[[], Any]) -> float:
    """Return the seconds after which a call raises StoreUnavailable."""
    began = time.monotonic()
    with pytest.raises(StoreUnavailable, match="did not answer in time"):
        call()
    return time.monotonic() - began


servers = pytest.mark.parametrize("hanging", [ELASTICSEARCH, OPENSEARCH], indirect=True)


@servers
def test_a_server_that_hangs_from_the_beginning_is_told_as_soon(hanging: tuple[Proxy, str]) -> None:
    proxy, address = hanging
    proxy.rule = lambda request: Delay(HANGS)
    with Documents(address, deadline=DEADLINE) as documents, SeenItems(address, deadline=DEADLINE) as seen:
        assert took(lambda: documents.similar(STORM)) < ABOUT
        assert took(lambda: seen.unseen("ann", ["a"])) < ABOUT


@pytest.mark.slow
@servers
@pytest.mark.parametrize("verb", ["similar", "similar_to", "add", "fetch", "seen"])
def test_a_call_whose_requests_are_slow_ends_about_at_its_deadline(hanging: tuple[Proxy, str], verb: str) -> None:
    proxy, address = hanging
    with Documents(address) as documents, SeenItems(address) as seen:
        documents.add(NEWS, refresh=True)
        seen.setup()
    with Documents(address, deadline=DEADLINE) as documents, SeenItems(address, deadline=DEADLINE) as seen:
        calls: dict[str, Callable[[], Any]] = {
            "similar": lambda: documents.similar(STORM),
            "similar_to": lambda: documents.similar_to("0"),
            "add": lambda: documents.add(NEWS),
            "fetch": lambda: documents.fetch(["0"]),
            "seen": lambda: seen.add("ann", ["a"]),
        }
        proxy.rule = lambda request: Delay(0.6 * DEADLINE)
        assert took(calls[verb]) < ABOUT


@servers
def test_a_slow_answer_is_waited_for_as_long_as_the_caller_says(hanging: tuple[Proxy, str]) -> None:
    proxy, address = hanging
    proxy.rule = lambda request: Delay(1)
    with Documents(address, deadline=30, request_timeout=0.5) as documents:
        assert took(lambda: documents.similar(STORM)) < 10
    with Documents(address, deadline=30, request_timeout=10) as documents:
        assert documents.similar(STORM) == []


@servers
def test_twenty_tasks_end_at_the_deadline_of_each(hanging: tuple[Proxy, str]) -> None:
    proxy, address = hanging

    async def main() -> list[Any]:
        async with AsyncDocuments(address, deadline=DEADLINE) as documents:
            await documents.info()
            proxy.rule = lambda request: Delay(HANGS)
            return await asyncio.gather(*(documents.similar(STORM) for _ in range(20)), return_exceptions=True)

    began = time.monotonic()
    answers = asyncio.run(main())
    assert time.monotonic() - began < ABOUT
    assert {type(answer).__mro__[1] for answer in answers} == {StoreUnavailable}


def test_twenty_tasks_end_at_the_deadline_if_another_process_keeps_the_file_locked(tmp_path: Path) -> None:
    path = tmp_path / "news.db"
    with Documents(f"sqlite:///{path}") as documents:
        documents.setup()

    async def main() -> list[Any]:
        async with AsyncDocuments(f"sqlite:///{path}", deadline=DEADLINE) as documents:
            adds = [documents.add({"id": str(number), "text": f"{STORM}{number}"}) for number in range(20)]
            return await asyncio.gather(*adds, return_exceptions=True)

    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        began = time.monotonic()
        answers = asyncio.run(main())
    assert time.monotonic() - began < ABOUT
    assert {type(answer) for answer in answers} == {StoreUnavailable}
    assert any("been writing to it (deadline 2 s): try again later" in str(answer) for answer in answers)


@pytest.mark.parametrize("hanging", [ELASTICSEARCH], indirect=True)
def test_many_calls_that_ask_a_server_that_hangs_end_at_their_deadline(
    hanging: tuple[Proxy, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each asks the store how it was set up, and not only after a second."""
    monkeypatch.setattr("es_simhash.client.set_up.KNOWN", 0.0)
    proxy, address = hanging
    with Documents(address, deadline=1) as documents, ThreadPoolExecutor(30) as threads:
        documents.info()  # the server answers once
        proxy.rule = lambda request: Delay(HANGS)

        def seconds(_: int) -> float:
            began = time.monotonic()
            with pytest.raises(StoreUnavailable):
                documents.add(NEWS)
            return time.monotonic() - began

        assert max(threads.map(seconds, range(30))) < 2
