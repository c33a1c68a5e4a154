"""Laws of the sample: it equals that of the reference, a plain loop over all pairs, in any order of the documents."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from es_simhash.fingerprinting.encoding import to_array
from es_simhash.tools.evaluation.draw import DocumentSample, document_rank, draw_pairs

if TYPE_CHECKING:
    import random

WIDEST = {64: 7, 128: 15}
each_length = pytest.mark.parametrize("bits", WIDEST)


def stored(bits: int) -> st.SearchStrategy[dict[str, int]]:
    """Draw documents with few different bits: most fingerprints are near each other and some are equal.

    At 128 bits the differing bits are in both words.
    """
    few = st.integers(0, 31)
    across = [few.map(lambda value: value << 62), few.map(lambda value: value << 62 | 0xFF)] if bits == 128 else []
    values = st.one_of(few, few.map(lambda value: value << bits - 5 | 0xFFFF), *across)
    return st.dictionaries(st.text("abcdef", min_size=1, max_size=4), values, max_size=16)


def drawn(
    documents: dict[str, int], size: int, seed: int, count: int = 100, max_distance: int = 3, bits: int = 64
) -> list[object]:
    held = DocumentSample(count, seed, bits)
    for id, value in documents.items():
        held.add(id, value)
    ids, fingerprints, ranks = held.sorted()
    return [(ids[a], ids[b], distance) for a, b, distance in draw_pairs(fingerprints, ranks, size, max_distance)]


def reference_pair_rank(left: int, right: int) -> int:
    mixed = (left * 0x9E3779B97F4A7C15 + right) % 2**64
    mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB % 2**64
    return mixed ^ mixed >> 31


def reference_draw(documents: dict[str, int], size: int, seed: int, count: int, max_distance: int) -> list[object]:
    ids = sorted(documents, key=lambda id: document_rank(id, seed))[:count]
    first: dict[int, str] = {}
    for id in ids:
        first.setdefault(documents[id], id)
    strata: dict[int, list[tuple[int, str, str]]] = {distance: [] for distance in range(max_distance + 1)}
    for a, b in combinations(ids, 2):
        distance = (documents[a] ^ documents[b]).bit_count()
        same_kind = distance == 0 and first[documents[a]] == a
        both_first = first[documents[a]] == a and first[documents[b]] == b
        if distance <= max_distance and (same_kind or both_first):
            strata[distance].append((reference_pair_rank(document_rank(a, seed), document_rank(b, seed)), a, b))
    taken: Counter[int] = Counter()
    while taken.total() < size and any(taken[distance] < len(pairs) for distance, pairs in strata.items()):
        for distance, pairs in strata.items():
            if taken.total() < size and taken[distance] < len(pairs):
                taken[distance] += 1
    return [(a, b, d) for d, pairs in strata.items() for _, a, b in sorted(pairs)[: taken[d]]]


@each_length
@given(st.data(), st.integers(1, 30), st.integers(0, 3), st.integers(1, 20))
def test_the_sample_equals_the_reference(bits: int, data: st.DataObject, size: int, seed: int, count: int) -> None:
    documents, max_distance = data.draw(stored(bits)), data.draw(st.integers(0, WIDEST[bits]))
    expected = reference_draw(documents, size, seed, count, max_distance)
    assert drawn(documents, size, seed, count, max_distance, bits) == expected


@each_length
@given(st.data(), st.integers(1, 10), st.randoms(use_true_random=False))
def test_the_order_of_the_documents_does_not_matter(
    bits: int, data: st.DataObject, size: int, shuffled: random.Random
) -> None:
    documents = data.draw(stored(bits))
    shuffled_items = list(documents.items())
    shuffled.shuffle(shuffled_items)
    assert drawn(dict(shuffled_items), size, 7, 8, bits=bits) == drawn(documents, size, 7, 8, bits=bits)


def test_every_pair_is_drawn_about_equally_often() -> None:
    documents = {f"id{n}": 1 << n for n in range(6)}  # 15 pairs, all of them 2 bits apart
    times = Counter(pair for seed in range(600) for pair in map(frozenset, drawn_ids(documents, 3, seed)))
    assert len(times) == 15
    assert all(70 <= count <= 175 for count in times.values()), times  # 120 each on average


def drawn_ids(documents: dict[str, int], size: int, seed: int) -> list[tuple[str, str]]:
    return [(a, b) for a, b, _ in drawn(documents, size, seed)]  # type: ignore[misc]


def test_each_distance_has_the_same_share_and_the_others_replace_missing_pairs() -> None:
    documents = {"a": 0, "b": 0, **{f"id{n}": 1 << n for n in range(20)}}
    assert Counter(distance for *_, distance in drawn(documents, 21, 0)) == {0: 1, 1: 10, 2: 10}  # type: ignore[misc]


@each_length
def test_fewer_than_two_documents_have_no_pairs(bits: int) -> None:
    assert draw_pairs(to_array([], bits), np.array([], dtype=np.uint64), 5, WIDEST[bits]) == []
    assert drawn({"a": 3}, 5, 0, bits=bits) == []
