"""The progress of a command that reads files or a store."""

from __future__ import annotations

import time
from typing import Any

from tqdm import tqdm

from es_simhash.cli.output import echo

_WITH_TOTAL = "{percentage:3.0f}%|{bar}| {done}, {rate_of_done} a second, {remaining} left"
_WITHOUT_TOTAL = "{done}, {rate_of_done} a second, {elapsed}"
_REFRESH_SECONDS = 0.2


class Progress(tqdm):  # type: ignore[type-arg]
    """A progress bar. It shows nothing if standard error is no terminal.

    Of files its length is their size in bytes. Compressed bytes count, so the time that is left is known for every
    file. Of a store it is the number of documents.

    :param total: the size of all files in bytes, or the number of documents; None if it is not known.
    :param noun: what is done, in the plural.
    :param quiet: show nothing.
    """

    def __init__(self, total: int | None, noun: str = "documents", *, quiet: bool = False, **more: Any) -> None:
        self.rejected = 0
        """How many lines could not be used."""
        self._noun = noun
        self._done = 0
        self._shown = 0.0
        more.setdefault("disable", True if quiet else None)
        super().__init__(total=total, leave=False, **more)

    def done(self, count: int = 1) -> None:
        """Count what is done."""
        self._done += count
        if not self.disable and (now := time.monotonic()) - self._shown > _REFRESH_SECONDS:
            self._shown = now
            self.refresh()

    def reach(self, done: int, total: int) -> None:
        """Show that so many of all documents are done."""
        self.total, self._done = total, done
        self.update(done - self.n)

    def reject(self, reason: str) -> None:
        """Print why a line cannot be used, and count it.

        :param reason: with the place of the line.
        """
        self.rejected += 1
        self.clear()
        echo(f"rejected: {reason}", err=True)

    @property
    def format_dict(self) -> dict[str, Any]:
        """What the form of the bar can show."""
        values = super().format_dict
        elapsed = values["elapsed"] or 1
        values["bar_format"] = _WITH_TOTAL if self.total else _WITHOUT_TOTAL
        return {**values, "done": f"{self._done:,} {self._noun}", "rate_of_done": f"{self._done / elapsed:,.0f}"}
