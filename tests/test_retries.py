"""Laws of the waits between attempts, of retries, and of calls that are cancelled."""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from es_simhash import retries
from es_simhash.retries import (
    Call,
    Cancelled,
    Waits,
    end_after,
    limited,
    pause,
)

if TYPE_CHECKING:
    from collections.abc import Callable

KINDS = [Waits, Waits.after_conflict]
LONGEST = {Waits: (0.05, 10.0), Waits.after_conflict: (0.01, 0.5)}
LONG = 60.0
"""Seconds after which a test gives up. A right program never waits so long."""


class Clock:
    """A clock that each wait advances."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1_000.0
        self.waits: list[float] = []
        monkeypatch.setattr(retries, "time", SimpleNamespace(monotonic=lambda: self.now, sleep=self._sleep))

    def _sleep(self, seconds: float) -> None:
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


@pytest.mark.parametrize("kind", KINDS)
def test_a_wait_is_between_0_and_a_maximum_that_doubles_up_to_the_longest(
    kind: Callable[[float], Waits], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[tuple[float, float]] = []
    monkeypatch.setattr(
        retries, "random", SimpleNamespace(uniform=lambda *between: drawn.append(between) or between[1])
    )
    lasted = clock.waited(kind(60))
    first, longest = LONGEST[kind]
    assert lasted[:-1] == [min(first * 2**n, longest) for n in range(len(lasted) - 1)]
    assert lasted[-2] == longest
    assert {least for least, _ in drawn} == {0}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("deadline", [0.001, 1.0, 30.0])
def test_waits_end_at_the_deadline_which_starts_with_the_first_wait(
    kind: Callable[[float], Waits], deadline: float, clock: Clock
) -> None:
    waits = kind(deadline)
    clock.now += 1_000_000
    assert sum(clock.waited(waits)) == pytest.approx(deadline)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("deadline", [0, -1.0])
def test_there_is_no_wait_without_time(kind: Callable[[float], Waits], deadline: float, clock: Clock) -> None:
    assert clock.waited(kind(deadline)) == []


# --- retries -----------------------------------------------------------------------------------------------


# --- calls -------------------------------------------------------------------------------------------------


def left(seconds: float) -> float:
    """Return for how long a request with this deadline may go on."""
    return end_after(seconds) - time.monotonic()


def test_the_requests_of_a_call_have_one_end_and_its_wait_for_a_thread_is_a_part_of_it() -> None:
    def work() -> list[float]:
        with limited(20):
            time.sleep(0.1)
            return [left(30), left(5)]

    call = Call()
    assert call.do(work) == pytest.approx([19.9, 5], abs=0.05)
    assert call.do(work) == pytest.approx([19.9, 5], abs=0.05), "an earlier part of a long call counts for none"
    call.waited = 8
    assert call.do(work) == pytest.approx([11.9, 5], abs=0.05)
    with limited(0):
        assert left(30) == pytest.approx(30, abs=0.05)
    assert left(30) == pytest.approx(30, abs=0.05)


def test_a_wait_ends_when_its_call_is_cancelled() -> None:
    call = Call()
    ended: list[float] = []

    def work() -> None:
        began = time.monotonic()
        with pytest.raises(Cancelled):
            call.do(lambda: pause(LONG))
        ended.append(time.monotonic() - began)

    thread = threading.Thread(target=work)
    thread.start()
    call.cancel()
    thread.join(LONG / 2)
    assert len(ended) == 1


def test_a_cancelled_call_does_nothing_more() -> None:
    call, done = Call(), list[int]()
    call.cancel()
    with pytest.raises(Cancelled):
        call.do(lambda: done.append(1))
    assert done == []
