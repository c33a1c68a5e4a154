"""Handlers of the requests on the index itself: what is wrong with it, what is at its address, and what fills it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from es_simhash.contract import Check, Location, Space, similar_first
from es_simhash.errors import AccessDenied, NotSetUp, SimhashError, StoreError, Unsupported, count_of
from es_simhash.stores.elasticsearch import server
from es_simhash.stores.elasticsearch.calls import WHOLE
from es_simhash.stores.elasticsearch.disk_room import disk_check
from es_simhash.stores.elasticsearch.index_faults import unblock
from es_simhash.stores.elasticsearch.mapping import (
    DOCUMENTS,
    SEEN,
    check_source,
)
from es_simhash.stores.elasticsearch.responses import check_complete
from es_simhash.stores.elasticsearch.routing import check_routing_not_required
from es_simhash.stores.elasticsearch.steps import check_routing, check_source_mode, read_mappings

if TYPE_CHECKING:
    from collections.abc import Callable

    from es_simhash.stores.elasticsearch.calls import Index

LARGE_SHARD = 50 * 2**30
"""Bytes. Elastic advises 10 to 50 GB for a shard."""
MANY_DOCUMENTS = 200_000_000
"""Documents of a shard. Elastic advises fewer; Lucene allows 2,147,483,519."""
_WRITES = ("index", "maintenance")
_BLOCKS = ("write", "read_only", "read_only_allow_delete", "read", "metadata")
_NO_TEMPLATE = "no index template matches the name"


class _Found(NamedTuple):
    """What was read first.

    :param mappings: by index; more than one behind an alias.
    :param settings: flat settings by index.
    """

    mappings: dict[str, Any]
    settings: dict[str, dict[str, Any]]

    @property
    def closed(self) -> list[str]:
        return [name for name, each in self.settings.items() if _is_true(each.get("index.verified_before_close"))]


def _is_true(value: Any) -> bool:
    return str(value).lower() == "true"


# --- what is wrong -------------------------------------------------------------------------------------------------


def examine(index: Index) -> tuple[Check, ...]:
    first = _attempt("server", _server, index)
    try:
        mappings = read_mappings(index)
    except SimhashError as error:
        fault = Check("server" if first.status == "problem" else "index", "problem", str(error))
        return (*([first] if first.status != "problem" else []), fault, *_not_tried(str(error), _NAMES))
    if mappings is None:
        missing = _missing(index)
        template = _attempt("template", _template_of, index.index, index)
        disk = _attempt("disk", _disk, index)
        left = [name for name in _NAMES if name not in ("index", "template", "disk")]
        return (first, missing, template, disk, *_not_tried("there is no index", left))
    checks = [first]
    try:
        found = _Found(mappings, (server.settings(index)))
    except SimhashError as error:
        found = _Found(mappings, {})
        checks.append(Check("settings", "not tried", str(error)))
    for name, look in _CHECKS.items():
        checks.append(_attempt(name, look, found, index))
    for name, look_everywhere in _EVERYWHERE.items():
        checks.append(_attempt(name, look_everywhere, index))
    return tuple(checks)


def _attempt(name: str, look: Callable[..., Check], *arguments: Any) -> Check:
    """Return the Check of a function. An error that it raises is a problem; a missing privilege is not."""
    try:
        return look(*arguments)
    except AccessDenied as error:
        return Check(name, "not tried", str(error))
    except SimhashError as error:
        return Check(name, "problem", str(error))


def _not_tried(reason: str, names: list[str]) -> list[Check]:
    return [Check(name, "not tried", reason) for name in names]


def _server(index: Index) -> Check:
    product, version, cluster = server.about(index)
    return Check("server", "ok", f"{product} {version}, cluster {cluster}; client {index.dialect.client}")


def _missing(index: Index) -> Check:
    others = similar_first(index.index, (_names(index)))
    there_are = f" (there are: {', '.join(others)})" if others else ""
    init = f"run `es-simhash init --store {index.name}` to make it"
    text = f"there is no index {index.index}{there_are}: correct the name, or {init}"
    return Check("index", "problem", text)


def _index(found: _Found, index: Index) -> Check:
    if found.closed:
        text = f"{', '.join(found.closed)} is closed: open it (POST {found.closed[0]}/_open)"
        return Check("index", "problem", text)
    if any(name.startswith(".ds-") for name in found.mappings):
        raise Unsupported(f"{index.index} is a data stream: use an index, because documents are written by their ids")
    body = index.send(index.call("POST", "_count"))
    check_complete(body, index.name)
    return Check("index", "ok", f"{index.index} has {count_of(body['count'], 'document')}")


def _source(found: _Found, index: Index) -> Check:
    for name, mapping in found.mappings.items():
        check_source(mapping, name)
    check_source_mode(index)
    return Check("_source", "ok", "it keeps whole documents")


def _routing(found: _Found, index: Index) -> Check:
    for name, mapping in found.mappings.items():
        check_routing_not_required(mapping, name, index.routing)
    if found.closed:
        return Check("routing", "not tried", "the index is closed")
    if index.routing is not None:
        return Check("routing", "ok", f"every request has the routing {index.routing.value!r}")
    check_routing(index)
    return Check("routing", "ok", "not required, and no document has its own")


def _mapping(found: _Found, index: Index) -> Check:
    if DOCUMENTS.agreed(found.mappings, index.name) is None:
        return _not_set_up(found, index)
    strict = [name for name, mapping in found.mappings.items() if mapping.get("dynamic") == "strict"]
    if strict:
        text = f"{', '.join(strict)} is strict: a document with a field that is not in the mapping is refused; add it"
        return Check("mapping", "advice", text)
    return Check("mapping", "ok", "it has the fields of fingerprints")


def _not_set_up(found: _Found, index: Index) -> Check:
    if SEEN.agreed(found.mappings, index.name) is not None:
        return Check("mapping", "ok", "it has the fields of seen items, and none of fingerprints")
    if found.closed:
        return Check("mapping", "problem", "it has no fields for fingerprints: open the index first")
    body = index.send(index.call("POST", "_count"))
    command = "backfill --text-field FIELD" if body["count"] else "init"
    return Check(
        "mapping", "problem", f"it has no fields for fingerprints: run `es-simhash {command} --store {index.name}`"
    )


def _blocks(found: _Found, index: Index) -> Check:
    blocks = [
        (name, kind)
        for name, each in found.settings.items()
        for kind in _BLOCKS
        if _is_true(each.get(f"index.blocks.{kind}"))
    ]
    for name, kind in blocks:
        if kind == "read_only_allow_delete":
            text = f"{name} takes no writes, because the disk of the server was full: make room on that disk"
            return Check("blocks", "problem", text)
        return Check("blocks", "problem", f"{name} has a {kind} block: remove it ({unblock(name, kind)})")
    return Check("blocks", "ok", "none")


def _alias(found: _Found, index: Index) -> Check:
    members = server.alias(index)
    if not members:
        return Check("alias", "ok", f"{index.index} is an index and no alias")
    if filtered := [name for name, each in members.items() if "filter" in each]:
        text = f"the alias has a filter on {', '.join(filtered)}, so duplicates that it hides are missed: use the index"
        return Check("alias", "problem", text)
    if routed := [name for name, each in members.items() if "index_routing" in each or "search_routing" in each]:
        text = f"the alias has routing on {', '.join(routed)}: use the index, or an alias without routing"
        return Check("alias", "problem", text)
    written = [name for name, each in members.items() if each.get("is_write_index")]
    if len(members) > 1 and not written:
        text = (
            f"{index.index} stands for {len(members)} indices ({', '.join(sorted(members))}), and none is its write "
            f"index: give one of them is_write_index, or run `es-simhash init --template --store {index.name}`"
        )
        return Check("alias", "problem", text)
    if written:
        return Check("alias", "ok", f"{index.index} stands for {', '.join(sorted(members))}; {written[0]} is written")
    return Check("alias", "ok", f"{index.index} stands for {', '.join(members)}")


def _shards(found: _Found, index: Index) -> Check:
    if found.closed:
        return Check("shards", "not tried", "the index is closed")
    number = sum(int(each.get("index.number_of_shards", 1)) for each in found.settings.values()) or 1
    documents, size = server.size(index)
    text = f"{number}, with {documents:,} Lucene documents and {size / 2**20:,.1f} MB in all"
    if size / number > LARGE_SHARD or documents / number > MANY_DOCUMENTS:
        return Check("shards", "advice", f"{text}: split the index, or copy it into one with more shards")
    return Check("shards", "ok", text)


def _replicas(found: _Found, index: Index) -> Check:
    nodes, health, lost = server.nodes_and_health(index)
    replicas = max((int(each.get("index.number_of_replicas", 0)) for each in found.settings.values()), default=0)
    if health == "red":
        text = f"{lost} primary shards are not assigned, so searches fail: see GET _cluster/allocation/explain"
        return Check("replicas", "problem", text)
    text = f"{replicas} of each shard, data nodes: {nodes}"
    if replicas >= nodes:
        return Check("replicas", "advice", f"{text}: set number_of_replicas to {nodes - 1}, or add a node")
    if not replicas and nodes > 1:
        return Check("replicas", "advice", f"{text}: set number_of_replicas to 1, so that no node holds the only copy")
    return Check("replicas", "ok", f"{text}, health {health}")


def _refresh(found: _Found, index: Index) -> Check:
    off = [name for name, each in found.settings.items() if str(each.get("index.refresh_interval")) == "-1"]
    if off:
        text = f"off for {', '.join(off)}: right during a load; afterwards set index.refresh_interval to null"
        return Check("refresh", "advice", text)
    return Check("refresh", "ok", "on")


def _template(found: _Found, index: Index) -> Check:
    """Look at what the next index gets: of an alias that rolls over, or of this name."""
    members = server.alias(index)
    for name, each in members.items():
        if each.get("is_write_index") and name[-6:].isdigit():
            return _template_of(f"{name[:-6]}999999", index, rolls_over=True)
    return _template_of(index.index, index)


def _template_of(new_index: str, index: Index, *, rolls_over: bool = False) -> Check:
    template = server.template(new_index, index)
    if template.data_stream:
        text = (
            f"the template {template.name} makes a data stream of this name: use a name that its patterns do not match"
        )
        return Check("template", "problem", text)
    check_source(template.mapping, f"of the template {template.name}")
    check_routing_not_required(template.mapping, f"of the template {template.name}", index.routing)
    has_ours = "simhash" in template.mapping.get("properties", {})
    if rolls_over and not has_ours:
        text = (
            "the index after the next rollover has no fields for fingerprints: run `es-simhash init --template --store "
            f"{index.name}`"
        )
        return Check("template", "advice", text)
    if template.name is None:
        return Check("template", "ok", _NO_TEMPLATE)
    which = "the indices after a rollover" if rolls_over else "new indices of this name"
    text = f"{template.name} is for {which}, {'with' if has_ours else 'without'} the fields of fingerprints"
    return Check("template", "ok", text)


def _disk(index: Index) -> Check:
    disks = server.disks(index)
    try:
        settings = server.cluster_settings(index)
    except StoreError:
        settings = {}
    return disk_check(disks, settings)


def _privileges(index: Index) -> Check:
    try:
        lacking = server.privileges(index)
    except StoreError as error:
        text = f"the server does not say them, so writing, removing and init may be refused ({error})"
        return Check("privileges", "not tried", text)
    if not lacking:
        return Check("privileges", "ok", "all that the commands need")
    needed = {"read", "view_index_metadata", *_WRITES}.intersection(lacking)
    text = f"your user lacks {', '.join(lacking)}: docs/operations.md lists the commands that need them"
    return Check("privileges", "problem" if needed else "advice", text)


_CHECKS: dict[str, Callable[[_Found, Index], Check]] = {
    "index": _index,
    "alias": _alias,
    "_source": _source,
    "routing": _routing,
    "mapping": _mapping,
    "blocks": _blocks,
    "shards": _shards,
    "replicas": _replicas,
    "refresh": _refresh,
    "template": _template,
}
_EVERYWHERE: dict[str, Callable[[Index], Check]] = {
    "disk": _disk,
    "privileges": _privileges,
}
_NAMES = [*_CHECKS, *_EVERYWHERE]


# --- what is there -------------------------------------------------------------------------------------------------


def locate(index: Index) -> Location:
    try:
        body = index.send(index.call("POST", "_count"))
    except NotSetUp:
        return Location(False, others=similar_first(index.index, (_names(index))))
    return Location(True, body["count"])


def _names(index: Index) -> list[str]:
    try:
        return server.names(index)
    except StoreError:  # the names only help to find a mistyped one
        return []


def measure_space(index: Index) -> Space:
    total = None
    try:
        total = (server.size(index))[1]
        return Space(total, (server.field_bytes(index)))
    except StoreError as error:
        return Space(total, reason=str(error))


def count_keys(index: Index, most: int) -> tuple[tuple[str, int], ...]:
    keys = {"terms": {"field": "simhash.keys", "size": most}}
    search = {"size": 0, "aggs": {"keys": keys}, "track_total_hits": False}
    body = index.send(index.call("POST", "_search", search, **WHOLE))
    check_complete(body, index.name)
    return tuple((each["key"], each["doc_count"]) for each in body["aggregations"]["keys"]["buckets"])
