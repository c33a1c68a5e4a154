"""No acknowledged add is lost, whoever else writes the same user."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from heapq import heappop, heappush
from itertools import count
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from es_simhash.contract import Changed

from es_simhash import SeenItems, retries
from es_simhash.bloom.seen import SeenConfig
from es_simhash.errors import (
    ConflictError,
)
from es_simhash.seen import changes
from tests.cli import environment
from tests.client import Clock, Stores, Watched
from tests.contract.linear import LinearStore
from tests.contract.watched import StoreCall, WatchedStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from es_simhash.contract import Store

    from es_simhash.seen.changes import SeenReport

pytestmark = pytest.mark.slow


# --- between a read and a write ----------------------------------------------------------------------------


def removed_and_made_anew(others: SeenItems, user: str) -> None:
    others.remove(user)
    others.add(user, ["theirs"])


@pytest.mark.parametrize(
    ("before", "theirs", "unseen"),
    [
        (["before"], lambda others, user: others.add(user, ["theirs"]), []),
        ([], lambda others, user: others.add(user, ["theirs"]), ["before"]),
        (["before"], lambda others, user: others.remove(user), ["before", "theirs"]),
        (["before"], removed_and_made_anew, ["before"]),
        (["before", "theirs"], lambda others, user: others.forget(user, ["before"]), ["before"]),
    ],
    ids=["added", "appeared", "vanished", "removed and made anew", "forgotten"],
)
def test_an_add_keeps_what_others_did_between_read_and_write(
    store: Store, ann: str, before: list[str], theirs: Any, unseen: list[str]
) -> None:
    others = SeenItems(store)
    others.add(ann, before)
    seen = SeenItems(Watched(store, lambda: theirs(others, ann)))
    assert seen.add(ann, ["ours"]) == 1
    assert others.unseen(ann, ["before", "theirs", "ours"]) == unseen


def test_an_item_that_another_program_added_meanwhile_is_not_counted(store: Store, ann: str) -> None:
    others = SeenItems(store)
    seen = SeenItems(Watched(store, lambda: others.add(ann, ["both"])))
    assert seen.add(ann, ["ours", "both"]) == 1


def test_a_rebuild_after_somebody_elses_add_drops_that_as_well(store: Store, ann: str) -> None:
    others = SeenItems(store)
    others.add(ann, ["before"])
    seen = SeenItems(Watched(store, lambda: others.add(ann, ["theirs"])))
    assert seen.add_many({ann: ["ours"]}, anew=True).results == {ann: 1}
    assert others.unseen(ann, ["before", "theirs", "ours"]) == ["before", "theirs"]


@pytest.mark.parametrize("verb", ["forget", "clear", "rotate"])
def test_every_change_is_tried_again_on_what_others_wrote(store: Store, ann: str, clock: Clock, verb: str) -> None:
    others = SeenItems(store)
    others.add(ann, ["a"])
    clock.now += 1
    seen = SeenItems(Watched(store, lambda: others.add(ann, ["theirs"]), times=1))
    if verb == "rotate":
        assert seen.rotate([ann]).results == {ann: 1}
        assert (others.unseen(ann, ["a", "theirs"]), len(others.stats(ann).generations)) == ([], 2)
    elif verb == "forget":
        assert seen.forget(ann, ["a", "theirs"]) == 2
        assert others.unseen(ann, ["a", "theirs"]) == ["a", "theirs"]
    else:
        seen.clear(ann)
        assert others.unseen(ann, ["a", "theirs"]) == ["a", "theirs"]


def stormed(store: Store, user: str, times: int) -> Watched:
    """The store, on which somebody else writes the user's document just before each of our writes."""
    others = SeenItems(store)
    count = iter(range(1 << 30))
    return Watched(store, lambda: others.add(user, [f"theirs {next(count)}"]), times)


def test_a_storm_that_abates_before_the_deadline_loses_nothing(store: Store, ann: str) -> None:
    SeenItems(store).add(ann, ["before"])
    report = SeenItems(stormed(store, ann, times=6), deadline=60).add_many({ann: ["ours"]})
    assert (report.results, report.failed) == ({ann: 1}, {})
    assert SeenItems(store).unseen(ann, ["before", "ours", *(f"theirs {n}" for n in range(6))]) == []


def test_a_storm_past_the_deadline_is_an_error_that_names_the_user(store: Store, ann: str) -> None:
    SeenItems(store).add(ann, ["before"])
    report = SeenItems(stormed(store, ann, times=-1), deadline=0.1).add_many({ann: ["ours"]})
    error = report.failed[ann]
    assert (report.results, type(error), error.retryable) == ({}, ConflictError, True)
    assert f"user '{ann}' were not stored: gave up after 0.1 s of version conflicts; try again" in str(error)


def test_after_a_storm_past_the_deadline_nothing_is_half_written(store: Store, ann: str) -> None:
    SeenItems(store).add(ann, ["before"])
    watched = stormed(store, ann, times=-1)
    SeenItems(watched, deadline=1).add_many({ann: [f"ours {n}" for n in range(500)]})
    assert watched.times_asked("change_users") > 1
    ours = [f"ours {n}" for n in range(500)]
    assert SeenItems(store).unseen(ann, [*ours, "before", "theirs 0"]) == ours


def test_in_a_storm_on_one_user_the_others_are_stored_once(store: Store, ann: str) -> None:
    watched = stormed(store, ann, times=-1)
    report = SeenItems(watched, deadline=0.1).add_many({f"{ann}-1": ["a"], ann: ["a"], f"{ann}-2": ["a"]})
    assert (report.results, list(report.failed)) == ({f"{ann}-1": 1, f"{ann}-2": 1}, [ann])
    writes = [set(op.states) for op in watched.asked if op.method == "change_users"]
    assert (len(writes[0]), writes[1:]) == (3, [{ann}] * (len(writes) - 1))


def test_an_add_that_was_beaten_past_the_deadline_raises(store: Store, ann: str) -> None:
    with pytest.raises(ConflictError, match=f"user '{ann}' were not stored"):
        SeenItems(stormed(store, ann, times=-1), deadline=0.1).add(ann, ["ours"])


class EnoughError(Exception):
    """The test has seen enough."""


class Conflicting(WatchedStore):
    """A store to which somebody else is always faster."""

    def perform(self, call: StoreCall) -> Any:
        return Changed(frozenset({"ann"}), {}) if call.method == "change_users" else super().perform(call)


def test_each_wait_between_two_attempts_is_of_a_random_length(monkeypatch: pytest.MonkeyPatch) -> None:
    def waits() -> list[float]:
        found: list[float] = []

        def pause(seconds: float) -> None:
            found.append(seconds)
            if len(found) == 8:
                raise EnoughError

        monkeypatch.setattr(retries, "pause", pause)
        with pytest.raises(EnoughError):
            changes.change(Conflicting(LinearStore()), SeenConfig(), ["ann"], lambda seen, _: seen.add(["a"], 1), 60)
        return found

    one, other = waits(), waits()
    assert len({*one, *other}) == 16
    assert all(0 <= seconds <= 0.5 for seconds in one + other)


# --- many writers ------------------------------------------------------------------------------------------

WRITERS, EACH, ANSWER = 16, 25, 0.005


class Turns:
    """A clock of the test's own. Of the threads that wait on it, one at a time runs: the one whose wait ends first."""

    def __init__(self) -> None:
        self.now = 0.0
        self._waiting: list[tuple[float, int, object]] = []
        self._turn: object = None
        self._changed = threading.Condition()
        self._count = count()

    def wait(self, seconds: float) -> None:
        """Let the others run for some seconds of this clock."""
        me = object()
        with self._changed:
            heappush(self._waiting, (self.now + seconds, next(self._count), me))
            self.end()
            assert self._changed.wait_for(lambda: self._turn is me, 60)

    def begin(self, threads: int) -> None:
        """Wait until so many threads wait, and let the first one run."""
        with self._changed:
            assert self._changed.wait_for(lambda: len(self._waiting) == threads, 60)
            self._turn = None
            self.end()

    def end(self) -> None:
        """Let the next thread run: this one does not go on."""
        with self._changed:
            if self._turn is not self and self._waiting:
                self.now, _, self._turn = heappop(self._waiting)
            self._changed.notify_all()

    def hold(self) -> None:
        """Let no thread run before :meth:`begin`."""
        self._turn = self


class SlowStore(WatchedStore):
    """Every call takes five milliseconds, and the store is asked at their end."""

    def __init__(self, turns: Turns) -> None:
        super().__init__(LinearStore())
        self._turns = turns

    def perform(self, call: StoreCall) -> Any:
        self._turns.wait(ANSWER)
        return super().perform(call)


@pytest.mark.parametrize("seed", range(3))
def test_sixteen_writers_to_one_user_lose_nothing_and_give_nothing_up(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = Turns()
    turns.hold()
    for module in (retries, changes):
        clock = SimpleNamespace(monotonic=lambda: turns.now, sleep=turns.wait)
        monkeypatch.setattr(module, "time", clock)
    monkeypatch.setattr(retries, "random", random.Random(seed))
    store, config = SlowStore(turns), SeenConfig(error_rate=1e-6)

    def add(item: str) -> SeenReport:
        return changes.change(store, config, ["ann"], lambda seen, _: seen.add([item], 1), 30)

    def write(number: int) -> list[tuple[Any, Any]]:
        try:
            reports = [add(f"{number}-{n}") for n in range(EACH)]
        finally:
            turns.end()
        return [(report.results, report.failed) for report in reports]

    with ThreadPoolExecutor(WRITERS) as pool:
        writers = [pool.submit(write, number) for number in range(WRITERS)]
        turns.begin(WRITERS)
        assert [writer.result() for writer in writers] == [[({"ann": 1}, {})] * EACH] * WRITERS
    with SeenItems(store.watched) as seen:
        assert seen.unseen("ann", [f"{number}-{n}" for number in range(WRITERS) for n in range(EACH)]) == []
        assert seen.stats("ann").count == WRITERS * EACH
    assert store.times_asked("change_users") > 2 * WRITERS * EACH, "they were hardly in each other's way"


THREADS, ADDS = 8, 12


def at_once(add: Callable[[int, str], object]) -> list[str]:
    """Each thread adds items of its own, one after the other; returns those that were acknowledged."""
    barrier = threading.Barrier(THREADS)

    def work(thread: int) -> list[str]:
        acknowledged = []
        barrier.wait()
        for n in range(ADDS):
            add(thread, f"{thread}-{n}")
            acknowledged.append(f"{thread}-{n}")
        return acknowledged

    with ThreadPoolExecutor(THREADS) as pool:
        return [item for items in pool.map(work, range(THREADS)) for item in items]


@pytest.mark.elasticsearch
def test_no_add_of_eight_threads_to_one_user_is_lost(stores: Stores, ann: str) -> None:
    clients = [SeenItems(stores.address("elasticsearch")) for _ in range(THREADS)]
    acknowledged = at_once(lambda thread, item: clients[thread].add(ann, [item]))
    assert (len(acknowledged), clients[0].unseen(ann, acknowledged)) == (THREADS * ADDS, [])
    assert clients[0].stats(ann).count == THREADS * ADDS
    for each in clients:
        each.close()


ADDER = """
import sys
from es_simhash import SeenItems

address, user, process = sys.argv[1:]
with SeenItems(address) as seen:
    seen.stats(user)
    print("ready", flush=True)
    sys.stdin.readline()
    print(sum(seen.add(user, [f"{process}-{n}"]) for n in range(50)))
"""


def test_no_add_of_four_processes_to_one_file_is_lost(stores: Stores, ann: str) -> None:
    address = stores.address("sqlite")
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", ADDER, address, ann, str(n)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment(),
        )
        for n in range(4)
    ]
    with ExitStack() as stack:
        for process in processes:
            stack.enter_context(process)
        assert [process.stdout.readline() for process in processes if process.stdout] == ["ready\n"] * 4
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        assert [process.communicate()[0] for process in processes] == ["50\n"] * 4
    with SeenItems(address) as seen:
        assert seen.unseen(ann, [f"{process}-{n}" for process in range(4) for n in range(50)]) == []
