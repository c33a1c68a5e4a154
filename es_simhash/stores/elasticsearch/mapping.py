"""The index's mapping: what the package ships in ``mappings/``, and the configuration that it keeps in ``_meta``."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from es_simhash.bloom.seen import SeenConfig
from es_simhash.errors import FilterMismatch, NotSetUp, SchemeMismatch, SimhashError
from es_simhash.fingerprinting.scheme import Scheme

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

META = "es_simhash"

C = TypeVar("C", Scheme, SeenConfig)


@cache
def _shipped(name: str) -> str:
    package = Path(__file__).parents[2]
    # In a wheel the files are inside the package, in a checkout beside it.
    folder = package / "mappings" if (package / "mappings").is_dir() else package.parent / "mappings"
    return (folder / name).read_text(encoding="utf-8")


@dataclass(frozen=True)
class Part(Generic[C]):
    """What an index holds for us: an object of fields, and a configuration in ``_meta``.

    :param file: in ``mappings/``, for a configuration.
    :param field: the object's name.
    :param key: the configuration's name in ``_meta``.
    :param read: makes the configuration from what is in ``_meta``.
    :param mismatch: the error for indices of different configurations.
    """

    file: Callable[[C], str]
    field: str
    key: str
    read: Callable[[Mapping[str, Any]], C]
    mismatch: type[SimhashError]

    def mapping(self, config: C) -> dict[str, Any]:
        """The shipped mapping, with this configuration in its ``_meta``."""
        mapping: dict[str, Any] = json.loads(_shipped(self.file(config)))["mappings"]
        mapping["_meta"][META][self.key] = config.to_dict()
        return mapping

    def addition(self, existing: Mapping[str, Any], config: C) -> dict[str, Any]:
        """What to put to an existing mapping: our field, and its own ``_meta`` with our configuration added."""
        wanted = self.mapping(config)
        meta = existing.get("_meta", {})
        return {
            "properties": wanted["properties"],
            "_meta": {**meta, META: {**meta.get(META, {}), **wanted["_meta"][META]}},
        }

    def stored(self, mappings: Mapping[str, Mapping[str, Any]], name: str) -> C | None:
        """The configuration of the index, or of all indices behind an alias; None if it was not set up.

        :param mappings: mapping by index name.
        :raises NotSetUp: if only some of them were set up, or the field is there without a configuration.
        """
        configs = {index: self._stored(mapping, index) for index, mapping in mappings.items()}
        if len(set(configs.values())) <= 1:
            return next(iter(configs.values()), None)
        if missing := ", ".join(sorted(index for index, config in configs.items() if config is None)):
            raise NotSetUp(
                f"{name} stands for several indices, and {missing} is not set up: run `es-simhash init` on it"
            )
        found = ", ".join(f"{index}: {_describe(config)}" for index, config in sorted(configs.items()))
        raise self.mismatch(f"{name} stands for indices that differ ({found}): use one index, or an alias of equals")

    def _stored(self, mapping: Mapping[str, Any], index: str) -> C | None:
        config = mapping.get("_meta", {}).get(META, {}).get(self.key)
        field = mapping.get("properties", {}).get(self.field)
        present = field.get("properties", {}).keys() if field else set()
        if config is None and field is not None:
            raise NotSetUp(
                f"the index {index} has a field `{self.field}`, but our configuration is not in its `_meta`: the field "
                "is somebody else's, or a mapping was put without its `_meta`; use another index, or put "
                "the mapping whole"
            )
        if config is None:
            return None
        found = self.read(config)
        wanted = json.loads(_shipped(self.file(found)))["mappings"]["properties"][self.field]["properties"].keys()
        return found if wanted <= present else None


def _documents(scheme: Scheme) -> str:
    return "documents.json" if scheme.bits == 64 else f"documents-{scheme.bits}.json"


def _users(config: SeenConfig) -> str:
    return "users.json"


DOCUMENTS = Part(_documents, "simhash", "scheme", Scheme.from_dict, SchemeMismatch)
SEEN = Part(_users, "seen", "seen", SeenConfig.from_dict, FilterMismatch)


def _describe(config: Any) -> str:
    return config.version if isinstance(config, Scheme) else str(config)
