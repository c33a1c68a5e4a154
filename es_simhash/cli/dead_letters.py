"""The file of dead letters: what was rejected or failed, to be mended and ingested again."""

from __future__ import annotations

import hashlib
import os
import stat
from collections import Counter
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from es_simhash.cli.options import display
from es_simhash.errors import InputError, StoreError
from es_simhash.ingest.dead_letters import dead_letter

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from io import FileIO

    from es_simhash.verbs.outcome import Outcome


class DeadLetters:
    """Dead letters are put behind those that are in the file already; what is there stays, whoever put it there.

    :param note: of a state that was kept. Behind the end that it tells may be letters of the batch that was not done,
        which come once more now; a letter that is there is not put again.
    :raises InputError: if the file can't be written.
    """

    def __init__(self, path: str, note: Any = None) -> None:
        self._path = path
        self._real_path = os.path.realpath(path)
        self._noted: int | None = None
        self._there: Counter[bytes] = Counter()  # digests: other runs may have put many
        with self._errors(InputError):
            # Without a buffer: what the system did not take is not tried again at the end.
            self._file: FileIO = open(path, "ab", buffering=0)  # noqa: SIM115  closed by close
            self._end_last_line()
        if note is not None and note["dead_letters"] == self._real_path and note["end"] < self.note["end"]:
            self._noted = note["end"]
            with self._errors(InputError), open(path, "rb") as file:
                file.seek(note["end"])
                self._there.update(map(_digest, file))

    @property
    def note(self) -> dict[str, Any]:
        """Which file it is, and how many bytes are in it.

        Until a letter is put that is as many as were noted before: killed again, a run has to look at the same ones.
        """
        with self._errors(InputError):
            return {"dead_letters": self._real_path, "end": self._file.tell() if self._noted is None else self._noted}

    def put(self, outcome: Outcome) -> None:
        """Write one, through to the system.

        :raises StoreError: if the disk is full, say: the run ends, since nothing may be lost.
        """
        letter = dead_letter(outcome)
        self._noted = None
        if self._there and self._there[digest := _digest(letter)]:
            self._there[digest] -= 1
            return
        with self._errors(StoreError):
            self._write(letter)

    def close(self) -> None:
        """Close the file."""
        with self._errors(StoreError):
            self._file.close()

    def _end_last_line(self) -> None:
        """A letter that was cut must not take the next one with it."""
        if not stat.S_ISREG(os.fstat(self._file.fileno()).st_mode) or not self._file.tell():
            return
        with open(self._path, "rb") as file:
            file.seek(-1, os.SEEK_END)
            if not file.read().endswith(b"\n"):
                self._file.write(b"\n")

    def _write(self, letter: bytes) -> None:
        """Write all of it, or if there is no room nothing."""
        written = 0
        try:
            while written < len(letter):
                written += self._file.write(letter[written:])
        except OSError:
            with suppress(OSError):
                end = self._file.tell()
                if end == os.fstat(self._file.fileno()).st_size:  # else another run has put letters behind it
                    self._file.truncate(end - written)
            raise

    @contextmanager
    def _errors(self, kind: type[InputError | StoreError]) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            why = error.strerror or error
            raise kind(f"the dead letters can't be written to {display(self._path)}: {why}") from error


def check_not_input(path: str, inputs: Iterable[str]) -> None:
    """A file that is read and gets the dead letters of what is read would never end.

    :raises InputError: if the file for the dead letters is one of the inputs, under whatever name.
    """
    if any(_is_same_file(path, name) for name in inputs):
        raise InputError(
            f"the dead letters can't go to {display(path)}, which is an input: name another file (--dead-letter)"
        )


def _is_same_file(path: str, name: str) -> bool:
    try:
        ours, theirs = os.stat(path), os.fstat(0) if name == "-" else os.stat(name)
    except OSError:
        return False  # not there yet, say
    return stat.S_ISREG(ours.st_mode) and os.path.samestat(ours, theirs)


def _digest(letter: bytes) -> bytes:
    return hashlib.blake2b(letter, digest_size=16).digest()
