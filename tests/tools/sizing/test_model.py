"""What the model expects of a look-up, compared with the clauses of real queries on random fingerprints."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from es_simhash.errors import InputError
from es_simhash.search.candidates import candidates_clause, plain_clause
from es_simhash.search.look_up import choose
from es_simhash.tools.sizing.chances import TEXTS
from es_simhash.tools.sizing.model import Collection, mean_work, way_of, work

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Fields = dict[str, NDArray[Any]]

DOCUMENTS, QUERIES = 20_000, 40
CLAUSES: dict[str, Callable[..., dict[str, Any]]] = {
    "plain": lambda values, k: plain_clause(values[0]),
    "plan": candidates_clause,
}


def fields_of(values: list[int]) -> Fields:
    """Return the values of each field of the documents, shape (n, values of a document)."""
    return {
        f"simhash.s{i}": np.array([[f"{value:016x}"[4 * i : 4 * i + 4]] for value in values], dtype=object)
        for i in range(4)
    }


def matches(clause: Any, fields: Fields, counts: list[tuple[int, int]]) -> NDArray[np.bool_]:
    """Return which documents fulfil a clause. Add to ``counts`` the terms and the postings of each of its parts."""
    ((kind, inner),) = clause.items()
    if kind in ("term", "terms"):
        ((field, values),) = inner.items()
        values = {values} if isinstance(values, str) else set(values)
        has = np.vectorize(values.__contains__, otypes=[np.bool_])(fields[field])
        counts.append((len(values), int(has.sum())))
        return has.any(axis=1)  # type: ignore[no-any-return]
    should = [matches(each, fields, counts) for each in inner.get("should", ())]
    every = [matches(each, fields, counts) for each in inner.get("filter", ())]
    if should:
        every.append(np.sum(should, axis=0) >= inner["minimum_should_match"])
    return np.logical_and.reduce(every)


@pytest.mark.parametrize(
    ("way", "k", "batch"),
    [("plain", 3, 1), ("plan", 3, 1), ("plan", 3, 40), ("plan", 7, 30)],
)
def test_terms_postings_and_candidates_are_those_of_real_queries(way: Any, k: int, batch: int) -> None:
    generator = np.random.default_rng(k + batch)
    collection = Collection(DOCUMENTS, max_distance=k)
    drawn = [int(value) for value in generator.integers(0, 1 << 64, DOCUMENTS + QUERIES, dtype=np.uint64)]
    queries, fields = drawn[:QUERIES], fields_of(drawn[QUERIES:])
    together = {"plan": choose(batch, k, 64, DOCUMENTS).together, "plain": 1}[way]
    together = min(together, batch)
    counts: list[tuple[int, int]] = []
    some = [queries[start : start + together] for start in range(0, QUERIES if batch == 1 else together, together)]
    candidates = sum(int(matches(CLAUSES[way](each, k), fields, counts).sum()) for each in some)
    asked = sum(map(len, some))
    expected = work(way, collection, batch)
    assert expected.together == together
    assert sum(terms for terms, _ in counts) == pytest.approx(expected.terms * asked, rel=0.01)
    for counted, mean in ((sum(n for _, n in counts), expected.postings), (candidates, expected.candidates)):
        assert abs(counted - mean * asked) < 5 * sqrt(mean * asked) + 5


def test_a_look_up_of_the_hot_segment_finds_what_random_fingerprints_with_the_same_segment_do() -> None:
    generator = np.random.default_rng(1)
    hot = [int(v) >> 16 | 0x5EED << 48 for v in generator.integers(0, 1 << 64, DOCUMENTS, dtype=np.uint64)]
    fields = fields_of(hot[1:])
    collection = Collection(DOCUMENTS - 1, hot=DOCUMENTS - 1)
    for way in ("plain", "plan"):
        counts: list[tuple[int, int]] = []
        candidates = int(matches(CLAUSES[way](hot[:1], 3), fields, counts).sum())
        # The model adds these documents to as many random ones.
        expected, usual = work(way, collection, hot=True), work(way, collection)
        mean = expected.candidates - usual.candidates
        assert abs(candidates - mean) < 5 * sqrt(mean) + 5
        assert sum(n for _, n in counts) == pytest.approx(expected.postings - usual.postings, rel=0.05, abs=20)


def test_the_mean_lies_between_a_look_up_of_the_hot_segment_and_any_other() -> None:
    collection = Collection(10**8, hot=10**6)
    usual, mean, hot = work("plan", collection), mean_work("plan", collection), work("plan", collection, hot=True)
    assert usual.postings < mean.postings < hot.postings
    assert mean_work("plan", Collection(10**8)) == usual


def test_the_way_is_the_one_that_the_library_chooses() -> None:
    large = Collection(10**8)
    assert way_of(large) == "plan"
    assert way_of(large, keys=True) == "shingles"
    assert way_of(Collection(10_000), batch=1) == "plain"


def test_a_way_that_would_lose_duplicates_is_an_error() -> None:
    with pytest.raises(InputError, match="within 3 bits only, and max_distance is 4"):
        work("plain", Collection(1_000, max_distance=4))


@pytest.mark.parametrize("texts", TEXTS.values(), ids=list(TEXTS))
def test_whatever_the_texts_more_documents_are_more_work(texts: Any) -> None:
    for way in ("plain", "plan", "shingles", "grams"):
        few, many = work(way, Collection(10**6, texts=texts)), work(way, Collection(10**9, texts=texts))  # type: ignore[arg-type]
        assert few.candidates < many.candidates
        assert few.postings < many.postings
