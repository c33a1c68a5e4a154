"""Options that several commands share, with the installed version of click."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import pytest

from es_simhash.cli.backfill import backfill
from es_simhash.cli.ingest import ingest
from es_simhash.console.output import count_of
from tests.cli import complaint, es_simhash

if TYPE_CHECKING:
    from pathlib import Path


def text_field_of(command: click.Command, value: str | None) -> object:
    """Call the callback of ``--text-field`` directly, as click does for the value of an option."""
    [option] = [parameter for parameter in command.params if parameter.name == "text_field"]
    assert option.callback is not None
    return option.callback(click.Context(command), option, value)


def test_a_text_field_that_neither_the_store_nor_the_command_names_is_an_error_with_the_option(tmp_path: Path) -> None:
    assert es_simhash("init", cwd=tmp_path).code == 0
    done = es_simhash("backfill", "--rule", "fingerprint", cwd=tmp_path)
    assert (done.code, done.out) == (1, "")
    assert "does not know the field with the text: name it (--text-field)" in complaint(done)


@pytest.mark.parametrize("command", [ingest, backfill])
def test_a_click_that_calls_back_without_a_text_field_gets_none(command: click.Command) -> None:
    assert text_field_of(command, None) is None


def test_text_fields_are_separated_by_commas() -> None:
    assert text_field_of(ingest, "title, body") == ["title", "body"]


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 documents"), (1, "1 document"), (2, "2 documents"), (1_000, "1,000 documents")]
)
def test_one_is_singular_and_every_other_number_is_plural(number: int, text: str) -> None:
    assert count_of(number, "document") == text
