"""A page of hits that a user has not seen, filled from any source of hits."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Generic, TypeVar

from es_simhash.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

H = TypeVar("H")

_FIRST_FACTOR = 2.0
"""Hits that the first request asks for, for each hit of the page: nothing is known yet."""
_MOST_FACTOR = 10.0
"""Hits that any request asks for at most, for each missing hit."""


@dataclass(frozen=True)
class Page(Generic[H]):
    """A page of hits that the user has certainly not seen.

    :param hits: in the order of the source; at most as many as the page has room for.
    :param offset: where the next page starts in the source.
    :param exhausted: whether the source has no more hits.
    """

    hits: list[H]
    offset: int
    exhausted: bool


class UnseenPage(Generic[H]):
    """Fills a page with unseen hits, in a bounded number of requests to the source. It does no I/O. ::

        while (request := unseen.next_request()) is not None:
            hits = fetch(*request)
            unseen.add(hits, [has_seen(hit) for hit in hits])
        return unseen.page()

    A request asks for more hits than are missing, because the user may have seen some of them: for each missing hit, as
    many as each unseen hit took so far.

    :param size: hits of a full page.
    :param offset: where to start in the source.
    :param rounds: how many requests are made at most.
    :raises InputError: if a number is out of range.
    """

    def __init__(self, size: int, offset: int, rounds: int) -> None:
        if size < 1 or rounds < 1 or offset < 0:
            raise InputError(f"size {size}, rounds {rounds}, offset {offset}: use whole numbers from 1, 1 and 0")
        self._size = size
        self._offset = offset
        self._rounds = rounds
        self._checked = 0
        self._exhausted = False
        self._hits: list[H] = []

    def next_request(self) -> tuple[int, int] | None:
        """Return the offset and the number of hits to fetch next; None if the page is complete.

        The page is complete if it is full, if the source is exhausted, or if all rounds are used.
        """
        if len(self._hits) == self._size or self._exhausted or not self._rounds:
            return None
        factor = _FIRST_FACTOR
        if self._checked:
            factor = min(_MOST_FACTOR, self._checked / max(len(self._hits), 1))
        return self._offset, ceil((self._size - len(self._hits)) * factor)

    def add(self, hits: Sequence[H], seen: Sequence[bool]) -> None:
        """Add the hits that the last request fetched.

        :param hits: from the offset of the request on. Fewer hits than requested mean that the source is exhausted.
        :param seen: for each hit, whether the user might have seen it.
        """
        request = self.next_request()
        assert request is not None, "the page is complete"
        for hit, is_seen in zip(hits, seen, strict=True):
            self._offset += 1
            self._checked += 1
            if not is_seen:
                self._hits.append(hit)
                if len(self._hits) == self._size:
                    return
        self._exhausted = len(hits) < request[1]
        self._rounds -= 1

    def page(self) -> Page[H]:
        """Return the page as it is now."""
        return Page(self._hits, self._offset, self._exhausted)
