"""Input files: texts, and JSON lines with a progress bar on standard error."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click
from tqdm import tqdm

from es_simhash.cli.output import display
from es_simhash.errors import InputError
from es_simhash.files import is_same_file
from es_simhash.lines import raw_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from es_simhash.lines import Line


def input_paths(files: tuple[str, ...], advice: str = "name a file of JSON lines, or pipe them in") -> tuple[str, ...]:
    """Return the paths of the input files, or ``-`` (standard input) if there are none. Each file can be opened.

    :param advice: what to do if there are no files and standard input is a terminal.
    :raises InputError: if a file cannot be read. Nothing is done with the other files then.
    """
    if not files and sys.stdin.isatty():
        raise click.UsageError(f"no input: {advice}")
    for path in files:
        if path != "-" and not Path(path).is_fifo():  # a pipe can be opened only once
            open_input(path).close()
    return files or ("-",)


_SQLITE = ("--store", "--resume")
"""The options that name an SQLite file."""
_BESIDE = ("-wal", "-shm", "-journal")
"""What SQLite adds to the name of a file for the files beside it."""


def check_different_files(named: Mapping[str, str | None], inputs: Iterable[str]) -> None:
    """Check that the files of a command are different files. It would write over its input, or over its own output.

    SQLite puts further files beside a store and a checkpoint. These are checked too.

    :param named: a path for each option that names a file to write; None for an option without a file.
    :param inputs: paths of the input files.
    :raises InputError: if two of them are one file, by one name or by two.
    """
    written = [
        (option, path + suffix)
        for option, path in named.items()
        if path is not None
        for suffix in ("", *(_BESIDE if option in _SQLITE else ()))
    ]
    for position, (option, path) in enumerate(written):
        others = [*written[position + 1 :], *(("the input", name) for name in inputs)]
        for other, other_path in others:
            if is_same_file(path, other_path):
                raise InputError(f"{option} and {other} are one file, {display(path)}: name two files")


def open_input(path: str) -> IO[bytes]:
    """Open a file in binary mode, or standard input for ``-``.

    :raises InputError: if the file cannot be opened.
    """
    try:
        return click.open_file(path, "rb")
    except OSError as error:
        raise InputError(f"cannot read {display(path)}: {error.strerror}") from error


def read_text(path: str) -> str:
    """Return the text of a file, or of standard input for ``-``.

    :raises InputError: if the file cannot be read or is not UTF-8.
    """
    with open_input(path) as stream, _reading(path):
        data: bytes = stream.read()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{display(path)} is not UTF-8 at byte {error.start + 1}: convert it to UTF-8") from error


def progress_bar(paths: tuple[str, ...]) -> tqdm[Any]:
    """Return a progress bar of the bytes read. It shows nothing if standard error is not a terminal."""
    sizes_known = all(Path(path).is_file() for path in paths)
    total = sum(Path(path).stat().st_size for path in paths) if sizes_known else None
    return tqdm(total=total, unit="B", unit_scale=True, disable=None, leave=False)


def read_lines(paths: tuple[str, ...], progress: tqdm[Any]) -> Iterator[Line]:
    """Yield the lines of all files, not yet parsed. Only one file is open at a time.

    :param progress: moved on by the bytes of each line.
    :raises InputError: if a file cannot be read to its end.
    """
    for path in paths:
        with open_input(path) as stream, _reading(path):
            for line in raw_lines(stream, display(path)):
                progress.update(line.size)
                yield line


@contextmanager
def _reading(path: str) -> Iterator[None]:
    """Turn an OSError into an InputError that names the file."""
    try:
        yield
    except OSError as error:
        raise InputError(f"cannot read {display(path)} to its end: {error.strerror}") from error
