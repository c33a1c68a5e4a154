"""A page of hits that a user has not seen, filled from any source of hits."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from es_simhash.client.group_search import hit_group, hit_id, hits_of
from es_simhash.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from es_simhash.bloom import Item
    from es_simhash.client.seen import SeenItems

H = TypeVar("H")

ROUNDS = 5
"""Requests to the source at most."""
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


class Filling:
    """A page of unseen hits that is being filled: by at most ``ROUNDS`` requests to the source, which the caller makes.

    A request asks for more hits than are missing, because the user may have seen some of them: for each missing hit, as
    many as each unseen hit took so far.

    The parameters are those of :meth:`es_simhash.SeenItems.page`.

    :ivar offset: where the next request starts in the source.
    :ivar wanted: for how many hits it asks. If the source returns fewer, it is exhausted.
    """

    def __init__(
        self,
        seen: SeenItems,
        user: str | int | None,
        size: int,
        item: Callable[[Any], Item] | None,
        group: Callable[[Any], Item | None] | None,
        offset: int,
    ) -> None:
        if size < 1 or offset < 0:
            raise InputError(f"size {size}, offset {offset}: use whole numbers from 1 and from 0")
        self.offset, self.wanted = offset, ceil(size * _FIRST_FACTOR)
        self._seen, self._user, self._size, self._start = seen, user, size, offset
        # By default the hits are those of Elasticsearch.
        self._read: Callable[[Any], list[Any]] = hits_of if item is None else list
        self._item: Callable[[Any], Item] = item or hit_id
        self._group = hit_group if item is None and group is None else group
        self._rounds = 0
        self._hits: list[Any] = []
        self._items: dict[Item, None] = {}

    def take(self, answer: Any) -> Page[Any] | None:
        """Take what the source returned for a request.

        :returns: the page; None if another request is to be made.
        """
        fetched = [(hit, self._items_of(hit)) for hit in self._read(answer)]
        items = [each for _, theirs in fetched for each in theirs]
        unseen = set(items if self._user is None else self._seen.unseen(self._user, items))
        for hit, theirs in fetched:
            self.offset += 1
            if not unseen.issuperset(theirs) or (self._group is not None and theirs[-1] in self._items):
                continue
            self._hits.append(hit)
            self._items.update(dict.fromkeys(theirs))
            if len(self._hits) == self._size:
                return Page(self._hits, self.offset, exhausted=False, items=list(self._items))
        self._rounds += 1
        if len(fetched) < self.wanted or self._rounds == ROUNDS:
            return Page(self._hits, self.offset, exhausted=len(fetched) < self.wanted, items=list(self._items))
        factor = min(_MOST_FACTOR, (self.offset - self._start) / max(len(self._hits), 1))
        self.wanted = ceil((self._size - len(self._hits)) * factor)
        return None

    def _items_of(self, hit: Any) -> list[Item]:
        """Return the item of a hit, and its group if it has one."""
        item, group = self._item(hit), None if self._group is None else self._group(hit)
        return [item] if group is None or group == item else [item, group]
