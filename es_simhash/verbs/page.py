"""A page of hits that a user has not seen, from any source of hits. No I/O: the caller fetches."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Generic, TypeVar

from es_simhash.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

H = TypeVar("H")


@dataclass(frozen=True)
class Page(Generic[H]):
    """A page of hits that the user has certainly not seen.

    :param hits: in the order of the source; at most the size of the page.
    :param offset: where the next page starts in the source.
    :param exhausted: the source has no more hits.
    """

    hits: list[H]
    offset: int
    exhausted: bool


class UnseenPage(Generic[H]):
    """Collects a page. Loop: fetch :meth:`next_request`, :meth:`add` the hits; at the end take :meth:`page`.

    Each request asks for as many hits as are missing, raised by the share that the user has seen so far.

    :param size: hits of the page.
    :param offset: where to start in the source.
    :param rounds: the most requests.
    :raises InputError: for a number out of range.
    """

    def __init__(self, size: int, offset: int, rounds: int) -> None:
        if size < 1 or rounds < 1 or offset < 0:
            raise InputError(f"size {size}, rounds {rounds}, offset {offset}: use whole numbers from 1, 1 and 0")
        self._size = size
        self._offset = offset
        self._rounds = rounds
        self._hits: list[H] = []
        self._looked_at = 0
        self._requested = 0
        self._exhausted = False

    def next_request(self) -> tuple[int, int] | None:
        """Return the offset and the number of hits to fetch next; None if the page is done."""
        missing = self._size - len(self._hits)
        if not missing or not self._rounds or self._exhausted:
            return None
        self._rounds -= 1
        # At first nothing is known: twice as many. Then as many for each missing hit as it took so far, at most ten.
        factor = 2.0 if not self._looked_at else min(10.0, self._looked_at / max(len(self._hits), 1))
        self._requested = ceil(missing * factor)
        return self._offset, self._requested

    def add(self, hits: Sequence[H], seen: Sequence[bool]) -> None:
        """Add the hits of the last request.

        :param seen: for each hit whether the user might have seen it.
        """
        for hit, is_seen in zip(hits, seen, strict=True):
            self._offset += 1
            self._looked_at += 1
            if not is_seen:
                self._hits.append(hit)
                if len(self._hits) == self._size:
                    return
        self._exhausted = len(hits) < self._requested

    def page(self) -> Page[H]:
        """Return the page."""
        return Page(self._hits, self._offset, self._exhausted)
