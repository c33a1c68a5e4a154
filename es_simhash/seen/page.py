"""A page of hits that a user has not seen, filled from any source of hits."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil
from typing import TYPE_CHECKING, Generic, TypeVar

from es_simhash.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from es_simhash.bloom import Item

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
    :param items: the items of the hits, and their groups where groups count: add them when the user sees the page.
    """

    hits: list[H]
    offset: int
    exhausted: bool
    items: list[Item] = field(default_factory=list)


class UnseenPage(Generic[H]):
    """Fills a page with unseen hits, in a bounded number of requests to the source. It does no I/O. ::

        while (request := unseen.next_request()) is not None:
            unseen.fetched(fetch(*request))
            unseen.add([has_seen(item) for item in unseen.asked])
        return unseen.page()

    A request asks for more hits than are missing, because the user may have seen some of them: for each missing hit, as
    many as each unseen hit took so far.

    :param size: hits of a full page.
    :param offset: where to start in the source.
    :param rounds: how many requests are made at most.
    :param item: returns the item of a hit.
    :param group: returns the group of a hit, None if it has none. A page has one hit of each group, and no hit of a
        group that was seen. Without it groups do not count.
    :raises InputError: if a number is out of range.
    """

    def __init__(
        self,
        size: int,
        offset: int,
        rounds: int,
        item: Callable[[H], Item],
        group: Callable[[H], Item | None] | None = None,
    ) -> None:
        if size < 1 or rounds < 1 or offset < 0:
            raise InputError(f"size {size}, rounds {rounds}, offset {offset}: use whole numbers from 1, 1 and 0")
        self._size = size
        self._offset = offset
        self._rounds = rounds
        self._checked = 0
        self._exhausted = False
        self._hits: list[H] = []
        self._item = item
        self._group = group
        self._fetched: list[tuple[H, list[Item]]] = []
        self._items: dict[Item, None] = {}

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

    def fetched(self, hits: Sequence[H]) -> None:
        """Take the hits that the last request fetched.

        :param hits: from the offset of the request on. Fewer hits than requested mean that the source is exhausted.
        """
        self._fetched = [(hit, self._items_of(hit)) for hit in hits]

    def _items_of(self, hit: H) -> list[Item]:
        """Return the item of a hit, and its group if it has one."""
        item = self._item(hit)
        group = self._group(hit) if self._group is not None else None
        return [item] if group is None or group == item else [item, group]

    @property
    def asked(self) -> list[Item]:
        """The items of the fetched hits: whether the user has seen each of them must be known."""
        return [item for _, items in self._fetched for item in items]

    def add(self, seen: Sequence[bool]) -> None:
        """Add the hits that were fetched.

        :param seen: for each item of ``asked``, whether the user might have seen it.
        """
        request = self.next_request()
        assert request is not None, "the page is complete"
        start = 0
        for hit, items in self._fetched:
            self._offset += 1
            self._checked += 1
            is_seen = any(seen[start : start + len(items)])
            start += len(items)
            if is_seen or (self._group is not None and items[-1] in self._items):
                continue
            self._hits.append(hit)
            self._items.update(dict.fromkeys(items))
            if len(self._hits) == self._size:
                return
        self._exhausted = len(self._fetched) < request[1]
        self._rounds -= 1

    def page(self) -> Page[H]:
        """Return the page as it is now."""
        return Page(self._hits, self._offset, self._exhausted, list(self._items))
