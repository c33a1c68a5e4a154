"""No acknowledged add is lost, whoever else writes the same user."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import pytest

from es_simhash import SeenItems, StoreUnavailable
from es_simhash.errors import ConflictError
from tests.cli import environment
from tests.client import before

pytestmark = pytest.mark.slow


# --- between a read and a write ----------------------------------------------------------------------------


def raced(address: str, happens: Callable[[], Any]) -> SeenItems:
    """Seen items of a store on which something happens between the first read and the first write."""
    seen = SeenItems(address)
    before(seen._store, "write_users", happens)
    return seen


Change = Callable[[SeenItems, str], Any]


def rebuilt(seen: SeenItems, user: str) -> int:
    return seen.add_many({user: ["ours"]}, anew=True).results[user]


def removed_and_made_anew(others: SeenItems, user: str) -> None:
    others.remove(user)
    others.add(user, ["theirs"])


def adding(*items: str) -> Change:
    return lambda seen, user: seen.add(user, items)


def forgetting(*items: str) -> Change:
    return lambda seen, user: seen.forget(user, items)


RACES: dict[str, tuple[list[str], Change, Change, int, list[str]]] = {
    "added": (["before"], adding("theirs"), adding("ours"), 1, []),
    "appeared": ([], adding("theirs"), adding("ours"), 1, ["before"]),
    "vanished": (["before"], lambda seen, user: seen.remove(user), adding("ours"), 1, ["before", "theirs"]),
    "removed and made anew": (["before"], removed_and_made_anew, adding("ours"), 1, ["before"]),
    "forgotten": (
        ["before", "theirs"],
        lambda seen, user: seen.forget(user, ["before"]),
        adding("ours"),
        1,
        ["before"],
    ),
    "both add an item": (["before"], adding("theirs"), adding("ours", "theirs"), 1, []),
    "forget": (["before"], adding("theirs"), forgetting("before", "theirs"), 2, ["before", "theirs", "ours"]),
    "rotate": (["before"], adding("theirs"), lambda seen, user: seen.rotate([user]).users, 1, ["ours"]),
    "rebuild": (["before"], adding("theirs"), rebuilt, 1, ["before", "theirs"]),
}
"""What is there, what others do, what we do and its result, and what is unseen then."""


@pytest.mark.parametrize("race", RACES)
def test_a_change_keeps_what_others_did_between_read_and_write(users_address: str, ann: str, race: str) -> None:
    already, theirs, ours, result, unseen = RACES[race]
    others = SeenItems(users_address)
    others.add(ann, already)
    seen = raced(users_address, lambda: theirs(others, ann))
    assert ours(seen, ann) == result
    assert others.unseen(ann, ["before", "theirs", "ours"]) == unseen


def stormed(address: str, user: str, times: int, deadline: float) -> SeenItems:
    """Seen items of a store on which somebody else writes the user's document just before each write."""
    others, seen = SeenItems(address), SeenItems(address, deadline=deadline)
    numbers = iter(range(1 << 30))
    before(seen._store, "write_users", lambda: others.add(user, [f"theirs {next(numbers)}"]), times)
    return seen


def test_a_storm_that_abates_before_the_deadline_loses_nothing(users_address: str, ann: str) -> None:
    SeenItems(users_address).add(ann, ["before"])
    report = stormed(users_address, ann, 6, 60).add_many({ann: ["ours"]})
    assert (report.results, report.failed) == ({ann: 1}, {})
    assert SeenItems(users_address).unseen(ann, ["before", "ours", *(f"theirs {n}" for n in range(6))]) == []


def test_a_storm_past_the_deadline_names_the_user_and_leaves_nothing_half_written_and_the_others_are_stored(
    users_address: str, ann: str
) -> None:
    SeenItems(users_address).add(ann, ["before"])
    ours = [f"ours {n}" for n in range(500)]
    report = stormed(users_address, ann, -1, 1).add_many({f"{ann}-1": ["a"], ann: ours, f"{ann}-2": ["a"]})
    error = report.failed[ann]
    assert (report.results, type(error), error.retryable) == ({f"{ann}-1": 1, f"{ann}-2": 1}, ConflictError, True)
    assert f"user '{ann}' were not stored: gave up after 1 s of version conflicts; try again" in str(error)
    assert SeenItems(users_address).unseen(ann, [*ours, "before", "theirs 0"]) == ours


def test_an_add_that_was_beaten_past_the_deadline_raises(users_address: str, ann: str) -> None:
    with pytest.raises((ConflictError, StoreUnavailable), match=f"user '{ann}' were not stored|did not answer in time"):
        stormed(users_address, ann, -1, 0.5).add(ann, ["ours"])
    assert SeenItems(users_address).unseen(ann, ["ours"]) == ["ours"]


# --- many writers ------------------------------------------------------------------------------------------

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


def test_no_add_of_four_processes_to_one_store_is_lost(users_address: str, ann: str) -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", ADDER, users_address, ann, str(n)],
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
    with SeenItems(users_address) as seen:
        assert seen.unseen(ann, [f"{process}-{n}" for process in range(4) for n in range(50)]) == []
