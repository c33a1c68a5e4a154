"""The runs that write documents, one after the other: each finds what the ones before it wrote."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from es_simhash.client.adding import Adding
    from es_simhash.contract import Store

T = TypeVar("T")


class Runs:
    """The runs of one object.

    :param adding: adds single documents to the same store.
    """

    def __init__(self, store: Store, adding: Adding) -> None:
        self._store = store
        self._adding = adding
        self._wrote = False

    def results(self, batches: Iterator[Sequence[T]]) -> Generator[Sequence[T], None, None]:
        """Yield the results of a run. Before it begins, search finds what was written before, also by a run that was
        left before its end.
        """
        if self._wrote or self._adding.remembers:
            self._store.refresh()
        self._wrote = True
        finished = False
        try:
            yield from batches
            finished = True
        finally:
            self._adding.others_wrote(refreshed=finished)

    @contextmanager
    def change(self) -> Iterator[None]:
        """Note at the end of the block that documents were changed. Search finds that."""
        try:
            yield
        finally:
            self._adding.others_wrote(refreshed=True)
