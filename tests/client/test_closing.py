"""An iteration that is closed ends at once, even while a store is away and requests wait for a retry."""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import Documents, retries
from es_simhash.errors import StoreUnavailable
from es_simhash.ingest import run as run_module
from tests.contract import LinearStore
from tests.contract.watched import StoreCall, WatchedStore
from tests.limited import in_batches

if TYPE_CHECKING:
    from collections.abc import Iterator


BATCH = 5
DEADLINE = 20.0
"""Seconds for which a request is retried: far longer than a test may take."""
SOON = DEADLINE / 4


class Away(WatchedStore):
    """A store that answers some calls of ``fetch``, and is away at all later ones."""

    def __init__(self, after: int) -> None:
        super().__init__(LinearStore())
        self._left = after
        self.away = threading.Event()

    def perform(self, call: StoreCall) -> Any:
        if call.method == "fetch":
            self._left -= 1
            if self._left < 0:
                self.away.set()
                raise StoreUnavailable("it is away")
        return super().perform(call)


def documents(count: int = 100) -> Iterator[dict[str, Any]]:
    return ({"id": n, "text": f"第{n}条"} for n in range(count))


def threads() -> set[str]:
    """Return the names of our threads, after those that are about to end have ended."""
    end = time.monotonic() + DEADLINE / 2
    while names := {thread.name for thread in threading.enumerate() if thread.name.startswith("es-simhash")}:
        if time.monotonic() > end:
            break
        time.sleep(0.01)
    return names


@pytest.fixture(autouse=True)
def long_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each wait before a retry last until the deadline."""
    monkeypatch.setattr(retries, "random", SimpleNamespace(uniform=lambda least, most: DEADLINE))


def test_a_closed_sync_ingest_does_not_wait_for_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_module, "read_ahead", lambda workers: 1)
    store = Away(1)
    outcomes = in_batches(Documents(store, deadline=DEADLINE), BATCH).ingest(documents(), rule="fingerprint")
    next(outcomes)
    assert store.away.wait(5), "the next batch is being looked up"
    began = time.monotonic()
    outcomes.close()
    assert time.monotonic() - began < SOON
    assert threads() == set()
