"""Laws of containment."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from es_simhash.similarity import measures
from es_simhash.similarity.measures import SHORTEST
from es_simhash.text.normalisation import compared_characters
from es_simhash.text.shingles import distinct, shingles_of_texts
from tests.similarity import reference

long = "".join(chr(0x4E00 + 7 * number) for number in range(400))


def containment(a: str, b: str) -> float:
    one, other = (distinct(shingles_of_texts([compared_characters(text)])[0]) for text in (a, b))
    return float(measures.overlaps(one, [other])[1][0])


@given(st.integers(0, 200), st.integers(60, 200), st.integers(0, 200), st.integers(60, 200))
def test_containment_is_that_of_sets_of_shingles(a: int, size: int, b: int, other: int) -> None:
    one, two = long[a : a + size], long[b : b + other]
    assert containment(one, two) == containment(two, one) == reference.containment(one, two)


def test_short_texts_are_contained_in_nothing_but_themselves() -> None:
    assert containment(long[: SHORTEST + 3], long) == 0.0
    assert containment(long[: SHORTEST + 4], long) == 1.0
    assert containment("天地玄黄宇宙", "天地玄黄宇宙") == 1.0
    assert containment("", "") == 0.0
