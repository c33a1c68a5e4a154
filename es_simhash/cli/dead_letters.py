"""The file of dead letters: what was rejected or failed, to be mended and ingested again."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

from es_simhash.cli.options import display
from es_simhash.errors import InputError, StoreError
from es_simhash.reading.dead_letters import dead_letter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from es_simhash.flows.outcome import Outcome


class DeadLetters:
    """Dead letters are put behind those that are in the file already.

    :param note: of a state that was kept: what was put behind the end that it tells comes once more.
    :raises InputError: if the file can't be written.
    """

    def __init__(self, path: str, note: Any = None) -> None:
        self._path = path
        self._real_path = os.path.realpath(path)
        with self._errors(InputError):
            self._file: IO[bytes] = open(path, "ab")  # noqa: SIM115  closed by close
        if note is not None and note["dead_letters"] == self._real_path and note["end"] < self.note["end"]:
            with self._errors(InputError):
                self._file.truncate(note["end"])
                self._file.seek(0, os.SEEK_END)

    @property
    def note(self) -> dict[str, Any]:
        """Which file it is, and how many bytes are in it."""
        with self._errors(InputError):
            return {"dead_letters": self._real_path, "end": self._file.tell()}

    def put(self, outcome: Outcome) -> None:
        """Write one, through to the system.

        :raises StoreError: if the disk is full, say: the run ends, since nothing may be lost.
        """
        with self._errors(StoreError):
            self._file.write(dead_letter(outcome))
            self._file.flush()

    def close(self) -> None:
        """Close the file."""
        with self._errors(StoreError):
            self._file.close()

    @contextmanager
    def _errors(self, kind: type[InputError | StoreError]) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            why = error.strerror or error
            raise kind(f"the dead letters can't be written to {display(self._path)}: {why}") from error
