"""The planner chooses block keys where it can, the plain clause for one fingerprint in a small index, else the plan."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from es_simhash.search.look_up import UNION, UNION_CANDIDATES, UNION_VALUES, LookUp, choose
from es_simhash.search.query_plan import query_plan


@pytest.mark.parametrize(
    ("fingerprints", "max_distance", "bits", "documents", "blocks", "clause"),
    [
        (1, 3, 64, 1_000, True, "blocks"),
        (500, 0, 64, 10_000_000, True, "blocks"),
        (500, 3, 128, 10_000_000, True, "blocks"),
        (1, 4, 64, 1_000, True, "plan"),
        (500, 4, 128, 1_000, True, "plan"),
        (1, 3, 64, 131_072, False, "plain"),
        (1, 3, 64, 131_073, False, "plan"),
        (1, 3, 64, None, False, "plan"),
        (2, 3, 64, 1_000, False, "plan"),
        (1, 4, 64, 1_000, False, "plan"),
        (1, 7, 128, 65_536, False, "plain"),
        (1, 7, 128, 65_537, False, "plan"),
        (1, 8, 128, 1_000, False, "plan"),
    ],
)
def test_the_clause(
    fingerprints: int, max_distance: int, bits: int, documents: int | None, blocks: bool, clause: str
) -> None:
    assert choose(fingerprints, max_distance, bits, documents, blocks=blocks).clause == clause


def test_of_block_keys_a_query_takes_as_many_fingerprints_whatever_the_index() -> None:
    chosen = [choose(500, 3, 64, documents, blocks=True) for documents in (None, 0, 10**9)]
    assert chosen == [LookUp("blocks", UNION)] * 3


def test_by_the_plan_the_more_documents_the_fewer_fingerprints_in_a_query() -> None:
    together = [choose(500, 3, 64, documents, blocks=False).together for documents in (None, 10**4, 10**6, 10**9)]
    assert together == sorted(together, reverse=True)
    assert (together[0], together[-1]) == (UNION, 1)


@given(k=st.integers(0, 7), documents=st.integers(0, 10**9))
def test_a_query_by_the_plan_stays_small_and_finds_little_by_chance(k: int, documents: int) -> None:
    plan, together = query_plan(k, 4), choose(500, k, 64, documents, blocks=False).together
    assert 1 <= together <= UNION
    assert together == 1 or (
        together * plan.values <= UNION_VALUES and documents * plan.share(together) <= UNION_CANDIDATES
    )
