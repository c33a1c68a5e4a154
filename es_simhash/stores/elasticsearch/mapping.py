"""The mapping of the index: the files in ``mappings/``, and the configuration that the mapping keeps in ``_meta``."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from es_simhash.bloom.seen import SeenConfig
from es_simhash.contract import scheme_mismatch, seen_mismatch
from es_simhash.errors import InputError, NotSetUp, SchemeMismatch, SimhashError
from es_simhash.fingerprinting.scheme import Scheme
from es_simhash.stores.elasticsearch.routing import check_routing_not_required

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from es_simhash.stores.elasticsearch.routing import Routing

NOTHING: Mapping[str, Any] = MappingProxyType({})
META = "es_simhash"
"""Our key in the ``_meta`` of a mapping."""

C = TypeVar("C", Scheme, SeenConfig)


@dataclass(frozen=True)
class Part(Generic[C]):
    """A part of the index that belongs to es_simhash: an object field, and its configuration in ``_meta``.

    :param file: returns the name of the file in ``mappings/`` for a configuration.
    :param field: name of the object field.
    :param key: name of the configuration in ``_meta``.
    :param read: returns the configuration of its values in ``_meta``.
    :param mismatch: returns the error for an index that has another configuration: of the stored one, of this
        program's, and of the store's name.
    :param error: the class of that error.
    """

    file: Callable[[C], str]
    field: str
    key: str
    read: Callable[[Mapping[str, Any]], C]
    mismatch: Callable[[C, C, str], SimhashError]
    error: type[SimhashError]

    def mapping(self, config: C, new: Mapping[str, Any] = NOTHING) -> dict[str, Any]:
        """Return the mapping of the file, with this configuration in its ``_meta``.

        :param new: what else our ``_meta`` has.
        """
        mapping: dict[str, Any] = json.loads(_read_file(self.file(config)))["mappings"]
        mapping["_meta"][META] |= {self.key: config.to_dict(), **new}
        return mapping

    def addition(self, existing: Mapping[str, Any], config: C, new: Mapping[str, Any] = NOTHING) -> dict[str, Any]:
        """Return what to add to an existing mapping: our field, and its ``_meta`` with our configuration added.

        :param new: what else our ``_meta`` gets, if it has no configuration yet.
        """
        ours = self.mapping(config, new if self._configured(existing) is None else NOTHING)
        meta = existing.get("_meta", {})
        return {
            "properties": ours["properties"],
            "_meta": {**meta, META: {**our_meta(existing), **ours["_meta"][META]}},
        }

    def stored(self, mappings: Mapping[str, Mapping[str, Any]], name: str, routing: Routing | None = None) -> C | None:
        """Return the configuration of the index, or of all indices behind an alias; None if it was not set up.

        :param mappings: mapping by index name.
        :param name: of the store, for messages.
        :param routing: of the store.
        :raises InputError: if an index cannot be used: no whole ``_source``, required routing, other types.
        :raises NotSetUp: if only some of the indices were set up, or if the field exists without a configuration.
        :raises SimhashError: the error for a mismatch, if the indices have different configurations.
        """
        for index, mapping in mappings.items():
            check_source(mapping, index)
            check_routing_not_required(mapping, index, routing)
        return self.agreed(mappings, name)

    def agreed(self, mappings: Mapping[str, Mapping[str, Any]], name: str) -> C | None:
        """:meth:`stored` for indices whose ``_source`` and routing were checked."""
        configs = {index: self._complete(mapping, index) for index, mapping in mappings.items()}
        if len(set(configs.values())) <= 1:
            return next(iter(configs.values()), None)
        if missing := ", ".join(sorted(index for index, config in configs.items() if config is None)):
            raise NotSetUp(
                f"{name} is an alias of several indices, and {missing} is not set up: run `es-simhash init` on it"
            )
        found = ", ".join(f"{index}: {_describe(config)}" for index, config in sorted(configs.items()))
        raise self.error(
            f"{name} is an alias of indices that differ ({found}): use one index, or an alias of equal indices"
        )

    def check(self, mappings: Mapping[str, Mapping[str, Any]], config: C, name: str) -> None:
        """Check that no index has another configuration, even if its fields are not complete.

        :raises SimhashError: the error for a mismatch.
        """
        for mapping in mappings.values():
            stored = self._configured(mapping)
            if stored is not None and stored != config:
                raise self.mismatch(stored, config, name)

    def _configured(self, mapping: Mapping[str, Any]) -> C | None:
        values = our_meta(mapping).get(self.key)
        return None if values is None else self.read(values)

    def _complete(self, mapping: Mapping[str, Any], index: str) -> C | None:
        """Return the configuration of an index; None if it has none, or if fields are missing."""
        config = self._configured(mapping)
        field = mapping.get("properties", {}).get(self.field)
        if config is None:
            if field is None:
                return None
            raise NotSetUp(
                f"the index {index} has a field `{self.field}`, but its `_meta` has no configuration of es_simhash: "
                "another program uses the field, or the mapping was put without its `_meta`; use another index, or "
                "put the whole mapping"
            )
        present = field.get("properties", {}) if field else {}
        ours = json.loads(_read_file(self.file(config)))["mappings"]["properties"][self.field]["properties"]
        for name in ours.keys() & present.keys():
            if _kind(present[name]) != _kind(ours[name]):
                raise InputError(
                    f"the index {index} maps `{self.field}.{name}` as {json.dumps(present[name])}, "
                    f"es_simhash needs {json.dumps(ours[name])}: reindex it into an index that `es-simhash init` made"
                )
        return config if ours.keys() <= present.keys() else None


def our_meta(mapping: Mapping[str, Any]) -> dict[str, Any]:
    """Return our part of the ``_meta`` of a mapping; an empty dict if there is none.

    :raises InputError: if it is no object.
    """
    values = mapping.get("_meta", {}).get(META)
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise InputError(
            f"the `_meta` of the mapping is damaged: {META} is {json.dumps(values)[:100]}, es_simhash needs an object; "
            "put the `_meta` of mappings/ again, with the values that the index was set up with"
        )
    return values


def no_source(index: str) -> InputError:
    """Return the error for an index that does not keep its documents."""
    return InputError(
        f"{index} has `_source` disabled: es_simhash reads documents and its own fields from it; reindex it into an "
        "index with `_source`"
    )


def check_source(mapping: Mapping[str, Any], index: str) -> None:
    """Check that documents are read as they were written.

    :raises InputError: if not.
    """
    source = mapping.get("_source", {})
    if source.get("enabled") is False or source.get("mode") == "disabled":
        raise no_source(f"the index {index}")
    if left_out := [name for name in ("includes", "excludes") if source.get(name)]:
        raise InputError(
            f"the index {index} has {left_out[0]} in its `_source`: a partial update, as group and backfill make, "
            "would remove the fields that are not in `_source`; reindex it into an index with the whole `_source`"
        )


def _kind(field: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return what must not differ in the mapping of a field."""
    return field.get("type"), field.get("index", True), field.get("doc_values", True), field.get("enabled", True)


@cache
def _read_file(name: str) -> str:
    package = Path(__file__).parents[2]
    # In a wheel the files are inside the package, in a checkout they are beside it.
    folder = package / "mappings" if (package / "mappings").is_dir() else package.parent / "mappings"
    return (folder / name).read_text(encoding="utf-8")


def _documents_file(scheme: Scheme) -> str:
    return "documents.json" if scheme.bits == 64 else f"documents-{scheme.bits}.json"


def _users_file(config: SeenConfig) -> str:
    return "users.json"


def _seen_mismatch(stored: SeenConfig, config: SeenConfig, name: str) -> SchemeMismatch:
    return seen_mismatch(stored, config.to_dict(), name)


def _describe(config: Any) -> str:
    return config.version if isinstance(config, Scheme) else str(config)


DOCUMENTS = Part(_documents_file, "simhash", "scheme", Scheme.from_dict, scheme_mismatch, SchemeMismatch)
SEEN = Part(_users_file, "seen", "seen", SeenConfig.from_dict, _seen_mismatch, SchemeMismatch)
