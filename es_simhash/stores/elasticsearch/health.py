"""What is at the address of the store, for a message to a user whose store was not set up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from es_simhash.contract import Location, similar_first
from es_simhash.errors import NotSetUp, StoreError

if TYPE_CHECKING:
    from es_simhash.stores.elasticsearch.index import Index


def locate(index: Index) -> Location:
    try:
        return Location(True, index.send("POST", "_count")["count"])
    except NotSetUp:
        return Location(False, others=similar_first(index.index, _names(index)))


def _names(index: Index) -> list[str]:
    """Return the names of all indices and aliases that the user may see. They help to find a mistyped one."""
    try:
        body = index.send("GET", "/_resolve/index/*")
    except StoreError:
        return []
    return [each["name"] for kind in ("indices", "aliases") for each in body[kind] if not each["name"].startswith(".")]
