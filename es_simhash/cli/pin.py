"""``es-simhash pin``: what a person says of documents, in lines of JSON."""

from __future__ import annotations

from contextlib import closing
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from es_simhash import InputError, Pin
from es_simhash.cli.exits import exit_unless_all_done
from es_simhash.cli.input import Input
from es_simhash.cli.options import FILE, open_documents, store_options
from es_simhash.cli.output import count_of, echo, print_json
from es_simhash.lines import object_of
from es_simhash.text.ids import kind_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from es_simhash.cli.options import StoreOptions
    from es_simhash.lines import Line

_FIELDS = {"id", "duplicate_of", "pinned"}


@click.command()
@click.argument("file", required=False, type=FILE)
@click.option("--list", "as_list", is_flag=True, help="Print the pins, as lines that this command takes.")
@store_options
def pin(file: str | None, as_list: bool, **store: Unpack[StoreOptions]) -> None:
    """Say which documents are copies, and which are not.

    FILE has a line of JSON for each document, - is standard input. {"id": "b", "duplicate_of": null}: b is no copy.
    {"id": "b", "duplicate_of": "a"}: b is a copy of a. {"id": "b", "pinned": false} takes the pin away. Of two lines
    for one id the later one holds. A pin holds until the text of the document changes. `pin --list` prints such lines.

    \b
    es-simhash pin decisions.jsonl --store http://localhost:9200/news
    es-simhash pin --list
    """
    if as_list == (file is not None):
        raise click.UsageError("give either FILE or --list")
    with open_documents(**store) as documents:
        if file is None:
            for one in documents.pins():
                print_json(asdict(one))
            return
        pins: dict[str, Pin] = {}
        total = bad = 0
        with closing(Input((file,), "jsonl").lines()) as lines:
            for line in lines:
                total += 1
                try:
                    one = _pin_of(line)
                except InputError as error:
                    bad += 1
                    echo(f"rejected: {line.place}: {error}", err=True)
                    continue
                if pins.pop(one.id, one) != one:
                    echo(f"{line.place}: document {one.id!r} has an earlier line: this one holds", err=True)
                pins[one.id] = one
        problems = documents.pin_many(pins.values())
        for id, why in problems.items():
            echo(f"rejected: document {id!r}: {why}", err=True)
        echo(f"{count_of(len(pins) - len(problems), 'document')} pinned or unpinned in {documents.name}")
    exit_unless_all_done(bad + len(problems), total)


def _pin_of(line: Line) -> Pin:
    """Return what a line says.

    :raises InputError: if it says nothing.
    """
    values: dict[str, Any] = object_of(line)
    if unknown := values.keys() - _FIELDS:
        raise InputError(f"it has {', '.join(map(repr, sorted(unknown)))}: use {', '.join(sorted(_FIELDS))}")
    pinned = values.get("pinned", True)
    if not isinstance(pinned, bool):
        raise InputError(f'"pinned" is {kind_of(pinned)}: use false to take the pin away')
    pin = Pin(values.get("id"), values.get("duplicate_of"), pinned)  # type: ignore[arg-type]  # it checks them
    if values.keys() == {"id"}:
        raise InputError('it says nothing: give "duplicate_of" (an id, or null for no copy), or "pinned": false')
    return pin
