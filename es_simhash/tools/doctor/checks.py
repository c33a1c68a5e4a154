"""One line of a diagnosis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

LARGEST = 5
"""Groups that are named."""


@dataclass(frozen=True)
class Check:
    """What was looked at, and what was found.

    :param name: what was looked at, such as ``privileges``.
    :param status: ``ok``; ``advice`` (a load works, but something can be better); ``problem`` (a load fails, or its
        result is wrong); or ``not tried``.
    :param text: what was found; unless it is ok, what to do, or why it was not tried.
    """

    name: str
    status: Literal["ok", "advice", "problem", "not tried"]
    text: str


def held(documents: int, copies: int, groups: str, largest: list[tuple[str, int]]) -> list[Check]:
    """Return the lines about what a store holds.

    :param copies: documents with an original.
    :param groups: the number of those with two or more members.
    :param largest: pairs (id of the original, members) of the largest groups, the largest first.
    """
    named = ", ".join(f"{id} ({members:,})" for id, members in largest)
    largest_ones = f"; the largest: {named}" if named else ""
    return [
        Check("documents", "ok", f"{documents:,}, of which {copies:,} are copies of others"),
        Check("groups", "ok", f"{groups} with two or more documents{largest_ones}"),
    ]
