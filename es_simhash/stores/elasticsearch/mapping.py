"""The index's mapping: what the package ships in ``mappings/``, and the Scheme that it keeps in ``_meta``."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from es_simhash.core.scheme import Scheme
from es_simhash.errors import NotSetUp, SchemeMismatch

if TYPE_CHECKING:
    from collections.abc import Mapping

META = "es_simhash"


@cache
def _shipped(name: str) -> str:
    package = Path(__file__).parents[2]
    # In a wheel the files are inside the package, in a checkout beside it.
    folder = package / "mappings" if (package / "mappings").is_dir() else package.parent / "mappings"
    return (folder / name).read_text(encoding="utf-8")


def documents_mapping(scheme: Scheme) -> dict[str, Any]:
    """The mapping of ``mappings/documents.json``, with this Scheme in its ``_meta``."""
    mapping: dict[str, Any] = json.loads(_shipped("documents.json"))["mappings"]
    mapping["_meta"][META]["scheme"] = scheme.to_dict()
    return mapping


def with_documents(existing: Mapping[str, Any], scheme: Scheme) -> dict[str, Any]:
    """What to put to an existing mapping: our field, and its own ``_meta`` with the Scheme added."""
    wanted = documents_mapping(scheme)
    return {"properties": wanted["properties"], "_meta": {**existing.get("_meta", {}), **wanted["_meta"]}}


def scheme_of(mappings: Mapping[str, Mapping[str, Any]], name: str) -> Scheme | None:
    """The Scheme of the index, or of all indices behind an alias; None if it has no fingerprint fields yet.

    :param mappings: mapping by index name.
    :raises SchemeMismatch: if the indices behind an alias differ.
    :raises NotSetUp: if only some of them were set up, or the fields are there without a Scheme.
    """
    schemes = {index: _scheme(mapping, index) for index, mapping in mappings.items()}
    if len(set(schemes.values())) <= 1:
        return next(iter(schemes.values()), None)
    if None in schemes.values():
        missing = ", ".join(sorted(index for index, scheme in schemes.items() if scheme is None))
        raise NotSetUp(f"{name} stands for several indices, and {missing} is not set up: run `es-simhash init` on it")
    versions = ", ".join(f"{index}: {scheme.version}" for index, scheme in sorted(schemes.items()) if scheme)
    raise SchemeMismatch(
        f"{name} stands for indices of different Schemes ({versions}): use one index or an alias of equals"
    )


def _scheme(mapping: Mapping[str, Any], index: str) -> Scheme | None:
    scheme = mapping.get("_meta", {}).get(META, {}).get("scheme")
    present = mapping.get("properties", {}).get("simhash", {}).get("properties", {}).keys()
    wanted = documents_mapping(Scheme())["properties"]["simhash"]["properties"].keys()
    if scheme is None and present:
        raise NotSetUp(
            f"the index {index} has a field `simhash`, but no Scheme in its `_meta`: the field is somebody else's, "
            "or a mapping was put without its `_meta`; use another index, or put mappings/documents.json whole"
        )
    return Scheme.from_dict(scheme) if scheme is not None and wanted <= present else None
