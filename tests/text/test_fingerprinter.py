"""Laws of the fingerprint: votes are added and signed, and the same text gives the same bits everywhere."""

from __future__ import annotations

import hashlib
import json
import pickle
import re
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from es_simhash.errors import InputError
from es_simhash.text.characters import SCRIPTS
from es_simhash.text.features import WEIGHTS
from es_simhash.text.fingerprinter import Fingerprint, Fingerprinter, fingerprint
from es_simhash.text.normalisation import normalise
from es_simhash.text.scheme import Scheme
from es_simhash.text.tables import STOP_WORDS, IdfTable, StopWords
from es_simhash.text.votes import HASHES, aggregate
from tests.text.test_normalisation import plain_normalise
from tests.text.test_tokens import SENTENCES, in_another_process, mixed_texts, plain_tokenize
from tests.text.test_weights import plain_weigh

features = st.text(st.characters(codec="utf-8"), max_size=6)
huge = st.integers(0, 1 << 55) | st.sampled_from([1 << 52, (1 << 53) - 1, 1 << 53, (1 << 53) + 1])
beyond_64_bits = st.integers(1 << 60, 1 << 70)
some_weights = st.sampled_from([st.integers(0, 1 << 20), st.integers(0, 1 << 20) | huge, beyond_64_bits])
weighed = some_weights.flatmap(lambda weights: st.dictionaries(features, weights, max_size=12))

TOO_FEW = [
    "",
    " \t\n",
    "\u200b\ufeff",
    "，。！？……",
    "😀😀😀",
    "好",
    "好的好的好的",
    "一、二、三",
    "a b c a b c",
    "暴雨 暴雨 预警",
]
ENOUGH = ["一、二、三、四", "a b c d", "暴雨 橙色 预警 发布", *SENTENCES[:10]]


def plain_hash(feature: str, bits: int = 64, name: str = "murmur3") -> int:
    return int.from_bytes(HASHES[name](feature.encode("utf-8"))[: bits // 8], "big")


def plain_aggregate(weighed: dict[str, int], bits: int = 64, name: str = "murmur3") -> int:
    """Reference implementation: one bit after another, one feature after another, in Python integers."""
    hashes = {feature: plain_hash(feature, bits, name) for feature in weighed}
    value = 0
    for bit in range(bits):
        votes = 0
        for feature, weight in weighed.items():
            votes += weight if hashes[feature] >> bit & 1 else -weight
        value |= (votes > 0) << bit
    return value


# --- aggregate -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "bits"), [("murmur3", 64), ("murmur3", 128), ("jenkins", 64), ("jenkins", 128), ("fnv1a_64", 64)]
)
@given(texts=st.lists(weighed, max_size=5), part=st.integers(1, 13))
@example(texts=[{"暴雨": 7, "预警": 7}], part=9)  # a tie gives 0
@example(texts=[{"暴雨": 1 << 53, "预警": (1 << 53) + 1}, {"暴雨": 1}], part=9)  # doubles do not tell the majority
def test_aggregate_equals_its_reference(name: str, bits: int, texts: list[dict[str, int]], part: int) -> None:
    assert aggregate(texts, name, bits, part=part) == [plain_aggregate(weighed, bits, name) for weighed in texts]


# --- the same bits everywhere --------------------------------------------------------------------------------


@given(st.lists(mixed_texts, max_size=5))
def test_a_text_in_a_batch_has_the_fingerprint_that_it_has_alone(texts: list[str]) -> None:
    assert Fingerprinter().fingerprints(iter(texts)) == [fingerprint(text) for text in texts]


@pytest.mark.slow
def test_another_process_gives_the_same_fingerprints() -> None:
    code = """
import json, sys
from es_simhash.text.fingerprinter import Fingerprinter
made = Fingerprinter().fingerprints(sys.argv[1:])
print(json.dumps([hash("暴雨"), [one.hex for one in made], [one.digest for one in made]]))
"""
    here = [fingerprint(sentence) for sentence in SENTENCES]
    (hash_there, *there), _ = in_another_process(code, *SENTENCES, options=["-W", "ignore"], hash_seed=4_000_000_000)
    assert hash_there != hash("暴雨"), "a process of other hashes"
    assert there == [[one.hex for one in here], [one.digest for one in here]]


def test_the_same_words_in_another_order_have_the_same_fingerprint_and_another_digest() -> None:
    one, other = fingerprint("暴雨 橙色 预警 积水"), fingerprint("积水 预警 橙色 暴雨")
    assert one.distance(other) == 0
    assert one.digest != other.digest


# --- too few features ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", TOO_FEW, ids=ascii)
def test_a_text_with_too_few_features_has_a_digest_and_no_fingerprint(text: str) -> None:
    made = fingerprint(text)
    assert (made.value, made.hex, made.segments, made.features) == (None, None, (), 0)
    assert made.digest == hashlib.md5(normalise(text).encode("utf-8")).hexdigest()


@given(mixed_texts)
def test_a_text_has_a_value_if_and_only_if_it_has_at_least_four_features(text: str) -> None:
    made = fingerprint(text)
    assert (made.value is not None) == (made.features >= 4)
    assert made.features == 0 or made.features >= 4


@pytest.mark.parametrize("text", [*TOO_FEW, *ENOUGH], ids=ascii)
def test_a_text_is_blank_if_it_is_empty_after_normalisation(text: str) -> None:
    assert fingerprint(text).blank is (normalise(text) == "")


@pytest.mark.parametrize("text", [None, 7, 1.5, b"text", ["中国"], "大桥\ud83d"], ids=repr)
def test_a_text_that_is_not_a_string_or_has_a_lone_surrogate_is_refused(text: object) -> None:
    with pytest.raises(InputError, match=rf"^the text (is of type {type(text).__name__}: give a string$|has a lone )"):
        fingerprint(text)  # type: ignore[arg-type]


# --- other choices, and custom tables -----------------------------------------------------------------------

TABLE = IdfTable.of({"暴雨": 7.5, "积水": 3, "f-35": 0.25})
LIST = StopWords.of(["暴雨", "the", "小学"])


@given(
    text=mixed_texts | st.sampled_from(SENTENCES),
    bits=st.sampled_from([64, 128]),
    weights=st.sampled_from(WEIGHTS),
    hash=st.sampled_from(["murmur3", "jenkins"]),
    own_idf=st.booleans(),
    own_stop_words=st.booleans(),
    script=st.sampled_from(SCRIPTS),
)
def test_a_fingerprint_under_any_scheme_equals_the_reference(
    text: str, own_idf: bool, own_stop_words: bool, **choices: Any
) -> None:
    scheme = Scheme(**choices)
    idf = TABLE if own_idf and scheme.weights == "tf_idf" else None
    stop_words = LIST if own_stop_words else None
    fingerprinter = Fingerprinter(scheme, idf=idf, stop_words=stop_words)
    made = fingerprinter.fingerprint(text)
    words = plain_tokenize(plain_normalise(text, scheme.script))
    left_out = set(LIST.words if stop_words else STOP_WORDS)
    weighed = plain_weigh(words, scheme.weights, left_out, dict(TABLE.units) if idf else None)
    plain = plain_aggregate(weighed, scheme.bits, scheme.hash) if weighed else None
    assert (made.value, made.bits, made.features) == (plain, scheme.bits, len(weighed))


def test_custom_tables_hold_for_the_script_of_the_scheme() -> None:
    table = IdfTable.of({"臺灣": 9.0, "台湾": 5.0, "铁路": 2.0})
    words = StopWords.of(["時刻表"])
    text = "臺灣 铁路 時刻表"
    for script, weights in (
        ("simplified", {"台湾": 5 * 1024, "铁路": 2 * 1024}),
        ("as_written", {"臺灣": 9 * 1024, "铁路": 2 * 1024}),
    ):
        scheme = Scheme(weights="tf_idf", script=script)
        fingerprinter = Fingerprinter(scheme, idf=table, stop_words=words)
        tokens = ["臺灣", "铁路", "時刻表"] if script == "as_written" else ["台湾", "铁路", "时刻表"]
        made = fingerprinter.weigh([*tokens, "aa", "bb", "cc"])
        assert {word: weight for word, weight in made.items() if not word.isascii()} == weights
        assert fingerprinter.fingerprint(text).digest == Fingerprinter(Scheme(script=script)).fingerprint(text).digest


def test_a_traditional_copy_is_an_exact_copy_unless_the_scheme_compares_as_written() -> None:
    simplified, traditional = "台湾铁路管理局宣布了最新时刻表", "臺灣鐵路管理局宣佈了最新時刻表"
    assert fingerprint(simplified).copy_digest == fingerprint(traditional).copy_digest
    as_written = Fingerprinter(Scheme(script="as_written"))
    assert as_written.fingerprint(simplified).copy_digest != as_written.fingerprint(traditional).copy_digest


def test_html_is_an_exact_copy_of_its_text_if_the_scheme_says_that_texts_are_html() -> None:
    html = Fingerprinter(Scheme(markup="html"))
    page = "<p>市气象台今晨发布<b>暴雨</b>橙色预警&hellip;</p><script>track()</script>"
    assert html.fingerprint(page).copy_digest == html.fingerprint("市气象台今晨发布暴雨橙色预警…").copy_digest
    assert html.fingerprint("<p>&nbsp;</p><br>").blank
    with pytest.raises(InputError, match="of type bytes"):
        html.fingerprint(b"<p>")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="at character 4"):
        html.fingerprint("<p>\ud83d</p>")


def test_its_scheme_names_the_custom_tables() -> None:
    base = Scheme(weights="tf_idf", bits=128)
    made = Fingerprinter(base, idf=TABLE, stop_words=LIST)
    assert made.scheme == replace(base, idf=TABLE.identity, stop_words=LIST.identity)
    again = Fingerprinter(made.scheme, idf=TABLE, stop_words=LIST)
    assert again.fingerprints(SENTENCES) == made.fingerprints(SENTENCES)
    assert Fingerprinter(base).scheme == base


@pytest.mark.parametrize(
    ("name", "table", "what", "passed"),
    [
        ("idf", TABLE, "custom IDF table", "IDF table"),
        ("stop_words", LIST, "custom list of stop words", "list of stop words"),
    ],
)
def test_a_table_that_is_not_the_one_the_scheme_names_is_refused_with_both_named(
    name: str, table: IdfTable | StopWords, what: str, passed: str
) -> None:
    own, other = table.identity, "sha256:0123456789abcdef"
    and_this = "and this to Documents (fingerprinter=…), in Python"
    for identity, tables, problem in (
        (own, {}, f"the {what} {own}, which is not loaded: pass it to the Fingerprinter ({name}=…), {and_this}"),
        (other, {name: table}, f"but the {passed} that was passed is {own}: pass the one that the Scheme names"),
    ):
        with pytest.raises(InputError, match=f"^Scheme.{name} .*{re.escape(problem)}$") as refused:
            Fingerprinter(Scheme(weights="tf_idf", **{name: identity}), **tables)  # type: ignore[arg-type]
        assert identity in str(refused.value)


@pytest.mark.parametrize("table", [["的"], [], set(), "", 0, False, np.array([1, 2])], ids=repr)
@pytest.mark.parametrize(("name", "kind"), [("idf", "IdfTable"), ("stop_words", "StopWords")])
def test_what_is_no_table_is_refused_also_if_it_is_empty(name: str, kind: str, table: Any) -> None:
    with pytest.raises(InputError) as refused:
        Fingerprinter(Scheme(weights="tf_idf"), **{name: table})
    assert str(refused.value) == f"{name} is {table!r}: use {kind}.of(…) or {kind}.read(…)"


def test_a_table_that_the_scheme_does_not_use_is_refused() -> None:
    with pytest.raises(InputError, match="'sqrt_tf' use no IDF"):
        Fingerprinter(idf=TABLE)


def test_a_fingerprinter_with_tables_can_be_pickled() -> None:
    made = Fingerprinter(Scheme(weights="tf_idf"), idf=TABLE, stop_words=LIST)
    there = pickle.loads(pickle.dumps(made))
    assert there.scheme == made.scheme
    assert there.fingerprints(SENTENCES) == made.fingerprints(SENTENCES)


# --- features of the caller ---------------------------------------------------------------------------------

levels = st.integers(1, 5) | st.floats(min_value=1e-9, max_value=1e300) | st.integers(1, 1 << 80)
own_features = st.lists(st.tuples(features.filter(bool), levels), min_size=1, max_size=8)


@given(own_features, st.sampled_from([Scheme(), Scheme(bits=128, hash="jenkins", digest="sha256")]))
@example([("a", (1 << 60) + 1)], Scheme())  # no double
@example([("a", 1e-9)], Scheme())  # weighs 1/1024 all the same
def test_the_fingerprint_of_features_is_the_sign_of_their_votes(pairs: list[tuple[str, float]], scheme: Scheme) -> None:
    weighed: dict[str, int] = {}
    for feature, level in pairs:
        weighed[feature] = weighed.get(feature, 0) + max(1, round(Fraction(level) * 1024))
    made = fingerprint(scheme=scheme, features=pairs)
    assert made.value == plain_aggregate(weighed, scheme.bits, scheme.hash)
    assert (made.features, made.blank, made.bits) == (len(weighed), False, scheme.bits)
    canonical = json.dumps(sorted(map(list, weighed.items())), ensure_ascii=False, separators=(",", ":"))
    assert made.digest == hashlib.new(scheme.digest, canonical.encode()).hexdigest()


@given(own_features, st.data())
def test_the_order_and_the_form_of_features_do_not_matter(pairs: list[tuple[str, float]], data: st.DataObject) -> None:
    made = fingerprint(features=pairs)
    assert fingerprint(features=iter(data.draw(st.permutations(pairs)))) == made
    once = dict(pairs)
    assert fingerprint(features=once) == fingerprint(features=list(once.items()))
    assert Fingerprinter().fingerprint_features(pairs) == made


def test_numbers_of_numpy_are_weights() -> None:
    numbers: dict[str, Any] = {"a": np.int64(5), "b": np.uint8(5), "c": np.float32(5), "d": np.float64(5)}
    assert fingerprint(features=numbers) == fingerprint(features=dict.fromkeys(numbers, 5))


def test_features_are_not_normalised_and_may_be_few() -> None:
    two = fingerprint(features=[("美国", 4), ("51区", 5)])
    assert (two.value, two.features) == (plain_hash("51区"), 2)
    assert fingerprint(features={"AB": 1}).value != fingerprint(features={"ab": 1}).value


@pytest.mark.parametrize("weight", [-1, -0.5, 0, 0.0, float("inf"), -float("inf"), float("nan"), "4", None, True, 2j])
def test_a_weight_that_is_not_a_positive_finite_number_is_refused_and_the_feature_is_named(weight: Any) -> None:
    with pytest.raises(InputError) as refused:
        fingerprint(features=[("美国", 4), ("51区", weight)])
    said = f"feature 2, '51区', has the weight {weight!r}: pass a positive finite number"
    assert str(refused.value) == said


@pytest.mark.parametrize(
    ("features", "problem"),
    [
        ([], "there are no features: pass at least one"),
        ({}, "there are no features: pass at least one"),
        ([("", 1)], "feature 1 is '': pass a non-empty string"),
        ([("美国", 4), (51, 5)], "feature 2 is 51: pass a non-empty string"),
        (["美国"], "feature 1 is '美国': pass a pair of a feature and a weight, such as ('暴雨', 3)"),
        ([("美国", 4, 1)], "feature 1 is ('美国', 4, 1): pass a pair of a feature and a weight, such as ('暴雨', 3)"),
        ("美国", "feature 1 is '美': pass a pair of a feature and a weight, such as ('暴雨', 3)"),
        (7, "features is of type int: pass pairs of a feature and a weight, or a dict"),
        ([("\ud83d", 1)], "feature 1 has a lone surrogate (\\ud83d) at character 1: "),
    ],
    ids=repr,
)
def test_invalid_features_are_refused(features: Any, problem: str) -> None:
    with pytest.raises(InputError) as refused:
        Fingerprinter().fingerprint_features(features)
    assert str(refused.value).startswith(problem)


def test_exactly_one_of_text_and_features_is_required() -> None:
    with pytest.raises(InputError, match="both a text and features are passed: pass one of them"):
        fingerprint("暴雨", features=[("暴雨", 1)])
    with pytest.raises(InputError, match="the text is of type NoneType"):
        fingerprint()


# --- Fingerprint ---------------------------------------------------------------------------------------------


def of(value: int | None, bits: int = 64) -> Fingerprint:
    return Fingerprint(value=value, digest="", features=0 if value is None else 9, bits=bits)


@pytest.mark.parametrize("bits", [64, 128])
@given(data=st.data())
def test_hex_is_the_segments_joined(bits: int, data: st.DataObject) -> None:
    value = data.draw(st.integers(0, (1 << bits) - 1))
    made = of(value, bits)
    assert made.hex == "".join(made.segments)
    assert int(made.hex, 16) == value
    assert len(made.segments) == bits // 16


@pytest.mark.parametrize("bits", [64, 128])
@given(data=st.data())
def test_distance_is_the_number_of_differing_bits(bits: int, data: st.DataObject) -> None:
    one, other = data.draw(st.integers(0, (1 << bits) - 1)), data.draw(st.integers(0, (1 << bits) - 1))
    assert of(one, bits).distance(of(other, bits)) == bin(one ^ other).count("1")


@pytest.mark.parametrize(("one", "other"), [(None, 0), (0, None), (None, None)])
def test_there_is_no_distance_to_a_text_without_a_fingerprint(one: int | None, other: int | None) -> None:
    assert of(one).distance(of(other)) is None


def test_fingerprints_of_different_widths_cannot_be_compared() -> None:
    with pytest.raises(
        InputError, match="cannot compare a fingerprint of 64 bits with one of 128 bits: make both under one Scheme"
    ):
        of(1).distance(of(1, bits=128))
