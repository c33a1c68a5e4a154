"""Laws of confirm: its similarities equal those of the reference, which is made of sets of strings."""

from __future__ import annotations

import random
import time
import tracemalloc

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from es_simhash.similarity.confirm import TextFeatures, similarities
from es_simhash.similarity.differences import contradict
from es_simhash.similarity.rule import DuplicateRule, Rule
from es_simhash.text.fingerprinter import Fingerprinter
from es_simhash.text.scheme import Scheme
from tests.similarity.reference import similarity

FINGERPRINTER = Fingerprinter()
letters = st.text("市气象台发布暴雨橙色红预警a1，。 ", max_size=40)
anything = st.text(max_size=12)


def features(text: str) -> TextFeatures:
    return TextFeatures(text, FINGERPRINTER)


RULES: tuple[Rule, ...] = ("copy", "contained")


def rule_of(least: float, name: Rule) -> DuplicateRule:
    return DuplicateRule(name, min_similarity=least)


def similarity_by(rule: DuplicateRule, one: TextFeatures, other: TextFeatures) -> float:
    """The similarity of two texts by a rule; 0 if they are not similar enough."""
    [value] = similarities(one, [other], rule)
    return value if value >= (rule.min_similarity or 0) else 0.0


@pytest.mark.parametrize("name", RULES)
@settings(max_examples=200)
@given(
    text=letters | anything,
    others=st.lists(letters | anything, min_size=1, max_size=9),
    edits=st.lists(st.tuples(st.integers(0, 40), letters, st.integers(0, 6)), max_size=9),
    least=st.sampled_from([0.05, 0.3, 0.5, 0.8, 1.0]),
)
@example("", ["", "a"], [], 0.5)
@example("abcd", ["abcde"], [], 0.5)
@example("ab", ["abab"], [], 0.5)
@example("ＡＢＣ　ｄｅｆｇ", ["abc defg"], [], 0.5)
@example("\U0001f600" * 9, ["\U0001f600" * 6 + "\U0001f601"], [], 0.5)
def test_the_similarities_of_texts_that_are_compared_together_equal_the_reference(
    name: Rule, text: str, others: list[str], edits: list[tuple[int, str, int]], least: float
) -> None:
    others = [*others, *(text[:start] + new + text[start + removed :] for start, new, removed in edits)]
    of_others = list(map(features, others))
    expected = [similarity(text, other, name, least, FINGERPRINTER) for other in others]
    for _ in range(2):
        found = similarities(features(text), of_others, rule_of(least, name))
        assert [value if value >= least else 0 for value in found] == [
            value if value >= least else 0 for value in expected
        ]


@pytest.mark.parametrize("name", RULES)
def test_texts_are_compared_under_the_choices_of_the_scheme(name: Rule) -> None:
    fingerprinter = Fingerprinter(Scheme(markup="html", script="simplified"))
    rule = rule_of(0.8, name)
    one, other = "<p>臺北市<b>氣象</b>臺發佈暴雨橙色預警</p>", "台北市气象台发布暴雨橙色预警"
    assert similarity_by(rule, *(TextFeatures(text, fingerprinter) for text in (one, other))) == 1.0
    assert similarity(one, other, name, 0.8, fingerprinter) == 1.0
    plain = Scheme(script="as_written")
    assert similarity("臺北市氣象臺發佈", "台北市气象台发布", name, 0.8, plain) < 1.0


LONG = "".join(chr(0x4E00 + 7 * number) for number in range(400))


def test_sentences_in_another_order_and_edits_all_over_both_count_as_similar() -> None:
    shuffled = LONG[200:] + LONG[:200]
    edited = "".join("龙" if at % 10 == 0 else letter for at, letter in enumerate(LONG))
    for copy in (shuffled, edited):
        assert similarity_by(DuplicateRule(), features(LONG), features(copy)) >= 0.8


@given(text=letters.filter(str.strip))
def test_a_link_makes_no_difference(text: str) -> None:
    link = "\nhttps://m.example.cn/a/20240517.html?from=feed&id=3"
    for name in RULES:
        rule = rule_of(0.8, name)
        one, other = features(text), features(text + link)
        assert one.words == other.words
        assert one.keys == other.keys
        assert similarity_by(rule, one, other) == float(bool(one.words))


@pytest.mark.slow
@pytest.mark.nightly
def test_two_texts_of_a_million_digits_take_seconds_and_some_hundred_megabytes() -> None:
    rng = random.Random(1)
    text = "".join(rng.choices("0123456789", k=1_000_000))
    rule = DuplicateRule()
    begin = time.process_time()
    tracemalloc.start()
    try:
        own, other, near = map(features, (text, text[::-1], f"{text}。第2页"))
        assert own.keys.length == 1_000_000
        assert contradict(own, other)  # another number of a million digits
        assert similarity_by(rule, own, near) > 0.99
        assert similarity_by(rule, own, features(f"{text}。")) > 0.99
        assert tracemalloc.get_traced_memory()[1] < 200e6
    finally:
        tracemalloc.stop()
    assert time.process_time() - begin < 60
