"""Laws of the evaluation: its counts equal those of the reference, a plain loop over every k and every pair."""

from __future__ import annotations

import doctest
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from es_simhash.errors import InputError
from es_simhash.evaluation import evaluate as module
from es_simhash.evaluation.evaluate import LabelledPair, evaluate, labelled
from es_simhash.fingerprinting.fingerprinter import Fingerprinter
from es_simhash.fingerprinting.scheme import DEFAULT, Scheme
from es_simhash.similarity.compare import compare
from es_simhash.similarity.measures import similarity
from tests.similarity.test_compare import LIKE, LONG, texts

WIDE = Scheme(bits=128)
each_scheme = pytest.mark.parametrize("scheme", [DEFAULT, WIDE], ids=["64", "128"])

similarities = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])


@st.composite
def pairs(draw: st.DrawFn, bits: int = 64) -> LabelledPair:
    """Draw a pair. Exact duplicates have distance 0 or none; most distances are small enough to be predicted."""
    exact = draw(st.booleans())
    distances = st.just(0) if exact else st.integers(0, 20) | st.integers(0, bits)
    return LabelledPair(draw(st.booleans()), draw(st.none() | distances), exact, draw(similarities))


def predicted(pair: LabelledPair, k: int, confirm: float | None) -> bool:
    """Return whether a pair is predicted, by the definition."""
    if confirm is not None and (pair.similarity is None or pair.similarity < confirm):
        return False
    if pair.exact:
        return True
    return pair.distance is not None and pair.distance <= k


def reference_counts(some: list[LabelledPair], k: int, confirm: float | None) -> tuple[int, int, int, int]:
    tp = fp = fn = tn = 0
    for pair in some:
        if predicted(pair, k, confirm):
            if pair.duplicate:
                tp += 1
            else:
                fp += 1
        elif pair.duplicate:
            fn += 1
        else:
            tn += 1
    return tp, fp, fn, tn


def has_both_labels(some: list[LabelledPair]) -> bool:
    return {pair.duplicate for pair in some} == {True, False}


@each_scheme
@given(data=st.data(), confirm=st.none() | similarities)
def test_the_counts_at_every_k_equal_the_reference(scheme: Scheme, data: st.DataObject, confirm: float | None) -> None:
    some = data.draw(st.lists(pairs(scheme.bits), min_size=2, max_size=30).filter(has_both_labels))
    made = evaluate(iter(some), scheme, confirm)
    assert [point.max_distance for point in made.points] == list(range(scheme.max_distance + 1))
    for point in made.points:
        counts = reference_counts(some, point.max_distance, confirm)
        assert (point.true_positives, point.false_positives, point.false_negatives, point.true_negatives) == counts


@given(st.lists(pairs(), min_size=2, max_size=30).filter(has_both_labels), st.none() | similarities)
def test_precision_recall_and_f1_are_their_definitions(some: list[LabelledPair], confirm: float | None) -> None:
    for point in evaluate(some, confirm=confirm).points:
        tp, fp, fn, _ = reference_counts(some, point.max_distance, confirm)
        precision, recall = (Fraction(tp, tp + fp) if tp + fp else None), Fraction(tp, tp + fn)
        assert point.precision == (None if precision is None else float(precision))
        assert point.recall == float(recall)
        if precision is not None and precision + recall:
            assert point.f1 == float(2 * precision * recall / (precision + recall))
        else:
            assert point.f1 == 0


@given(st.lists(pairs(), min_size=2, max_size=30).filter(has_both_labels), st.none() | similarities)
def test_the_chosen_k_is_the_smallest_with_the_highest_f1(some: list[LabelledPair], confirm: float | None) -> None:
    made = evaluate(some, confirm=confirm)
    best = max(point.f1 for point in made.points)
    assert made.chosen.max_distance == min(point.max_distance for point in made.points if point.f1 == best)


@given(st.lists(pairs(), min_size=2, max_size=30).filter(has_both_labels))
def test_every_pair_is_counted_at_its_distance_or_as_without_distance(some: list[LabelledPair]) -> None:
    made = evaluate(some)
    for distance in range(65):
        at = [pair.duplicate for pair in some if pair.distance == distance]
        assert (made.duplicates[distance], made.different[distance]) == (at.count(True), at.count(False))
    without = [pair for pair in some if pair.distance is None]
    assert made.without_distance.pairs == len(without)
    assert made.without_distance.duplicates == sum(pair.duplicate for pair in without)
    assert made.without_distance.copies == sum(pair.exact for pair in without)


@given(st.lists(pairs(), min_size=2, max_size=20).filter(has_both_labels), similarities)
def test_confirm_only_removes_predictions(some: list[LabelledPair], confirm: float) -> None:
    for loose, strict in zip(evaluate(some).points, evaluate(some, confirm=confirm).points, strict=True):
        assert strict.true_positives <= loose.true_positives
        assert strict.false_positives <= loose.false_positives
    assert evaluate(some, confirm=0.0).points == evaluate(some).points


@given(texts, texts, st.booleans(), st.sampled_from(["jaccard", "cosine"]))
def test_a_labelled_pair_agrees_with_the_comparison_of_its_texts(a: str, b: str, duplicate: bool, measure: Any) -> None:
    assume(a and b)
    pair, compared = labelled(a, b, duplicate, Fingerprinter(), measure), compare(a, b)
    assert (pair.duplicate, pair.distance) == (duplicate, compared.distance)
    assert pair.exact == (compared.verdicts[0] == "exact_duplicate")
    assert pair.similarity == getattr(compared, measure) == similarity(a, b, measure)


def test_texts_too_short_for_a_fingerprint_are_predicted_only_as_exact_duplicates() -> None:
    fingerprinter = Fingerprinter()
    some = [
        labelled("你好", "你好。", True, fingerprinter),
        labelled("你好", "您好", True, fingerprinter),
        labelled("你好", "你 好".replace(" ", "\u200b"), True, fingerprinter),
        labelled("", "", True, fingerprinter),  # empty texts are no exact duplicates
        labelled(LONG, "你好", False, fingerprinter),
    ]
    made = evaluate(some)
    assert [(point.true_positives, point.false_positives) for point in made.points] == [(1, 0)] * 8
    assert (made.without_distance.pairs, made.without_distance.duplicates, made.without_distance.copies) == (5, 4, 1)


def test_confirm_removes_a_pair_with_the_same_words_in_another_order() -> None:
    fingerprinter = Fingerprinter()
    one, other = LONG.split("，")
    some = [
        labelled(LONG, LIKE, True, fingerprinter, "jaccard"),
        labelled(LONG, f"{other}，{one}", False, fingerprinter, "jaccard"),  # the same words in another order
    ]
    assert evaluate(some).points[0].false_positives == 1
    assert some[1].similarity is not None
    assert evaluate(some, confirm=some[1].similarity).points[0].false_positives == 1
    assert evaluate(some, confirm=some[1].similarity + 0.001).points[0].false_positives == 0


NEAR, FAR = LabelledPair(True, 1, False), LabelledPair(False, 30, False)


def test_without_predictions_precision_is_undefined_and_f1_is_zero() -> None:
    point = evaluate([NEAR, FAR]).points[0]
    assert (point.precision, point.recall, point.f1) == (None, 0.0, 0.0)


@pytest.mark.parametrize(
    ("some", "confirm", "problem"),
    [
        ([], None, "no pairs to evaluate: label some duplicates and some pairs that are none"),
        ([NEAR, NEAR], None, "all of the 2 pairs are labelled as duplicates: label some pairs that are none too"),
        ([FAR], None, "none of the 1 pairs is labelled as duplicate: label some duplicates too"),
        ([NEAR, FAR], 1.5, "confirm is 1.5: use a similarity from 0 to 1"),
        ([NEAR, FAR], float("nan"), "confirm is nan: use a similarity from 0 to 1"),
        ([NEAR, FAR], 0.5, "a pair has no similarity to confirm: pass a measure to labelled(), or no confirm"),
    ],
)
def test_pairs_that_cannot_be_evaluated_are_refused(
    some: list[LabelledPair], confirm: float | None, problem: str
) -> None:
    with pytest.raises(InputError) as refused:
        evaluate(some, confirm=confirm)
    assert str(refused.value) == problem


def test_an_unknown_measure_is_refused() -> None:
    with pytest.raises(InputError, match="unknown similarity measure 'dice': use one of jaccard, containment, cosine"):
        labelled(LONG, LIKE, True, Fingerprinter(), "dice")  # type: ignore[arg-type]


def test_the_examples_in_the_docstrings_hold() -> None:
    assert doctest.testmod(module).failed == 0
