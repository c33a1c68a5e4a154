"""Requests on the items that users have seen."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from es_simhash.contract.request import Request
from es_simhash.errors import FilterMismatch

if TYPE_CHECKING:
    from collections.abc import Mapping

    from es_simhash.bloom.seen import SeenConfig


@dataclass(frozen=True)
class UserState:
    """What a store holds of the items that one user has seen.

    :param filters: Bloom filters as bytes, from the oldest generation to the newest.
    :param newest: start of the newest generation, in seconds since 1970; 0 if there is none.
    :param forgotten: the hash of each forgotten item, and the newest generation at the time it was forgotten.
    :param version: version of the user's document, in a form of the store's own; None if there is no document.
    :param damaged: why the stored bytes cannot be read. The other fields are empty then.
    """

    filters: tuple[bytes, ...] = ()
    newest: int = 0
    forgotten: Mapping[str, int] = field(default_factory=dict)
    version: Any = None
    damaged: str | None = None


@dataclass(frozen=True)
class DescribeSeen(Request["SeenConfig | None"]):
    """Return the configuration of seen items that the store was set up with; None if it was not set up."""


@dataclass(frozen=True)
class SetUpSeen(Request[str]):
    """Make the index, the table or the fields that are missing.

    Replies ``created``, ``added`` or ``unchanged``. A store that was set up with another configuration keeps that one,
    and raises FilterMismatch.
    """

    config: SeenConfig


def seen_mismatch(stored: SeenConfig, config: Mapping[str, Any], name: str) -> FilterMismatch:
    """Return the error for a store that was set up with another configuration of seen items.

    :param config: the numbers that were asked for.
    :param name: of the store.
    """
    return FilterMismatch(
        f"the seen items of {name} were set up with {stored.to_dict()}, not with {dict(config)}: "
        "leave the configuration out to use the store's own, or use another index"
    )


@dataclass(frozen=True)
class FetchUsers(Request["dict[str, UserState]"]):
    """Return the states of these users as last written, without a search. Users without a document are left out."""

    users: tuple[str, ...]


@dataclass(frozen=True)
class Changed:
    """The reply to ChangeUsers.

    :param conflicts: users whose document changed since it was read, or for whom the store was too busy. Read them
        again, and try again.
    :param refused: the reason, for each user whose change the store refuses.
    """

    conflicts: frozenset[str]
    refused: Mapping[str, str]


@dataclass(frozen=True)
class ChangeUsers(Request[Changed]):
    """Write the state of each user whose document still has the state's version. Other fields stay as they are."""

    states: Mapping[str, UserState]


@dataclass(frozen=True)
class RemoveUsers(Request["set[str]"]):
    """Remove the seen items from users' documents, and remove documents that hold nothing else.

    Replies the users that had seen items.
    """

    users: tuple[str, ...]


@dataclass(frozen=True)
class ListUsers(Request["list[str]"]):
    """Return some users whose newest generation started before a time; none if there are no more.

    :param before: seconds since 1970.
    :param without: users to leave out.
    """

    before: int
    without: tuple[str, ...] = ()
