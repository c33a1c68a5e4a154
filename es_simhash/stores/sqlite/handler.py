"""One entry of a table of handlers: the type of a request, and the function that answers it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from es_simhash.contract import Request
    from es_simhash.stores.sqlite.database import Database

R = TypeVar("R")

Handler: TypeAlias = "Callable[[Any, Database], Any]"
"""Returns the reply to a request, from a Database."""


def handler(kind: type[Request[R]], function: Callable[[Any, Database], R]) -> tuple[type[Request[Any]], Handler]:
    """Return an entry of a table of handlers. mypy checks that the function returns the reply that the request names.

    :param kind: the type of the request.
    :param function: returns the reply to a request, from a Database.
    """
    return kind, function
