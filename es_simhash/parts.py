"""Many items in parts that are worked on together; and two series as one."""

from __future__ import annotations

from itertools import chain, zip_longest
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

T = TypeVar("T")


def in_parts(items: Sequence[T], size: int) -> Generator[Sequence[T], None, None]:
    """Yield the items in parts of so many; the last one may have fewer."""
    return (items[start : start + size] for start in range(0, len(items), size))


def in_turn(items: Sequence[T], others: Sequence[T]) -> list[T]:
    """Return the items of two series, one of each in turn."""
    both = chain.from_iterable(zip_longest(items, others))
    return [item for item in both if item is not None]
