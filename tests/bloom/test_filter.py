"""Laws of the Bloom filter: no item is lost, and every way to add or look up gives the same result."""

from __future__ import annotations

import copy
import pickle
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from es_simhash.bloom import BloomFilter
from tests.bloom.reference import ReferenceFilter
from tests.bloom.test_items import ITEMS

if TYPE_CHECKING:
    from collections.abc import Callable

    from es_simhash.bloom import Item

# Few different items, so that batches repeat them; capacities that they outgrow; rates that err often.
BATCHES = st.lists(st.lists(st.one_of(st.integers(0, 200), ITEMS), max_size=60), max_size=4)
CAPACITIES = st.integers(1, 60)
RATES = st.sampled_from([0.999, 0.9, 0.5, 0.2, 0.05, 0.001, 1e-6])


@example(1, 0.05, [[1], [2], [3]])  # a layer that is full before a batch
@given(CAPACITIES, RATES, BATCHES)
def test_single_adds_and_batches_set_the_bits_of_the_reference(
    capacity: int, rate: float, batches: list[list[Item]]
) -> None:
    reference = ReferenceFilter(capacity, rate)
    single, batch, count = BloomFilter(capacity, rate), BloomFilter(capacity, rate), 0
    for items in batches:
        changed = [reference.add(item) for item in items]
        assert [single.add(item) for item in items] == changed
        assert batch.update(items).tolist() == changed
        assert single.to_bytes() == batch.to_bytes() == reference.to_bytes()
        count += sum(changed)
        assert single.count == batch.count == count


@given(CAPACITIES, RATES, BATCHES, st.lists(ITEMS))
def test_added_items_are_found_and_others_as_by_the_reference(
    capacity: int, rate: float, batches: list[list[Item]], others: list[Item]
) -> None:
    reference, seen = ReferenceFilter(capacity, rate), BloomFilter(capacity, rate)
    added = [item for items in batches for item in items]
    for item in added:
        reference.add(item)
        seen.add(item)
    expected = [True] * len(added) + [item in reference for item in others]
    assert [item in seen for item in added + others] == expected
    assert seen.contains_many(added + others).tolist() == expected


# --- counts and rates ------------------------------------------------------------------------------------------------


def test_the_current_rate_is_the_share_of_unknown_items_that_are_found() -> None:
    seen = BloomFilter(200, 0.05)
    for items in (0, 50, 200, 2_000):
        seen.update(range(items))
        found = seen.contains_many([f"stranger {number}" for number in range(100_000)]).mean()
        assert found == pytest.approx(seen.false_positive_rate, rel=0.05, abs=2e-4)


# --- copies --------------------------------------------------------------------------------------------------------


def pickled(seen: BloomFilter) -> Any:
    return pickle.loads(pickle.dumps(seen))


@pytest.mark.parametrize("copied", [copy.deepcopy, pickled])
def test_a_copy_is_independent(copied: Callable[[BloomFilter], BloomFilter]) -> None:
    seen = BloomFilter(5, 0.01)
    seen.update(range(20))
    before = seen.to_bytes()
    other = copied(seen)
    assert other.to_bytes() == before
    other.add("stranger")
    other.update([f"stranger {number}" for number in range(100)])
    assert other.contains_many(["stranger", *range(20)]).all()
    assert seen.to_bytes() == before
