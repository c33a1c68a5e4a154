"""Keys of a text, and the queries that find similar texts by them."""

from __future__ import annotations

from collections import Counter
from random import Random
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein

from es_simhash.search.encoding import kind_of
from es_simhash.search.keys import (
    LEAST,
    LONGEST_WITH_GRAMS,
    LONGEST_WITH_PAIRS,
    MEDIUM,
    SHORT,
    KeyIndex,
    KeyQuery,
    key_queries,
    rarity,
    text_keys,
)
from tests.contract.documents import keys

HAN = [chr(0x4E00 + 3 * number) for number in range(2_000)]
ALPHABET = "暴雨橙色预警abc12"
words = st.text(ALPHABET, min_size=1, max_size=90)


@st.composite
def similar_pairs(draw: st.DrawFn) -> tuple[str, str]:
    """A text about as long as the boundary, and the same with a few edits."""
    text = draw(st.text(ALPHABET, min_size=40, max_size=80))
    other = list(text)
    for _ in range(draw(st.integers(0, 14))):
        at = draw(st.integers(0, len(other) - 1))
        match draw(st.sampled_from("rid")):
            case "r":
                other[at] = draw(st.sampled_from(ALPHABET))
            case "i":
                other.insert(at, draw(st.sampled_from(ALPHABET)))
            case _ if len(other) > 1:
                del other[at]
    return text, "".join(other)


def finds(asker: str, other: str, similarity: float) -> bool:
    own = text_keys(other)
    queries = key_queries(text_keys(asker), similarity)
    found, _ = KeyIndex([own.values], [own.length], [queries]).sharing(queries)
    return len(found) == 1


@pytest.mark.parametrize(
    ("length", "kinds"),
    [
        *(
            (0, ""),
            (1, "g"),
            (SHORT, "g"),
            (SHORT + 1, "gp"),
            (LONGEST_WITH_GRAMS, "gp"),
            (LONGEST_WITH_GRAMS + 1, "p"),
        ),
        *((MEDIUM, "p"), (MEDIUM + 1, "mp"), (LONGEST_WITH_PAIRS, "mp"), (LONGEST_WITH_PAIRS + 1, "m"), (9_999, "m")),
    ],
)
def test_the_length_says_which_kinds_of_keys_a_text_has(length: int, kinds: str) -> None:
    text = "".join(chr(0x4E00 + n) for n in range(length))
    assert "".join(sorted({"gpmn"[kind_of(key)] for key in text_keys(text).values})) == kinds


@pytest.mark.parametrize("boundary", [SHORT, LONGEST_WITH_GRAMS, MEDIUM, LONGEST_WITH_PAIRS])
@pytest.mark.parametrize("longer", [0, 1, 2, 8])
def test_pairs_across_each_boundary_are_found_from_either_side(boundary: int, longer: int) -> None:
    random = Random(boundary + longer)
    found = []
    for _ in range(100):
        for length in range(boundary - 1, boundary + 2):
            text = random.choices(HAN, k=length)
            other = text + random.choices(HAN, k=longer)
            for at in random.sample(range(length), length // 20):  # 5 % wrong characters
                other[at] = random.choice(HAN)
            found += [finds("".join(text), "".join(other), LEAST), finds("".join(other), "".join(text), LEAST)]
    assert sum(found) > 0.99 * len(found)


@given(texts=similar_pairs())
def test_a_pair_with_a_short_text_is_found_from_either_side(texts: tuple[str, str]) -> None:
    if min(map(len, texts)) <= SHORT and Levenshtein.normalized_similarity(*texts) >= LEAST:
        assert finds(*texts, LEAST)
        assert finds(*reversed(texts), LEAST)


def plain_sharing(
    queries: list[tuple[KeyQuery, ...]], keys: list[tuple[int, ...]], lengths: list[int | None]
) -> list[dict[int, float]]:
    """The slow reference: each query against each document."""
    found: list[dict[int, float]] = []
    total = sum(1 for theirs in keys if theirs)
    for some in queries:
        shared: dict[int, float] = {}
        for index, (theirs, length) in enumerate(zip(keys, lengths, strict=True)):
            for query in some:
                common = set(query.keys) & set(theirs)
                score = sum(rarity(sum(key in each for each in keys), total) for key in common)
                low, high = query.lengths or (0, 1 << 30)
                in_range = query.lengths is None or (length is not None and low <= length <= high)
                with_numbers = not query.numbers or not set(theirs).isdisjoint(query.numbers)
                assert query.is_fulfilled_by(theirs, length) == (
                    len(common) >= query.minimum and in_range and with_numbers
                )
                if query.is_fulfilled_by(theirs, length):
                    shared[index] = max(score, shared.get(index, 0.0))
        found.append(shared)
    return found


key_sets = st.lists(st.sampled_from(keys(*(f"m{n}" for n in range(8)))), unique=True, max_size=6).map(tuple)
lengths = st.none() | st.integers(0, 5)
numbers = st.just(()) | st.lists(st.sampled_from(keys("n1", "n2", "n3")), min_size=1, max_size=2).map(tuple)
ranges = st.none() | st.tuples(st.integers(0, 3), st.integers(2, 5))
queries = st.builds(KeyQuery, key_sets, st.integers(1, 3), ranges, numbers)


@given(
    queries=st.lists(st.lists(queries, max_size=2).map(tuple), max_size=4),
    documents=st.lists(st.tuples(st.builds(tuple.__add__, key_sets, numbers), lengths), max_size=6),
)
def test_rows_that_share_keys_are_those_of_the_reference(
    queries: list[tuple[KeyQuery, ...]], documents: list[tuple[tuple[int, ...], int | None]]
) -> None:
    of_each, sizes = [each[0] for each in documents], [each[1] for each in documents]
    index = KeyIndex(of_each, sizes, queries)
    expected = plain_sharing(queries, of_each, sizes)
    for few_entries in (500, 0):  # one by one, and by arrays
        with patch("es_simhash.search.keys.FEW_ENTRIES", few_entries):
            for some, scores in zip(queries, expected, strict=True):
                found, ours = index.sharing(some)
                assert dict(zip(found.tolist(), ours.tolist(), strict=True)) == pytest.approx(scores, abs=1e-5)
                assert index.fulfilling(some) == found.tolist()


@given(text=words)
def test_the_keys_of_a_text_are_all_different(text: str) -> None:
    assert set(Counter(text_keys(text).values).values()) <= {1}
