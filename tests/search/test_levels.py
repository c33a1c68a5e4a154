"""Levels and runs: which levels are merged, and which positions runs have."""

from __future__ import annotations

import doctest
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from es_simhash.search import levels
from es_simhash.search.levels import levels_kept
from es_simhash.search.runs import in_any_run, pairs_in_runs

runs = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 5)), max_size=12)


def test_the_examples_in_the_docstrings_hold() -> None:
    assert doctest.testmod(levels) == (0, 1)


@given(st.lists(st.integers(1, 600), max_size=200))
def test_levels_become_smaller_by_a_factor_so_there_are_few(sizes: list[int]) -> None:
    there: list[int] = []
    for size in sizes:
        kept = levels_kept(there, size)
        there = [*there[:kept], size + sum(there[kept:])]
        assert all(larger >= 4 * smaller for larger, smaller in pairwise(there))
    assert sum(there) == sum(sizes)


@given(runs)
def test_positions_in_any_run_are_those_of_each_once(some: list[tuple[int, int]]) -> None:
    first = np.array([start for start, _ in some], dtype=np.int64)
    last = np.array([start + more for start, more in some], dtype=np.int64)
    expected = sorted({position for start, more in some for position in range(start, start + more + 1)})
    assert in_any_run(first, last, 26).tolist() == expected


@given(st.lists(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 5)), min_size=2, max_size=2)), st.integers(1, 9))
def test_pairs_in_runs_are_those_of_each_row(rows: list[list[tuple[int, int]]], at_once: int) -> None:
    table = np.array(rows, dtype=np.int64).reshape(-1, 2, 2)
    pieces = list(pairs_in_runs(table[:, :, 0], table[:, :, 1], at_once))
    found = [pair for one, other in pieces for pair in zip(one.tolist(), other.tolist(), strict=True)]
    assert found == [
        (row, position)
        for row, some in enumerate(rows)
        for start, count in some
        for position in range(start, start + count)
    ]
