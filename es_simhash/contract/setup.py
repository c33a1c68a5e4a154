"""Requests that set a store up, and that ask how it was set up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from es_simhash.contract.request import Request
from es_simhash.errors import SchemeMismatch, StoreError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from es_simhash.fingerprinting.scheme import Scheme


@dataclass(frozen=True)
class Describe(Request["Scheme | None"]):
    """Return the Scheme that the store was set up with; None if it was not set up."""


@dataclass(frozen=True)
class SetUp(Request[str]):
    """Make the index, the file or the fields that are missing.

    Replies ``created``, ``added`` (the fields, to an index that existed) or ``unchanged``. A store that was set up with
    another Scheme keeps that one, and raises SchemeMismatch.

    :param keys: kinds of keys that the store gets if it was not set up before. A store that was set up keeps its kinds.
        So no other program finds the store set up and without these keys.
    :param template: the name becomes an alias of indices, of which the newest is written; the indices that it rolls
        over to are set up like it. A store that has none of this raises Unsupported.
    """

    scheme: Scheme
    keys: tuple[str, ...] = ()
    template: bool = False


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


@dataclass(frozen=True)
class DescribeKeys(Request[KeysState]):
    """Return which keys the store has; no kinds if it has none, or if it was not set up."""


@dataclass(frozen=True)
class SetUpKeys(Request[str]):
    """Record that the store has these kinds of keys, besides those that it has. A store that was not set up raises
    NotSetUp.

    Replies ``added``, or ``unchanged`` if it has them all. If a kind is added to a store that has fingerprinted
    documents, the keys are incomplete.
    """

    kinds: tuple[str, ...]


@dataclass(frozen=True)
class CompleteKeys(Request[None]):
    """Record that every fingerprinted document has its keys. A store without kinds of keys stays as it is. A store that
    was not set up raises NotSetUp.
    """


@dataclass(frozen=True)
class CheckTimeField(Request[None]):
    """Check that the store can compare the times in a field of the documents.

    :raises InputError: if it cannot. The message says how to change that.
    """

    field: str


@dataclass(frozen=True)
class SwitchAlias(Request[None]):
    """Take an alias from the indices of this store, and give it to another index of the server, at one moment.

    It keeps its filter. If the other index alone has the alias already, nothing is done. A store without aliases raises
    Unsupported.

    :param to: name of the other index, or of an alias that it alone has.
    :param check: change nothing, and do not look at the other index: it may not exist yet.
    :raises InputError: if this store's indices do not have the alias, or if others have it too.
    """

    alias: str
    to: str
    check: bool = False
