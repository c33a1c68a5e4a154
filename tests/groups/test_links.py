"""The links of many fingerprints are those that an obvious twin finds, which compares each with each."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from es_simhash.groups import links as module
from es_simhash.groups.links import HEADS, confirmed_links, links
from es_simhash.testing.documents import flip

# A digest stands for a text, which has one fingerprint, or none if it is short; an empty text has no digest either.
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
    """How near two texts are; exact copies before all others. None if not near enough."""
    if one[1] is not None and one[1] == other[1]:
        return False, 0
    if one[0] is None or other[0] is None or (distance := (one[0] ^ other[0]).bit_count()) > max_distance:
        return None
    return True, distance


def twin(
    texts: list[Any], groups: list[str], max_distance: int, head: str, disagree: set[frozenset[Any]] = frozenset()
) -> tuple[list[int], list[int]]:
    def near(one: Any, other: Any, max_distance: int) -> tuple[bool, int] | None:
        return None if frozenset((one[1], other[1])) in disagree else nearness_of(one, other, max_distance)

    count = len(texts)
    originals = []
    for place in range(count):
        found = [
            (*nearness, earlier)
            for earlier in range(place)
            if (nearness := near(texts[place], texts[earlier], max_distance)) is not None
        ]
        originals.append(min(found)[2] if found else -1)
    members = [{place} for place in range(count)]
    for place in range(count):
        for other in range(place):
            if near(texts[place], texts[other], max_distance) is not None and members[place] is not members[other]:
                members[place] |= members[other]
                for each in members[other]:
                    members[each] = members[place]
    return [_head(sorted(members[place]), groups, head) for place in range(count)], originals


def _head(members: list[int], groups: list[str], head: str) -> int:
    if head == "kept":
        named = Counter(groups[place] for place in members)
        return max(members, key=lambda place: (named[str(place)], -place))
    return members[0 if head == "earliest" else -1]


@given(drawn=st.lists(st.tuples(texts, st.integers(0, 20)), max_size=20), max_distance=st.integers(0, 7))
@settings(max_examples=300, deadline=None)
@pytest.mark.parametrize("head", HEADS)
def test_links_are_those_of_comparing_each_with_each(drawn: list[Any], max_distance: int, head: str) -> None:
    texts, groups = [text for text, _ in drawn], [str(group) for _, group in drawn]
    ids = [str(place) for place in range(len(texts))]
    fingerprints, digests = [value for value, _ in texts], [digest for _, digest in texts]
    heads, originals = links(fingerprints, 64, digests, ids, groups, max_distance, head)
    assert (heads.tolist(), originals.tolist()) == twin(texts, groups, max_distance, head)


@given(
    drawn=st.lists(st.tuples(texts, st.integers(0, 20)), max_size=20),
    max_distance=st.integers(-1, 7),
    agreeing=st.randoms(use_true_random=False),
    asked=st.integers(1, 4) | st.just(250),
)
@settings(max_examples=300, deadline=None)
@pytest.mark.parametrize("head", HEADS)
def test_confirmed_links_are_those_of_comparing_each_with_each(
    drawn: list[Any], max_distance: int, agreeing: Any, asked: int, head: str
) -> None:
    texts, groups = [text for text, _ in drawn], [str(group) for _, group in drawn]
    fingerprints, digests = [value for value, _ in texts], [digest for _, digest in texts]
    kinds = sorted(set(map(str, digests)))
    disagree = {frozenset(pair) for pair in combinations(kinds, 2) if agreeing.random() < 0.5}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_ASKED", asked)
        asking = confirmed_links(
            fingerprints, 64, digests, [str(place) for place in range(len(texts))], groups, max_distance, head
        )
        answers = answered(asking, digests, disagree)
    assert answers == twin(texts, groups, max_distance, head, disagree)


def answered(asking: Any, digests: list[Any], disagree: set[frozenset[Any]]) -> tuple[list[int], list[int]]:
    def agree(one: int, other: int) -> bool:
        assert {one, other} <= set(places), "only texts that were asked for"
        assert one < other
        return frozenset((digests[one], digests[other])) not in disagree

    try:
        places = next(asking)
        while True:
            places = asking.send(agree)
    except StopIteration as end:
        heads, originals = end.value
        return heads.tolist(), originals.tolist()


def test_two_texts_that_belong_together_already_are_not_compared() -> None:
    values, digests = [0] * 50, [f"d{n}" for n in range(50)]
    asked: list[tuple[int, int]] = []
    asking = confirmed_links(values, 64, digests, digests, digests, 3, "earliest")
    try:
        next(asking)
        while True:
            asking.send(lambda one, other: asked.append((one, other)) is None)
    except StopIteration:
        pass
    assert asked == [(0, n) for n in range(1, 50)]


@pytest.mark.parametrize("head", HEADS)
def test_blank_texts_are_alone(head: str) -> None:
    heads, originals = links([None] * 3, 64, [None] * 3, list("abc"), list("aaa"), 7, head)
    assert (heads.tolist(), originals.tolist()) == ([0, 1, 2], [-1, -1, -1])


def test_an_exact_copy_comes_before_an_earlier_text_with_the_same_fingerprint() -> None:
    _, originals = links([7, 7, 7], 64, ["other", "same", "same"], list("abc"), list("abc"), 3, "earliest")
    assert originals.tolist() == [-1, 0, 1]
