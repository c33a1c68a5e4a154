"""The names of text fields are read in Python as on the command line."""

from __future__ import annotations

from typing import Any

import pytest

from es_simhash import InputError
from es_simhash.similarity.text_fields import field_names


@pytest.mark.parametrize("given", ["title,body", " title , body ", ["title", "body"], ("title,body",)])
def test_names_are_a_list_or_have_commas_between_them(given: Any) -> None:
    assert field_names(given) == ("title", "body")


@pytest.mark.parametrize("given", ["", ",", "title,", ["title", " "], [], [5]])
def test_no_name_may_be_missing(given: Any) -> None:
    with pytest.raises(InputError, match=r"^text_field is .*: name the field that holds the text$"):
        field_names(given)


@pytest.mark.parametrize(
    ("name", "problem"), [("te\ud83dxt", "has a lone surrogate"), ("te\0xt", "has a zero character: remove it")]
)
def test_a_name_that_no_server_accepts_is_refused(name: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        field_names(["title", name])
