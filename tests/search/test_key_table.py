"""The table of keys says which texts may share enough keys with others, and misses none."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest

from es_simhash.search.key_table import READ_IF_ONE_IS_ENOUGH, KeyTable
from es_simhash.search.keys import KeyIndex, KeyQuery, TextKeys, key_queries, text_keys
from tests.contract.documents import keys as made_keys

if TYPE_CHECKING:
    from collections.abc import Sequence

HAN = "天地玄黄宇宙洪荒日月盈昃辰宿列张寒来暑往秋收冬藏"


def texts(rng: random.Random, count: int) -> list[str]:
    """Return texts of all lengths around the boundaries of the kinds of keys. Most are near an earlier one."""
    made: list[str] = []
    for _ in range(count):
        letters = rng.choice([HAN, "abcdefgh", HAN + "abcdefgh12"])
        text = "".join(rng.choice(letters) for _ in range(rng.choice([1, 3, 8, 20, 58, 60, 61, 74, 76, 149, 151, 230])))
        if made and rng.random() < 0.6:
            old = list(rng.choice(made))
            for _ in range(rng.randrange(1 + len(old) // 4)):
                old[rng.randrange(len(old))] = rng.choice(letters)
            text = "".join(old)[: rng.randrange(len(old) * 3 // 4, len(old) + 1)] or text
        made.append(text)
    return [text + rng.choice(["", "", "3日", "4日", "第8天"]) for text in made]


def sharing(keys: Sequence[TextKeys], queries: Sequence[tuple[KeyQuery, ...]]) -> list[set[int]]:
    """The reference: for each text those that fulfil one of its queries."""
    index = KeyIndex([each.values for each in keys], [each.length for each in keys], queries)
    return [set(index.sharing(some)[0].tolist()) for some in queries]


@pytest.mark.parametrize("similarity", [0.5, 0.8, 0.95])
@pytest.mark.parametrize("crowded", [0, 20, 10_000])
@pytest.mark.parametrize(("seed", "numbers"), [(0, False), (1, True), (2, True)])
def test_no_text_that_fulfils_a_query_is_missed(seed: int, numbers: bool, crowded: int, similarity: float) -> None:
    rng = random.Random(seed)
    keys = [text_keys(text) for text in texts(rng, 120)]
    queries = [key_queries(each, similarity, numbers=numbers) for each in keys]
    expected = sharing(keys, queries)
    table = KeyTable(at_once=rng.choice([50, 10**6]), crowded=crowded)
    ends = sorted({0, len(keys), *(rng.randrange(len(keys)) for _ in range(6))})
    for start, end in pairwise(ends):
        table.add([each.values for each in keys[start:end]], [each.length for each in keys[start:end]])
    assert len(table) == len(keys)
    others = table.may_share(queries, own=0).tolist()
    assert all(
        found or not theirs - {number} for number, (found, theirs) in enumerate(zip(others, expected, strict=True))
    )
    every = table.may_share(queries).tolist()
    assert all(found or not theirs for found, theirs in zip(every, expected, strict=True))
    shared = table.sharing(queries, 10**6, 0)
    assert crowded < 10_000 or None not in shared
    for number, (some, theirs) in enumerate(zip(shared, expected, strict=True)):
        assert some is None or (theirs - {number} <= set(some) and number not in some)
    assert [None if some is None or len(some) > 2 else some for some in shared] == table.sharing(queries, 2, 0)
    for number in range(0, len(keys), 10):
        assert expected[number] <= set(table.sharing_any([queries[number]]).tolist())
    together = set(table.sharing_any(queries[:20]).tolist())
    assert together >= set[int]().union(*expected[:20])


def test_texts_of_one_template_with_other_numbers_share_nothing() -> None:
    keys = [text_keys(f"本市第{number}场招聘会今天上午在体育馆举行，请准时参加") for number in range(1, 300)]
    keys += [text_keys(f"本市第{number}场招聘会今天上午在体育馆举行，请准时到场参加") for number in (7, 80)]
    queries = [key_queries(each, 0.8, numbers=True) for each in keys]
    table = KeyTable()
    table.add([each.values for each in keys], [each.length for each in keys])
    assert np.flatnonzero(table.may_share(queries, own=0)).tolist() == [6, 79, 299, 300]
    assert table.sharing_any([queries[299]]).tolist() == [6, 299]
    assert table.may_share([key_queries(each, 0.8) for each in keys], own=0).all()


def test_texts_that_are_like_no_other_share_nothing() -> None:
    rng = random.Random(1)
    made = ["".join(chr(rng.randrange(0x4E00, 0x9000)) for _ in range(rng.randrange(5, 300))) for _ in range(500)]
    keys = [text_keys(text) for text in made]
    table = KeyTable()
    table.add([each.values for each in keys], [each.length for each in keys])
    assert not table.may_share([key_queries(each, 0.8) for each in keys], own=0).any()
    assert table.may_share([key_queries(each, 0.8) for each in keys]).all()


def test_an_empty_table_has_nothing() -> None:
    table = KeyTable()
    queries = [key_queries(text_keys("天地玄黄"), 0.8), ()]
    assert table.may_share(queries).tolist() == [False, False]
    assert table.sharing_any(queries).tolist() == []
    table.add([(), ()], [None, None])
    assert table.may_share(queries, own=0).tolist() == [False, False]


def test_damaged_keys_and_lengths_are_no_error_and_hide_no_others() -> None:
    keys = text_keys("天地玄黄宇宙洪荒日月盈昃")
    table = KeyTable()
    table.add([keys.values, (0, 2**40), ()], [-1, 2**31 - 1, -(2**31)])
    table.add([keys.values], [keys.length])
    assert table.may_share([key_queries(keys, 0.8)]).tolist() == [True]


def test_texts_of_each_level_are_ranked_although_one_level_has_very_many() -> None:
    [key] = made_keys("m")
    table = KeyTable()
    for size in (2_000, 300):
        table.add([[key]] * size, [100] * size)
    first, last = (table.ranked(KeyQuery((key,), 1), 2_300, last=last) for last in (False, True))
    assert first.positions.tolist() == [*range(READ_IF_ONE_IS_ENOUGH), *range(2_000, 2_300)]
    assert last.positions.tolist() == list(range(2_000 - READ_IF_ONE_IS_ENOUGH, 2_300))
    assert first.was_cut
    assert last.was_cut
