"""Laws of the waits between attempts, of retries, and of calls that are cancelled."""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import retries
from es_simhash.retries import Call, Cancelled, Waits, end_after, held, pause

if TYPE_CHECKING:
    from collections.abc import Callable

LONG = 60.0
"""Seconds after which a test gives up. A right program never waits so long."""


class Clock:
    """A clock that each wait advances."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1_000.0
        self.waits: list[float] = []
        monkeypatch.setattr(retries, "time", SimpleNamespace(monotonic=lambda: self.now))
        monkeypatch.setattr(retries, "pause", self._pause)

    def _pause(self, seconds: float) -> None:
        self.now += seconds
        self.waits.append(seconds)

    def waited(self, waits: Waits) -> list[float]:
        """Wait until the deadline; return the length of each wait in seconds."""
        while waits.wait():
            pass
        return self.waits


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


@pytest.mark.parametrize(("first", "longest"), [(0.05, 10.0), (0.01, 0.5)])
def test_a_wait_is_between_0_and_a_maximum_that_doubles_up_to_the_longest(
    first: float, longest: float, clock: Clock
) -> None:
    waited = clock.waited(Waits(end_after(60 * longest), first, longest))
    assert all(0 <= wait <= min(first * 2**n, longest) for n, wait in enumerate(waited))
    assert max(waited) > longest / 2


@pytest.mark.parametrize("deadline", [0, 0.001, 1.0, 30.0])
def test_waits_end_at_the_deadline(deadline: float, clock: Clock) -> None:
    waits = Waits(end_after(deadline))
    assert sum(clock.waited(waits)) == pytest.approx(deadline)


def wait_for_a_lock(lock: threading.RLock) -> None:
    with held(lock, "have it"):
        pass


@pytest.mark.parametrize("wait", [lambda lock: pause(LONG), wait_for_a_lock])
def test_a_wait_ends_when_its_call_is_cancelled(wait: Callable[[Any], None]) -> None:
    call, lock = Call(), threading.RLock()
    ended: list[float] = []

    def work() -> None:
        began = time.monotonic()
        with pytest.raises(Cancelled):
            call.do(lambda: wait(lock))
        ended.append(time.monotonic() - began)

    thread = threading.Thread(target=work)
    with lock:
        thread.start()
        call.cancelled.set()
        thread.join(LONG / 2)
    assert len(ended) == 1
