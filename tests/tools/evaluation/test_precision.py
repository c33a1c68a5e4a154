"""Laws of the evaluation: its counts equal those of the reference, a plain loop over every k and every pair."""

from __future__ import annotations

import doctest
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from es_simhash.errors import InputError
from es_simhash.fingerprinting.fingerprinter import Fingerprinter
from es_simhash.fingerprinting.scheme import DEFAULT, Scheme
from es_simhash.similarity.compare import compare
from es_simhash.similarity.rule import DuplicateRule
from es_simhash.similarity.text_decision import TextDecision
from es_simhash.tools.evaluation import precision as module
from es_simhash.tools.evaluation.precision import (
    LabelledPair,
    Point,
    Undecided,
    decided,
    evaluate,
    labelled,
    named_rules,
)
from tests.cli import STORM
from tests.rules import keywords_of
from tests.similarity.reference import similarity
from tests.similarity.test_compare import LIKE, LONG, texts

WIDE = Scheme(bits=128)
each_scheme = pytest.mark.parametrize("scheme", [DEFAULT, WIDE], ids=["64", "128"])

RULES = ("exact", "copy", "contained")


def texts_that(confirmed: bool, found_by_keys: bool) -> TextDecision:
    return TextDecision(0.5, (9, 9), (), (), True, (), confirmed, found_by_keys)


@st.composite
def pairs(draw: st.DrawFn, bits: int = 64) -> LabelledPair:
    """Draw a pair. Exact duplicates have distance 0 or none; most distances are small enough to be predicted."""
    exact = draw(st.booleans())
    distances = st.just(0) if exact else st.integers(0, 20) | st.integers(0, bits)
    by_keys = draw(st.booleans())
    predicted = {rule: draw(st.booleans()) for rule in RULES} | {"copy": exact or by_keys}
    texts = texts_that(by_keys, by_keys)
    return LabelledPair(draw(st.booleans()), draw(st.none() | distances), exact, predicted, texts)


def predicted(pair: LabelledPair, k: int) -> bool:
    """Return whether fingerprints predict a pair, by the definition."""
    return pair.exact or (pair.distance is not None and pair.distance <= k)


def reference_counts(some: list[LabelledPair], way: int | str) -> tuple[int, int, int, int]:
    """Count the pairs that a rule predicts, or fingerprints at a max_distance."""
    tp = fp = fn = tn = 0
    for pair in some:
        if pair.predicted[way] if isinstance(way, str) else predicted(pair, way):
            if pair.duplicate:
                tp += 1
            else:
                fp += 1
        elif pair.duplicate:
            fn += 1
        else:
            tn += 1
    return tp, fp, fn, tn


def counts_of(point: Point) -> tuple[int, int, int, int]:
    return point.true_positives, point.false_positives, point.false_negatives, point.true_negatives


def has_both_labels(some: list[LabelledPair]) -> bool:
    return {pair.duplicate for pair in some} == {True, False}


@each_scheme
@given(data=st.data())
def test_the_counts_of_every_rule_and_at_every_k_equal_the_reference(scheme: Scheme, data: st.DataObject) -> None:
    some = data.draw(st.lists(pairs(scheme.bits), min_size=2, max_size=30).filter(has_both_labels))
    made = evaluate(iter(some), scheme)
    assert [point.max_distance for point in made.points] == list(range(scheme.max_distance + 1))
    assert tuple(made.rules) == RULES
    for way, point in [*enumerate(made.points), *made.rules.items()]:
        assert counts_of(point) == reference_counts(some, way)
    assert list(made.missed) == [pair for pair in some if pair.duplicate and not pair.predicted["copy"]]


@pytest.mark.parametrize(
    ("right", "wrong", "decided"),
    # 2 (1/2)^5 = .0625; 2 (1/2)^6 = .031; 2 (1 + 9) (1/2)^9 = .039; 2 (1 + 8) (1/2)^8 = .070
    [(5, 0, False), (6, 0, True), (8, 1, True), (7, 1, False), (0, 0, False)],
)
def test_a_rule_is_undecided_if_a_coin_would_speak_for_the_best_one_in_one_of_twenty_times(
    right: int, wrong: int, decided: bool
) -> None:
    def differing(duplicate: bool, better: bool) -> LabelledPair:
        return LabelledPair(duplicate, None, False, {"worse": duplicate is not better, "better": duplicate is better})

    agreed = [LabelledPair(label, None, False, {"worse": label, "better": label}) for label in (True, False)]
    made = evaluate([*agreed, *[differing(True, True)] * right, *[differing(True, False)] * wrong])
    assert made.best == "better"
    expected = () if decided else (Undecided("worse", right + wrong, right),)
    assert made.undecided == expected


@given(st.lists(pairs(), min_size=2, max_size=30).filter(has_both_labels))
def test_precision_recall_and_f1_are_their_definitions(some: list[LabelledPair]) -> None:
    for point in evaluate(some).points:
        assert point.max_distance is not None
        tp, fp, fn, _ = reference_counts(some, point.max_distance)
        precision, recall = (Fraction(tp, tp + fp) if tp + fp else None), Fraction(tp, tp + fn)
        assert point.precision == (None if precision is None else float(precision))
        assert point.recall == float(recall)
        if precision is not None and precision + recall:
            assert point.f1 == float(2 * precision * recall / (precision + recall))
        else:
            assert point.f1 == 0


@given(some=st.lists(pairs(), min_size=2, max_size=30).filter(has_both_labels))
def test_the_chosen_k_is_the_smallest_with_the_highest_f1(some: list[LabelledPair]) -> None:
    made = evaluate(some)
    best = max(point.f1 for point in made.points)
    assert made.chosen == next(point for point in made.points if point.f1 == best)


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


def test_rules_that_need_texts_are_left_out_if_a_pair_has_none() -> None:
    compared = [labelled(LONG, LIKE, True, Fingerprinter()), labelled(LONG, STORM, False, Fingerprinter())]
    without = decided(True, 1, False, None, named_rules(), Fingerprinter())
    made = evaluate([*compared, without])
    assert (set(made.rules), made.without_texts, made.missed) == ({"exact", "fingerprint"}, 1, ())
    assert (set(evaluate(compared).rules), evaluate(compared).without_texts) == (set(named_rules()), 0)


@pytest.mark.parametrize(
    ("rule", "last"),
    [
        (None, "copy"),
        (DuplicateRule(rule="fingerprint"), "fingerprint"),
        (DuplicateRule(rule="fingerprint", max_distance=5), "fingerprint, max distance 5"),
        (DuplicateRule(confirm=0.7, measure="jaccard", numbers_agree=False), "copy, confirm 0.7, jaccard, any numbers"),
        (DuplicateRule(confirm=0.8), "copy"),
        (DuplicateRule(text_field="body"), "copy"),
    ],
)
def test_the_rule_of_the_caller_is_compared_with_the_four(rule: DuplicateRule | None, last: str) -> None:
    names = list(named_rules(rule))
    assert names[-1] == last
    assert {"copy", "contained", "fingerprint", "exact", last} == set(names)


def test_a_labelled_pair_says_what_each_rule_decides() -> None:
    notice = LONG + "本通知自2024年3月5日8时起施行。" + STORM
    cut = labelled(
        notice, notice[: int(len(notice) * 0.7)], True, Fingerprinter(), rule=DuplicateRule(confirm=0.6, max_distance=0)
    )
    assert cut.predicted == {
        "exact": False,
        "fingerprint": False,
        "contained": True,
        "copy": False,
        "copy, confirm 0.6, max distance 0": False,
    }
    same = labelled(notice, f" {notice}", True, Fingerprinter())
    assert all(same.predicted.values())


@given(texts, texts, st.booleans(), st.sampled_from(["jaccard", "cosine"]))
def test_a_labelled_pair_agrees_with_the_comparison_of_its_texts(a: str, b: str, duplicate: bool, measure: Any) -> None:
    assume(a and b)
    pair = labelled(a, b, duplicate, Fingerprinter(), rule=DuplicateRule(confirm=0.8, measure=measure))
    compared = compare(a, b, rule=DuplicateRule(confirm=0.8, measure=measure))
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
    pair = labelled(
        LONG,
        shuffled,
        False,
        fingerprinter,
        rule=DuplicateRule(confirm=confirm, measure="jaccard", numbers_agree=False),
    )
    assert pair.predicted["fingerprint"]
    assert list(pair.predicted.values())[-1] is (not more)


def test_a_notice_of_another_day_is_found_unless_numbers_must_agree() -> None:
    notice = LONG + "本通知自2024年3月5日8时起施行。" + STORM
    other, cut = notice.replace("2024年3月5日8时", "2025年4月6日9时"), notice[: int(len(notice) * 0.7)]

    def keys(**rule: Any) -> tuple[int, int]:
        pairs = [labelled(notice, cut, True, Fingerprinter(), **keywords_of(rule))]
        made = evaluate([*pairs, labelled(notice, other, False, Fingerprinter(), **keywords_of(rule))])
        asked = list(made.rules.values())[-1]
        return asked.true_positives, asked.false_positives

    assert keys(confirm=0.8, numbers_agree=False) == (0, 1)
    assert keys(confirm=0.8, numbers_agree=True) == keys(rule="copy") == (0, 0)
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
    ],
)
def test_pairs_that_cannot_be_evaluated_are_refused(some: list[LabelledPair], problem: str) -> None:
    with pytest.raises(InputError) as refused:
        evaluate(some)
    assert str(refused.value) == problem


@pytest.mark.parametrize(
    ("rule", "problem"),
    [
        (
            {"confirm": 0.8, "measure": "dice"},
            "unknown similarity measure 'dice': use one of either, jaccard, containment",
        ),
        ({"confirm": 1.5}, "confirm is 1.5: use a similarity from 0 to 1"),
        ({"confirm": float("nan")}, "confirm is nan: use a similarity from 0 to 1"),
        ({"confirm": 0}, "confirm is 0, which every text reaches: use a similarity above 0"),
        (
            {"rule": "fingerprint", "numbers_agree": True},
            "the rule 'fingerprint' does not use numbers_agree: leave it out",
        ),
    ],
)
def test_a_rule_that_is_not_allowed_is_refused(rule: Any, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        labelled(LONG, LIKE, True, Fingerprinter(), **keywords_of(rule))


def test_the_examples_in_the_docstrings_hold() -> None:
    assert doctest.testmod(module).failed == 0
