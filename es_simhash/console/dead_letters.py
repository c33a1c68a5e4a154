"""The dead-letter file: rejected and failed documents, which a person can correct and ingest again."""

from __future__ import annotations

import hashlib
import os
import stat
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from es_simhash.console.output import display
from es_simhash.console.whole_lines import write_lines
from es_simhash.errors import InputError, StoreError
from es_simhash.files import open_for_owner
from es_simhash.ingest.dead_letters import dead_letter

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import FileIO

    from es_simhash.deciding.outcome import Outcome


class DeadLetters:
    """Appends dead letters to a file. What is already in the file stays.

    A killed run can leave dead letters of a batch that the next run processes again. So the next run does not append a
    letter that stands behind the noted end of the file.

    :param note: the :attr:`note` in the checkpoint of an earlier run; None without an earlier run.
    :raises InputError: if the file cannot be written.
    """

    def __init__(self, path: str, note: Any = None) -> None:
        self._path = path
        self._real_path = os.path.realpath(path)
        self._noted_end: int | None = None
        # Digests of the letters behind the noted end. Digests save memory: other runs may have appended many letters.
        self._appended_before: Counter[bytes] = Counter()
        with self._errors(InputError):
            # No buffer: a write that failed is not repeated when the file is closed.
            self._file: FileIO = open(path, "ab", buffering=0, opener=open_for_owner)  # noqa: SIM115  close() closes it
            self._end_last_line()
        named, end = _checked_note(note)
        if named == self._real_path and end < self.note["end"]:
            self._noted_end = end
            with self._errors(InputError), open(path, "rb") as file:
                file.seek(end)
                self._appended_before.update(map(_digest, file))

    @property
    def note(self) -> dict[str, Any]:
        """The path of the file, and its end in bytes, for the checkpoint of the run.

        Until the first call of :meth:`put` the end is the one noted before. If the run is killed again, the next run
        must compare with the same letters.
        """
        with self._errors(InputError):
            return {
                "dead_letters": self._real_path,
                "end": self._file.tell() if self._noted_end is None else self._noted_end,
            }

    def put(self, outcome: Outcome) -> None:
        """Append one dead letter, unless an earlier run appended it.

        :raises StoreError: if it cannot be written, for example because the disk is full. The run must end then:
            otherwise the document would be lost.
        """
        letter = dead_letter(outcome)
        self._noted_end = None
        if self._appended_before and self._appended_before[digest := _digest(letter)]:
            self._appended_before[digest] -= 1
            return
        with self._errors(StoreError):
            write_lines(self._file, letter)

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


def _checked_note(note: Any) -> tuple[str | None, int]:
    """Return the path and the end of a note; None and 0 if there is no note.

    :raises InputError: if the note is damaged.
    """
    if note is None:
        return None, 0
    named, end = (note.get("dead_letters"), note.get("end")) if isinstance(note, dict) else (None, None)
    if not isinstance(named, str) or type(end) is not int or end < 0:
        raise InputError(
            "the checkpoint is damaged, its note on the dead letters cannot be read: name another file (--resume), and "
            "ingest everything again"
        )
    return named, end


def _digest(letter: bytes) -> bytes:
    return hashlib.blake2b(letter, digest_size=16).digest()
