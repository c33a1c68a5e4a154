"""``es-simhash seen``: the items that users have seen, from arguments and from JSON lines. Bad lines are skipped."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import SeenItems
from es_simhash.cli import main
from es_simhash.contract import UserState
from es_simhash.stores.address import open_store
from tests.cli import COMMAND, Done, complaint, environment, es_simhash

if TYPE_CHECKING:
    from pathlib import Path

    from es_simhash.bloom import Item


def seen(folder: Path, *arguments: str, stdin: bytes = b"") -> Done:
    """``es-simhash seen`` in a folder, on the file that is there."""
    return es_simhash("seen", *arguments, cwd=folder, stdin=stdin)


class Stream(io.TextIOWrapper):
    """A standard stream in memory, which may say that it is a terminal."""

    def __init__(self, data: bytes, terminal: bool) -> None:
        super().__init__(io.BytesIO(data), encoding="utf-8")
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal


def called(folder: Path, *arguments: str, stdin: bytes = b"", terminal: bool = False) -> Done:
    """:func:`seen` without a process of its own, which takes a tenth of the time; a traceback is the test's."""
    streams = [Stream(data, terminal) for data in (stdin, b"", b"")]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name in [name for name in os.environ if name.startswith("ELASTIC")]:
            patch.delenv(name)
        patch.setattr(sys, "argv", ["es-simhash", "seen", *arguments])
        for name, stream in zip(("stdin", "stdout", "stderr"), streams, strict=True):
            patch.setattr(sys, name, stream)
        with pytest.raises(SystemExit) as exit:
            main()
    for stream in streams:
        stream.flush()
    out, err = (stream.buffer.getvalue().decode() for stream in streams[1:])
    return Done(int(exit.value.code or 0), out, err)


def address(folder: Path) -> str:
    """Where the commands store what users have seen, by default."""
    return f"sqlite:///{folder / 'es-simhash.db'}"


def unseen(folder: Path, user: str, *items: Item) -> list[Item]:
    """What the library says of a user."""
    with SeenItems(address(folder)) as items_client:
        return items_client.unseen(user, items)


def fill(folder: Path, *items: Item, user: str = "ann", **configuration: Any) -> None:
    """Add items by the library: for commands that don't add."""
    with SeenItems(address(folder), **configuration) as items_client:
        items_client.add(user, items)


def jsonl(*documents: Any) -> bytes:
    """Documents as JSON lines."""
    return b"".join(json.dumps(document, ensure_ascii=False).encode() + b"\n" for document in documents)


def log(**items: list[Item]) -> bytes:
    """A JSON line for each user."""
    return jsonl(*({"user": user, "items": theirs} for user, theirs in items.items()))


NOTHING = {"lines": 0, "rejected": 0, "items": 0, "changed": 0, "failed": 0}

# --- one user, from arguments ------------------------------------------------------------------------------


def test_added_items_are_seen_and_the_unseen_items_keep_their_order(tmp_path: Path) -> None:
    assert seen(tmp_path, "add", "--user", "ann", "n1", "n2").out == "2 items not seen before\n"
    done = seen(tmp_path, "unseen", "--user", "ann", "n4", "n1", "新闻", "n2", "n3", "n4")
    assert (done.code, done.out, done.err) == (0, "n4\n新闻\nn3\nn4\n", "")


def test_with_json_each_answer_for_one_user_is_an_object(tmp_path: Path) -> None:
    assert called(tmp_path, "add", "--json", "--user", "ann", "n1", "n2").json == [{"changed": 2}]
    assert called(tmp_path, "forget", "--json", "--user", "ann", "n1", "n9").json == [{"changed": 1}]
    assert called(tmp_path, "unseen", "--json", "--user", "ann", "n1", "n2").json == [{"user": "ann", "items": ["n1"]}]


def test_a_forgotten_item_is_unseen_until_it_is_added_again(tmp_path: Path) -> None:
    fill(tmp_path, "n1", "n2")
    assert seen(tmp_path, "forget", "--user", "ann", "n1", "n2").out == "2 items forgotten\n"
    assert seen(tmp_path, "add", "--user", "ann", "n1").out == "1 item not seen before\n"
    assert unseen(tmp_path, "ann", "n1", "n2") == ["n2"]


def test_stats_are_a_table_of_generations(tmp_path: Path) -> None:
    fill(tmp_path, *range(1_500))
    with SeenItems(address(tmp_path)) as items_client:
        items_client.forget("ann", [1, 2])
        (generation,) = items_client.stats("ann").generations
    head, row, forgotten = seen(tmp_path, "stats", "--user", "ann").out.splitlines()
    assert head.split() == ["started", "items", "layers", "bytes", "false", "positives"]
    begun = time.strftime("%Y-%m-%d %H:%M:%SZ", time.gmtime(generation.started))
    assert re.split(r"\s{2,}", row)[:4] == [begun, f"{generation.count:,}", "2", f"{generation.bytes:,}"]
    assert row.endswith(f" {generation.false_positive_rate:.4%}")
    assert forgotten == "forgotten: 2"


def test_stats_as_json_have_the_same_figures(tmp_path: Path) -> None:
    fill(tmp_path, *range(150))
    (stats,) = called(tmp_path, "stats", "--json", "--user", "ann").json
    (generation,) = stats["generations"]
    assert {**stats, "generations": 1} == {"user": "ann", "exists": True, "generations": 1, "forgotten": 0}
    assert generation.keys() == {"started", "count", "layers", "bytes", "false_positive_rate"}
    assert generation["count"] == 150


def test_stats_of_an_unknown_user_say_so(tmp_path: Path) -> None:
    called(tmp_path, "init")
    done = called(tmp_path, "stats", "--user", "nobody")
    assert (done.code, done.out, done.err) == (0, "", "nobody: no seen items\n")
    (stats,) = called(tmp_path, "stats", "--json", "--user", "nobody").json
    assert stats == {"user": "nobody", "exists": False, "generations": [], "forgotten": 0}


@pytest.mark.parametrize("verb", ["clear", "remove"])
def test_clear_and_remove_delete_all_items_of_one_user_only(tmp_path: Path, verb: str) -> None:
    fill(tmp_path, "n1")
    fill(tmp_path, "n1", user="bob")
    done = seen(tmp_path, verb, "--user", "ann")
    assert (done.code, done.out, done.err) == (0, {"clear": "ann: cleared\n", "remove": "ann: removed\n"}[verb], "")
    assert (unseen(tmp_path, "ann", "n1"), unseen(tmp_path, "bob", "n1")) == (["n1"], [])


@pytest.mark.parametrize("verb", ["forget", "rotate", "stats", "clear", "remove"])
def test_a_mistyped_file_is_named_and_not_made(tmp_path: Path, verb: str) -> None:
    called(tmp_path, "init")
    arguments = [] if verb == "rotate" else ["--user", "ann"]
    done = called(tmp_path, verb, *arguments, "--store", "sqlite:///mistyped.db", stdin=b"x\n")
    assert done.code == 1
    assert "sqlite:///mistyped.db does not exist (there are: es-simhash.db): correct the name" in done.err
    assert not (tmp_path / "mistyped.db").exists()


def test_removing_an_unknown_user_says_so(tmp_path: Path) -> None:
    called(tmp_path, "init")
    done = called(tmp_path, "remove", "--user", "nobody")
    assert (done.code, done.err) == (0, "nobody: no seen items\n")


# --- generations -------------------------------------------------------------------------------------------


@pytest.fixture
def old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder where ann and bob have seen n1, an hour and more after 1970, and two generations are kept."""
    with monkeypatch.context() as context:
        context.setattr("es_simhash.client.seen._now", lambda: 4_000)
        fill(tmp_path, "n1", generations=2)
        fill(tmp_path, "n1", user="bob")
    return tmp_path


def generations(folder: Path, user: str) -> int:
    with SeenItems(address(folder)) as items_client:
        return len(items_client.stats(user).generations)


def test_a_rotation_starts_a_generation_for_every_user(old: Path) -> None:
    done = seen(old, "rotate")
    assert (done.code, done.out, done.err) == (0, "rotated 2 users\n", "")
    assert [generations(old, user) for user in ("ann", "bob")] == [2, 2]


def test_with_user_only_these_users_are_rotated(old: Path) -> None:
    assert called(old, "rotate", "--json", "--user", "ann", "--user", "nobody").json == [{"rotated": 1, "failed": {}}]
    assert [generations(old, user) for user in ("ann", "bob")] == [2, 1]


def test_users_whose_generation_started_after_before_are_not_rotated(old: Path) -> None:
    assert called(old, "rotate", "--json", "--before", "4000").json == [{"rotated": 0, "failed": {}}]
    assert called(old, "rotate", "--json", "--before", "4001").json == [{"rotated": 2, "failed": {}}]
    assert called(old, "rotate", "--json", "--before", "4001").json == [{"rotated": 0, "failed": {}}]


def test_a_user_who_cannot_be_rotated_is_reported_and_the_others_are_rotated(old: Path) -> None:
    spoil(old, "bob", newest=4_000)
    done = called(old, "rotate")
    assert (done.code, done.out) == (3, "rotated 1 user\n")
    assert re.fullmatch(r"failed: the seen items of user 'bob' cannot be read: .*\n", done.err)
    (result,) = called(old, "rotate", "--json").json
    assert (result["rotated"], list(result["failed"])) == (0, ["bob"])


def test_init_keeps_the_configuration_for_the_commands_that_follow(tmp_path: Path) -> None:
    chosen = ["--capacity", "50", "--error-rate", "0.001", "--generations", "3", "--period", "60"]
    assert "created; next run" in seen(tmp_path, "init", *chosen).out
    assert "already set up" in seen(tmp_path, "init").out
    seen(tmp_path, "add", "--user", "ann", "n1")
    with SeenItems(address(tmp_path), capacity=50, error_rate=0.001, generations=3, period=60) as items_client:
        assert items_client.unseen("ann", ["n1", "n2"]) == ["n2"]


def test_init_with_another_configuration_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    called(tmp_path, "init", "--capacity", "50")
    assert "set up with {'capacity': 50," in complaint(called(tmp_path, "init", "--capacity", "51"))
    with SeenItems(address(tmp_path), capacity=50) as items_client:
        assert items_client.setup() == "unchanged"


# --- JSON lines --------------------------------------------------------------------------------------------


def test_lines_from_a_pipe_are_added_to_their_users(tmp_path: Path) -> None:
    data = jsonl(
        {"user": "ann", "items": ["n1", "n2"], "when": "ignored"},
        {"user": 7, "items": [1, "n1"]},
        {"user": "ann", "item": "n3"},
        {"user": "7", "items": ["1"]},
    )
    done = seen(tmp_path, "add", stdin=data)
    assert (done.code, done.out, done.err) == (0, "4 lines, 6 items, 5 not seen before\n", "")
    assert unseen(tmp_path, "ann", "n1", "n2", "n3", "n4") == ["n4"]
    assert unseen(tmp_path, "7", 1, "n1", "n2") == ["n2"]


@pytest.mark.parametrize(("verb", "changed"), [("add", 1), ("forget", 1), ("rebuild", 2)])
def test_the_counts_are_the_last_line_with_json(tmp_path: Path, verb: str, changed: int) -> None:
    fill(tmp_path, "n1")
    done = seen(tmp_path, verb, "--json", stdin=log(ann=["n1", "n2"]))
    assert (done.code, done.err) == (0, "")
    assert done.json == [{**NOTHING, "lines": 1, "items": 2, "changed": changed}]


def test_files_and_a_pipe_are_read_one_after_the_other(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.jsonl").write_bytes(log(**{name: ["n1"]}))
    done = called(tmp_path, "add", "--json", "a.jsonl", "-", "b.jsonl", stdin=log(c=["n1"], d=["n1"]))
    assert done.json == [{**NOTHING, "lines": 4, "items": 4, "changed": 4}]


def test_each_line_is_answered_by_a_line_in_the_same_order(tmp_path: Path) -> None:
    fill(tmp_path, "n1", 7)
    questions = [("ann", ["n1", 7, "n2"]), ("bob", ["n1"]), ("ann", ["n1"]), ("ann", [])]
    done = seen(tmp_path, "unseen", stdin=jsonl(*({"user": user, "items": items} for user, items in questions)))
    answers = [("ann", ["n2"]), ("bob", ["n1"]), ("ann", []), ("ann", [])]
    assert (done.code, done.err) == (0, "")
    assert done.json == [{"user": user, "items": items} for user, items in answers]


@pytest.mark.parametrize("size", ["1", "2", "3", "7", "500"])
def test_the_batch_size_changes_neither_the_answers_nor_their_order(tmp_path: Path, size: str) -> None:
    fill(tmp_path, "n1", 7, user="ann")
    fill(tmp_path, "n2", user="7")
    questions = jsonl(
        {"user": "ann", "items": ["n1", "n2", "n2", 7]},
        {"user": 7, "items": ["n2", 1, "1"]},
        {"user": "ann", "items": ["n2"]},
        {"user": "nobody", "items": []},
        {"user": "ann", "items": [1.5]},
        {"user": "ann", "items": ["n3", "7", "n1"]},
        {"user": "7", "item": "n1"},
    )
    done = called(tmp_path, "unseen", "--batch-size", size, "--json", stdin=questions)
    answers = [answer.get("items") for answer in done.json]
    assert answers == [["n2", "n2"], [1, "1"], ["n2"], [], None, ["n3"], ["n1"]]
    assert [answer.get("user") for answer in done.json] == ["ann", "7", "ann", "nobody", None, "ann", "7"]
    assert (done.code, done.err) == (3, "")


def test_one_read_serves_up_to_500_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    unseen_many = SeenItems.unseen_many

    def counted(self: SeenItems, wanted: Any) -> Any:
        asked.append(len(wanted))
        return unseen_many(self, wanted)

    monkeypatch.setattr(SeenItems, "unseen_many", counted)
    done = called(tmp_path, "unseen", stdin=jsonl(*({"user": f"u{n % 600}", "items": [n]} for n in range(1_200))))
    assert [answer["items"] for answer in done.json] == [[n] for n in range(1_200)]
    assert asked == [500, 500, 200]
    called(tmp_path, "unseen", stdin=log(ann=[*range(20_000)], bob=[*range(30_000)], eve=[1]))
    assert asked[3:] == [2, 1], "or of 50,000 items"


def test_with_batch_size_1_each_line_is_answered_before_the_next_is_read(tmp_path: Path) -> None:
    command = [*COMMAND, "seen", "unseen", "--batch-size", "1"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=tmp_path, env=environment()
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for n in range(3):
            process.stdin.write(log(ann=[n]))
            process.stdin.flush()
            assert json.loads(process.stdout.readline()) == {"user": "ann", "items": [n]}
        process.stdin.close()
        assert process.stdout.read() == b""
    assert process.returncode == 0


@pytest.mark.parametrize("verb", ["add", "rebuild"])
def test_a_user_gets_the_items_of_all_lines_in_several_batches(tmp_path: Path, verb: str) -> None:
    called(tmp_path, "init", "--error-rate", "1e-9")
    fill(tmp_path, "old")
    data = jsonl(*({"user": "bob" if n % 3 else "ann", "items": [n]} for n in range(5_100)))
    done = called(tmp_path, verb, "--json", stdin=data)
    assert done.json == [{**NOTHING, "lines": 5_100, "items": 5_100, "changed": 5_100}]
    assert unseen(tmp_path, "ann", *range(0, 5_103, 3), "old") == [5_100, *["old"] * (verb == "rebuild")]
    assert unseen(tmp_path, "bob", *range(1, 5_103, 3)) == [5_101]


def test_progress_is_shown_on_a_terminal_and_wiped_off_at_the_end(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_bytes(log(ann=["n1"]))
    done = called(tmp_path, "add", "log.jsonl", terminal=True)
    assert "%" in done.err
    assert done.err.endswith("\r")
    assert not done.err.rstrip("\r").rpartition("\r")[2].strip()


@pytest.mark.parametrize("verb", ["add", "forget", "rebuild", "unseen"])
def test_a_terminal_without_files_is_a_usage_error(tmp_path: Path, verb: str) -> None:
    done = called(tmp_path, verb, terminal=True)
    assert (done.code, done.out) == (2, "")
    assert "no input: give --user USER ITEM…, name a file, or pipe it in" in done.err


# --- rebuilding --------------------------------------------------------------------------------------------


def test_a_rebuild_drops_items_that_are_not_in_the_log_and_keeps_users_who_are_not_in_it(tmp_path: Path) -> None:
    fill(tmp_path, "old", "both")
    fill(tmp_path, "old", user="bob")
    done = seen(tmp_path, "rebuild", stdin=log(ann=["both", "new"]))
    assert (done.code, done.out) == (0, "1 line, 2 items, 2 added\n")
    assert unseen(tmp_path, "ann", "old", "both", "new") == ["old"]
    assert unseen(tmp_path, "bob", "old") == []


# --- bad lines ---------------------------------------------------------------------------------------------

NO_ENTRY = 'not a user with items: use an object {"user": …, "items": […]}'
BAD_LINES: dict[str, tuple[bytes, str]] = {
    "broken JSON": (b'{"user": "bad" "items": []}', "not JSON: Expecting ',' delimiter at character 16"),
    "no object": (b'["bad", ["n1"]]', NO_ENTRY),
    "no user": (b'{"items": ["n1"]}', NO_ENTRY),
    "no items": (b'{"user": "bad"}', NO_ENTRY),
    "a user that is null": (b'{"user": null, "items": ["n1"]}', "the user None is a NoneType: use a string or"),
    "a user that is a fraction": (b'{"user": 1.5, "items": ["n1"]}', "the user 1.5 is a float: use a string or"),
    "a user that is true": (b'{"user": true, "items": ["n1"]}', "the user True is a bool: use a string or"),
    "an empty user": (b'{"user": "", "items": ["n1"]}', "the user '' has 0 bytes: use from 1 to 512"),
    "a user too long": (log(**{"号" * 171: ["n1"]}).strip(), "has 513 bytes: use from 1 to 512"),
    "a zero byte in the user": (b'{"user": "bad\\u0000", "items": ["n1"]}', "has a zero byte: use from 1 to 512"),
    "half a character in the user": (b'{"user": "bad\\ud83d", "items": ["n1"]}', "the user has a lone surrogate"),
    "items that are one string": (
        b'{"user": "bad", "items": "n1"}',
        '"items" is not a list: use ["news-1", …], or "item" for one item',
    ),
    "items that are null": (
        b'{"user": "bad", "items": null}',
        '"items" is not a list: use ["news-1", …], or "item" for one item',
    ),
    "an item that is a fraction": (b'{"user": "bad", "items": ["n1", 1.5]}', "the item 1.5 is a float"),
    "an item that is a list": (b'{"user": "bad", "items": [["n1"]]}', "the item ['n1'] is a list"),
    "a single item that is null": (b'{"user": "bad", "item": null}', "the item None is a NoneType"),
    "half a character in an item": (b'{"user": "bad", "items": ["\\ud83d"]}', "has a lone surrogate"),
    "not UTF-8": (b'{"user": "bad", "items": ["\xff"]}', "not UTF-8 at byte 28"),
}
# Between them stand good ones.
MIXED = log(good=["n0"]) + b"".join(
    bad + b"\n" + log(good=[f"n{n}"]) for n, (bad, _) in enumerate(BAD_LINES.values(), 1)
)


@pytest.mark.parametrize("verb", ["add", "forget", "rebuild"])
def test_bad_lines_are_reported_with_their_places_and_skipped(tmp_path: Path, verb: str) -> None:
    (tmp_path / "log.jsonl").write_bytes(MIXED)
    called(tmp_path, "init")
    done = (seen if verb == "add" else called)(tmp_path, verb, "log.jsonl")
    assert done.code == 3
    reports = done.err.splitlines()
    assert len(reports) == len(BAD_LINES)
    for n, (report, (_, reason)) in enumerate(zip(reports, BAD_LINES.values(), strict=True), 1):
        assert report.startswith(f"rejected: log.jsonl:{2 * n}: ")
        assert reason in report
    if verb != "forget":
        assert unseen(tmp_path, "good", *(f"n{n}" for n in range(len(BAD_LINES) + 2))) == [f"n{len(BAD_LINES) + 1}"]
    assert unseen(tmp_path, "bad", "n1") == ["n1"]


def test_with_json_each_bad_line_is_reported_as_json_and_the_counts_add_up(tmp_path: Path) -> None:
    done = called(tmp_path, "add", "--json", stdin=MIXED)
    *reports, counts = done.json
    assert (done.code, done.err) == (3, "")
    assert [report["outcome"] for report in reports] == ["rejected"] * len(BAD_LINES)
    assert [re.match(r"stdin:\d+: ", report["reason"]) is not None for report in reports] == [True] * len(BAD_LINES)
    good = len(BAD_LINES) + 1
    assert counts == {**NOTHING, "lines": 2 * good - 1, "rejected": good - 1, "items": good, "changed": good}


def test_unseen_reports_bad_lines_and_answers_the_others(tmp_path: Path) -> None:
    done = called(tmp_path, "unseen", stdin=MIXED)
    assert (done.code, len(done.json), len(done.err.splitlines())) == (3, len(BAD_LINES) + 1, len(BAD_LINES))
    assert all(re.match(r"rejected: stdin:\d+: ", report) for report in done.err.splitlines())


def test_unseen_with_json_prints_one_line_for_each_line_good_or_bad_in_the_same_order(tmp_path: Path) -> None:
    done = called(tmp_path, "unseen", "--json", stdin=MIXED)
    answers, reports = done.json[::2], done.json[1::2]
    assert (done.code, done.err) == (3, "")
    assert answers == [{"user": "good", "items": [f"n{n}"]} for n in range(len(BAD_LINES) + 1)]
    for n, (report, (_, reason)) in enumerate(zip(reports, BAD_LINES.values(), strict=True), 1):
        assert report.keys() == {"outcome", "reason"}
        assert report["outcome"] == "rejected"
        assert report["reason"].startswith(f"stdin:{2 * n}: ")
        assert reason in report["reason"]


@pytest.mark.parametrize("verb", ["add", "unseen"])
def test_input_with_only_bad_lines_creates_no_store(tmp_path: Path, verb: str) -> None:
    called(tmp_path, verb, stdin=b"bad\n[]\n")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("verb", ["add", "forget", "rebuild", "unseen"])
def test_input_with_only_bad_lines_exits_with_1(tmp_path: Path, verb: str) -> None:
    done = called(tmp_path, verb, "--json", stdin=b"bad\n[]\n")
    assert done.code == 1
    if verb != "unseen":
        assert done.json[-1] == {**NOTHING, "lines": 2, "rejected": 2}


def test_input_without_lines_exits_with_1(tmp_path: Path) -> None:
    done = seen(tmp_path, "add", stdin=b"\n  \n")
    assert (done.code, done.out) == (1, "0 lines, 0 items, 0 not seen before\n")
    assert 'no lines in the input: give JSON lines {"user", "items"}' in done.err


def test_a_missing_file_is_named_before_anything_is_done(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_bytes(log(ann=["n1"]))
    done = seen(tmp_path, "add", "log.jsonl", "none.jsonl")
    assert complaint(done) == "es-simhash: cannot read none.jsonl: No such file or directory"
    assert unseen(tmp_path, "ann", "n1") == ["n1"]


# --- users that can't be changed ---------------------------------------------------------------------------


def spoil(folder: Path, user: str, value: bytes = b"what is this", newest: int = 1) -> None:
    """Put bytes of somebody else's in the place of a user's filter."""
    fill(folder, "n0", user=user)
    with SeenItems(address(folder)) as items_client:
        items_client.remove(user)
    store = open_store(address(folder))
    store.change_users({user: UserState((value,), newest)})
    store.close()


def test_a_user_who_cannot_be_read_is_reported_with_the_items_that_were_not_stored(tmp_path: Path) -> None:
    spoil(tmp_path, "bad")
    data = log(ann=["n1"], bad=["n1", 2], bob=["n1"])
    *reports, counts = called(tmp_path, "add", "--json", stdin=data).json
    assert counts == {**NOTHING, "lines": 3, "items": 4, "changed": 2, "failed": 1}
    (report,) = reports
    assert (report["outcome"], report["user"], report["items"]) == ("failed", "bad", ["n1", 2])
    assert "user 'bad' cannot be read: these bytes are not a Bloom filter" in report["reason"]
    done = called(tmp_path, "add", stdin=data)
    assert (done.code, done.out) == (3, "3 lines, 4 items, 0 not seen before\n1 user failed\n")
    assert re.fullmatch(r"failed: the seen items of user 'bad' cannot be read: .*\n", done.err)


@pytest.mark.parametrize("size", ["1", "3", "500"])
def test_unseen_reports_users_who_cannot_be_read_and_answers_the_others(tmp_path: Path, size: str) -> None:
    for user in ("bad", "worse"):
        spoil(tmp_path, user)
    data = log(ann=["n1"], bad=["n1", 2], bob=["n1"], worse=["n1"], eve=["n1"]) + log(bad=[])
    done = called(tmp_path, "unseen", "--batch-size", size, stdin=data)
    assert (done.code, [answer["user"] for answer in done.json]) == (3, ["ann", "bob", "eve"])
    for report, (n, user) in zip(done.err.splitlines(), ((2, "bad"), (4, "worse"), (6, "bad")), strict=True):
        assert report.startswith(f"failed: stdin:{n}: the seen items of user '{user}' cannot be read: ")
    done = called(tmp_path, "unseen", "--json", "--batch-size", size, stdin=data)
    assert (done.code, done.err) == (3, "")
    assert [line["user"] for line in done.json] == ["ann", "bad", "bob", "worse", "eve", "bad"]
    reports = [line for line in done.json if "outcome" in line]
    assert [(line["outcome"], line["user"], line["items"]) for line in reports] == [
        ("failed", "bad", ["n1", 2]),
        ("failed", "worse", ["n1"]),
        ("failed", "bad", []),
    ]
    for report, line in zip(reports, (2, 4, 6), strict=True):
        assert report["reason"].startswith(f"stdin:{line}: the seen items of user '{report['user']}' cannot be read: ")


def test_with_user_a_user_who_cannot_be_read_is_an_error_of_one_line(tmp_path: Path) -> None:
    spoil(tmp_path, "bad")
    for run, arguments in ((seen, ["stats"]), (called, ["clear"]), (called, ["unseen", "n1"]), (seen, ["add", "n1"])):
        assert "user 'bad' cannot be read" in complaint(run(tmp_path, *arguments, "--user", "bad"))


def test_remove_and_rebuild_repair_a_user_who_cannot_be_read(tmp_path: Path) -> None:
    spoil(tmp_path, "bad")
    called(tmp_path, "remove", "--user", "bad")
    assert called(tmp_path, "rebuild", stdin=log(bad=["n1"])).code == 0
    assert unseen(tmp_path, "bad", "n1", "n2") == ["n2"]


# --- bad commands ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["init", "--capacity", "0"], "capacity"),
        (["init", "--error-rate", "1"], "error_rate must be a number from 1e-09 to below 1, and is 1.0"),
        (["init", "--error-rate", "nan"], "error_rate must be a number from 1e-09 to below 1, and is nan"),
        (["init", "--generations", "101"], "generations is 101: use a whole number from 1 to 100"),
        (["init", "--period", "60"], "with a period, one generation would forget everything"),
        (["add", "--user", "", "n1"], "the user '' has 0 bytes"),
        (["rotate", "--user", "x" * 513], "has 513 bytes: use from 1 to 512"),
    ],
)
def test_a_wrong_value_is_an_error_of_one_line(tmp_path: Path, arguments: list[str], reason: str) -> None:
    assert reason in complaint(called(tmp_path, *arguments))


@pytest.mark.parametrize("arguments", [["add", "--user", "ann"], ["stats", "--user"]], ids=" ".join)
def test_an_argument_that_is_not_utf8_is_an_error_of_one_line(tmp_path: Path, arguments: list[str]) -> None:
    assert "has a lone surrogate" in complaint(seen(tmp_path, *arguments, os.fsdecode(b"\xff")))


@pytest.mark.parametrize(
    "arguments",
    [
        ["stats"],
        ["clear"],
        ["remove"],
        ["rotate", "ann"],
        ["rotate", "--before", "yesterday"],
        ["init", "--capacity", "many"],
        ["add", "--colour", "blue"],
        ["see"],
    ],
    ids=" ".join,
)
def test_a_wrong_command_line_exits_with_2(tmp_path: Path, arguments: list[str]) -> None:
    done = called(tmp_path, *arguments)
    assert (done.code, done.out) == (2, "")
    assert "Error: " in done.err
    assert not list(tmp_path.iterdir())


# --- on Elasticsearch --------------------------------------------------------------------------------------


@pytest.mark.elasticsearch
def test_elasticsearch_and_sqlite_give_the_same_output(tmp_path: Path, elasticsearch_url: str, index_name: str) -> None:
    commands: list[tuple[list[str], bytes]] = [
        (["add", "--json"], MIXED + log(ann=["n1", "n2"], bob=["n1"])),
        (["add"], log(ann=["n2", "n3"])),
        (["forget", "--json"], log(ann=["n2", "n9"])),
        (["unseen"], log(ann=["n1", "n2", "n3", "n4"], bob=["n1"], eve=["n1"])),
        (["unseen", "--json"], MIXED + log(ann=["n1", "n4"]) + log(bob=["n1"], ann=["n3", "n5"])),
        (["rebuild"], log(bob=["n7"])),
        (["unseen", "--user", "bob", "n1", "n7"], b""),
        (["remove", "--rule", "fingerprint", "--user", "bob"], b""),
        (["remove", "--rule", "fingerprint", "--user", "bob"], b""),
    ]
    store = ["--store", f"{elasticsearch_url}/{index_name}"]
    assert "created; next run `es-simhash seen add`" in called(tmp_path, "init", *store).out
    for arguments, data in commands:
        assert called(tmp_path, *arguments, *store, stdin=data) == called(tmp_path, *arguments, stdin=data)


@pytest.mark.elasticsearch
def test_an_index_that_is_not_set_up_is_named_with_the_command(
    tmp_path: Path, elasticsearch_url: str, index_name: str
) -> None:
    url = f"{elasticsearch_url}/{index_name}"
    done = called(tmp_path, "add", "--store", url, stdin=log(ann=["n1"]))
    said = complaint(done)
    assert f"{url} does not exist" in said
    assert f"run `es-simhash seen init --store {url}` to make it, or call setup() in code" in said
