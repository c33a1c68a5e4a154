"""Fields that hold something else, and input that can't be used: a clear error, and nothing half-written."""

from __future__ import annotations

import json
import sqlite3
from base64 import b64encode
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import BloomFilter, SeenItems
from es_simhash.errors import FilterFormatError, InputError
from tests.client import CONFIG, Source, memory, state_of

if TYPE_CHECKING:
    from pathlib import Path

    from es_simhash.store.protocol import Store


# --- bad input ---------------------------------------------------------------------------------------------

BAD_ITEMS = [1.5, None, True, ["a"], "a\ud83d"]


@pytest.mark.parametrize("bad", BAD_ITEMS, ids=repr)
def test_nothing_of_a_user_is_stored_if_one_item_is_none(store: Store, ann: str, bad: Any) -> None:
    seen = SeenItems(store)
    seen.add(ann, ["before"])
    before = state_of(store, ann)
    for verb in (seen.add, seen.forget):
        with pytest.raises(InputError, match=rf"user '{ann}' were not changed: the item "):
            verb(ann, ["before", "a", bad])
    assert state_of(store, ann) == before


@pytest.mark.parametrize("bad", BAD_ITEMS, ids=repr)
def test_a_question_about_what_is_no_item_is_refused(ann: str, bad: Any) -> None:
    with memory(set()) as seen, pytest.raises(InputError, match="the item "):
        seen.unseen("ann", ["a", bad])


def test_one_users_bad_items_don_t_keep_the_others_from_being_stored(seen: Any, ann: str) -> None:
    report = seen.add_many({f"{ann}-1": ["a"], ann: ["a", 1.5], f"{ann}-2": ["a"]})
    assert report.results == {f"{ann}-1": 1, f"{ann}-2": 1}
    assert (list(report.failed), type(report.failed[ann])) == ([ann], InputError)


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ("", "has 0 bytes: use from 1 to 512"),
        ("号" * 171, "has 513 bytes: use from 1 to 512"),
        ("a\0b", "zero"),
        ("a\ud83d", "has a lone surrogate"),
        (True, "True is true or false: use a string or a whole number"),
        (1.5, "1.5 is a number: use"),
        (None, "None is null"),
        (b"ann", "is a bytes"),
    ],
    ids=range(8),
)
def test_what_can_be_no_user_is_refused_by_every_method(seen: Any, ann: str, bad: Any, words: str) -> None:
    methods = [
        *(lambda m=m: getattr(seen, m)(bad, ["a"]) for m in ("add", "unseen", "forget")),
        *(lambda m=m: getattr(seen, m)(bad) for m in ("stats", "remove")),
        *(lambda m=m: getattr(seen, m)({ann: ["a"], bad: ["a"]}) for m in ("add_many", "unseen_many")),
        lambda: seen.rotate([bad]),
        *(
            [] if bad is None else [lambda: seen.page(bad, Source([]), 5, item=lambda hit: hit)]
        ),  # None is one who has seen nothing
    ]
    for method in methods:
        with pytest.raises(InputError, match=f"the user .*{words}"):
            method()
    assert not seen.stats(ann).generations


@pytest.mark.parametrize("bad", ["news-1", b"news-1", 5, None])
def test_items_that_are_no_list_are_refused(ann: str, bad: Any) -> None:
    with (
        memory(set()) as seen,
        pytest.raises(InputError, match=r"the items of user 'ann' are one .*: put it in a list"),
    ):
        seen.add("ann", bad)


def test_one_string_is_not_taken_for_a_list_of_users() -> None:
    with memory({1}) as seen, pytest.raises(InputError, match="the users are one string, 'ann': put it in a list"):
        seen.rotate("ann")


# --- damage ------------------------------------------------------------------------------------------------


def assert_unreadable(seen: SeenItems, user: str) -> None:
    """Every question names the user; in a change of several the others are stored; removing mends it."""
    for ask in (lambda: seen.unseen(user, ["a"]), lambda: seen.stats(user)):
        with pytest.raises(
            FilterFormatError, match=rf"user '{user}' are damaged \((these|this|a part) .*\): remove them"
        ):
            ask()
    others = {f"{user}-1": ["a"], user: ["a"], f"{user}-2": ["a"]}
    report = seen.add_many(others)
    assert (report.results, list(report.failed)) == ({f"{user}-1": 1, f"{user}-2": 1}, [user])
    assert isinstance(report.failed[user], FilterFormatError)
    assert f"user '{user}'" in str(report.failed[user])
    assert seen.unseen_many({f"{user}-1": ["a"], f"{user}-2": ["a"]}) == {f"{user}-1": [], f"{user}-2": []}
    assert seen.remove(user)
    assert (seen.add(user, ["a"]), seen.unseen(user, ["a", "b"])) == (1, ["b"])


FILTER = BloomFilter(100, CONFIG["error_rate"] / 3, generation=5).to_bytes()
GOOD = b64encode(FILTER).decode()
WHOLE = {"filters": [GOOD], "newest": 5, "added": 5, "forgotten": []}
FLIPPED = [FILTER[:at] + bytes([FILTER[at] ^ 1]) + FILTER[at + 1 :] for at in (0, 50, 400, len(FILTER) - 1)]


DAMAGED: list[Any] = [
    *({**WHOLE, "filters": [b64encode(data).decode()]} for data in FLIPPED),
    {**WHOLE, "filters": [5]},
    {**WHOLE, "filters": [GOOD[15:55]]},
    {**WHOLE, "filters": [GOOD[:-8]]},
    {**WHOLE, "filters": ["not base64!"]},
    {**WHOLE, "filters": ["c29tZXRoaW5nIGVsc2U="]},
    {**WHOLE, "filters": GOOD},
    {**WHOLE, "filters": [""]},
    {"filters": [GOOD]},
    {**WHOLE, "forgotten": {"a": 5}},
    {**WHOLE, "forgotten": [7]},
    {**WHOLE, "forgotten": "a"},
    {**WHOLE, "forgotten": [{"item": "a"}]},
    {**WHOLE, "forgotten": [{"item": ["a"], "generation": 5}]},
    {**WHOLE, "forgotten": [{"item": "a", "generation": "b"}]},
    [WHOLE],
    [1],
    5,
]


@pytest.mark.parametrize("damaged", DAMAGED, ids=range(len(DAMAGED)))
def test_a_row_that_holds_something_else_is_named_and_never_answers(tmp_path: Path, damaged: Any) -> None:
    with SeenItems(f"sqlite:///{tmp_path}/users.db", **CONFIG) as seen:
        seen.add("ann", ["a"])
        with closing(sqlite3.connect(tmp_path / "users.db")) as connection, connection:
            done = connection.execute("UPDATE users SET seen = ? WHERE user = ?", [json.dumps(damaged), "ann"])
            assert done.rowcount == 1
        assert_unreadable(seen, "ann")
