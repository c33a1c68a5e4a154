"""What a store holds of the items that users have seen."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from es_simhash.errors import SchemeMismatch

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


def seen_mismatch(stored: SeenConfig, config: Mapping[str, Any], name: str) -> SchemeMismatch:
    """Return the error for a store that was set up with another configuration of seen items.

    :param config: the numbers that were asked for.
    :param name: of the store.
    """
    return SchemeMismatch(
        f"the seen items of {name} were set up with {stored.to_dict()}, not with {dict(config)}: "
        "leave the configuration out to use the store's own, or use another index"
    )


@dataclass(frozen=True)
class Changed:
    """What ``change_users`` did.

    :param conflicts: users whose document changed since it was read, or for whom the store was too busy. Read them
        again, and try again.
    :param refused: the reason, for each user whose change the store refuses.
    """

    conflicts: frozenset[str]
    refused: Mapping[str, str]
