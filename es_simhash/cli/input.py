"""Files of JSON lines as input, with progress on standard error."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click
from tqdm import tqdm

from es_simhash.cli.options import display
from es_simhash.errors import InputError
from es_simhash.lines import raw_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from es_simhash.lines import Line


def input_paths(files: tuple[str, ...], instead: str = "name a file of JSON lines, or pipe them in") -> tuple[str, ...]:
    """The files, or standard input if there are none; each can be opened.

    :raises InputError: naming a file that can't be read, before anything is done with another.
    """
    if not files and sys.stdin.isatty():
        raise click.UsageError(f"no input: {instead}")
    for path in files:
        if path != "-" and not Path(path).is_fifo():  # a pipe can be opened only once
            open_input(path).close()
    return files or ("-",)


def open_input(path: str) -> IO[bytes]:
    """A file in binary mode, or standard input for ``-``."""
    try:
        return click.open_file(path, "rb")
    except OSError as error:
        raise InputError(f"{display(path)} can't be read: {error.strerror}") from error


def progress_bar(paths: tuple[str, ...]) -> tqdm[Any]:
    """Of the bytes read; quiet where standard error is not a terminal."""
    known = all(Path(path).is_file() for path in paths)
    total = sum(Path(path).stat().st_size for path in paths) if known else None
    return tqdm(total=total, unit="B", unit_scale=True, disable=None, leave=False)


def lines_of(paths: tuple[str, ...], progress: tqdm[Any]) -> Iterator[Line]:
    """The lines of all files, not parsed yet, one file open at a time."""
    for path in paths:
        with open_input(path) as stream, _reading(path):
            for line in raw_lines(stream, display(path)):
                progress.update(line.size)
                yield line


@contextmanager
def _reading(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"{display(path)} can't be read to its end: {error.strerror}") from error
