"""A page of hits that a user has not seen, filled from any source of hits."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from es_simhash.client.group_search import hit_group, hit_id, hits_of
from es_simhash.errors import InputError, shown, whole_number

if TYPE_CHECKING:
    from collections.abc import Callable

    from es_simhash.bloom import Item
    from es_simhash.client.seen import SeenItems

H = TypeVar("H")

LARGEST = 1_000
"""Hits that a request asks for at most."""
DEPTH = 10_000
"""Hits that Elasticsearch lets a search reach (``index.max_result_window``)."""


@dataclass(frozen=True)
class Page(Generic[H]):
    """A page of hits that the user has certainly not seen.

    :param hits: in the order of the source: as many as the page has room for, or fewer if the source is exhausted.
    :param offset: where the next page starts in the source.
    :param exhausted: the source has no more hits, or none that may be read.
    :param items: the items of the hits, and their groups where groups count: add them when the user sees the page.
    """

    hits: list[H]
    offset: int
    exhausted: bool
    items: list[Item] = field(default_factory=list)


class Filling:
    """A page of unseen hits that is being filled, by requests to the source, which the caller makes.

    The first one asks for twice the size, because the user may have seen some hits. Each later one asks for as many as
    all before it together: so a page that ends at hit n takes some log2(n / size) requests, and reads at most 2n hits.

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
        depth: int,
    ) -> None:
        for name, given in (("item", item), ("group", group)):
            if not (given is None or callable(given)):
                raise InputError(f"{name} is {shown(given)}: use a function of a hit")
        self._seen, self._user = seen, user
        self._size = whole_number("size", size, 1, 1 << 30)
        self._depth = whole_number("depth", depth, 1, 1 << 62)
        self._start = self.offset = whole_number("offset", offset, 0, self._depth - 1)
        self.wanted = self._most(2 * self._size)
        # By default the hits are those of Elasticsearch.
        self._read: Callable[[Any], list[Any]] = hits_of if item is None else list
        self._item: Callable[[Any], Item] = item or hit_id
        self._group = hit_group if item is None and group is None else group
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
                break
        is_full = len(self._hits) == self._size
        exhausted = self.offset >= self._depth or (not is_full and len(fetched) < self.wanted)
        if is_full or exhausted:
            return Page(self._hits, self.offset, exhausted, list(self._items))
        self.wanted = self._most(self.offset - self._start)
        return None

    def _most(self, wanted: int) -> int:
        return min(wanted, LARGEST, self._depth - self.offset)

    def _items_of(self, hit: Any) -> list[Item]:
        """Return the item of a hit, and its group if it has one."""
        item, group = self._item(hit), None if self._group is None else self._group(hit)
        return [item] if group is None or group == item else [item, group]
