"""Values that change while an index is used. The mapping keeps them in its ``_meta``, beside the Scheme."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from es_simhash.errors import ConflictError, not_set_up
from es_simhash.retries import Waits
from es_simhash.stores.elasticsearch.mapping import DOCUMENTS, META, our_meta
from es_simhash.stores.elasticsearch.set_up import read_mappings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from es_simhash.stores.elasticsearch.index import Index

DEADLINE = 10.0
"""Seconds after which a change gives up, if other programs keep replacing it."""


def meta_values(mappings: Mapping[str, Mapping[str, Any]], key: str) -> dict[str, Any]:
    """Return the value of a key in our part of ``_meta``, by the name of the index; None for an index without it."""
    return {name: our_meta(mapping).get(key) for name, mapping in mappings.items()}


def change_meta(change: Callable[[dict[str, Any]], dict[str, Any]], key: str, what: str, index: Index) -> bool:
    """Change values in our part of ``_meta``, and return whether there was anything to change.

    The server replaces ``_meta`` as a whole, and it has no condition for that. So everything else in ``_meta`` is
    written again as it was read. Then the values are read again: if another program has replaced them meanwhile, they
    are changed once more.

    :param change: gets the value of each index, and returns those to write; nothing if all are as they should be.
    :param key: of the values.
    :param what: names the values, for a message.
    :raises NotSetUp: if an index was not set up.
    """
    waits = Waits.after_conflict(DEADLINE)
    changed = False
    while True:
        mappings = read_mappings(index) or {}
        if DOCUMENTS.stored(mappings, index.name, index.routing) is None:
            raise not_set_up(index.name)
        values = change(meta_values(mappings, key))
        if not values:
            return changed
        if changed and not waits.wait():
            raise ConflictError(
                f"{index.name}: {what} was not changed, because other programs keep changing the mapping: try again "
                "later"
            )
        for name, value in values.items():
            meta = mappings[name]["_meta"]
            changed_meta = {**meta, META: {**meta[META], key: value}}
            replace(index, index=name).send("PUT", "_mapping", {"_meta": changed_meta})
        changed = True
