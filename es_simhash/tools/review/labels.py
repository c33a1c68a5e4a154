"""A file of labels that grows by one line with each answer of a person. ``evaluate`` reads it."""

from __future__ import annotations

import json
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from es_simhash.console.whole_lines import write_lines
from es_simhash.errors import InputError
from es_simhash.files import open_for_owner
from es_simhash.lines import json_lines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import FileIO

    from typing_extensions import Self


class LabelFile:
    """Labelled pairs of stored documents as JSON lines (:mod:`es_simhash.tools.evaluation.labelled_pairs`).

    Each label is in the file as soon as it is added. Labels that are in the file already stay, and :meth:`undo` removes
    only those that this object added.

    :param path: of the file. It is made if it does not exist; then only its owner can read it.
    :raises InputError: if the file cannot be read or written, or a line is not JSON.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._labelled: set[frozenset[str]] = set()
        self._added: list[tuple[int, frozenset[str]]] = []  # the end of the file before each line
        with self._errors():
            # No buffer: a label must be in the file when the next pair is shown.
            self._file: FileIO = open(path, "a+b", buffering=0, opener=open_for_owner)  # noqa: SIM115  close() closes it
            try:
                self._read()
            except BaseException:
                self._file.close()
                raise

    def has(self, a_id: str, b_id: str) -> bool:
        """Return whether a pair is labelled, in either order."""
        return frozenset((a_id, b_id)) in self._labelled

    def add(self, pair: dict[str, Any], duplicate: bool) -> None:
        """Append the label of a pair.

        :param pair: with ``a_id`` and ``b_id``, and what else the line holds.
        :raises InputError: if it cannot be written. Nothing of it is in the file then.
        """
        line = json.dumps({**pair, "duplicate": duplicate}, ensure_ascii=False).encode(errors="backslashreplace")
        with self._errors():
            end = self._file.seek(0, os.SEEK_END)
            write_lines(self._file, line + b"\n")
        ids = frozenset((pair["a_id"], pair["b_id"]))
        self._labelled.add(ids)
        self._added.append((end, ids))

    def undo(self) -> None:
        """Remove the last label that was added."""
        end, ids = self._added.pop()
        with self._errors():
            self._file.truncate(end)
        self._labelled.discard(ids)

    def _read(self) -> None:
        self._file.seek(0)
        for line in json_lines(self._file, self._path):
            if line.problem is not None:
                raise InputError(f"{line.place}: {line.problem}")
            if isinstance(line.document, dict):
                self._labelled.add(frozenset(str(line.document.get(name)) for name in ("a_id", "b_id")))
        if self._file.seek(0, os.SEEK_END):
            self._file.seek(-1, os.SEEK_END)
            if self._file.read(1) != b"\n":
                write_lines(self._file, b"\n")

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise InputError(f"cannot write labels to {self._path}: {error.strerror or error}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._file.close()
