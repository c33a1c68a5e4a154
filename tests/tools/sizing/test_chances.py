"""The chances of the model, compared with a count over all fingerprints of few bits."""

from __future__ import annotations

import random
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from es_simhash.search.query_plan import QueryPlan, query_plan
from es_simhash.tools.sizing.chances import distinct, plan_chance

WIDTH, SEGMENTS = 3, 4


def near(centres: tuple[int, ...], distances: range) -> set[int]:
    return {v for v in range(1 << WIDTH) if any((v ^ centre).bit_count() in distances for centre in centres)}


def counted(plan: QueryPlan, queries: list[tuple[int, ...]], first: int | None = None) -> float:
    """Return the share of all fingerprints that a query finds, by the values that it asks for.

    :param queries: the segments of each fingerprint that is looked up.
    :param first: only fingerprints with this first segment.
    """
    centres = list(zip(*queries, strict=True))
    within = [near(values, range(plan.radius + 1)) for values in centres]
    clauses = [
        (
            (c.segment, near(centres[c.segment], range(c.distance, c.distance + 1))),
            [(partner, near(centres[partner], range(most + 1))) for partner, most in c.partners],
        )
        for c in plan.clauses
    ]
    found = every = 0
    for document in product(range(1 << WIDTH), repeat=SEGMENTS):
        if first is None or document[0] == first:
            every += 1
            found += sum(value in some for value, some in zip(document, within, strict=True)) >= plan.minimum or any(
                document[segment] in exact and any(document[partner] in some for partner, some in partners)
                for (segment, exact), partners in clauses
            )
    return found / every


@pytest.mark.parametrize("k", range(8))
def test_the_chance_of_a_plan_is_the_share_of_all_fingerprints_that_pass(k: int) -> None:
    plan = query_plan(k, SEGMENTS)
    query = (5, 0, 7, 2)
    assert plan_chance(plan, WIDTH) == pytest.approx(counted(plan, [query]))
    assert plan_chance(plan, WIDTH, hot=True) == pytest.approx(counted(plan, [query], first=5))


@pytest.mark.parametrize("k", [2, 3])
def test_the_chance_of_a_plan_for_two_fingerprints_is_the_mean_of_all_pairs(k: int) -> None:
    rng, plan = random.Random(1), query_plan(k, SEGMENTS)
    drawn = [[tuple(rng.randrange(1 << WIDTH) for _ in range(SEGMENTS)) for _ in range(2)] for _ in range(30)]
    mean = sum(counted(plan, queries) for queries in drawn) / len(drawn)
    assert plan_chance(plan, WIDTH, 2) == pytest.approx(mean, rel=0.2)


@given(values=st.integers(1, 4), draws=st.integers(0, 5))
def test_the_expected_number_of_different_values_is_the_mean_of_all_draws(values: int, draws: int) -> None:
    every = [len(set(drawn)) for drawn in product(range(values), repeat=draws)]
    assert distinct(values, draws) == pytest.approx(sum(every) / len(every))
