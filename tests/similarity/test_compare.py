"""Laws of the comparison of two texts: the measures equal their definitions, and every difference is reported."""

from __future__ import annotations

import doctest
from fractions import Fraction
from math import isclose
from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from es_simhash import Documents, DuplicateRule
from es_simhash.errors import InputError
from es_simhash.fingerprinting.fingerprinter import Fingerprinter
from es_simhash.fingerprinting.normalisation import normalise, word_characters
from es_simhash.fingerprinting.scheme import DEFAULT, Scheme
from es_simhash.fingerprinting.shingles import SHINGLE
from es_simhash.fingerprinting.tables import STOP_WORDS, IdfTable, StopWords
from es_simhash.fingerprinting.weights import weigh
from es_simhash.search.keys import text_keys
from es_simhash.similarity import compare as module
from es_simhash.similarity.compare import compare
from es_simhash.similarity.measures import MEASURES, Measure, cosine
from es_simhash.similarity.text_decision import SharedKeys
from tests.contract import LinearStore
from tests.fingerprinting.test_normalisation import is_word_character, plain_normalise
from tests.fingerprinting.test_tokens import SENTENCES, mixed_texts, plain_tokenize

if TYPE_CHECKING:
    from es_simhash.similarity.rule import MaxDistance

texts = mixed_texts | st.sampled_from(SENTENCES)
some_weights = st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 1 << 60), max_size=6)
SCHEMES = [DEFAULT, Scheme(bits=128, weights="tf"), Scheme(tokens="han_characters", weights="tf_idf")]
each_scheme = pytest.mark.parametrize("scheme", SCHEMES, ids=lambda scheme: scheme.version)

LONG = "市气象台今晨六时发布暴雨橙色预警，预计未来三小时城区及东部山区降雨量将超过五十毫米。"
LIKE = LONG.replace("橙色", "红色").replace("及", "和")


def reference_jaccard(a: str, b: str, width: int) -> Fraction:
    def cut(text: str) -> list[str]:
        text = "".join(filter(is_word_character, plain_normalise(text)))
        return [text[i : i + width] for i in range(len(text)) if i + width <= len(text)] or [text] * (text != "")

    ours, theirs = cut(a), cut(b)
    if not ours or not theirs:
        return Fraction(plain_normalise(a) == plain_normalise(b))
    both = [shingle for shingle in set(ours) if shingle in theirs]
    return Fraction(len(both), len(set(ours + theirs)))


@given(texts, texts)
def test_jaccard_equals_its_reference(a: str, b: str) -> None:
    assert compare(a, b).jaccard == compare(b, a).jaccard == float(reference_jaccard(a, b, SHINGLE))


def test_a_shingle_has_five_word_characters() -> None:
    assert SHINGLE == 5
    assert compare("abcdefg", "bcdefgh").jaccard == 2 / 4
    assert compare("a, b-c d!e (f)😀", "bcdef").jaccard == 1 / 2
    assert compare("abc", "a-b-c").jaccard == 1
    assert compare("……!", "……").jaccard == compare("", "abc").jaccard == 0


@given(some_weights, some_weights)
def test_cosine_is_the_dot_product_divided_by_the_lengths(a: dict[str, int], b: dict[str, int]) -> None:
    dot = sum(a[feature] * b[feature] for feature in a if feature in b)
    lengths = [sum(weight**2 for weight in each.values()) ** 0.5 for each in (a, b)]
    assert isclose(cosine(a, b), dot / (lengths[0] * lengths[1]) if dot else 0, rel_tol=1e-9)
    assert 0 <= cosine(a, b) == cosine(b, a) <= 1


@given(some_weights, st.integers(1, 1 << 40))
def test_cosine_of_the_same_proportions_is_1_exactly(weights: dict[str, int], factor: int) -> None:
    assume(weights)
    assert cosine(weights, {feature: weight * factor for feature, weight in weights.items()}) == 1


@each_scheme
@given(text=texts)
def test_texts_that_are_equal_after_normalisation_have_no_difference(scheme: Scheme, text: str) -> None:
    wide = "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text).replace(" ", "\u3000\u200b")
    assume(normalise(wide) == normalise(text))
    made = compare(text, wide, scheme)
    assert (made.jaccard, made.cosine) == (1, 1)
    assert made.distance in (0, None)
    assert (made.differing, made.a.pulls, made.b.pulls) == ((), (), ())
    assert set(made.verdicts) == {"exact_duplicate" if normalise(text) else "different"}


@each_scheme
@given(a=texts, b=texts)
def test_a_comparison_lists_every_bit_and_segment_that_differs(scheme: Scheme, a: str, b: str) -> None:
    made = compare(a, b, scheme)
    ours, theirs = Fingerprinter(scheme).fingerprints([a, b])
    assert (made.scheme, made.a.fingerprint, made.b.fingerprint) == (scheme, ours, theirs)
    assert made.distance == ours.distance(theirs)
    assert len(made.verdicts) == scheme.max_distance + 1
    if made.distance is None:
        assert made.differing == made.matching == ()
        return
    assert ours.value is not None
    assert theirs.value is not None
    one, other = (f"{value:0{scheme.bits}b}" for value in (ours.value, theirs.value))
    assert list(made.differing) == [bit for bit in range(scheme.bits) if one[bit] != other[bit]]
    parts = [(one[start : start + 16], other[start : start + 16]) for start in range(0, scheme.bits, 16)]
    assert list(made.matching) == [first == second for first, second in parts]
    for max_distance, verdict in enumerate(made.verdicts):
        near = "near_duplicate" if made.distance <= max_distance else "different"
        assert verdict == ("exact_duplicate" if normalise(a) == normalise(b) else near)


@given(texts, texts)
def test_pulls_are_the_features_that_weigh_more_in_one_text_the_largest_difference_first(a: str, b: str) -> None:
    made = compare(a, b)
    least = 4 if all(weigh(plain_tokenize(plain_normalise(text)), "sqrt_tf", 4) for text in (a, b)) else 1
    ours, theirs = (weigh(plain_tokenize(plain_normalise(text)), "sqrt_tf", least) for text in (a, b))
    for side, one, other in ((made.a, ours, theirs), (made.b, theirs, ours)):
        expected = {f: (w / 1024, other.get(f, 0) / 1024) for f, w in one.items() if w > other.get(f, 0)}
        assert {pull.feature: (pull.weight, pull.other) for pull in side.pulls} == expected
        differences = [pull.weight - pull.other for pull in side.pulls]
        assert differences == sorted(differences, reverse=True)


@given(texts, texts)
def test_a_word_is_a_feature_a_stop_word_or_a_short_word(a: str, b: str) -> None:
    made = compare(a, b)
    for text, side in ((a, made.a), (b, made.b)):
        assert STOP_WORDS.issuperset(side.stop_words)
        assert {len(word) for word in side.short_words} <= {1}
        if side.fingerprint.features:
            kept = set(plain_tokenize(plain_normalise(text))) - {*side.stop_words, *side.short_words}
            assert len(kept) == side.fingerprint.features or made.distance is None


def test_two_texts_that_differ_in_one_word() -> None:
    made = compare(LONG, LIKE)
    assert [pull.feature for pull in made.a.pulls] == ["橙色"]
    assert [pull.feature for pull in made.b.pulls] == ["红色"]
    assert made.a.short_words == ("三", "及", "将", "市")
    assert made.distance == len(made.differing) == 6
    assert made.verdicts == ("different",) * 6 + ("near_duplicate",) * 2


def test_a_fingerprinter_compares_by_its_own_tables() -> None:
    table, stop_words = IdfTable.of({"橙色": 90, "红色": 0.5}), StopWords.of(["预警"])
    fingerprinter = Fingerprinter.using(Scheme(weights="tf_idf"), idf=table, stop_words=stop_words)
    made = compare(LONG, LIKE, fingerprinter)
    assert made.scheme == fingerprinter.scheme
    assert [(pull.feature, pull.weight) for pull in (*made.a.pulls, *made.b.pulls)] == [("橙色", 90), ("红色", 0.5)]
    assert made.a.stop_words == ("预警",)


@pytest.mark.parametrize(("a", "b"), [("", ""), ("\u200b", "  ")])
def test_blank_texts_have_similarity_1_and_are_no_duplicates(a: str, b: str) -> None:
    made = compare(a, b)
    assert (made.distance, made.jaccard, made.cosine, set(made.verdicts)) == (None, 1, 1, {"different"})


NOTICE = LONG + "三月五日停水，共涉及12个小区，请居民提前储水，水压恢复后先放水再使用，谢谢配合。"
CHANGED = NOTICE.replace("三月五日", "3月6日")


@pytest.mark.parametrize("max_distance", [None, 3])
@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("numbers_agree", [False, True])
@settings(max_examples=15)
@given(a=texts | st.sampled_from([NOTICE, LONG]), b=texts | st.sampled_from([CHANGED, NOTICE[:70]]))
def test_the_verdicts_are_those_of_a_store(
    max_distance: MaxDistance, measure: Measure, numbers_agree: bool, a: str, b: str
) -> None:
    rule = DuplicateRule(max_distance=max_distance, confirm=0.8, measure=measure, numbers_agree=numbers_agree)
    made = compare(a, b, rule=rule)
    for keys, verdict in ((False, made.verdict), (True, made.verdict_with_keys)):
        with Documents(LinearStore()) as documents:
            documents.setup(keys=keys)
            list(documents.ingest([{"id": 1, "text": a}], rule=rule))
            [outcome] = documents.ingest([{"id": 2, "text": b}], rule=rule)
        assert ("different" if outcome.outcome == "new" else outcome.outcome) == verdict


@given(a=texts | st.just(NOTICE), b=texts | st.just(CHANGED), measure=st.sampled_from(MEASURES))
def test_the_verdicts_do_not_depend_on_which_text_comes_first(a: str, b: str, measure: Measure) -> None:
    one, other = (
        compare(*pair, rule=DuplicateRule(confirm=0.8, measure=measure, numbers_agree=True))
        for pair in ((a, b), (b, a))
    )
    assert (one.verdict, one.verdict_with_keys) == (other.verdict, other.verdict_with_keys)


def test_a_comparison_counts_the_shared_keys_and_names_the_numbers_that_differ() -> None:
    made = compare(NOTICE, CHANGED, rule=DuplicateRule(confirm=0.8, numbers_agree=True)).texts
    assert made is not None
    assert (made.only_a, made.only_b, made.numbers_agree) == (("5",), ("6",), True)
    ours, theirs = (text_keys(word_characters(normalise(text))) for text in (NOTICE, CHANGED))
    [bands] = made.keys
    common = set(ours.values) & set(theirs.values)
    assert bands == SharedKeys("bands", len(common), 1, 25, None, candidate=True)
    assert (made.candidate, made.confirmed, made.found_by_keys) == (True, True, True)
    short = compare(LONG, LONG[:9], rule=DuplicateRule(confirm=0.8)).texts
    assert short is not None
    assert [(keys.kind, keys.candidate) for keys in short.keys] == [("q-grams", False)]
    assert short.similarity < 0.8
    assert compare(NOTICE, CHANGED, rule="fingerprint").texts is None


def test_a_text_that_is_no_string_is_refused() -> None:
    with pytest.raises(InputError, match="the text is of type NoneType"):
        compare("暴雨", None)  # type: ignore[arg-type]


def test_the_examples_in_the_docstrings_hold() -> None:
    failed, tried = doctest.testmod(module)
    assert (failed, tried > 0) == (0, True)
