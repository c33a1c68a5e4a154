"""Figures of the Bloom filters of a store: how full they are, and how often they are wrong."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from es_simhash.bloom.seen import Seen, SeenConfig
from es_simhash.errors import FilterFormatError

if TYPE_CHECKING:
    from collections.abc import Callable

    from es_simhash.bloom.seen import Generation
    from es_simhash.contract import Store

MOST_USERS = 10_000
"""Users whose filters are read. In a store of more users, they stand for the others."""
_BATCH = 500
_END_OF_TIME = (1 << 63) - 1
FILL = (0.25, 0.5, 0.75, 1.0)
"""Upper bounds of the classes of :attr:`SeenFigures.fill`, as shares of the capacity."""


@dataclass(frozen=True)
class SeenFigures:
    """Figures of the seen items of a store.

    :param users: whose filters were read, at most 10,000.
    :param complete: these are all users with a filter.
    :param damaged: users whose filters cannot be read.
    :param filters: of these users.
    :param items: that changed a filter.
    :param bytes: of the filters.
    :param capacity: the number of items for which a filter is made. It grows beyond.
    :param fill: by class, how many filters: ``up to 25%`` of the capacity, …, ``grown`` beyond it.
    :param error_rate: the false-positive rate that no filter exceeds.
    :param mean_error: the mean of the current rates.
    :param largest_error: the largest of the current rates.
    """

    users: int
    complete: bool
    damaged: int
    filters: int
    items: int
    bytes: int
    capacity: int
    fill: dict[str, int]
    error_rate: float
    mean_error: float
    largest_error: float


def seen_figures(store: Store, config: SeenConfig, progress: Callable[[str, int], object]) -> SeenFigures:
    """Return figures of the filters.

    :param config: of the store.
    """
    store.refresh()
    users: list[str] = []
    while len(users) < MOST_USERS:
        page = store.list_users(_END_OF_TIME, tuple(users))
        if not page:
            break
        users += page
    complete = len(users) < MOST_USERS
    names = iter(users[:MOST_USERS])
    found: list[Generation] = []
    read = damaged = 0
    while batch := tuple(islice(names, _BATCH)):
        states = store.fetch_users(batch)
        for state in states.values():
            try:
                found += Seen(config, state.filters, state.forgotten).generations()
                damaged += state.damaged is not None
            except FilterFormatError:
                damaged += 1
        read += len(states)
        progress("read", len(states))
    errors = [each.false_positive_rate for each in found]
    return SeenFigures(
        users=read,
        complete=complete,
        damaged=damaged,
        filters=len(found),
        items=sum(each.count for each in found),
        bytes=sum(each.bytes for each in found),
        capacity=config.capacity,
        fill=_fill(found, config.capacity),
        error_rate=config.error_rate,
        mean_error=sum(errors) / len(errors) if errors else 0.0,
        largest_error=max(errors, default=0.0),
    )


def _fill(generations: list[Generation], capacity: int) -> dict[str, int]:
    counts = Counter(_class(each.count / capacity) for each in generations)
    return {name: counts[name] for name in (*map(_title, FILL), "grown")}


def _class(share: float) -> str:
    return next((_title(bound) for bound in FILL if share <= bound), "grown")


def _title(bound: float) -> str:
    return f"up to {bound:.0%}"
