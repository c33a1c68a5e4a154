"""How a store was set up: its Scheme, its keys and its rule."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Any

from es_simhash.errors import InputError, SchemeMismatch, StoreError
from es_simhash.similarity.rule import DuplicateRule
from es_simhash.similarity.text_fields import field_names

if TYPE_CHECKING:
    from collections.abc import Mapping

    from es_simhash.fingerprinting.scheme import Scheme


def scheme_mismatch(stored: Scheme, scheme: Scheme, name: str) -> SchemeMismatch:
    """Return the error for a store that was set up with another Scheme.

    :param name: of the store.
    """
    return SchemeMismatch(
        f"{name} holds fingerprints of Scheme {stored.version}, this program makes fingerprints of {scheme.version}: "
        "open the store without a Scheme to use its own, or put these documents into another index"
    )


Place = frozenset[tuple[str, str]]
"""What is at the address of a store: the name of each index, or of the file, with an id that no other has."""


class KeysState(Enum):
    """The keys of a store: no document has any; some lack theirs; or every fingerprinted document has its keys.

    A store keeps the value. If documents lack their keys, a backfill of all documents must add them.
    """

    NONE = "none"
    INCOMPLETE = "incomplete"
    COMPLETE = "complete"

    @classmethod
    def of_value(cls, value: object) -> KeysState:
        """Return the state that a store keeps.

        :raises StoreError: if the value is no state.
        """
        try:
            return cls(value)
        except ValueError:
            raise StoreError(f"the state of the keys in the store is damaged, it is {value!r}: put it back") from None


@dataclass(frozen=True)
class StoredRule:
    """The rule that a store keeps, and the fields of its documents. None for what it does not keep (yet).

    :param rule: without its text field.
    :param text_field: the names of the fields with the text.
    :param id_field: the name of the field with the id.
    :param everywhere: every index of the store keeps all of it.
    """

    rule: DuplicateRule | None = None
    text_field: tuple[str, ...] | None = None
    id_field: str | None = None
    everywhere: bool = field(default=True, compare=False)

    def __str__(self) -> str:
        """Return what is kept, as keywords."""
        parts = [] if self.rule is None else [str(self.rule)]
        if self.text_field is not None:
            parts.append(f"text_field={','.join(self.text_field)!r}")
        if self.id_field is not None:
            parts.append(f"id_field={self.id_field!r}")
        return ", ".join(parts)

    @cached_property
    def whole(self) -> DuplicateRule:
        """The rule of a call that names none: the one that is kept, and the default for what is not."""
        return replace(self.rule or DuplicateRule(), text_field=self.text_field or "text")

    def updated(self, new: StoredRule) -> StoredRule:
        """Return this with everything that another one has."""
        rule, text_field, id_field = (a if b is None else b for a, b in zip(self._all, new._all, strict=True))
        return StoredRule(rule, text_field, id_field)

    def includes(self, other: StoredRule) -> bool:
        """Return whether this has everything that another one has."""
        return self.updated(other) == self

    def differing(self, other: StoredRule) -> StoredRule:
        """Return what this has and another one has otherwise."""
        pairs = zip(self._all, other._all, strict=True)
        rule, text_field, id_field = (a if None not in (a, b) and a != b else None for a, b in pairs)
        return StoredRule(rule, text_field, id_field)

    @property
    def _all(self) -> tuple[Any, ...]:
        return self.rule, self.text_field, self.id_field

    def to_dict(self) -> dict[str, Any]:
        """Return it as a JSON object, as stores keep it."""
        values: dict[str, Any] = {} if self.rule is None else self.rule.to_dict()
        if self.text_field is not None:
            values["text_field"] = list(self.text_field)
        if self.id_field is not None:
            values["id_field"] = self.id_field
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], name: str) -> StoredRule:
        """Return what :meth:`to_dict` returned.

        :param name: of the store, for the message.
        :raises StoreError: if the values are none that this version knows.
        """
        try:
            given = dict(values)
            text_field, id_field = given.pop("text_field", None), given.pop("id_field", None)
            if id_field is not None and not isinstance(id_field, str):
                raise InputError(f"its id_field is {id_field!r}")
            return cls(
                DuplicateRule.from_dict(given) if given else None,
                None if text_field is None else field_names(text_field),
                id_field,
            )
        except (InputError, TypeError, ValueError) as error:
            raise StoreError(
                f"the rule that {name} keeps cannot be used ({error}): upgrade es_simhash, or give the store another "
                f"rule: `es-simhash init --rule copy --store {name}`"
            ) from error
