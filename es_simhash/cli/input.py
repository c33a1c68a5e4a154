"""Input files: texts, and documents with a progress bar on standard error."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from itertools import combinations, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from es_simhash.cli.output import display, progress_bar
from es_simhash.errors import InputError
from es_simhash.input import lines_of
from es_simhash.lines import Line
from es_simhash.machine import is_same_file
from es_simhash.store.address import sqlite_file as sqlite_file

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Mapping
    from io import BufferedReader

    from tqdm import tqdm

    from es_simhash import Documents

_STORES = ("http://", "https://", "opensearch+http://", "opensearch+https://", "sqlite:///")
_FETCHED = 100
"""Documents that are fetched from a store at once."""


def is_store(argument: str) -> bool:
    """Return whether an argument is the address of a store. Every other one is a file."""
    return argument.startswith(_STORES)


def input_paths(files: tuple[str, ...], advice: str = "name a file of documents, or pipe them in") -> tuple[str, ...]:
    """Return the paths of the input files, or ``-`` (standard input) if there are none. Each file can be opened.

    :param advice: what to do if there are no files and standard input is a terminal.
    :raises InputError: if a file cannot be read. Nothing is done with the other files then.
    """
    if not files and sys.stdin.isatty():
        raise click.UsageError(f"no input: {advice}")
    for path in files:
        if path != "-" and not _is_pipe(path):  # a pipe can be opened only once
            open_input(path).close()
    return files or ("-",)


def _is_pipe(path: str) -> bool:
    try:
        return Path(path).is_fifo()
    except OSError:  # of a folder that may not be searched; the error of opening it says that
        return False


def check_different_files(named: Mapping[str, str | None], inputs: Iterable[str | None] = ()) -> None:
    """Check that the files of a command are different files. It would write over its input, or over its own output.

    Every command that writes a file calls it. :func:`sqlite_file` returns the file of a store.

    :param named: a path for each option that names a file to write, and for a store; None for one without a file.
    :param inputs: paths of the input files; None for a store without a file.
    :raises InputError: if two of them are one file, by one name or by two.
    """
    paths = [*named.items(), *(("the input", path) for path in inputs)]
    files = [(name, path) for name, path in paths if path is not None]
    for (name, path), (other, other_path) in combinations(files, 2):
        if name != other and is_same_file(path, other_path):
            raise InputError(f"{name} and {other} are one file, {display(path)}: name two files")


def open_input(path: str) -> BufferedReader:
    """Open a file in binary mode, or standard input for ``-``.

    :raises InputError: if the file cannot be opened.
    """
    try:
        return cast("BufferedReader", click.open_file(path, "rb"))
    except OSError as error:
        raise InputError(f"cannot read {display(path)}: {error.strerror}") from error


def read_text(path: str) -> str:
    """Return the text of a file, or of standard input for ``-``.

    :raises InputError: if the file cannot be read or is not UTF-8.
    """
    try:
        with open_input(path) as stream:
            return stream.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{display(path)} is not UTF-8 at byte {error.start + 1}: convert it to UTF-8") from error
    except OSError as error:
        raise InputError(f"cannot read {display(path)} to its end: {error.strerror}") from error


@dataclass(frozen=True)
class Input:
    """The files of a command, and how they are read; or another store, whose documents are read.

    :param paths: paths of the files; ``-`` is standard input. Of another store its file, or its name.
    :param format: one of FORMATS; None to find it by suffix and content.
    :param documents: those of another store.
    """

    paths: tuple[str, ...]
    format: str | None = None
    encoding: str = "utf-8"
    documents: Documents | None = None

    @property
    def names(self) -> str:
        """The names of the files, for messages."""
        return ", ".join(map(display, self.paths))

    def lines(self) -> Generator[Line, None, None]:
        """Yield the documents of all files, not yet parsed. Only one file is open at a time.

        A progress bar shows the bytes that were read; or the documents, if a file has no size.

        :raises InputError: if a file cannot be read to its end.
        """
        with self._progress_bar() as progress:
            if self.documents is not None:
                yield from _stored_lines(self.documents, progress)
                return
            for path in self.paths:
                with open_input(path) as stream:
                    start = progress.n
                    for line in lines_of(stream, display(path), self.format, self.encoding):
                        progress.update(1 if progress.total is None else start + stream.tell() - progress.n)
                        yield line

    def _progress_bar(self) -> tqdm[Any]:
        if self.documents is None and all(Path(path).is_file() for path in self.paths):
            return progress_bar(total=sum(Path(path).stat().st_size for path in self.paths), unit="B")
        return progress_bar()


def _stored_lines(documents: Documents, progress: tqdm[Any]) -> Iterator[Line]:
    """Yield all documents of a store that have a fingerprint, each with its id as ``_id``, in no particular order."""
    rows = documents.export()
    while ids := [row.id for row in islice(rows, _FETCHED)]:
        progress.update(len(ids))
        for id, document in documents.fetch(ids, fields="*").items():
            yield Line(f"{documents.name}: document {id!r}", {**document, "_id": id})
