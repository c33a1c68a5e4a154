"""Laws of the links: they equal those of the reference, which compares every document with every other."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from es_simhash.fingerprinting.encoding import to_array
from es_simhash.groups.links import HEADS, ConfirmedLinks, GroupInput, links
from es_simhash.groups.near_pairs import NearPairs
from es_simhash.groups.time_window import MembersByTime, Times
from tests.contract.documents import flip

if TYPE_CHECKING:
    from collections.abc import Sequence

# A digest stands for a text. A text has one fingerprint, or none if it is short. An empty text has no digest.
TEXTS: dict[str | None, int | None] = {
    f"d{n}": flip(base, bits)
    for n, (base, bits) in enumerate(
        [
            *((base, bits) for base in (0, (1 << 64) - 1) for bits in ((), (), (5,), (5, 6), (63, 62, 0), range(7))),
            *((0xFF << start, (start - 1, 40)) for start in (8, 10, 12, 20, 50)),
        ]
    )
}
TEXTS |= {"short": None, "other": None, None: None}

texts = st.one_of(
    st.sampled_from(list(TEXTS)).map(lambda digest: (TEXTS[digest], digest)),
    st.sets(st.integers(0, 63), max_size=9).map(lambda bits: (flip(0, bits), f"text {sorted(bits)}")),
)


def nearness_of(one: Any, other: Any, max_distance: int) -> tuple[bool, int] | None:
    """Return how near two texts are, as a value to sort by; exact duplicates come first. None if not near enough."""
    if one[1] is not None and one[1] == other[1]:
        return False, 0
    if one[0] is None or other[0] is None or (distance := (one[0] ^ other[0]).bit_count()) > max_distance:
        return None
    return True, distance


def reference_links(
    texts: list[Any],
    groups: list[str],
    max_distance: int,
    head: str,
    disagree: set[frozenset[Any]] = frozenset(),
    times: Times | None = None,
) -> tuple[list[int], list[int]]:
    def near(one: int, other: int) -> tuple[bool, int] | None:
        if times is not None and abs(times.values[one] - times.values[other]) > times.length:
            return None
        if frozenset((texts[one][1], texts[other][1])) in disagree:
            return None
        return nearness_of(texts[one], texts[other], max_distance)

    count = len(texts)
    originals = []
    for position in range(count):
        found = [
            (*nearness, earlier) for earlier in range(position) if (nearness := near(position, earlier)) is not None
        ]
        originals.append(min(found)[2] if found else -1)
    members = [{position} for position in range(count)]
    for position in range(count):
        for other in range(position):
            if near(position, other) is not None and members[position] is not members[other]:
                members[position] |= members[other]
                for each in members[other]:
                    members[each] = members[position]
    return [_head(sorted(members[position]), groups, head) for position in range(count)], originals


def group_input(texts: list[Any], groups: Sequence[str], times: Times | None = None) -> GroupInput:
    """Return the texts, pairs (fingerprint or None, digest or None), as arrays. Ids are the positions."""
    digests = [digest for _, digest in texts]
    return GroupInput(
        fingerprints=to_array((value or 0 for value, _ in texts), 64),
        fingerprinted=np.array([value is not None for value, _ in texts], dtype=np.bool_),
        texts=np.array([-1 if digest is None else digests.index(digest) for digest in digests], dtype=np.int64),
        names=np.arange(len(texts)),
        groups=np.array([int(group) for group in groups], dtype=np.int64),
        times=times,
    )


def _head(members: list[int], groups: list[str], head: str) -> int:
    if head == "kept":
        named = Counter(groups[position] for position in members)
        return max(members, key=lambda position: (named[str(position)], -position))
    return members[0 if head == "earliest" else -1]


@st.composite
def windows(draw: st.DrawFn) -> Times | None:
    """None, or times for 20 documents that are often equal or on the edge of the window."""
    length = draw(st.none() | st.sampled_from([0, 1, 5, 10**13]))
    if length is None:
        return None
    return Times(np.array(draw(st.lists(st.integers(-12, 12), min_size=20, max_size=20))), length)


def cut(times: Times | None, count: int) -> Times | None:
    return None if times is None else Times(times.values[:count], times.length)


@given(
    drawn=st.lists(st.tuples(texts, st.integers(0, 20)), max_size=20),
    max_distance=st.integers(-1, 7),
    times=windows(),
)
@settings(max_examples=300, deadline=None)
@pytest.mark.parametrize("head", HEADS)
def test_links_equal_the_reference(drawn: list[Any], max_distance: int, times: Times | None, head: str) -> None:
    texts, groups = [text for text, _ in drawn], [str(group) for _, group in drawn]
    times = cut(times, len(texts))
    (heads, originals), left_out = links(group_input(texts, groups, times), max_distance, head)
    assert (heads.tolist(), originals.tolist()) == reference_links(texts, groups, max_distance, head, times=times)
    assert left_out == 0


@given(
    kinds=st.lists(st.integers(-1, 4), min_size=20, max_size=20),
    times=windows(),
    near=st.sets(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1),
    look_ups=st.integers(1, 9),
)
def test_the_pairs_in_a_window_are_the_same_however_many_ranges_are_looked_up_together(
    kinds: list[int], times: Times | None, near: set[tuple[int, int]], look_ups: int
) -> None:
    def pairs(members: MembersByTime) -> list[Any]:
        return sorted(
            [*pair, number]
            for some, index in members.pairs(np.array(sorted(near)))
            for pair, number in zip(some.tolist(), index.tolist(), strict=True)
        )

    if times is not None:
        numbers = np.array([*kinds, 0, 1, 2, 3, 4])  # each kind has a member
        times = Times(np.concatenate([times.values, np.arange(5)]), times.length)
        assert pairs(MembersByTime(numbers, times, look_ups)) == pairs(MembersByTime(numbers, times))


@given(
    drawn=st.lists(st.tuples(texts, st.integers(0, 20)), max_size=20),
    max_distance=st.integers(-1, 7),
    agreeing=st.randoms(use_true_random=False),
    pairs_a_request=st.integers(1, 4) | st.just(250),
    pairs_a_chunk=st.integers(1, 9) | st.just(50_000),
    times=windows(),
)
@settings(max_examples=300, deadline=None)
@pytest.mark.parametrize("head", HEADS)
def test_confirmed_links_equal_the_reference(
    drawn: list[Any],
    max_distance: int,
    agreeing: Any,
    pairs_a_request: int,
    pairs_a_chunk: int,
    times: Times | None,
    head: str,
) -> None:
    texts, groups = [text for text, _ in drawn], [str(group) for _, group in drawn]
    times = cut(times, len(texts))
    documents = group_input(texts, groups, times)
    digests = [digest for _, digest in texts]
    kinds = sorted(set(map(str, digests)))
    disagree = {frozenset(pair) for pair in combinations(kinds, 2) if agreeing.random() < 0.5}
    confirmed = ConfirmedLinks(documents, max_distance, pairs_a_request=pairs_a_request, pairs_a_chunk=pairs_a_chunk)
    decide_all(confirmed, digests, disagree)
    heads, originals = confirmed.result(head)
    expected = reference_links(texts, groups, max_distance, head, disagree, times)
    assert (heads.tolist(), originals.tolist()) == expected


def decide_all(confirmed: ConfirmedLinks, digests: Sequence[str | None], disagree: set[frozenset[Any]]) -> None:
    while (positions := confirmed.needed()) is not None:

        def agree(one: int, other: int) -> bool:
            assert {one, other} <= set(positions or ()), "only texts that are needed"
            assert one < other
            return frozenset((digests[one], digests[other])) not in disagree

        assert confirmed.needed() == positions, "to ask twice changes nothing"
        confirmed.decide(agree)
    assert confirmed.needed() is None


def test_two_texts_that_belong_together_already_are_not_compared() -> None:
    digests = [f"d{n}" for n in range(50)]
    compared: list[tuple[int, int]] = []
    confirmed = ConfirmedLinks(group_input([(0, digest) for digest in digests], ["0"] * 50), 3)
    while confirmed.needed() is not None:
        confirmed.decide(lambda one, other: compared.append((one, other)) is None)
    assert compared == [(0, n) for n in range(1, 50)]


@pytest.mark.parametrize("head", HEADS)
def test_blank_texts_are_alone(head: str) -> None:
    (heads, originals), _ = links(group_input([(None, None)] * 3, ["0"] * 3), 7, head)
    assert (heads.tolist(), originals.tolist()) == ([0, 1, 2], [-1, -1, -1])


def test_an_exact_duplicate_comes_before_an_earlier_text_with_the_same_fingerprint() -> None:
    documents = group_input([(7, "other"), (7, "same"), (7, "same")], list("012"))
    (_, originals), _ = links(documents, 3, "earliest")
    assert originals.tolist() == [-1, 0, 1]


@pytest.mark.parametrize("times", [None, Times(np.zeros(6, dtype=np.int64), 5)], ids=["no window", "window"])
def test_pairs_beyond_the_limit_of_a_document_are_counted(times: Times | None) -> None:
    documents = group_input([(0, f"d{n}") for n in range(6)], list("012345"), times)
    confirmed = ConfirmedLinks(documents, 3, most=2)
    assert confirmed.left_out == 15 - (0 + 1 + 2 + 2 + 2 + 2)


def test_fingerprints_that_are_not_compared_are_counted() -> None:
    texts = [(number << 8, f"d{number}") for number in range(16)]  # in one block they differ, the others are equal
    near = NearPairs(group_input(texts, ["0"] * 16).fingerprints, 3, neighbours=2, equal=1)
    assert sum(len(pairs) for pairs in near.connecting()) > 16
    assert near.left_out > 0
    every = NearPairs(group_input(texts, ["0"] * 16).fingerprints, 3, equal=1)
    assert sum(len(pairs) for pairs in every.connecting()) > 16
    assert every.left_out == 0
