"""An alias whose newest index is written, and the template of the indices that it rolls over to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from es_simhash.contract import KeysState
from es_simhash.errors import InputError, NotSetUp, StoreError
from es_simhash.stores.elasticsearch.keys import with_scores
from es_simhash.stores.elasticsearch.keys_state import KEY
from es_simhash.stores.elasticsearch.mapping import META
from es_simhash.stores.elasticsearch.set_up import read_mappings

if TYPE_CHECKING:
    from es_simhash.stores.elasticsearch.index import Index
    from es_simhash.stores.elasticsearch.mapping import C, Part

PRIORITY = 500
"""Of our template: above those that a server comes with (100 and 200)."""


def make_alias(index: Index, mapping: dict[str, Any]) -> bool:
    """Make the first index, and the name an alias of it that is written. Nothing is done if the alias exists.

    :param mapping: of the index.
    :returns: whether it was made.
    :raises InputError: if the name is that of an index.
    """
    mappings = read_mappings(index)
    is_new = False
    if mappings is None:
        body = {"aliases": {index.index: {"is_write_index": True}}, "mappings": with_scores(mapping, index)}
        try:
            index.send("PUT", f"/{quote(f'{index.index}-000001', safe='')}", body)
            is_new = True
        except StoreError as error:
            if "resource_already_exists" not in str(error):
                raise  # else another program was faster, or the index exists without the alias
        mappings = read_mappings(index)
    if mappings is None:
        raise NotSetUp(
            f"{index.name}: the index {index.index}-000001 exists, but {index.index} is no alias of it: add the alias "
            "with is_write_index, or use another name"
        )
    if index.index in mappings:
        raise InputError(
            f"{index.name} is an index, so it cannot be an alias that rolls over: use another name, or reindex it"
        )
    return is_new


def make_template(part: Part[C], config: C, index: Index) -> None:
    """Make the template of the indices that the alias rolls over to, or change it. What else it has stays.

    :raises InputError: if another template of higher priority leaves our fields out.
    """
    mappings = read_mappings(index) or {}
    newest = mappings[max(mappings)]
    name = f"es-simhash-{index.index}"
    found = index.send("GET", "/_index_template")  # one by its name is an error if there is none
    templates = {each["name"]: each["index_template"] for each in found["index_templates"]}
    template: dict[str, Any] = {"index_patterns": [f"{index.index}-*"], "priority": PRIORITY}
    template |= {key: value for key, value in templates.get(name, {}).items() if "_date" not in key}  # the server's own
    inner = template.get("template", {})
    former = inner.get("mappings", {})
    ours = with_scores(part.addition(former, config), index)
    meta = {**ours["_meta"], META: {**ours["_meta"][META], **newest["_meta"][META]}}
    if meta[META].get(KEY) == KeysState.INCOMPLETE.value:
        meta[META][KEY] = KeysState.COMPLETE.value  # a new index has no document that lacks keys
    properties = {**former.get("properties", {}), **ours["properties"]}
    inner = {**inner, "mappings": {**former, "properties": properties, "_meta": meta}}
    index.send("PUT", f"/_index_template/{quote(name, safe='')}", {**template, "template": inner})
    simulated = index.send("POST", f"/_index_template/_simulate_index/{quote(f'{index.index}-999999', safe='')}")
    if simulated["template"].get("mappings", {}).get("_meta", {}).get(META) != meta[META]:
        raise InputError(
            f"{index.name}: a new index {index.index}-… does not get the fields of es_simhash, because an index "
            f"template of a priority above {template['priority']} applies to it: lower that priority, or add our "
            "mapping to it"
        )
