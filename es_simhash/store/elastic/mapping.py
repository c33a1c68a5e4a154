"""How an index is set up: the files in ``mappings/``, and what the ``_meta`` of the mapping keeps of a Description."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

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
    """Return the index, or each index behind an alias, by its own name, the newest first; empty if there is none."""

    def read(answer: Any) -> dict[str, Index]:
        read = {}
        for name, index in answer.items():
            settings = {**index["defaults"], **index["settings"]}
            alias = index["aliases"].get(connection.index, {})
            mapping, is_write_index = dict(index["mappings"]), alias.get("is_write_index", False)
            read[name] = Index(settings["index.uuid"], mapping, settings, is_write_index)
        made = {name: int(index.settings.get("index.creation_date", 0)) for name, index in read.items()}
        return {name: read[name] for name in sorted(read, key=made.__getitem__, reverse=True)}

    indices: dict[str, Index] = {}
    with suppress(NotSetUp):
        indices = connection.send("GET", "", None, {"flat_settings": "true", "include_defaults": "true"}, read=read)
    return indices


def describe(connection: Connection, indices: Mapping[str, Index]) -> Description:
    """Return how the index was set up; of several behind an alias, all in the same way.

    ``instance`` is another one for an index that was made again, or for another index behind the alias. An alias with
    a write index keeps its ``instance`` when it gets an index, or loses one.

    :raises NotSetUp: if it was not.
    :raises StoreError: if one of several was set up in another way.
    :raises InputError: if its documents cannot be found by their ids, or are not kept whole.
    """
    kept = _kept_by_each(connection, indices)
    name, described = _first(kept, indices, connection)
    uuids = sorted(index.uuid for index in indices.values()) if not indices[name].is_write_index else []
    mapping = indices[name].mapping
    return replace(
        described,
        instance="-".join([described.instance, *uuids]),
        stale=any(one.stale for one in kept.values()),
        fields=frozenset(mapping.get("properties", {})) if mapping.get("dynamic") == "strict" else None,
        read_only=read_only(connection, indices),
    )


def _kept_by_each(connection: Connection, indices: Mapping[str, Index]) -> dict[str, Description]:
    """Return the Description that each index keeps.

    :raises NotSetUp: if one keeps none.
    """
    if not indices:
        raise not_set_up(connection.name, "there is no such index")
    kept = {}
    for name, index in indices.items():
        if (one := kept_by(index, name, connection)) is None:
            how = "to give its documents fingerprints, run `es-simhash backfill --text-field FIELD`; for new ones alone"
            raise not_set_up(connection.name, f"the index {name} has no fields of es_simhash: {how}")
        kept[name] = one
    return kept


def _first(
    kept: Mapping[str, Description | None], indices: Mapping[str, Index], connection: Connection
) -> tuple[str, Description]:
    """Return the name of the index whose Description is that of the store, and the Description: of the write index.

    :param kept: by the names of the indices. At least one was set up.
    :raises StoreError: if another one was set up in another way.
    """
    ready = {name: one for name, one in kept.items() if one is not None}
    first = next((name for name in ready if indices[name].is_write_index), next(iter(ready)))
    for name, one in ready.items():
        if not alike(ready[first], one):
            raise StoreError(
                f"{connection.name} is an alias of indices that were set up in different ways: {name} has another "
                f"Scheme, rule, fields or seen items than {first}. Run `es-simhash init` on one of them by its own "
                "name, with the options of the other; to change a Scheme, ingest it into a new index; or take it out "
                "of the alias"
            )
    return first, ready[first]


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

    :raises InputError: if nothing can be written by the name of the store.
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
    if (why := read_only(connection, indices)) is not None:
        raise InputError(why)
    kept = {name: kept_by(index, name, connection) for name, index in indices.items()}
    stored = _first(kept, indices, connection)[1] if any(kept.values()) else None
    made = extended(stored, wanted, connection.name, change=change)
    lacking = {name: one for name, one in kept.items() if one != made}
    for name, one in lacking.items():
        for part in set(_parts(made)) - set(_parts(one) if one is not None else ()):
            if part in indices[name].mapping.get("properties", {}):
                raise StoreError(
                    f"the index {name} has a field `{part}` that es_simhash did not make, or its `_meta` was replaced: "
                    "use another index, or put the whole mapping again"
                )
    for name in lacking:
        mapping = _mapping(made, connection, indices[name].mapping.get("_meta"))
        connection.send("PUT", f"{quote(name, safe='')}/_mapping", mapping, index=False)
    return "added" if lacking else "unchanged"


def component_template(connection: Connection) -> dict[str, Any]:
    """Return the component template that gives the next index of an alias what the others have.

    :raises NotSetUp: if they were not set up.
    """
    indices = read_indices(connection)
    name, kept = _first(_kept_by_each(connection, indices), indices, connection)
    mapping = _mapping(replace(kept, stale=False), connection)
    if (id_field := indices[name].mapping.get("properties", {}).get(kept.id_field)) is not None:
        mapping["properties"][kept.id_field] = id_field
    return {"template": {"mappings": mapping}}


def read_only(connection: Connection, indices: Mapping[str, Index]) -> str | None:
    """Return why nothing can be written by the name of a store; None if it can be."""
    way = "docs/existing-index.md says how an alias of monthly indices gets one"
    if any(name.startswith(".ds-") for name in indices):
        return (
            f"{connection.name} is a data stream, in which the server changes no document by its id: use an alias with "
            f"a write index; {way}"
        )
    if len(indices) == 1 or any(index.is_write_index for index in indices.values()):
        return None
    names = ", ".join(sorted(indices))
    return (
        f"{connection.name} is an alias of several indices ({names}), none of which is its write index: say which one "
        f'takes new documents (POST _aliases, {{"add": {{…, "is_write_index": true}}}}), or name one of them; {way}'
    )


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
