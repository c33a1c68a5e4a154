"""What the commands print: JSON lines, counts with their nouns, names of files."""

from __future__ import annotations

import json
from typing import Any

import click


def print_json(value: Any) -> None:
    """Print one line of JSON on standard output, always in UTF-8."""
    click.echo(json.dumps(value, ensure_ascii=False).encode())


def count_of(number: int, noun: str) -> str:
    """Return a number with its noun: ``1 document``, ``2,000 documents``.

    :param noun: in the singular; the plural is formed with an ``s``.
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def display(path: str) -> str:
    """Return the name of a file for messages: ``stdin`` for ``-``."""
    return "stdin" if path == "-" else click.format_filename(path)
