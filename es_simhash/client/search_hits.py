"""Hits of a search of your own in Elasticsearch: the id and the group of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from es_simhash.errors import InputError

if TYPE_CHECKING:
    from typing import TypeAlias

    Hit: TypeAlias = "dict[str, Any]"

_GROUP = "simhash.group"


def hits_of(answer: Any) -> list[Hit]:
    """Return the hits of an answer of Elasticsearch.

    :param answer: the answer, or the list of its hits.
    :raises InputError: if it is something else; if no hit has a group, because the search did not ask for it.
    """
    try:
        hits = answer if isinstance(answer, list) else answer["hits"]["hits"]
    except (KeyError, TypeError, IndexError) as error:
        raise InputError(
            f"the search returned a {type(answer).__name__}: return the answer of Elasticsearch, or its list of hits"
        ) from error
    if hits and not any(hit.get("_source") or hit_group(hit) for hit in hits):
        raise InputError(
            f"none of the hits has the field {_GROUP}: search with docvalue_fields=[{{'field': '{_GROUP}'}}]"
        )
    return list(hits)


def hit_id(hit: Mapping[str, Any]) -> str:
    """Return the id of a hit."""
    return str(hit["_id"])


def hit_group(hit: Mapping[str, Any]) -> str | None:
    """Return the group of a hit; None if it has no fingerprint."""
    values = hit.get("fields", {}).get(_GROUP)
    if values:
        return str(values[0])
    simhash = (hit.get("_source") or {}).get("simhash")
    group = simhash.get("group") if isinstance(simhash, Mapping) else None
    return None if group is None else str(group)
