"""The planner chooses the plain clause for one fingerprint in a small index, else the plan."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from es_simhash.search.look_up import UNION, UNION_CANDIDATES, UNION_VALUES, choose
from es_simhash.search.query_plan import query_plan


@pytest.mark.parametrize(
    ("fingerprints", "max_distance", "bits", "documents", "clause"),
    [
        (1, 4, 64, 1_000, "plan"),
        (500, 4, 128, 1_000, "plan"),
        (1, 3, 64, 131_072, "plain"),
        (1, 3, 64, 131_073, "plan"),
        (1, 3, 64, None, "plan"),
        (2, 3, 64, 1_000, "plan"),
        (1, 7, 128, 65_536, "plain"),
        (1, 7, 128, 65_537, "plan"),
        (1, 8, 128, 1_000, "plan"),
    ],
)
def test_the_clause(fingerprints: int, max_distance: int, bits: int, documents: int | None, clause: str) -> None:
    assert choose(fingerprints, max_distance, bits, documents).clause == clause


def test_by_the_plan_the_more_documents_the_fewer_fingerprints_in_a_query() -> None:
    together = [choose(500, 3, 64, documents).together for documents in (None, 10**4, 10**6, 10**9)]
    assert together == sorted(together, reverse=True)
    assert (together[0], together[-1]) == (UNION, 1)


@given(k=st.integers(0, 7), documents=st.integers(0, 10**9))
def test_a_query_by_the_plan_stays_small_and_finds_little_by_chance(k: int, documents: int) -> None:
    plan, together = query_plan(k, 4), choose(500, k, 64, documents).together
    assert 1 <= together <= UNION
    assert together == 1 or (
        together * plan.values <= UNION_VALUES and documents * plan.share(together) <= UNION_CANDIDATES
    )
