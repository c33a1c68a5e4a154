"""What is at the address of a store."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

from es_simhash.errors import NotSetUp

if TYPE_CHECKING:
    from collections.abc import Iterable

NAMED = 5
"""The most other stores that a message names."""


@dataclass(frozen=True)
class Location:
    """What is at the address of a store.

    :param exists: there is an index or a file, whether it was set up or not.
    :param documents: how many documents it has, with or without a fingerprint.
    :param others: names of the indices of the server, or of the files in the folder: those like our name first.
    """

    exists: bool
    documents: int = 0
    others: tuple[str, ...] = ()


def similar_first(name: str, others: Iterable[str]) -> tuple[str, ...]:
    """Return at most NAMED of the other names: those that are like a mistyped name first."""
    names = sorted(set(others) - {name})
    similar = get_close_matches(name, names, NAMED)
    return (*similar, *(other for other in names if other not in similar))[:NAMED]


def does_not_exist(location: Location, name: str, init: str = "init") -> NotSetUp:
    """Return the error for a store whose index or file does not exist: perhaps its name was mistyped.

    :param init: the command that makes it.
    """
    there_are = f" (there are: {', '.join(location.others)})" if location.others else ""
    return NotSetUp(
        f"{name} does not exist{there_are}: correct the name, or run `es-simhash {init} --store {name}` to make it, or "
        "call setup() in code"
    )
