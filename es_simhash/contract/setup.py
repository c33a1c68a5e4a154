"""How a store was set up: its Scheme and its keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from es_simhash.errors import SchemeMismatch, StoreError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from es_simhash.fingerprinting.scheme import Scheme


def scheme_mismatch(stored: Scheme, scheme: Scheme, name: str) -> SchemeMismatch:
    """Return the error for a store that was set up with another Scheme.

    :param name: of the store.
    """
    return SchemeMismatch(
        f"{name} holds fingerprints of Scheme {stored.version}, this program makes fingerprints of {scheme.version}: "
        "open the store without a Scheme to use its own, or put these documents into another index"
    )


@dataclass(frozen=True)
class KeysState:
    """The keys of a store.

    :param kinds: names of the kinds, sorted.
    :param complete: every fingerprinted document has its keys. Else a backfill of all documents must add them.
    """

    kinds: tuple[str, ...] = ()
    complete: bool = True

    def with_kinds(self, kinds: Iterable[str], *, complete: bool) -> KeysState:
        """Return the state with more kinds; the same state if it has them all.

        :param complete: the store has no fingerprinted document, so none lacks the keys of the new kinds.
        """
        if set(kinds) <= set(self.kinds):
            return self
        return KeysState(tuple(sorted({*self.kinds, *kinds})), complete)

    @classmethod
    def of_new_store(cls, kinds: Iterable[str]) -> KeysState:
        """Return the state of a store without documents."""
        return cls().with_kinds(kinds, complete=True)

    def to_dict(self) -> dict[str, Any]:
        """Return the state as a JSON object, as stores keep it."""
        return {"kinds": list(self.kinds), "complete": self.complete}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> KeysState:
        """Return the state of :meth:`to_dict`.

        :raises StoreError: if the values are no state.
        """
        if isinstance(values, Mapping):
            kinds, complete = values.get("kinds"), values.get("complete")
            are_names = isinstance(kinds, list | tuple) and all(isinstance(kind, str) for kind in kinds)
            if are_names and isinstance(complete, bool):
                return cls(tuple(kinds or ()), complete)
        raise StoreError(f"the state of the keys in the store is damaged, it is {values!r}: put it back")
