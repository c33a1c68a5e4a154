"""How an index is set up: the files in ``mappings/``, and what the ``_meta`` of the mapping keeps of a Description."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from es_simhash.errors import InputError, NotSetUp, StoreError
from es_simhash.store.description import alike, extended, from_json, not_set_up, to_json
from es_simhash.store.elastic.connection import Index

if TYPE_CHECKING:
    from collections.abc import Mapping

    from es_simhash.rows import Description
    from es_simhash.store.elastic.connection import Connection

META = "es_simhash"
"""Our key in the ``_meta`` of a mapping."""


def read_indices(connection: Connection) -> dict[str, Index]:
    """Return the index, or each index behind an alias, by its own name; empty if there is none."""

    def read(answer: Any) -> dict[str, Index]:
        settings = {name: {**index["defaults"], **index["settings"]} for name, index in answer.items()}
        return {
            name: Index(settings[name]["index.uuid"], dict(index["mappings"]), settings[name])
            for name, index in answer.items()
        }

    indices: dict[str, Index] = {}
    with suppress(NotSetUp):
        indices = connection.send("GET", "", None, {"flat_settings": "true", "include_defaults": "true"}, read=read)
    return indices


def describe(connection: Connection, indices: Mapping[str, Index]) -> Description:
    """Return how the index was set up; of several behind an alias, all in the same way.

    ``instance`` is another one for an index that was made again, or for another index behind the alias.

    :raises NotSetUp: if it was not.
    :raises InputError: if its documents cannot be found by their ids, or are not kept whole.
    """
    if not indices:
        raise not_set_up(connection.name, "there is no such index")
    descriptions = []
    for name, index in indices.items():
        if (kept := kept_by(index, name, connection)) is None:
            how = "to give its documents fingerprints, run `es-simhash backfill --text-field FIELD`; for new ones alone"
            raise not_set_up(connection.name, f"the index {name} has no fields of es_simhash: {how}")
        descriptions.append(kept)
    first = replace(
        descriptions[0],
        instance="-".join([descriptions[0].instance, *sorted(index.uuid for index in indices.values())]),
    )
    if not all(alike(first, other) for other in descriptions):
        raise StoreError(f"{connection.name} is an alias of indices that were set up in different ways: name one")
    if len(indices) > 1:
        return replace(first, read_only=_several(connection, indices))
    [index] = indices.values()
    fields = frozenset(index.mapping.get("properties", {})) if index.mapping.get("dynamic") == "strict" else None
    return replace(first, fields=fields)


def kept_by(index: Index, name: str, connection: Connection) -> Description | None:
    """Return the Description that an index keeps in its mapping; None if there is none.

    :raises StoreError: if its fields are not ours.
    :raises InputError: if documents of the index cannot be found by their ids, or are not kept whole.
    """
    _check_usable(index, name)
    values = (index.mapping.get("_meta") or {}).get(META)
    if not isinstance(values, dict):
        return None
    description = from_json(values, connection.name)
    for part in _parts(description):
        present = index.mapping.get("properties", {}).get(part, {}).get("properties", {})
        for own, field in _file(part)["properties"].items():
            if _kind(present.get(own, {})) != _kind(field):
                raise StoreError(
                    f"the index {name} maps `{part}.{own}` as {json.dumps(present.get(own))}, es_simhash needs "
                    f"{json.dumps(field)}: ingest it into an index that `es-simhash init` made"
                )
    return description


def set_up(connection: Connection, wanted: Description, *, change: bool) -> str:
    """Make the index, or add what is missing to an index that exists.

    :raises InputError: if an alias has several.
    """
    indices = read_indices(connection)
    if not indices:
        made = extended(None, wanted, connection.name, change=change)
        mapping = _mapping(made, connection)
        if made.scheme is not None and made.id_field != "_id":
            # By itself the server takes a first id of digits for a number, and then refuses "101-b".
            mapping["properties"][made.id_field] = {"type": "keyword"}
        try:
            connection.send("PUT", "", {"mappings": mapping})
        except StoreError:
            if not read_indices(connection):
                raise
            return set_up(connection, wanted, change=change)  # another program was faster
        return "created"
    if len(indices) > 1:
        raise InputError(_several(connection, indices))
    [(name, index)] = indices.items()
    mapping = index.mapping
    stored = kept_by(index, name, connection)
    made = extended(stored, wanted, connection.name, change=change)
    if made == stored:
        return "unchanged"
    for part in set(_parts(made)) - set(_parts(stored) if stored is not None else ()):
        if part in mapping.get("properties", {}):
            raise StoreError(
                f"the index {name} has a field `{part}` that es_simhash did not make, or its `_meta` was replaced: use "
                "another index, or put the whole mapping again"
            )
    connection.send("PUT", "_mapping", _mapping(made, connection, mapping.get("_meta")))
    return "added"


def _several(connection: Connection, indices: Mapping[str, Index]) -> str:
    names = ", ".join(sorted(indices))
    return f"{connection.name} is an alias of several indices ({names}): name one of them to write"


def _check_usable(index: Index, name: str) -> None:
    """Check that documents of an index can be found by their id, and are read as they were written.

    :raises InputError: if not.
    """
    if (index.mapping.get("_routing") or {}).get("required"):
        raise InputError(f"the index {name} requires routing, which es_simhash does not give: use another index")
    source = index.mapping.get("_source") or {}
    mode = source.get("mode", index.settings.get("index.mapping.source.mode", "stored")).lower()
    if source.get("enabled") is False or mode != "stored" or source.keys() & {"includes", "excludes"}:
        made = " but makes it from its fields (synthetic)" if mode == "synthetic" else ""
        raise InputError(
            f"the index {name} does not keep its whole documents (`_source`){made}, and es_simhash compares their "
            "texts: reindex it into an index with `_source`"
        )


def _mapping(description: Description, connection: Connection, meta: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return what a mapping gets: our fields, and its ``_meta``."""
    properties = {part: _file(part) for part in _parts(description)}
    if "simhash" in properties and connection.has_equal_scores():
        properties["simhash"]["properties"]["keys"]["use_similarity"] = True
    return {"properties": properties, "_meta": {**(meta or {}), META: to_json(description)}}


def _parts(description: Description) -> list[str]:
    """Return the object fields that a Description needs."""
    parts = [] if description.scheme is None else ["simhash"]
    return parts if description.seen is None else [*parts, "seen"]


def _file(part: str) -> dict[str, Any]:
    """Return the mapping of one of our object fields."""
    package = Path(__file__).parents[2]
    # In a wheel the files are inside the package, in a checkout they are beside it.
    folder = package / "mappings" if (package / "mappings").is_dir() else package.parent / "mappings"
    file = folder / ("documents.json" if part == "simhash" else "users.json")
    field: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))["mappings"]["properties"][part]
    return field


def _kind(field: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return what must not differ in the mapping of a field."""
    return field.get("type"), field.get("index", True), field.get("doc_values", True), field.get("enabled", True)
