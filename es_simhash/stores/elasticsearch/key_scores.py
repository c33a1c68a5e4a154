"""Scores of keys: documents that share rare keys with a text come first.

In OpenSearch 3 each term of a keyword field has the score 1, unless the mapping of the field says ``use_similarity``.
Other servers do not know this parameter, and score by the rarity of the term. Source: OpenSearch, issue 17823.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from es_simhash.stores.elasticsearch.calls import Index
    from es_simhash.stores.elasticsearch.mapping import Part

_FIELD = "simhash"
_OPTION = "use_similarity"


def with_scores(mapping: dict[str, Any], index: Index) -> dict[str, Any]:
    """Return a mapping with our fields as this server needs it, so that keys have scores."""
    keys = _keys_of(mapping)
    if not index.server.equal_scores or not keys:
        return mapping
    ours = mapping["properties"][_FIELD]
    ours = {**ours, "properties": {**ours["properties"], "keys": {**keys, _OPTION: True}}}
    return {**mapping, "properties": {**mapping["properties"], _FIELD: ours}}


def lacks_scores(part: Part[Any], mappings: Iterable[Mapping[str, Any]], index: Index) -> bool:
    """Return whether the part has keys, and there is a mapping in which they have no scores on this server.

    So it is with a mapping from an older OpenSearch, or with one that another program made.
    """
    if not index.server.equal_scores or part.field != _FIELD:
        return False
    return any(keys and str(keys.get(_OPTION)).lower() != "true" for keys in map(_keys_of, mappings))


def _keys_of(mapping: Mapping[str, Any]) -> dict[str, Any]:
    properties = mapping.get("properties", {}).get(_FIELD, {}).get("properties", {})
    keys: dict[str, Any] = properties.get("keys", {})
    return keys
