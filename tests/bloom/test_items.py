"""Laws of items: which values are the same item, and which are no item."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from es_simhash.bloom import BloomFilter
from es_simhash.bloom.layer import hash_items
from es_simhash.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
ITEMS = st.one_of(TEXTS, st.integers(), st.binary())
FOX = "The quick brown fox jumps over the lazy dog"


class Colour(enum.IntEnum):
    RED = 7


class Name(str):
    """A subclass of str."""


def test_the_hash_is_the_published_murmur3() -> None:
    for item, x, y in (("", 0, 0), (FOX, 0xE34BBC7BBC071B6C, 0x7A433CA9C49A9347)):
        assert hash_items([item]).tolist() == [[x, y]]


@given(st.lists(ITEMS))
def test_a_batch_hashes_as_its_items_do(items: list[str | int | bytes]) -> None:
    assert hash_items(items).tolist() == [hash_items([item])[0].tolist() for item in items]


@given(st.lists(st.integers(), min_size=1))
def test_an_integer_is_its_digits(numbers: list[int]) -> None:
    texts = [str(number) for number in numbers]
    for same in (texts, [text.encode() for text in texts]):
        assert hash_items(same).tolist() == hash_items(numbers).tolist()


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
