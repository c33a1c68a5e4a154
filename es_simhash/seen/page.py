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


def unseen_page(
    fetch: Callable[[int, int], Sequence[H]],
    unseen: Callable[[list[Item]], list[Item]],
    size: int,
    offset: int,
    item: Callable[[H], Item],
    group: Callable[[H], Item | None] | None = None,
) -> Page[H]:
    """Return a page of unseen hits, by at most ``ROUNDS`` requests to the source.

    A request asks for more hits than are missing, because the user may have seen some of them: for each missing hit, as
    many as each unseen hit took so far.

    :param fetch: is called with an offset and a number of hits. Fewer hits mean that the source is exhausted.
    :param unseen: returns those of some items that the user has certainly not seen.
    :param size: hits of a full page.
    :param offset: where to start in the source.
    :param item: returns the item of a hit.
    :param group: returns the group of a hit, None if it has none. A page has one hit of each group, and no hit of a
        group that was seen. Without it groups do not count.
    :raises InputError: if a number is out of range.
    """
    if size < 1 or offset < 0:
        raise InputError(f"size {size}, offset {offset}: use whole numbers from 1 and from 0")
    hits: list[H] = []
    items: dict[Item, None] = {}
    start = offset
    for _ in range(ROUNDS):
        factor = min(_MOST_FACTOR, (offset - start) / max(len(hits), 1)) if offset > start else _FIRST_FACTOR
        request = ceil((size - len(hits)) * factor)
        fetched = [(hit, _items_of(hit, item, group)) for hit in fetch(offset, request)]
        fresh = set(unseen([each for _, theirs in fetched for each in theirs]))
        for hit, theirs in fetched:
            offset += 1
            if not fresh.issuperset(theirs) or (group is not None and theirs[-1] in items):
                continue
            hits.append(hit)
            items.update(dict.fromkeys(theirs))
            if len(hits) == size:
                return Page(hits, offset, exhausted=False, items=list(items))
        if len(fetched) < request:
            return Page(hits, offset, exhausted=True, items=list(items))
    return Page(hits, offset, exhausted=False, items=list(items))


def _items_of(hit: H, item: Callable[[H], Item], group: Callable[[H], Item | None] | None) -> list[Item]:
    """Return the item of a hit, and its group if it has one."""
    own = item(hit)
    its_group = group(hit) if group is not None else None
    return [own] if its_group is None or its_group == own else [own, its_group]
