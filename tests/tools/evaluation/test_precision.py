"""Laws of the evaluation: its counts equal those of the reference, a plain loop over every k and every pair."""

from __future__ import annotations

import doctest
from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from es_simhash.errors import InputError
from es_simhash.fingerprinting.fingerprinter import Fingerprinter
from es_simhash.fingerprinting.scheme import DEFAULT, Scheme
from es_simhash.similarity.compare import compare
from es_simhash.similarity.measures import similarity
from es_simhash.similarity.text_decision import TextDecision
from es_simhash.tools.evaluation import precision as module
from es_simhash.tools.evaluation.precision import LabelledPair, evaluate, labelled
from tests.cli import STORM
from tests.similarity.test_compare import LIKE, LONG, texts

WIDE = Scheme(bits=128)
each_scheme = pytest.mark.parametrize("scheme", [DEFAULT, WIDE], ids=["64", "128"])

Way = Literal["fingerprints", "confirmed", "keys"]


def texts_that(confirmed: bool, found_by_keys: bool) -> TextDecision:
    return TextDecision(0.5, (9, 9), (), (), True, (), confirmed, found_by_keys)


@st.composite
def pairs(draw: st.DrawFn, bits: int = 64) -> LabelledPair:
    """Draw a pair. Exact duplicates have distance 0 or none; most distances are small enough to be predicted."""
    exact = draw(st.booleans())
    distances = st.just(0) if exact else st.integers(0, 20) | st.integers(0, bits)
    texts = texts_that(draw(st.booleans()), draw(st.booleans()))
    return LabelledPair(draw(st.booleans()), draw(st.none() | distances), exact, texts)


def predicted(pair: LabelledPair, k: int | None, way: Way) -> bool:
    """Return whether a pair is predicted, by the definition."""
    assert pair.texts is not None
    if pair.exact:
        return True
    if k is None:
        return pair.texts.found_by_keys
    near = pair.distance is not None and pair.distance <= k
    return near and (way == "fingerprints" or pair.texts.confirmed)


def reference_counts(some: list[LabelledPair], k: int | None, way: Way) -> tuple[int, int, int, int]:
    tp = fp = fn = tn = 0
    for pair in some:
        if predicted(pair, k, way):
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
@given(data=st.data())
def test_the_counts_at_every_k_and_of_keys_equal_the_reference(scheme: Scheme, data: st.DataObject) -> None:
    some = data.draw(st.lists(pairs(scheme.bits), min_size=2, max_size=30).filter(has_both_labels))
    made = evaluate(iter(some), scheme)
    for points, way in ((made.points, "fingerprints"), (made.confirmed_points, "confirmed"), ((made.keys,), "keys")):
        distances = [None] if way == "keys" else list(range(scheme.max_distance + 1))
        assert [point and point.max_distance for point in points] == distances
        for point in points:
            assert point is not None
            counts = reference_counts(some, point.max_distance, way)  # type: ignore[arg-type]
            assert (point.true_positives, point.false_positives, point.false_negatives, point.true_negatives) == counts
    assert list(made.missed) == [pair for pair in some if pair.duplicate and not predicted(pair, None, "keys")]


@given(st.lists(pairs(), min_size=2, max_size=30).filter(has_both_labels))
def test_precision_recall_and_f1_are_their_definitions(some: list[LabelledPair]) -> None:
    for point in evaluate(some).points:
        tp, fp, fn, _ = reference_counts(some, point.max_distance, "fingerprints")
        precision, recall = (Fraction(tp, tp + fp) if tp + fp else None), Fraction(tp, tp + fn)
        assert point.precision == (None if precision is None else float(precision))
        assert point.recall == float(recall)
        if precision is not None and precision + recall:
            assert point.f1 == float(2 * precision * recall / (precision + recall))
        else:
            assert point.f1 == 0


@pytest.mark.parametrize("compared", [False, True])
@given(some=st.lists(pairs(), min_size=2, max_size=30).filter(has_both_labels))
def test_the_chosen_k_is_the_smallest_with_the_highest_f1(compared: bool, some: list[LabelledPair]) -> None:
    made = evaluate(some if compared else [replace(pair, texts=None) for pair in some])
    points = made.confirmed_points if compared else made.points
    best = max(point.f1 for point in points)
    assert made.chosen == next(point for point in points if point.f1 == best)


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


@given(st.lists(pairs(), min_size=2, max_size=20).filter(has_both_labels))
def test_without_texts_only_fingerprints_are_evaluated(some: list[LabelledPair]) -> None:
    made, plain = evaluate(some), evaluate(replace(pair, texts=None) for pair in some)
    assert (plain.confirmed_points, plain.keys, plain.missed) == ((), None, ())
    assert plain.points == made.points
    for loose, strict in zip(made.points, made.confirmed_points, strict=True):
        assert strict.true_positives <= loose.true_positives
        assert strict.false_positives <= loose.false_positives


@given(texts, texts, st.booleans(), st.sampled_from(["jaccard", "cosine"]))
def test_a_labelled_pair_agrees_with_the_comparison_of_its_texts(a: str, b: str, duplicate: bool, measure: Any) -> None:
    assume(a and b)
    pair = labelled(a, b, duplicate, Fingerprinter(), confirm=0.8, measure=measure)
    compared = compare(a, b, confirm=0.8, measure=measure)
    assert (pair.duplicate, pair.distance) == (duplicate, compared.distance)
    assert pair.exact == (compared.verdicts[0] == "exact_duplicate")
    assert pair.texts is not None
    assert pair.texts == compared.texts
    assert pair.texts.similarity == getattr(compared, measure) == similarity(a, b, measure)


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


@pytest.mark.parametrize("more", [0, 0.001])
def test_confirm_removes_a_pair_with_the_same_words_in_another_order(more: float) -> None:
    fingerprinter = Fingerprinter()
    one, other = LONG.split("，")
    shuffled = f"{other}，{one}"
    confirm = similarity(LONG, shuffled) + more
    some = [
        labelled(LONG, LIKE, True, fingerprinter, confirm=confirm),
        labelled(LONG, shuffled, False, fingerprinter, confirm=confirm),
    ]
    made = evaluate(some)
    assert made.points[0].false_positives == 1
    assert made.confirmed_points[0].false_positives == (0 if more else 1)


def test_a_notice_of_another_day_is_found_unless_numbers_must_agree() -> None:
    notice = LONG + "本通知自2024年3月5日8时起施行。" + STORM
    other, cut = notice.replace("3月5日8时", "3月6日9时"), notice[: int(len(notice) * 0.7)]

    def keys(**rule: Any) -> tuple[int, int]:
        pairs = [labelled(notice, cut, True, Fingerprinter(), **rule)]
        made = evaluate([*pairs, labelled(notice, other, False, Fingerprinter(), **rule)])
        assert made.keys is not None
        return made.keys.true_positives, made.keys.false_positives

    assert keys(confirm=0.8) == (0, 1)
    assert keys(confirm=0.8, numbers_agree=True) == (0, 0)
    assert keys(confirm=0.8, measure="containment", numbers_agree=True) == (1, 0)


NEAR, FAR = LabelledPair(True, 1, False), LabelledPair(False, 30, False)


def test_without_predictions_precision_is_undefined_and_f1_is_zero() -> None:
    point = evaluate([NEAR, FAR]).points[0]
    assert (point.precision, point.recall, point.f1) == (None, 0.0, 0.0)


@pytest.mark.parametrize(
    ("some", "problem"),
    [
        ([], "no pairs to evaluate: label some duplicates and some pairs that are none"),
        ([NEAR, NEAR], "all of the 2 pairs are labelled as duplicates: label some pairs that are none too"),
        ([FAR], "none of the 1 pairs is labelled as duplicate: label some duplicates too"),
        (
            [replace(NEAR, texts=texts_that(True, True)), FAR],
            "the texts of some pairs were not compared: pass the same rule to labelled() for each pair",
        ),
    ],
)
def test_pairs_that_cannot_be_evaluated_are_refused(some: list[LabelledPair], problem: str) -> None:
    with pytest.raises(InputError) as refused:
        evaluate(some)
    assert str(refused.value) == problem


@pytest.mark.parametrize(
    ("rule", "problem"),
    [
        ({"confirm": 0.8, "measure": "dice"}, "unknown similarity measure 'dice': use one of jaccard, containment"),
        ({"confirm": 1.5}, "confirm is 1.5: use a similarity from 0 to 1"),
        ({"confirm": float("nan")}, "confirm is nan: use a similarity from 0 to 1"),
        ({"confirm": 0}, "confirm is 0, which every text reaches: use a similarity above 0"),
        ({"numbers_agree": True}, "numbers_agree compares texts: set confirm too"),
    ],
)
def test_a_rule_that_is_not_allowed_is_refused(rule: Any, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        labelled(LONG, LIKE, True, Fingerprinter(), **rule)


def test_the_examples_in_the_docstrings_hold() -> None:
    assert doctest.testmod(module).failed == 0
