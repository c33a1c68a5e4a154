"""A page of hits that a user has not seen, whatever gives the hits."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from es_simhash.errors import InputError
from es_simhash.verbs.seen import might_have_seen

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from es_simhash.bloom import Item
    from es_simhash.bloom.seen import SeenConfig
    from es_simhash.contract import Request
    from es_simhash.drive import Pause

H = TypeVar("H")


@dataclass(frozen=True)
class NextPage:
    """Asks the caller's page function for ``size`` candidates from ``offset`` on."""

    offset: int
    size: int


@dataclass(frozen=True)
class Page(Generic[H]):
    """A page of candidates that the user has certainly not seen.

    :param hits: at most as many as were asked for, in the order of the source.
    :param offset: where the next page goes on in the source.
    :param exhausted: the source has no more.
    """

    hits: list[H]
    offset: int
    exhausted: bool


def unseen_page(
    config: SeenConfig, user: str, size: int, item_of: Callable[[H], Item], offset: int, rounds: int
) -> Generator[Request[Any] | Pause | NextPage, Any, Page[H]]:
    """Fill a page with unseen candidates: fetch more than is wanted, and again, in a bounded number of rounds.

    Each round asks for as many as are wanted, raised by the share that was seen so far.
    """
    if size < 1 or rounds < 1 or offset < 0:
        raise InputError(f"size {size}, rounds {rounds}, offset {offset}: use whole numbers from 1, 1 and 0")
    hits: list[H] = []
    looked_at = 0
    for _ in range(rounds):
        missing = size - len(hits)
        # Nothing is known at first; then as many for each missing one as it took so far, ten at most.
        factor = 2.0 if not looked_at else min(10.0, looked_at / max(len(hits), 1))
        wanted = ceil(missing * factor)
        candidates: list[H] = yield NextPage(offset, wanted)
        items = [item_of(hit) for hit in candidates]
        seen = (yield from might_have_seen(config, {user: items}))[user]
        for hit, is_seen in zip(candidates, seen, strict=True):
            offset += 1
            looked_at += 1
            if not is_seen:
                hits.append(hit)
                if len(hits) == size:
                    return Page(hits, offset, exhausted=False)
        if len(candidates) < wanted:
            return Page(hits, offset, exhausted=True)
    return Page(hits, offset, exhausted=False)
