"""Laws of the Scheme: equal choices, equal Schemes; and whatever is not known is refused."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from es_simhash.core.scheme import DEFAULT, RULES, Scheme
from es_simhash.errors import SchemeError

CHOICES = {
    "bits": st.just(64),
    "weights": st.sampled_from(["sqrt_tf", "tf", "tf_idf"]),
    "hash": st.just("murmur3"),
    "digest": st.sampled_from(["md5", "sha1", "sha256", "blake2b"]),
    "min_features": st.integers(1, 1000),
}
choices = st.fixed_dictionaries(CHOICES)


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


@given(choices)
def test_the_way_through_json_and_back_gives_an_equal_scheme(values: dict[str, Any]) -> None:
    scheme = Scheme(**values)
    assert Scheme.from_dict(json.loads(json.dumps(scheme.to_dict()))) == scheme


@given(choices)
def test_a_written_scheme_names_its_rules_and_every_choice(values: dict[str, Any]) -> None:
    assert Scheme(**values).to_dict() == {"rules": RULES, **values}


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


@pytest.mark.parametrize(
    ("name", "value", "fix"),
    [
        ("bits", 0, "use one of 64"),
        ("bits", 32, "use one of 64"),
        ("bits", "64", "use one of 64"),
        ("weights", "idf", "use one of sqrt_tf, tf, tf_idf"),
        ("weights", None, "use one of sqrt_tf, tf, tf_idf"),
        ("hash", "sha1", "use one of murmur3"),
        ("digest", "crc32", "use one of md5, sha1, sha256, blake2b"),
        ("min_features", 0, "use a whole number from 1"),
        ("min_features", -4, "use a whole number from 1"),
        ("min_features", 4.0, "use a whole number from 1"),
        ("min_features", True, "use a whole number from 1"),
        ("min_features", "4", "use a whole number from 1"),
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
