"""Laws of the Scheme: equal choices make equal Schemes, and unknown choices are refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from es_simhash.errors import InputError
from es_simhash.text.scheme import DEFAULT, RULES, Scheme

CUSTOM = ["sha256:0123456789abcdef", "sha256:fedcba9876543210"]
CHOICES = {
    "bits": st.sampled_from([64, 128]),
    "weights": st.sampled_from(["sqrt_tf", "tf", "tf_idf", "equal"]),
    "hash": st.sampled_from(["murmur3", "jenkins", "fnv1a_64"]),
    "digest": st.sampled_from(["md5", "sha256"]),
    "idf": st.sampled_from(["jieba", *CUSTOM]),
    "stop_words": st.sampled_from(["1", "none", *CUSTOM]),
    "script": st.sampled_from(["simplified", "as_written"]),
    "markup": st.sampled_from(["none", "html"]),
}


def can_be_combined(values: dict[str, Any]) -> bool:
    idf_is_used = values["idf"] == "jieba" or values["weights"] == "tf_idf"
    return idf_is_used and not (values["hash"] == "fnv1a_64" and values["bits"] == 128)


choices = st.fixed_dictionaries(CHOICES).filter(can_be_combined)


@given(st.fixed_dictionaries(CHOICES))
def test_choices_that_cannot_be_combined_are_refused_and_no_others(values: dict[str, Any]) -> None:
    if can_be_combined(values):
        Scheme(**values)
    else:
        no_idf = "names a custom table, but .* '.*' use no IDF: use the weights tf_idf"
        with pytest.raises(InputError, match=f"{no_idf}|'fnv1a_64' has 64 bits, .*: use another hash"):
            Scheme(**values)


@given(choices, choices)
def test_equal_choices_are_equal_schemes_of_one_version_and_others_are_not(
    one: dict[str, Any], other: dict[str, Any]
) -> None:
    assert hash(Scheme(**one)) == hash(Scheme(**one))
    for values in (one, other):
        same = one == values
        assert (Scheme(**one) == Scheme(**values)) is same
        assert (Scheme(**one).version == Scheme(**values).version) is same


@given(choices)
def test_a_scheme_is_written_with_its_rules_and_every_choice_and_read_again(values: dict[str, Any]) -> None:
    scheme = Scheme(**values)
    assert len(scheme.version.split()) == 1
    assert scheme.to_dict() == {"rules": RULES, **values}
    assert Scheme.from_dict(json.loads(json.dumps(scheme.to_dict()))) == scheme


@pytest.mark.parametrize(
    ("name", "value", "fix"),
    [
        ("bits", 0, "use one of 64, 128"),
        ("bits", 32, "use one of 64, 128"),
        ("bits", "64", "use one of 64, 128"),
        ("weights", "bm25", "use one of sqrt_tf, tf, tf_idf, equal"),
        ("weights", None, "use one of sqrt_tf, tf, tf_idf, equal"),
        ("hash", "sha1", "use one of murmur3, jenkins, fnv1a_64"),
        ("digest", "crc32", "use one of md5, sha256"),
        ("digest", True, "use one of md5, sha256"),
        ("idf", "wikipedia", "use one of jieba, or the identity of a custom table, sha256:…"),
        ("idf", "sha256:0123", "use one of jieba, or the identity of a custom table, sha256:…"),
        ("stop_words", "2", "use one of 1, none, or the identity of a custom table, sha256:…"),
        ("stop_words", None, "use one of 1, none, or the identity of a custom table, sha256:…"),
        ("script", "traditional", "use one of simplified, as_written"),
        ("markup", True, "use one of none, html"),
        ("bits", 64.0, "use one of 64, 128"),
        ("weights", ["tf"], "use one of sqrt_tf, tf, tf_idf, equal"),
        ("digest", {"md5": 1}, "use one of md5, sha256"),
    ],
)
def test_an_unknown_choice_is_refused_with_the_known_ones(name: str, value: object, fix: str) -> None:
    with pytest.raises(InputError) as refused:
        Scheme(**{name: value})  # type: ignore[arg-type]
    assert str(refused.value) == f"Scheme.{name} is {value!r}: {fix}"


def without(name: str) -> dict[str, Any]:
    return {key: value for key, value in DEFAULT.to_dict().items() if key != name}


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        *((without(name), f"missing or unknown choices ['{name}']") for name in CHOICES),
        (
            {**DEFAULT.to_dict(), "stemmer": "none", "accents": True},
            "missing or unknown choices ['accents', 'stemmer']",
        ),
        *(
            ({**DEFAULT.to_dict(), "rules": rules}, f"rules {rules!r}, this release of es_simhash has rules {RULES}")
            for rules in (None, 0, RULES + 1, str(RULES), [RULES])
        ),
        ({}, f"rules None, this release of es_simhash has rules {RULES}"),
    ],
)
def test_a_scheme_of_another_release_is_refused_with_the_advice_to_upgrade(
    values: dict[str, Any], problem: str
) -> None:
    with pytest.raises(InputError) as refused:
        Scheme.from_dict(values)
    assert str(refused.value) == f"the Scheme has {problem}: upgrade es_simhash"
