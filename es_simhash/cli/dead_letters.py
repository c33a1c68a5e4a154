"""The file of dead letters: what was rejected or failed, to be mended and ingested again."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

from es_simhash.cli.options import display
from es_simhash.errors import InputError, StoreError
from es_simhash.reading.dead_letters import dead_letter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from es_simhash.flows.outcome import Outcome


class DeadLetters:
    """Dead letters are put behind those that are in the file already.

    :param end: where the file ended when a state was kept; what was put behind it since comes once more.
    :raises InputError: if the file can't be written.
    """

    def __init__(self, path: str, end: int | None) -> None:
        self._path = path
        with self._errors(InputError):
            self._file: IO[bytes] = open(path, "ab")  # noqa: SIM115  closed by close
            if end is not None and end < self._file.tell():
                self._file.truncate(end)
                self._file.seek(0, os.SEEK_END)

    @property
    def end(self) -> int:
        """Bytes in the file."""
        return self._file.tell()

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
            raise kind(f"the dead letters can't be written to {display(self._path)}: {error.strerror}") from error
