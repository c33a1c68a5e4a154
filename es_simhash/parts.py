"""Many items in parts that are worked on together."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

T = TypeVar("T")


def in_parts(items: Sequence[T], size: int) -> Generator[Sequence[T], None, None]:
    """Yield the items in parts of so many; the last one may have fewer."""
    return (items[start : start + size] for start in range(0, len(items), size))
