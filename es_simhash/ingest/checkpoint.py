"""The checkpoint of an ingest: a small JSON file that says how far it is.

It is replaced after each batch whose outcomes were taken. A run that is stopped between the write of a batch and this
does the batch again when it resumes. That is harmless: an id stands in the store once.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from es_simhash.deciding.outcome import Counts
from es_simhash.errors import InputError, StoreError, one_line
from es_simhash.files import open_for_owner

if TYPE_CHECKING:
    from collections.abc import Mapping

FORMAT = "es-simhash checkpoint 2"


@dataclass(frozen=True)
class Progress:
    """How far a run is.

    :param run: its store and its options. A run that resumes has the same ones.
    :param lines: how many documents are done.
    :param mark: a short digest of the last one.
    :param counts: of their outcomes, as ``Counts.to_dict`` returns them.
    """

    run: dict[str, Any]
    lines: int
    mark: str
    counts: dict[str, int]


class Checkpoint:
    """The checkpoint of one run. The file is made with the first batch.

    :param path: of the file.
    :param run: the store and the options of the run.
    :raises InputError: if the file cannot be read, is something else, or belongs to another run.
    """

    def __init__(self, path: str, run: Mapping[str, Any]) -> None:
        self.path = path
        self._run = json.loads(json.dumps(run))
        progress = read_checkpoint(path)
        self.lines, self.mark, self._counts = 0, "", Counts()
        if progress is None:
            self._write()  # a folder that is missing ends the run before anything is stored
            return
        for key in {**self._run, **progress.run}:
            began, now = progress.run.get(key), self._run.get(key)
            if began != now:
                raise InputError(
                    f"the checkpoint {path!r} was created with {key} {began!r}, not {now!r}: run again with the same "
                    "options, or name another file"
                )
        self.lines, self.mark, self._counts = progress.lines, progress.mark, Counts(progress.counts)

    @property
    def stored(self) -> bool:
        """Whether documents that are done were stored."""
        return self._counts.total > self._counts.not_taken

    def done(self, lines: int, mark: str, outcomes: Any) -> None:
        """Record that the outcomes of the next batch were taken.

        :param lines: how many documents were read for it.
        :param mark: a short digest of the last one.
        :raises StoreError: if the file cannot be written.
        """
        for outcome in outcomes:
            self._counts.add(outcome)
        self.lines += lines
        self.mark = mark
        try:
            self._write()
        except InputError as error:
            raise StoreError(str(error)) from error

    def _write(self) -> None:
        """Replace the file, so that it is whole whenever the program or the machine stops."""
        about = {
            "format": FORMAT,
            "run": self._run,
            "lines": self.lines,
            "mark": self.mark,
            "counts": self._counts.to_dict(),
        }
        new = f"{self.path}.new"
        try:
            with open(new, "w", encoding="utf-8", opener=open_for_owner) as file:
                json.dump(about, file, ensure_ascii=False, indent=1)
                file.flush()
                os.fsync(file.fileno())
            os.replace(new, self.path)
        except OSError as error:
            reason = error.strerror or error
            raise InputError(
                f"the checkpoint {self.path!r} cannot be written ({reason}): name another file in a folder that exists"
            ) from error


def read_checkpoint(path: str) -> Progress | None:
    """Return what a checkpoint says; None if there is no such file.

    :raises InputError: if the file cannot be read, or is something else.
    """
    try:
        with open(path, encoding="utf-8") as file:
            about = json.load(file)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(f"the checkpoint {path!r} cannot be read ({error.strerror}): name another file") from error
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{path!r} is not the checkpoint of an ingest, or is damaged ({one_line(error)}): name another file"
        ) from error
    try:
        if about["format"] != FORMAT:
            raise InputError(
                f"the checkpoint {path!r} has the format {about['format']!r}, this release reads {FORMAT!r}: name "
                "another file"
            )
        run, lines, mark, counts = (about[name] for name in ("run", "lines", "mark", "counts"))
        if any(type(number) is not int or number < 0 for number in (lines, *counts.values())):
            raise TypeError
        progress = Progress(dict(run), lines, str(mark), dict(counts))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{path!r} is not the checkpoint of an ingest: name another file") from error
    return progress
