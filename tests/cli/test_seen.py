"""``es-simhash seen``: the items that users have seen, and `seen add` from JSON lines. Bad lines are skipped."""

from __future__ import annotations

import json
import os
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import SeenItems
from tests.cli import Done, complaint, es_simhash
from tests.client import Clock

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from es_simhash.bloom import Item


def seen(folder: Path, *arguments: str, stdin: bytes = b"") -> Done:
    """``es-simhash seen`` in a folder, on the file that is there."""
    return es_simhash("seen", *arguments, cwd=folder, stdin=stdin)


def address(folder: Path) -> str:
    return f"sqlite:///{folder / 'es-simhash.db'}"


def unseen(folder: Path, user: str, *items: Item) -> list[Item]:
    """What the library says of a user."""
    with SeenItems(address(folder)) as client:
        return client.unseen(user, items)


def fill(folder: Path, *items: Item, user: str = "ann", **configuration: Any) -> None:
    """Add items by the library: for commands that don't add."""
    with SeenItems(address(folder), **configuration) as client:
        client.add(user, items)


def jsonl(*documents: Any) -> bytes:
    return b"".join(json.dumps(document, ensure_ascii=False).encode() + b"\n" for document in documents)


def log(**items: Iterable[Item]) -> bytes:
    """A JSON line for each user."""
    return jsonl(*({"user": user, "items": theirs} for user, theirs in items.items()))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    clock.now = int(time.time())
    monkeypatch.setattr("es_simhash.client.seen.time", clock)
    return clock


# --- one user, from arguments ------------------------------------------------------------------------------


def test_added_items_are_seen_and_the_unseen_items_keep_their_order(tmp_path: Path) -> None:
    assert seen(tmp_path, "add", "--user", "ann", "n1", "n2").out == "2 items not seen before\n"
    assert seen(tmp_path, "forget", "--user", "ann", "n3", "n1").out == "1 item forgotten\n"
    assert seen(tmp_path, "add", "--user", "ann", "n1").out == "1 item not seen before\n"
    done = seen(tmp_path, "unseen", "--user", "ann", "n4", "n1", "新闻", "n2", "n3", "n4")
    assert (done.code, done.out, done.err) == (0, "n4\n新闻\nn3\nn4\n", "")


def test_a_user_is_shown_with_its_generations(tmp_path: Path) -> None:
    fill(tmp_path, *range(1_500))
    with SeenItems(address(tmp_path)) as client:
        client.forget("ann", [1, 2])
        (generation,) = client.stats("ann").generations
    (stats,) = seen(tmp_path, "show", "--user", "ann").json
    assert (stats["user"], stats["generations"], stats["forgotten"]) == ("ann", [asdict(generation)], 2)
    assert seen(tmp_path, "show", "--user", "nobody").json[0]["generations"] == []


def test_remove_deletes_all_items_of_one_user_only(tmp_path: Path) -> None:
    fill(tmp_path, "n1")
    fill(tmp_path, "n1", user="bob")
    done = seen(tmp_path, "remove", "--user", "ann")
    assert (done.code, done.out, done.err) == (0, "ann: removed\n", "")
    assert (unseen(tmp_path, "ann", "n1"), unseen(tmp_path, "bob", "n1")) == (["n1"], [])
    done = seen(tmp_path, "remove", "--user", "ann")
    assert (done.code, done.err) == (0, "ann: no seen items\n")


@pytest.mark.parametrize("verb", ["forget", "rotate", "show", "remove"])
def test_a_mistyped_file_is_named_and_not_made(tmp_path: Path, verb: str) -> None:
    seen(tmp_path, "init")
    arguments = [] if verb == "rotate" else ["--user", "ann"]
    said = complaint(seen(tmp_path, verb, *arguments, "--store", "sqlite:///mistyped.db", stdin=b"x\n"))
    assert "does not exist" in said
    assert not (tmp_path / "mistyped.db").exists()


# --- generations -------------------------------------------------------------------------------------------


def test_a_rotation_starts_a_generation_for_all_users_or_for_old_ones(tmp_path: Path, clock: Clock) -> None:
    fill(tmp_path, "n1", generations=2)
    fill(tmp_path, "n1", user="bob")
    clock.now += 1  # a generation is known by the second in which it started
    done = seen(tmp_path, "rotate")
    assert (done.code, done.out, done.err) == (0, "rotated 2 users\n", "")
    assert seen(tmp_path, "rotate", "--before", "1h").out == "rotated 0 users\n"
    assert unseen(tmp_path, "ann", "n1") == []
    clock.now += 1
    assert seen(tmp_path, "rotate").code == 0
    assert unseen(tmp_path, "ann", "n1") == ["n1"], "two rotations"


def test_init_keeps_the_configuration_and_refuses_another_one(tmp_path: Path) -> None:
    chosen = ["--capacity", "50", "--error-rate", "0.001", "--generations", "3", "--period", "7d"]
    assert seen(tmp_path, "init", *chosen).out.endswith(": created\n")
    assert seen(tmp_path, "init").out.endswith(": unchanged\n")
    with SeenItems(address(tmp_path), capacity=50, error_rate=0.001, generations=3, period=604_800) as client:
        assert client.setup() == "unchanged"
    assert (
        "set up with capacity 50, error_rate 0.001, generations 3, period 604800, not with capacity 51,"
        in complaint(seen(tmp_path, "init", "--capacity", "51"))
    )


# --- JSON lines --------------------------------------------------------------------------------------------


def test_lines_from_a_pipe_are_added_to_their_users(tmp_path: Path) -> None:
    data = jsonl(
        {"user": "ann", "items": ["n1", "n2"], "when": "ignored"},
        {"user": 7, "items": [1, "n1"]},
        {"user": "ann", "item": "n3"},
        {"user": "7", "items": ["1"]},
    )
    done = seen(tmp_path, "add", stdin=data)
    assert (done.code, done.out, done.err) == (
        0,
        "4 lines, 6 items, 5 not seen before, 0 lines rejected, 0 users failed\n",
        "",
    )
    assert unseen(tmp_path, "ann", "n1", "n2", "n3", "n4") == ["n4"]
    assert unseen(tmp_path, "7", 1, "n1", "n2") == ["n2"]


def test_a_user_gets_the_items_of_all_lines_in_several_batches(tmp_path: Path) -> None:
    seen(tmp_path, "init", "--error-rate", "1e-9")
    data = jsonl(*({"user": "bob" if n % 3 else "ann", "items": [n]} for n in range(10_200)))
    assert (
        seen(tmp_path, "add", stdin=data).out
        == "10,200 lines, 10,200 items, 10,200 not seen before, 0 lines rejected, 0 users failed\n"
    )
    assert unseen(tmp_path, "ann", *range(0, 10_203, 3)) == [10_200]


# --- bad lines ---------------------------------------------------------------------------------------------

NO_ENTRY = 'not a user with items: use an object {"user": …, "items": […]}'
BAD_LINES: list[tuple[bytes, str]] = [
    (b'{"items": ["n1"]}', NO_ENTRY),
    (b'{"user": "bad"}', NO_ENTRY),
    (b'{"user": null, "items": ["n1"]}', "the user None is null: use a string or"),
    (b'{"user": "bad", "items": "n1"}', '"items" is not a list: use ["news-1", …], or "item" for one item'),
    (b'{"user": "bad", "items": ["n1", 1.5]}', "the item 1.5 is a float"),
]
# Between them stand good ones.
MIXED = log(good=["n0"]) + b"".join(bad + b"\n" + log(good=[f"n{n}"]) for n, (bad, _) in enumerate(BAD_LINES, 1))


def test_bad_lines_are_reported_with_their_places_and_skipped(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_bytes(MIXED)
    done = seen(tmp_path, "add", "log.jsonl")
    assert (done.code, done.out) == (3, "11 lines, 6 items, 6 not seen before, 5 lines rejected, 0 users failed\n")
    for n, (report, (_, reason)) in enumerate(zip(done.err.splitlines(), BAD_LINES, strict=True), 1):
        assert report.startswith(f"rejected: log.jsonl:{2 * n}: ")
        assert reason in report
    assert unseen(tmp_path, "good", *(f"n{n}" for n in range(len(BAD_LINES) + 2))) == [f"n{len(BAD_LINES) + 1}"]


def test_input_with_only_bad_lines_or_none_exits_with_1_and_makes_no_store(tmp_path: Path) -> None:
    assert seen(tmp_path, "add", stdin=b"bad\n[]\n").code == 1
    assert 'no lines in the input: give JSON lines {"user", "items"}' in seen(tmp_path, "add", stdin=b"\n \n").err
    assert not list(tmp_path.iterdir())


# --- users that can't be changed ---------------------------------------------------------------------------


@pytest.mark.elasticsearch
def test_a_user_who_cannot_be_read_is_reported_and_the_others_are_done(
    tmp_path: Path, elasticsearch_url: str, index_name: str
) -> None:
    from elasticsearch import Elasticsearch

    store = ["--store", f"{elasticsearch_url}/{index_name}"]
    assert seen(tmp_path, "init", *store).code == 0
    with Elasticsearch(elasticsearch_url) as client:
        damaged = {"seen": {"filters": ["d2hhdCBpcyB0aGlz"], "newest": 1, "added": 1}}
        client.index(index=index_name, id="bad", document=damaged, refresh=True)
    data = log(ann=["n1"], bad=["n1", 2], bob=["n1"])
    done = seen(tmp_path, "add", *store, stdin=data)
    assert (done.code, done.out) == (3, "3 lines, 4 items, 2 not seen before, 0 lines rejected, 1 user failed\n")
    assert done.err.startswith("failed: the seen items of user 'bad' are damaged (")
    assert "user 'bad' are damaged" in complaint(seen(tmp_path, "unseen", "--user", "bad", "n1", *store))
    assert "user 'bad' are damaged" in complaint(seen(tmp_path, "show", "--user", "bad", *store))
    assert seen(tmp_path, "remove", "--user", "bad", *store).code == 0
    assert seen(tmp_path, "add", *store, stdin=data).code == 0


def test_inactive_users_are_removed(tmp_path: Path, clock: Clock) -> None:
    clock.now -= 100 * 86_400
    seen(tmp_path, "add", stdin=log(ann=["n1"], bob=["n1"], eve=["n1"]))
    clock.now += 100 * 86_400
    seen(tmp_path, "add", "--user", "eve", "n2")
    assert seen(tmp_path, "remove", "--inactive", "101d").out == "removed 0 users\n"
    assert seen(tmp_path, "remove", "--inactive", "90d").out == "removed 2 users\n"
    assert [unseen(tmp_path, user, "n1", "n2") for user in ("ann", "eve")] == [["n1", "n2"], []]


# --- bad commands ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["init", "--capacity", "0"], "capacity"),
        (["init", "--error-rate", "nan"], "error_rate must be a number from 1e-09 to below 1, and is nan"),
        (["init", "--period", "7d"], "with a period, one generation would forget everything"),
        (["add", "--user", "", "n1"], "the user '' has 0 bytes"),
        (["add", "--user", "ann", os.fsdecode(b"\xff")], "has a lone surrogate"),
        (["show", "--user", "x" * 513], "has 513 bytes: use from 1 to 512"),
        (["add", "none.jsonl"], "cannot read none.jsonl: No such file or directory"),
    ],
)
def test_a_wrong_value_is_an_error_of_one_line(tmp_path: Path, arguments: list[str], reason: str) -> None:
    assert reason in complaint(seen(tmp_path, *arguments))


@pytest.mark.parametrize(
    "words",
    [
        "show",
        "remove",
        "remove --user a --inactive 9d",
        "unseen n1",
        "rotate ann",
        "rotate --before x",
        "add --no",
        "see",
    ],
)
def test_a_wrong_command_line_exits_with_2(tmp_path: Path, words: str) -> None:
    done = seen(tmp_path, *words.split())
    assert (done.code, done.out) == (2, "")
    assert "Error: " in done.err
    assert not list(tmp_path.iterdir())
