"""The checkpoint of an ingest: a small JSON file that says how far it is.

It is replaced after each batch whose outcomes were taken. A run that is stopped between the write of a batch and this
does the batch again when it resumes. That is harmless: an id stands in the store once.
"""

from __future__ import annotations

import json
import os
from contextlib import ExitStack
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any

from es_simhash.errors import InputError, SimhashError, StoreError, one_line
from es_simhash.ingest.batches import mark
from es_simhash.machine import file_path, writing

if TYPE_CHECKING:
    from es_simhash.ingest.batches import Source

FORMAT = "es-simhash checkpoint 2"
_LONGEST = 10_000
"""Characters that are read of a checkpoint. It is shorter; a device, such as /dev/zero, may have no end."""


class Checkpoint:
    """The checkpoint of one run. The file is made if it does not exist.

    :param path: of the file.
    :param instance: of the store. A store that was made again has another one.
    :raises InputError: if the file cannot be read or written, is something else, or belongs to another store.
    """

    def __init__(self, path: str, instance: str) -> None:
        path = file_path(path)
        self._path, self._instance = path, instance
        self._lines, self._mark = 0, ""
        before = _read(path)
        if before is None:
            self._write(InputError)
        elif before["instance"] != instance:
            raise InputError(
                f"the checkpoint {path!r} belongs to another store, or the store was made again since: ingest "
                "everything with another checkpoint"
            )
        else:
            self._lines, self._mark = before["lines"], before["mark"]

    def skip_done(self, source: Source) -> None:
        """Skip the documents that are done, after a check that they are the same.

        :raises InputError: if not.
        """
        left, lines = self._lines, []
        while left and (taken := source.next_batch(left)):
            left, lines = left - len(taken), taken
        if source.error is not None:
            raise source.error
        if left or (lines and mark(lines[-1]) != self._mark):
            raise InputError(
                f"the checkpoint {self._path!r} belongs to another input: give the same documents in the same order, "
                "or name another file"
            )

    def done(self, lines: int, mark: str) -> None:
        """Record that the outcomes of the next batch were taken.

        :param lines: how many documents were read for it.
        :param mark: a short digest of the last one.
        :raises StoreError: if the file cannot be written.
        """
        self._lines += lines
        self._mark = mark
        self._write(StoreError)

    def _write(self, kind: type[SimhashError]) -> None:
        """Replace the file, so that it is whole whenever the program or the machine stops."""
        about = {"format": FORMAT, "instance": self._instance, "lines": self._lines, "mark": self._mark}
        folder, name = os.path.split(self._path)
        with writing(self._path, kind), ExitStack() as left_over:
            # A name that no file has: nothing that stands beside the checkpoint is written or followed.
            with NamedTemporaryFile("w", encoding="utf-8", dir=folder or ".", prefix=f"{name}.", delete=False) as file:
                left_over.callback(Path(file.name).unlink, missing_ok=True)  # it is gone once it has another name
                json.dump(about, file, ensure_ascii=False, indent=1)
                file.flush()
                os.fsync(file.fileno())
            os.replace(file.name, self._path)


def _read(path: str) -> dict[str, Any] | None:
    """Return what a checkpoint says; None if there is no such file."""
    try:
        with open(path, encoding="utf-8") as file:
            about = json.loads(file.read(_LONGEST))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"the checkpoint {path!r} cannot be read ({one_line(error)}): name another file") from error
    kinds = {"instance": str, "lines": int, "mark": str}
    if (
        not isinstance(about, dict)
        or about.get("format") != FORMAT
        or any(type(about.get(name)) is not kind for name, kind in kinds.items())
    ):
        raise InputError(f"{path!r} is not the checkpoint of an ingest by this release: name another file")
    return about
