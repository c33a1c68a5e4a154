"""Laws of the drivers, and of the pauses between attempts."""

from __future__ import annotations

import asyncio
import threading
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from es_simhash.drive import Patience, Pause, arun, pauses, pauses_after_conflicts, run, with_retries

from es_simhash import drive
from es_simhash.errors import StoreError, StoreUnavailable, StoreUnreachable

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

KINDS = [pauses, pauses_after_conflicts]
LONGEST = {pauses: (0.05, 10.0), pauses_after_conflicts: (0.01, 0.5)}


class Clock:
    """A clock that each pause advances."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1_000.0
        monkeypatch.setattr(drive, "time", SimpleNamespace(monotonic=lambda: self.now))

    def waited(self, waits: Generator[drive.Pause, None, None]) -> list[float]:
        """Wait for all pauses; return the length of each in seconds."""
        found = []
        for pause in waits:
            self.now += pause.seconds
            found.append(pause.seconds)
        return found


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


@pytest.mark.parametrize("kind", KINDS)
def test_a_pause_is_between_0_and_a_maximum_that_doubles_up_to_the_longest(
    kind: Callable[[float], Generator[drive.Pause, None, None]], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[tuple[float, float]] = []
    monkeypatch.setattr(drive, "random", SimpleNamespace(uniform=lambda *between: drawn.append(between) or between[1]))
    lasted = clock.waited(kind(60))
    first, longest = LONGEST[kind]
    assert lasted[:-1] == [min(first * 2**n, longest) for n in range(len(lasted) - 1)]
    assert lasted[-2] == longest
    assert {least for least, _ in drawn} == {0}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("deadline", [0.001, 1.0, 30.0])
def test_pauses_end_at_the_deadline_which_starts_with_the_first_pause(
    kind: Callable[[float], Generator[drive.Pause, None, None]], deadline: float, clock: Clock
) -> None:
    waits = kind(deadline)
    clock.now += 1_000_000
    assert sum(clock.waited(waits)) == pytest.approx(deadline)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("deadline", [0, -1.0])
def test_there_is_no_pause_without_time(
    kind: Callable[[float], Generator[drive.Pause, None, None]], deadline: float, clock: Clock
) -> None:
    assert clock.waited(kind(deadline)) == []


# --- drivers -----------------------------------------------------------------------------------------------


def work(threads: list[int]) -> Generator[Any, Any, list[Any]]:
    """Yield some requests, and record the threads in which the generator runs."""
    found = []
    for request in ("a", Pause(0), "wrong", "b"):
        threads.append(threading.get_ident())
        try:
            found.append((yield request))
        except StoreError as error:
            found.append(str(error))
    threads.append(threading.get_ident())
    return found


def answer(request: str) -> str:
    if request == "wrong":
        raise StoreError("no answer")
    return request.upper()


async def aanswer(request: str) -> str:
    return answer(request)


@pytest.mark.parametrize("aside", [False, True])
def test_sync_and_async_give_the_same_result_and_aside_uses_another_thread(*, aside: bool) -> None:
    threads: list[int] = []
    assert run(work([]), answer) == ["A", None, "no answer", "B"]
    assert asyncio.run(arun(work(threads), aanswer, aside=aside)) == ["A", None, "no answer", "B"]
    assert len(threads) == 5
    assert (threading.get_ident() in threads) is not aside


@pytest.mark.parametrize("aside", [False, True])
def test_an_error_of_the_work_itself_is_raised(*, aside: bool) -> None:
    def failing() -> Generator[Any, Any, None]:
        yield "a"
        raise KeyError("x")

    with pytest.raises(KeyError):
        asyncio.run(arun(failing(), aanswer, aside=aside))


# --- retries -----------------------------------------------------------------------------------------------


class Away:
    """Answers after some failures."""

    def __init__(self, failures: int, error: type[StoreUnavailable] = StoreUnavailable) -> None:
        self.asked = 0
        self.error = error
        self._failures = failures

    def __call__(self, request: str) -> str:
        self.asked += 1
        if self.asked <= self._failures:
            raise self.error("it is away")
        return request.upper()


def one_request() -> Generator[Any, Any, str]:
    answer: str = yield "a"
    return answer


def test_a_request_is_retried_until_it_is_answered() -> None:
    away = Away(3)
    assert run(with_retries(one_request(), Patience(60)), away, lambda seconds: None) == "A"
    assert away.asked == 4


@pytest.mark.parametrize("ended_after", [0, 1, 3])
def test_nothing_is_retried_once_nobody_waits_for_the_result(ended_after: int) -> None:
    away = Away(1_000)
    waits: list[float] = []
    with pytest.raises(StoreUnavailable):
        run(with_retries(one_request(), Patience(60), lambda: len(waits) >= ended_after), away, waits.append)
    assert away.asked == ended_after + 1


def test_a_store_that_never_answered_is_not_asked_again() -> None:
    away = Away(1, StoreUnreachable)
    with pytest.raises(StoreUnreachable):
        run(with_retries(one_request(), Patience(60)), away, lambda seconds: None)
    assert away.asked == 1


@pytest.mark.parametrize("first", [0, 1], ids=["an answer", "an error that the server sent"])
def test_a_store_that_answered_once_is_asked_again_when_it_is_gone(first: int) -> None:
    patience = Patience(60)
    assert run(with_retries(one_request(), patience), Away(first), lambda seconds: None) == "A"
    away = Away(3, StoreUnreachable)
    assert run(with_retries(one_request(), patience), away, lambda seconds: None) == "A"
    assert away.asked == 4


def test_without_a_deadline_nothing_is_asked_again() -> None:
    away = Away(1)
    with pytest.raises(StoreUnavailable):
        run(with_retries(one_request(), Patience(0, answered=True)), away, lambda seconds: None)
    assert away.asked == 1
