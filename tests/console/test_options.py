"""Options that several commands share, with the installed version of click."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import pytest

from es_simhash.cli.backfill import backfill
from es_simhash.cli.ingest import ingest
from es_simhash.console.output import count_of
from tests.cli import es_simhash

if TYPE_CHECKING:
    from pathlib import Path


def text_field_of(command: click.Command, value: str | None) -> object:
    """Call the callback of ``--text-field`` directly, as click does for the value of an option."""
    [option] = [parameter for parameter in command.params if parameter.name == "text_field"]
    assert option.callback is not None
    return option.callback(click.Context(command), option, value)


def test_a_required_text_field_that_is_not_given_is_a_usage_error(tmp_path: Path) -> None:
    done = es_simhash("backfill", "--rule", "fingerprint", "--store", "http://127.0.0.1:1/articles", cwd=tmp_path)
    assert (done.code, done.out) == (2, "")
    assert "Missing option '--text-field'" in done.err


def test_a_click_that_calls_back_without_a_required_text_field_gets_the_same_error() -> None:
    with pytest.raises(click.MissingParameter) as error:
        text_field_of(backfill, None)
    assert "Missing option '--text-field'" in error.value.format_message()


def test_a_click_that_calls_back_without_an_optional_text_field_gets_none() -> None:
    assert text_field_of(ingest, None) is None


def test_text_fields_are_separated_by_commas() -> None:
    assert text_field_of(ingest, "title, body") == ["title", "body"]


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 documents"), (1, "1 document"), (2, "2 documents"), (1_000, "1,000 documents")]
)
def test_one_is_singular_and_every_other_number_is_plural(number: int, text: str) -> None:
    assert count_of(number, "document") == text
