"""Laws of the Scheme: equal choices, equal Schemes; and whatever is not known is refused."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from es_simhash.errors import SchemeError
from es_simhash.fingerprinting.scheme import DEFAULT, RULES, Scheme

OWN = ["sha256:0123456789abcdef", "sha256:fedcba9876543210"]
IDF_WEIGHTS = ["tf_idf", "sqrt_tf_idf", "idf"]
FIRST = {
    "bits": st.sampled_from([64, 128]),
    "weights": st.sampled_from(["sqrt_tf", "tf", "log_tf", "equal", *IDF_WEIGHTS]),
    "hash": st.sampled_from(["murmur3", "jenkins", "fnv1a_64"]),
    "digest": st.sampled_from(["md5", "sha1", "sha256", "blake2b"]),
    "min_features": st.integers(1, 1000),
}
LATER = {
    "idf": st.sampled_from(["jieba", *OWN]),
    "stop_words": st.sampled_from(["1", "none", *OWN]),
    "tokens": st.sampled_from(["words", "words_with_neighbours", "characters", "han_characters"]),
}
CHOICES = FIRST | LATER


def go_together(values: dict[str, Any]) -> bool:
    return (
        (values["bits"] == 64 or values["hash"] != "fnv1a_64")
        and (values["idf"] == "jieba" or values["weights"] in IDF_WEIGHTS)
        and (values["stop_words"] == "1" or values["tokens"] not in ("characters", "han_characters"))
    )


choices = st.fixed_dictionaries(CHOICES).filter(go_together)


@given(st.fixed_dictionaries(CHOICES))
def test_choices_that_do_not_go_together_are_refused_and_no_others(values: dict[str, Any]) -> None:
    if go_together(values):
        Scheme(**values)
    else:
        with pytest.raises(SchemeError):
            Scheme(**values)


def test_these_choices_are_all_there_are() -> None:
    assert {field.name for field in dataclasses.fields(Scheme)} == set(CHOICES)


@given(choices)
def test_equal_choices_are_equal_schemes_of_one_version(values: dict[str, Any]) -> None:
    first, second = Scheme(**values), Scheme(**values)
    assert first == second
    assert hash(first) == hash(second)
    assert first.version == second.version


@given(choices, choices)
def test_any_other_choice_is_another_scheme_of_another_version(one: dict[str, Any], other: dict[str, Any]) -> None:
    same = one == other
    assert (Scheme(**one) == Scheme(**other)) is same
    assert (Scheme(**one).version == Scheme(**other).version) is same


def test_the_version_of_the_default_scheme_is_never_another() -> None:
    assert DEFAULT.version == Scheme().version == "1:64:sqrt_tf:murmur3:md5:4"


def test_later_choices_stand_in_the_version_where_they_are_not_the_default() -> None:
    scheme = Scheme(weights="idf", idf=OWN[0], stop_words="none", tokens="words_with_neighbours")
    version = f"1:64:idf:murmur3:md5:4:idf={OWN[0]}:stop_words=none:tokens=words_with_neighbours"
    assert scheme.version == version


# As the release before these choices wrote them, into stores that are there.
@pytest.mark.parametrize(
    ("written", "scheme"),
    [
        (
            '{"rules": 1, "bits": 64, "weights": "sqrt_tf", "hash": "murmur3", "digest": "md5", "min_features": 4}',
            Scheme(),
        ),
        (
            '{"rules": 1, "bits": 64, "weights": "tf_idf", "hash": "murmur3", "digest": "sha1", "min_features": 9}',
            Scheme(weights="tf_idf", digest="sha1", min_features=9),
        ),
    ],
)
def test_what_an_earlier_release_wrote_is_read_and_written_alike(written: str, scheme: Scheme) -> None:
    assert Scheme.from_dict(json.loads(written)) == scheme
    assert json.dumps(scheme.to_dict()) == written


@given(choices)
def test_the_way_through_json_and_back_gives_an_equal_scheme(values: dict[str, Any]) -> None:
    scheme = Scheme(**values)
    assert Scheme.from_dict(json.loads(json.dumps(scheme.to_dict()))) == scheme


@given(choices)
def test_a_written_scheme_names_its_rules_and_every_choice_but_later_ones_that_are_the_default(
    values: dict[str, Any],
) -> None:
    later = {name: values[name] for name in LATER if values[name] != getattr(DEFAULT, name)}
    assert Scheme(**values).to_dict() == {"rules": RULES, **{name: values[name] for name in FIRST}, **later}


@given(choices)
def test_a_scheme_that_names_every_choice_is_read_too(values: dict[str, Any]) -> None:
    assert Scheme.from_dict({"rules": RULES, **values}) == Scheme(**values)


def test_reading_a_scheme_leaves_what_was_read_as_it_is() -> None:
    written = DEFAULT.to_dict()
    Scheme.from_dict(written)
    assert written == DEFAULT.to_dict()


@pytest.mark.parametrize("name", CHOICES)
def test_a_scheme_is_frozen(name: str) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(Scheme(), name, getattr(DEFAULT, name))


def test_a_scheme_is_a_key() -> None:
    assert {Scheme(): "default", Scheme(weights="tf"): "tf"}[Scheme(weights="sqrt_tf")] == "default"


def test_a_fingerprint_of_64_bits_has_four_segments_and_finds_up_to_7_bits() -> None:
    assert (DEFAULT.segments, DEFAULT.max_distance) == (4, 7)


def test_a_fingerprint_of_128_bits_has_eight_segments_and_finds_up_to_15_bits() -> None:
    assert (Scheme(bits=128).segments, Scheme(bits=128).max_distance) == (8, 15)


@pytest.mark.parametrize(
    ("name", "value", "fix"),
    [
        ("bits", 0, "use one of 64, 128"),
        ("bits", 32, "use one of 64, 128"),
        ("bits", "64", "use one of 64, 128"),
        ("weights", "bm25", "use one of sqrt_tf, tf, tf_idf, log_tf, sqrt_tf_idf, idf, equal"),
        ("weights", None, "use one of sqrt_tf, tf, tf_idf, log_tf, sqrt_tf_idf, idf, equal"),
        ("hash", "sha1", "use one of murmur3, jenkins, fnv1a_64"),
        ("digest", "crc32", "use one of md5, sha1, sha256, blake2b"),
        ("min_features", 0, "use a whole number from 1"),
        ("min_features", -4, "use a whole number from 1"),
        ("min_features", 4.0, "use a whole number from 1"),
        ("min_features", True, "use a whole number from 1"),
        ("min_features", "4", "use a whole number from 1"),
        ("idf", "wikipedia", "use one of jieba, or the identity of a table of your own, sha256:…"),
        ("idf", "sha256:0123", "use one of jieba, or the identity of a table of your own, sha256:…"),
        ("stop_words", "2", "use one of 1, none, or the identity of a table of your own, sha256:…"),
        ("stop_words", None, "use one of 1, none, or the identity of a table of your own, sha256:…"),
        ("tokens", "trigrams", "use one of words, words_with_neighbours, characters, han_characters"),
    ],
)
def test_a_choice_that_is_not_known_is_refused_with_those_that_are(name: str, value: object, fix: str) -> None:
    with pytest.raises(SchemeError) as refused:
        Scheme(**{name: value})  # type: ignore[arg-type]
    assert str(refused.value) == f"Scheme.{name} is {value!r}: {fix}"


@pytest.mark.parametrize(
    ("name", "value"), [("bits", 64.0), ("weights", ["tf"]), ("digest", {"md5": 1}), ("hash", {"murmur3"})], ids=repr
)
def test_a_choice_of_another_type_is_refused(name: str, value: object) -> None:
    with pytest.raises(SchemeError, match=rf"^Scheme\.{name} is .*: use one of "):
        Scheme.from_dict({**DEFAULT.to_dict(), name: value})


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        (
            {"bits": 128, "hash": "fnv1a_64"},
            "Scheme.hash is 'fnv1a_64', which has no 128 bits: use one of murmur3, jenkins",
        ),
        (
            {"idf": OWN[0]},
            "Scheme.idf is a table of its own, and Scheme.weights 'sqrt_tf' ask for none: use one of tf_idf, "
            "sqrt_tf_idf, idf",
        ),
        (
            {"tokens": "characters", "stop_words": "none"},
            "Scheme.stop_words is 'none', and Scheme.tokens 'characters' have none: leave it out",
        ),
        (
            {"tokens": "han_characters", "stop_words": "none"},
            "Scheme.stop_words is 'none', and Scheme.tokens 'han_characters' have none: leave it out",
        ),
    ],
)
def test_two_choices_that_do_not_go_together_are_refused_with_what_does(values: dict[str, Any], problem: str) -> None:
    with pytest.raises(SchemeError) as refused:
        Scheme(**values)
    assert str(refused.value) == problem


@pytest.mark.parametrize("name", ["bits", "min_features"])
def test_a_scheme_that_lacks_a_choice_is_refused(name: str) -> None:
    values = DEFAULT.to_dict()
    del values[name]
    with pytest.raises(SchemeError, match=name):
        Scheme.from_dict(values)


@pytest.mark.parametrize("rules", [None, 0, RULES + 1, str(RULES), [RULES]], ids=repr)
def test_a_scheme_by_other_rules_is_refused_with_the_advice_to_upgrade(rules: object) -> None:
    with pytest.raises(SchemeError) as refused:
        Scheme.from_dict({**DEFAULT.to_dict(), "rules": rules})
    advice = f"this release of es_simhash has rules {RULES}: upgrade it"
    assert str(refused.value) == f"a Scheme by rules {rules!r}; {advice}"


def test_a_scheme_without_rules_is_refused() -> None:
    with pytest.raises(SchemeError, match="a Scheme by rules None"):
        Scheme.from_dict({})


def test_a_scheme_with_choices_that_are_not_known_is_refused_with_the_advice_to_upgrade() -> None:
    with pytest.raises(SchemeError) as refused:
        Scheme.from_dict({**DEFAULT.to_dict(), "stemmer": "none", "accents": True})
    assert str(refused.value) == "a Scheme with unknown or missing choices ['accents', 'stemmer']: upgrade es_simhash"
