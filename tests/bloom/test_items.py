"""Laws of items: which values are the same item, and which are no item."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import strategies as st

from es_simhash.bloom import BloomFilter
from es_simhash.bloom.layer import hash_items
from es_simhash.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
ITEMS = st.one_of(TEXTS, st.integers(), st.binary())


class Colour(enum.IntEnum):
    RED = 7


class Name(str):
    """A subclass of str."""


@pytest.mark.parametrize("same", ["7", b"7", np.int8(7), np.uint64(7), Colour.RED, Name("7"), np.str_("7")], ids=repr)
def test_equal_text_is_the_same_item_of_whatever_type(same: Any) -> None:
    assert hash_items([same]).tolist() == hash_items([7]).tolist()


@pytest.mark.parametrize("other", ["07", " 7", "7.0", "７", "+7", ""])
def test_other_text_is_another_item(other: str) -> None:
    assert hash_items([other]).tolist() != hash_items(["7"]).tolist()


@pytest.mark.parametrize(
    "batch", [np.arange(60), np.arange(60, dtype=np.uint8), np.arange(60).astype(str), range(60), map(str, range(60))]
)
def test_any_iterable_is_a_batch(batch: Any) -> None:
    seen = BloomFilter(100, 0.01)
    assert seen.update(batch).sum() == 60
    assert seen.contains_many([str(number) for number in range(60)]).all()


def asked(item: Any, size: int) -> list[tuple[str, Callable[[BloomFilter], object]]]:
    return [
        ("add", lambda seen: seen.add(item)),
        ("in", lambda seen: item in seen),
        ("update", lambda seen: seen.update([*["fine"] * size, item])),
        ("update of ints", lambda seen: seen.update([*[1] * size, item])),
        ("contains_many", lambda seen: seen.contains_many([*["fine"] * size, item])),
    ]


@pytest.mark.parametrize("size", [0, 3, 100])
@pytest.mark.parametrize(
    ("item", "named"),
    [
        (True, "True is a bool"),
        (None, "None is a NoneType"),
        (1.0, "1.0 is a float"),
        (np.float64(1), "is a float64"),
        (np.bool_(True), "is a bool"),
        (bytearray(b"x"), "is a bytearray"),
        (["x"], "is a list"),
        ("a\ud800z", "has a lone surrogate at character 2"),
        (Name("\udfff"), "has a lone surrogate at character 1"),
    ],
    ids=ascii,
)
def test_a_value_that_is_no_item_is_refused_by_name_and_adds_nothing(item: Any, named: str, size: int) -> None:
    for how, ask in asked(item, size):
        seen = BloomFilter(100, 0.01)
        with pytest.raises(InputError, match=named):
            ask(seen)
        assert seen.to_bytes() == BloomFilter(100, 0.01).to_bytes(), how


@pytest.mark.parametrize("batch", ["item", b"item"])
def test_a_lone_string_is_no_batch(batch: Any) -> None:
    for ask in (BloomFilter(10, 0.01).update, BloomFilter(10, 0.01).contains_many):
        with pytest.raises(InputError, match="put it in a list"):
            ask(batch)
