"""A Description as a JSON object, as stores keep it."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from es_simhash.bloom.seen import SeenConfig
from es_simhash.errors import NotSetUp, SchemeMismatch, SimhashError, StoreChanged, StoreError, set_up_by
from es_simhash.rows import Description
from es_simhash.similarity.rule import DuplicateRule
from es_simhash.text.scheme import Scheme

if TYPE_CHECKING:
    from collections.abc import Mapping

FORMAT = 2
"""The format of what a store keeps."""


def to_json(description: Description) -> dict[str, Any]:
    """Return a Description as a JSON object."""
    scheme, rule, seen = description.scheme, description.rule, description.seen
    return {
        "format": FORMAT,
        "scheme": scheme and scheme.to_dict(),
        "keys": description.keys,
        "rule": {**rule.to_dict(), "text_field": list(rule.text_fields)},
        "id_field": description.id_field,
        "seen": seen and vars(seen),
        "instance": description.instance,
        "stale": description.stale,
    }


def from_json(values: Mapping[str, Any], name: str) -> Description:
    """Return the Description that :func:`to_json` wrote.

    :param name: of the store, for messages.
    :raises StoreError: if this release cannot read the values.
    """
    if values.get("format") != FORMAT:
        raise StoreError(f"{name} has format {values.get('format')!r}, this release reads {FORMAT}: use another store")
    try:
        return Description(
            scheme=Scheme.from_dict(values["scheme"]) if values["scheme"] else None,
            keys=values["keys"],
            rule=_rule(**values["rule"]),
            id_field=values["id_field"],
            seen=values["seen"] and SeenConfig(**values["seen"]),
            instance=values["instance"],
            stale=values["stale"],
        )
    except (SimhashError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise StoreError(f"what {name} keeps of its set-up cannot be used ({error}): upgrade es_simhash") from error


def _rule(text_field: list[str], **values: Any) -> DuplicateRule:
    return replace(DuplicateRule.from_dict(values), text_field=text_field)


def extended(stored: Description | None, wanted: Description, name: str, *, change: bool) -> Description:
    """Return what a store keeps after a set-up: what it kept, with what is missing of what is wanted.

    :param stored: None if the store was not set up.
    :param name: of the store, for messages.
    :param change: what is wanted takes the place of what it kept, but for the Scheme, the seen items and ``instance``.
    :raises SchemeMismatch: if it was set up with another Scheme, or another configuration of seen items.
    """
    if stored is None:
        return replace(wanted, instance=uuid.uuid4().hex)
    if stored.scheme is not None and wanted.scheme is not None and stored.scheme != wanted.scheme:
        raise other_scheme(name, stored.scheme, wanted.scheme)
    if None not in (stored.seen, wanted.seen) and stored.seen != wanted.seen:
        raise SchemeMismatch(
            f"the seen items of {name} were set up with {stored.seen}, not with {wanted.seen}: leave the configuration "
            "out to use the store's own, or use another store"
        )
    documents = wanted if wanted.scheme is not None and (change or stored.scheme is None) else stored
    return replace(documents, instance=stored.instance, seen=stored.seen or wanted.seen)


def alike(one: Description, other: Description) -> bool:
    """Return whether what is written for one store fits another one: its Scheme, keys, rule, fields and seen items."""
    first, second = ((each.scheme, each.keys, each.rule, each.id_field, each.seen) for each in (one, other))
    return first == second


def check_alike(former: Description | None, described: Description, name: str) -> None:
    """Check that a program may go on with what is at the address of a store now.

    :param former: how the store was set up when the program asked before; None if it did not.
    :raises StoreChanged: if it is another store, and was set up in another way.
    """
    if former is not None and former.instance != described.instance and not alike(former, described):
        raise StoreChanged(
            f"{name} is another store now, with another Scheme, rule, field or configuration of seen items: it was "
            "made again or replaced, or its alias was moved. To use it, open it again"
        )


def moved(name: str) -> StoreChanged:
    """Return the error for an answer that comes from another index or file than the one that was described."""
    return StoreChanged(
        f"{name} is another store now: it was made again, replaced or restored, or its alias was moved. What this "
        "program wrote before is not there, so start again"
    )


def other_scheme(name: str, stored: Scheme, wanted: Scheme) -> SchemeMismatch:
    """Return the error for a store that was set up with another Scheme than the one that is wanted."""
    return SchemeMismatch(
        f"{name} holds fingerprints of Scheme {stored.version}, this program makes fingerprints of {wanted.version}: "
        "open the store without a Scheme to use its own, or put these documents into another store"
    )


def not_set_up(name: str, reason: str, command: str = "init") -> NotSetUp:
    """Return the error for a store that was not set up.

    :param reason: what is at its address.
    :param command: the command that sets it up.
    """
    return NotSetUp(f"{name} is not set up ({reason}): {set_up_by(name, command)}")
