"""Laws of the evaluation: its counts are those of a plain loop over every k and every pair."""

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
    """Copies are at distance 0, or without one; most distances are where something is predicted."""
    exact = draw(st.booleans())
    apart = st.just(0) if exact else st.integers(0, 20) | st.integers(0, bits)
    return LabelledPair(draw(st.booleans()), draw(st.none() | apart), exact, draw(similarities))


def predicted(pair: LabelledPair, k: int, confirm: float | None) -> bool:
    """The rule, as it is told."""
    if confirm is not None and (pair.similarity is None or pair.similarity < confirm):
        return False
    if pair.exact:
        return True
    return pair.distance is not None and pair.distance <= k


def plain_counts(some: list[LabelledPair], k: int, confirm: float | None) -> tuple[int, int, int, int]:
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


def of_both_kinds(some: list[LabelledPair]) -> bool:
    return {pair.duplicate for pair in some} == {True, False}


@each_scheme
@given(data=st.data(), confirm=st.none() | similarities)
def test_the_counts_at_every_k_are_those_of_a_plain_loop(
    scheme: Scheme, data: st.DataObject, confirm: float | None
) -> None:
    some = data.draw(st.lists(pairs(scheme.bits), min_size=2, max_size=30).filter(of_both_kinds))
    made = evaluate(iter(some), scheme, confirm)
    assert [point.max_distance for point in made.points] == list(range(scheme.max_distance + 1))
    for point in made.points:
        counts = plain_counts(some, point.max_distance, confirm)
        assert (point.true_positives, point.false_positives, point.false_negatives, point.true_negatives) == counts


@given(st.lists(pairs(), min_size=2, max_size=30).filter(of_both_kinds), st.none() | similarities)
def test_precision_recall_and_f1_are_their_definitions(some: list[LabelledPair], confirm: float | None) -> None:
    for point in evaluate(some, confirm=confirm).points:
        tp, fp, fn, _ = plain_counts(some, point.max_distance, confirm)
        precision, recall = (Fraction(tp, tp + fp) if tp + fp else None), Fraction(tp, tp + fn)
        assert point.precision == (None if precision is None else float(precision))
        assert point.recall == float(recall)
        if precision is not None and precision + recall:
            assert point.f1 == float(2 * precision * recall / (precision + recall))
        else:
            assert point.f1 == 0


@given(st.lists(pairs(), min_size=2, max_size=30).filter(of_both_kinds), st.none() | similarities)
def test_the_chosen_k_has_the_highest_f1_and_of_several_is_the_smallest(
    some: list[LabelledPair], confirm: float | None
) -> None:
    made = evaluate(some, confirm=confirm)
    best = max(point.f1 for point in made.points)
    assert made.chosen.max_distance == min(point.max_distance for point in made.points if point.f1 == best)


@given(st.lists(pairs(), min_size=2, max_size=30).filter(of_both_kinds))
def test_every_pair_is_at_its_distance_or_has_too_little_to_say(some: list[LabelledPair]) -> None:
    made = evaluate(some)
    for distance in range(65):
        at = [pair.duplicate for pair in some if pair.distance == distance]
        assert (made.duplicates[distance], made.different[distance]) == (at.count(True), at.count(False))
    without = [pair for pair in some if pair.distance is None]
    assert made.too_little.pairs == len(without)
    assert made.too_little.duplicates == sum(pair.duplicate for pair in without)
    assert made.too_little.copies == sum(pair.exact for pair in without)


@given(st.lists(pairs(), min_size=2, max_size=20).filter(of_both_kinds), similarities)
def test_a_confirm_predicts_no_pair_that_is_not_predicted_without(some: list[LabelledPair], confirm: float) -> None:
    for loose, strict in zip(evaluate(some).points, evaluate(some, confirm=confirm).points, strict=True):
        assert strict.true_positives <= loose.true_positives
        assert strict.false_positives <= loose.false_positives
    assert evaluate(some, confirm=0.0).points == evaluate(some).points


@given(texts, texts, st.booleans(), st.sampled_from(["jaccard", "cosine"]))
def test_a_labelled_pair_has_what_a_comparison_of_its_texts_has(a: str, b: str, duplicate: bool, measure: Any) -> None:
    assume(a and b)
    pair, compared = labelled(a, b, duplicate, Fingerprinter(), measure), compare(a, b)
    assert (pair.duplicate, pair.distance) == (duplicate, compared.distance)
    assert pair.exact == (compared.verdicts[0] == "exact_duplicate")
    assert pair.similarity == getattr(compared, measure) == similarity(a, b, measure)


def test_texts_with_too_little_to_say_are_predicted_only_as_copies() -> None:
    fingerprinter = Fingerprinter()
    some = [
        labelled("你好", "你好。", True, fingerprinter),
        labelled("你好", "您好", True, fingerprinter),
        labelled("你好", "你 好".replace(" ", "\u200b"), True, fingerprinter),
        labelled("", "", True, fingerprinter),  # empty texts are nobody's copies
        labelled(LONG, "你好", False, fingerprinter),
    ]
    made = evaluate(some)
    assert [(point.true_positives, point.false_positives) for point in made.points] == [(1, 0)] * 8
    assert (made.too_little.pairs, made.too_little.duplicates, made.too_little.copies) == (5, 4, 1)


def test_a_confirm_takes_back_what_only_the_fingerprints_have_in_common() -> None:
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


def test_nothing_predicted_has_no_precision_and_an_f1_of_zero() -> None:
    point = evaluate([NEAR, FAR]).points[0]
    assert (point.precision, point.recall, point.f1) == (None, 0.0, 0.0)


@pytest.mark.parametrize(
    ("some", "confirm", "problem"),
    [
        ([], None, "no pairs to evaluate: label some, duplicates and others"),
        ([NEAR, NEAR], None, "all of the 2 pairs are labelled as duplicates: some of either kind are wanted"),
        ([FAR], None, "none of the 1 pairs is labelled as duplicates: some of either kind are wanted"),
        ([NEAR, FAR], 1.5, "confirm is 1.5: use a similarity from 0 to 1"),
        ([NEAR, FAR], float("nan"), "confirm is nan: use a similarity from 0 to 1"),
        ([NEAR, FAR], 0.5, "a pair has no similarity to confirm: give a measure to labelled(), or no confirm"),
    ],
)
def test_what_can_not_be_evaluated_is_refused(some: list[LabelledPair], confirm: float | None, problem: str) -> None:
    with pytest.raises(InputError) as refused:
        evaluate(some, confirm=confirm)
    assert str(refused.value) == problem


def test_a_measure_that_is_not_known_is_refused() -> None:
    with pytest.raises(InputError, match="the similarity 'dice' is not known: use one of jaccard, cosine"):
        labelled(LONG, LIKE, True, Fingerprinter(), "dice")  # type: ignore[arg-type]


def test_the_examples_in_the_docstrings_hold() -> None:
    assert doctest.testmod(module).failed == 0
