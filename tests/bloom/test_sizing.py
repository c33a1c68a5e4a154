"""Laws of the size: a filter keeps its error rate at capacity, far beyond it, and if it is very small."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from es_simhash.bloom import BloomFilter
from es_simhash.bloom.sizing import GROWTH, MAX_BITS, MIN_ERROR_RATE, Config, Size
from es_simhash.errors import InputError

STRANGERS = 200_000

CAPACITIES = st.integers(1, 10**7)
RATES = st.floats(math.log(MIN_ERROR_RATE), math.log(0.99)).map(math.exp)


def classical(size: Size) -> float:
    """Return the rate of a full layer: (1 - e^(-kn/m))^k."""
    return (-math.expm1(-size.k * size.capacity / size.m)) ** size.k


def layer_sizes(config: Config, layers: int) -> list[Size]:
    sizes = [config.size(0)]
    for index in range(1, layers):
        sizes.append(config.size(index, sizes[-1].capacity))
    return sizes


@given(CAPACITIES, RATES, st.integers(1, 40))
def test_the_rates_of_all_full_layers_sum_to_less_than_the_error_rate(capacity: int, rate: float, layers: int) -> None:
    assert sum(classical(size) for size in layer_sizes(Config(capacity, rate), layers)) <= rate / 1.1 * (1 + 1e-9)


@given(CAPACITIES, RATES)
def test_a_layer_is_hardly_larger_than_the_textbook_says(capacity: int, rate: float) -> None:
    size = Config(capacity, rate).size(0)
    share = 0.75 * rate / (1 + max(0.1, math.sqrt(-math.log2(rate) / capacity)))
    best = -capacity * math.log(share) / math.log(2) ** 2
    whole = min(-k * capacity / math.log1p(-(share ** (1 / k))) for k in range(1, 70))
    assert best <= whole * (1 + 1e-9)
    assert size.m <= max(whole * 1.05, math.sqrt(capacity / rate)) + 16
    assert size.k <= max(1, round(size.m / capacity * math.log(2)))


@given(CAPACITIES, RATES, st.integers(1, 60))
def test_layers_grow_to_the_most_bits_and_no_further(capacity: int, rate: float, layers: int) -> None:
    sizes = layer_sizes(Config(capacity, rate), layers)
    for before, after in pairwise(sizes):
        assert after.capacity == before.capacity * GROWTH or after.m > 0.9 * MAX_BITS
        assert after.k >= before.k
    assert all(8 <= size.m <= MAX_BITS and size.m // 8 % 2 == 1 and size.m % 8 == 0 for size in sizes)


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0.01, 0.001])
@pytest.mark.parametrize(("capacity", "times"), [(5_000, 1), (100, 10), (100, 1_000), (10, 1_000)])
def test_the_error_rate_holds_at_capacity_and_a_thousand_times_beyond(capacity: int, times: int, rate: float) -> None:
    seen = BloomFilter(capacity, rate)
    seen.update(range(capacity * times))
    assert len(seen.layers) == 1 + math.floor(math.log2(times))
    found = seen.contains_many(range(10**9, 10**9 + STRANGERS)).mean()
    assert found <= rate + 3 * math.sqrt(rate / STRANGERS)
    if capacity >= 100:  # a filter that is much better wastes bits
        assert found >= rate / 2


@pytest.mark.parametrize("times", [1, 30])
@pytest.mark.parametrize("rate", [0.01, 0.001])
@pytest.mark.parametrize(("capacity", "over_at_most"), [(1, 0), (5, 4), (30, 2)])
def test_the_error_rate_holds_in_all_but_a_few_very_small_filters(
    capacity: int, over_at_most: int, rate: float, times: int
) -> None:
    over = 0
    for first in range(0, 100 * 10**4, 10**4):
        seen = BloomFilter(capacity, rate)
        seen.update(range(first, first + capacity * times))
        over += seen.false_positive_rate > rate
    assert over <= over_at_most


@pytest.mark.parametrize("capacity", [0, -1, 1.5, True, None, "10", math.nan, 10**12, 10**400], ids=lambda _: "")
def test_a_capacity_out_of_range_is_refused_with_the_range(capacity: Any) -> None:
    with pytest.raises(InputError, match=r"at error_rate 0.01, must be a whole number from 1 to 39\d{7}, and is"):
        BloomFilter(capacity, 0.01)


@pytest.mark.parametrize("rate", [0, 0.0, -0.1, 1, 1.0, 2, math.nan, math.inf, 1e-12, True, None, "0.1", 10**400])
def test_an_error_rate_out_of_range_is_refused_with_the_range(rate: Any) -> None:
    with pytest.raises(InputError, match=r"error_rate must be a number from 1e-09 to below 1"):
        BloomFilter(10, rate)


@pytest.mark.parametrize("seconds", [-1, 2**63, 1.5, None])
def test_a_generation_out_of_range_is_refused_with_the_range(seconds: Any) -> None:
    with pytest.raises(InputError, match=r"generation must be a whole number from 0 to 9223372036854775807"):
        BloomFilter(10, 0.01, generation=seconds)


def test_a_filter_keeps_the_numbers_it_was_made_with_as_plain_numbers() -> None:
    numbers: list[Any] = [np.int64(10), np.float64(0.25), np.int64(1_700_000_000)]
    seen = BloomFilter(*numbers[:2], generation=numbers[2])
    made = (seen.config.capacity, seen.config.error_rate, seen.generation)
    assert made == (10, 0.25, 1_700_000_000)
    assert [type(number) for number in made] == [int, float, int]
