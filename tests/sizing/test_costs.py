"""The times of the model, compared with those that its constants are fitted to."""

from __future__ import annotations

import pytest

from es_simhash.sizing.costs import look_up_us
from es_simhash.sizing.model import Pool, Work, work

MILLION = 10**6


@pytest.mark.parametrize(
    ("what", "look_up", "batch", "lucene", "measured"),
    [
        # Of the plan, the candidates are those that were counted: each query has neighbours.
        ("plan, 4 terms", Work(4, 61, 4.21), 1, 1, 1_170),
        ("plan, 40 terms", Work(40, 610, 5.52), 1, 1, 1_560),
        ("plan, 312 terms", Work(312, 4_760, 8.26), 1, 1, 2_200),
        ("plan, 500 terms", Work(500, 7_630, 10.57), 1, 1, 2_860),
        ("plan, 4 terms, k = 0", Work(4, 61, 1.0, 100), 100, 1, 1e6 / 10_501),
        ("plan, 4 terms, k = 1", Work(4, 61, 2.38, 100), 100, 1, 1e6 / 11_497),
        ("plan, 4 terms, k = 2", Work(4, 61, 4.21, 100), 100, 1, 1e6 / 6_245),
        ("plan, 40 terms", Work(40, 610, 5.52, 42), 100, 1, 1e6 / 4_085),
        ("plain OR", Work(4, 61, 68.31), 1, 1, 1_740),
        ("block keys", work("blocks", Pool(MILLION)), 1, 1, 1e6 / 758),
        ("block keys", work("blocks", Pool(MILLION), 100), 100, 1, 1e6 / 10_816),
        ("block keys", work("blocks", Pool(MILLION), 100), 500, 1, 1e6 / 16_440),
        ("block keys", work("blocks", Pool(MILLION), 100), 100, 1, 1e6 / 13_500),
        ("block keys", work("blocks", Pool(MILLION), 100), 100, 14, 1e6 / 7_000),
    ],
)
def test_a_look_up_takes_what_was_measured_within_one_and_a_half_times(
    what: str, look_up: Work, batch: int, lucene: int, measured: float
) -> None:
    expected = look_up_us(look_up, lucene, batch=batch)
    assert measured / 1.5 <= expected <= measured * 1.5, f"{what}: {expected:.0f} µs, measured {measured:.0f}"
