"""DuplicateRule: a frozen value that is checked when it is made."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from es_simhash import DuplicateRule
from es_simhash.errors import InputError
from es_simhash.similarity.rule import RULES, Rule, rule_of, rule_without_text


def test_rules_with_the_same_fields_are_equal_and_have_one_hash() -> None:
    one, other = DuplicateRule(text_field="body"), DuplicateRule(text_field=["body"])
    assert one == other
    assert hash(one) == hash(other)
    assert one != DuplicateRule(text_field=["body", "title"])


def test_its_repr_is_the_call_that_makes_it() -> None:
    rule = DuplicateRule(min_similarity=0.7, text_field="body")
    values = "rule='copy', max_distance=None, min_similarity=0.7, contradictions='refuse', "
    values += "within=None, time_field=None, text_field=('body',)"
    assert repr(rule) == f"DuplicateRule({values})"
    assert eval(repr(rule)) == rule


def test_all_fields_but_the_rule_are_keywords() -> None:
    assert DuplicateRule("exact") == DuplicateRule(rule="exact")
    with pytest.raises(TypeError):
        DuplicateRule("copy", 7)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="distance"):
        DuplicateRule(distance=7)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"rule": "fingerprint", "max_distance": 8},
            "max_distance is 8: use 0 to 7; for exact duplicates alone use the rule 'exact'",
        ),
        *(
            ({"rule": "fingerprint", "max_distance": wrong}, f"max_distance is {wrong!r}: use 0 to 7")
            for wrong in (-1, 3.0, False, "text")
        ),
        *(
            ({"min_similarity": wrong}, f"min_similarity is {wrong!r}: use a similarity above 0, up to 1")
            for wrong in (-0.1, 0, 1.1, float("nan"), True, "0.8")
        ),
        ({"rule": "near"}, "the rule is 'near': use one of copy, contained, fingerprint, exact"),
        ({"rule": 3}, "the rule is 3: use one of copy"),
        ({"rule": {"max_distance": 3}}, "the rule is {'max_distance': 3}: use one of copy"),
        ({"within": 7}, "within is 7: use a timedelta from 0 to 36500 days"),
        ({"within": timedelta(days=-1), "time_field": "date"}, "use a timedelta from 0 to 36500 days"),
        ({"within": timedelta(days=36_501), "time_field": "date"}, "use a timedelta from 0 to 36500 days"),
        ({"within": timedelta(days=7)}, "within compares times: set time_field too"),
        ({"time_field": "date"}, "time_field names the time of a document: set within too"),
        (
            {"within": timedelta(days=7), "time_field": "a..b"},
            "time_field is 'a..b': name the field that holds the time",
        ),
        ({"within": timedelta(days=7), "time_field": ["a"]}, r"time_field is \['a'\]: name the field"),
        ({"text_field": ""}, "text_field is '': name the field that holds the text"),
        ({"text_field": []}, r"text_field is \[\]: name the field that holds the text"),
    ],
)
def test_a_value_that_is_not_allowed_raises(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        DuplicateRule(**fields)


REFINEMENTS: dict[str, Any] = {"max_distance": 3, "min_similarity": 0.7, "contradictions": "allow"}
USED = {
    "copy": {"min_similarity", "contradictions"},
    "contained": {"min_similarity", "contradictions"},
    "fingerprint": {"max_distance"},
    "exact": set(),
}


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", REFINEMENTS)
def test_a_refinement_that_the_rule_does_not_use_raises(rule: Rule, name: str) -> None:
    if name in USED[rule]:
        made = DuplicateRule(rule=rule, **{name: REFINEMENTS[name]})
        assert getattr(made, name) == REFINEMENTS[name]
    else:
        other = "fingerprint" if name == "max_distance" else "copy"
        message = f"the rule '{rule}' does not use {name}: leave it out, or use the rule '{other}'"
        with pytest.raises(InputError, match=message):
            DuplicateRule(rule=rule, **{name: REFINEMENTS[name]})


# --- as an argument ----------------------------------------------------------------------------------------


def test_a_rule_is_a_name_or_a_duplicate_rule() -> None:
    rule = DuplicateRule("contained", min_similarity=0.7)
    assert rule_of(rule) is rule
    assert rule_of("exact") == DuplicateRule("exact")
    assert rule_of(None) == DuplicateRule()
    with pytest.raises(InputError, match="the rule is 'near': use one of copy, contained, fingerprint, exact"):
        rule_of("near")


def test_what_has_no_text_is_looked_up_by_its_fingerprint() -> None:
    assert rule_without_text(None) == DuplicateRule("fingerprint")
    assert rule_without_text("exact") == DuplicateRule("exact")
    for rule in ("copy", "contained", DuplicateRule()):
        with pytest.raises(InputError, match="compares texts: give the text in place of its fingerprint"):
            rule_without_text(rule)
