"""The dead-letter file: rejected and failed documents, which a person can correct and ingest again."""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager
from typing import TYPE_CHECKING

from es_simhash.cli.output import display
from es_simhash.errors import InputError, StoreError
from es_simhash.files import open_for_owner
from es_simhash.ingest.dead_letters import dead_letter

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import FileIO

    from es_simhash import Outcome


class DeadLetters:
    """Appends dead letters to a file. What is already in the file stays.

    A run that resumes after it was killed may append the letters of one batch again.

    :raises InputError: if the file cannot be written.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        with self._errors(InputError):
            # No buffer: a write that failed is not repeated when the file is closed.
            self._file: FileIO = open(path, "ab", buffering=0, opener=open_for_owner)  # noqa: SIM115  close() closes it
            self._end_last_line()

    def put(self, outcome: Outcome) -> None:
        """Append one dead letter.

        :raises StoreError: if it cannot be written, for example because the disk is full. The run must end then:
            otherwise the document would be lost.
        """
        letter = memoryview(dead_letter(outcome))
        with self._errors(StoreError):
            while letter:
                letter = letter[self._file.write(letter) :]

    def close(self) -> None:
        """Close the file."""
        with self._errors(StoreError):
            self._file.close()

    def _end_last_line(self) -> None:
        """End a last line that was cut, so that the next letter starts on its own line."""
        if not stat.S_ISREG(os.fstat(self._file.fileno()).st_mode) or not self._file.tell():
            return
        with open(self._path, "rb") as file:
            file.seek(-1, os.SEEK_END)
            if not file.read().endswith(b"\n"):
                self._file.write(b"\n")

    @contextmanager
    def _errors(self, kind: type[InputError | StoreError]) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            reason = error.strerror or error
            raise kind(f"cannot write dead letters to {display(self._path)}: {reason}") from error
