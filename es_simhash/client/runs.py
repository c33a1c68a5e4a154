"""Runs of one program on one store, one after the other: each finds what the ones before it wrote.

A run ends with a refresh. If its iterator is left before the end, there is none. Then the next run begins with it.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from es_simhash.client.adding import Adding
    from es_simhash.contract import Store

T = TypeVar("T")


class Runs:
    """The runs that write documents.

    :param adding: adds single documents to the same store.
    """

    def __init__(self, store: Store, adding: Adding) -> None:
        self._store = store
        self._adding = adding
        self._not_refreshed: set[_Run] = set()
        """The runs that have not ended, or were left."""

    def results(self, batches: Iterator[Sequence[T]]) -> Generator[Sequence[T], None, None]:
        """Yield the results of a run. Before it begins, search finds what was written before."""
        left = {run for run in tuple(self._not_refreshed) if not run.goes_on}  # another thread may begin a run
        if self._not_refreshed or self._adding.remembers:
            self._store.refresh()
            self._not_refreshed -= left
        run = _Run()
        self._not_refreshed.add(run)
        try:
            yield from batches
            self._not_refreshed.discard(run)
        finally:
            run.goes_on = False
            self._adding.others_wrote(refreshed=run not in self._not_refreshed)

    @contextmanager
    def change(self) -> Iterator[None]:
        """Note at the end of the block that documents were changed. Search finds that."""
        try:
            yield
        finally:
            self._adding.others_wrote(refreshed=True)


class _Run:
    goes_on = True
