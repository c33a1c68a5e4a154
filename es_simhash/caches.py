"""What lives as long as the process is bounded in bytes, whatever texts there are."""

from __future__ import annotations

from functools import lru_cache, wraps
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

F = TypeVar("F", bound="Callable[..., Any]")


def cache_of_short(entries: int, longest: int) -> Callable[[F], F]:
    """Return a decorator that keeps so many results of a function: those for a first argument of up to so many
    characters. Its other arguments are no longer than the first one.
    """

    def decorated(function: F) -> F:
        kept = lru_cache(entries)(function)

        @wraps(function)
        def call(text: str, *others: Any) -> Any:
            return (kept if len(text) <= longest else function)(text, *others)

        return call  # type: ignore[return-value]  # the parameters are those of the function

    return decorated
