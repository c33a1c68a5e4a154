"""What is at the address of the store, what is wrong with it, and what fills it."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from es_simhash.contract import Check, Location, Space, similar_first
from es_simhash.errors import AccessDenied, NotSetUp, SimhashError, StoreError, Unsupported, count_of
from es_simhash.stores.elasticsearch.failures import UnknownRequest, unblock
from es_simhash.stores.elasticsearch.mapping import DOCUMENTS, SEEN, check_source
from es_simhash.stores.elasticsearch.responses import readable
from es_simhash.stores.elasticsearch.routing import check_routing_not_required
from es_simhash.stores.elasticsearch.set_up import check_routing, check_source_mode, read_mappings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from es_simhash.stores.elasticsearch.index import Index

PRIVILEGES = ("read", "view_index_metadata", "index", "maintenance", "delete", "manage", "create_index")
"""The privileges on the index that our commands need."""


# --- what several Checks read --------------------------------------------------------------------------------------


def _members_of_alias(index: Index) -> dict[str, dict[str, Any]]:
    """Return how each index belongs to our alias, by the name of the index; empty if our name is that of an index."""
    body = index.send("GET", "_alias")
    return {name: each["aliases"][index.index] for name, each in body.items() if index.index in each["aliases"]}


def _size(index: Index) -> tuple[int, int]:
    """Return the documents of the index as Lucene counts them, and its bytes; both without replicas."""
    primaries = index.send("GET", "_stats/docs,store")["_all"]["primaries"]
    return primaries["docs"]["count"], primaries["store"]["size_in_bytes"]


def _names(index: Index) -> list[str]:
    """Return the names of all indices and aliases that the user may see. They help to find a mistyped one."""
    try:
        body = index.send("GET", "/_resolve/index/*")
    except StoreError:
        return []
    return [each["name"] for kind in ("indices", "aliases") for each in body[kind] if not each["name"].startswith(".")]


# --- disks ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Disk:
    """The disk of a node: its bytes."""

    node: str
    total: int
    available: int


_SETTING = "cluster.routing.allocation.disk.watermark."
_DEFAULTS = {"low": "85%", "flood_stage": "95%"}
_UNITS = {"b": 0, "kb": 10, "mb": 20, "gb": 30, "tb": 40, "pb": 50}
_GB = 2**30


def disk_check(disks: Sequence[Disk], settings: Mapping[str, Any]) -> Check:
    """Return the Check of the disks.

    :param settings: of the cluster, flat; the server's defaults stand for what is missing.
    """
    if not disks:
        return Check("disk", "not tried", "the server does not say how large its disks are")
    for level, status, effect in (
        ("flood_stage", "problem", "indices take no writes"),
        ("low", "advice", "no more shards are placed there"),
    ):
        for disk in disks:
            if disk.available < _least(disk.total, level, settings):
                text = (
                    f"{disk.node} has {disk.available / _GB:,.1f} of {disk.total / _GB:,.1f} GB left, above the "
                    f"watermark {level} {effect}: make room on that disk"
                )
                return Check("disk", status, text)  # type: ignore[arg-type]
    least = min(disks, key=lambda disk: disk.available / disk.total)
    return Check("disk", "ok", f"{least.available / _GB:,.1f} of {least.total / _GB:,.1f} GB left on {least.node}")


def _least(total: int, level: str, settings: Mapping[str, Any]) -> float:
    """Return the least bytes that must be left below a watermark."""
    if str(settings.get("cluster.routing.allocation.disk.threshold_enabled")).lower() == "false":
        return 0
    value = str(settings.get(_SETTING + level, _DEFAULTS[level]))
    if (absolute := _bytes(value)) is not None:
        return absolute
    try:
        used = float(value[:-1]) / 100 if value.endswith("%") else float(value)
    except ValueError:
        return 0
    headroom = _bytes(str(settings.get(f"{_SETTING}{level}.max_headroom", "")))
    left = total * (1 - used)
    return left if headroom is None else min(left, headroom)


def _bytes(value: str) -> int | None:
    """Return the bytes of a value such as ``200gb``; None if it is no such value."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([kmgtp]?b)", value.lower())
    return None if found is None else int(float(found[1]) * 2 ** _UNITS[found[2]])


# --- what is wrong -------------------------------------------------------------------------------------------------


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


def examine(index: Index) -> tuple[Check, ...]:
    first = _attempt("server", _server, index)
    try:
        with readable(index.name):
            mappings = read_mappings(index)
    except SimhashError as error:
        fault = Check("server" if first.status == "problem" else "index", "problem", str(error))
        return (*([first] if first.status != "problem" else []), fault, *_not_tried(str(error), _NAMES))
    if mappings is None:
        missing = _missing(index)
        template = _attempt("template", _template_of, index, index.index)
        disk = _attempt("disk", _disk, index)
        left = [name for name in _NAMES if name not in ("index", "template", "disk")]
        return (first, missing, template, disk, *_not_tried("there is no index", left))
    checks = [first]
    try:
        with readable(index.name):
            settings = index.send("GET", "_settings", flat_settings="true")
            found = _Found(mappings, {name: each["settings"] for name, each in settings.items()})
    except SimhashError as error:
        found = _Found(mappings, {})
        checks.append(Check("settings", "not tried", str(error)))
    for name, look in _CHECKS.items():
        checks.append(_attempt(name, look, index, found))
    for name, look_everywhere in _EVERYWHERE.items():
        checks.append(_attempt(name, look_everywhere, index))
    return tuple(checks)


def _attempt(name: str, look: Callable[..., Check], index: Index, *more: Any) -> Check:
    """Return the Check of a function of the index. An error that it raises is a problem; a missing privilege is not."""
    try:
        with readable(index.name):
            return look(*more, index)
    except AccessDenied as error:
        return Check(name, "not tried", str(error))
    except SimhashError as error:
        return Check(name, "problem", str(error))


def _not_tried(reason: str, names: list[str]) -> list[Check]:
    return [Check(name, "not tried", reason) for name in names]


def _server(index: Index) -> Check:
    body = index.send("GET", "/")
    version = body["version"]
    product = f"{version.get('distribution', 'elasticsearch')} {version['number']}"
    return Check("server", "ok", f"{product}, cluster {body.get('cluster_name', '?')}; client {index.dialect.client}")


def _missing(index: Index) -> Check:
    others = similar_first(index.index, _names(index))
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
    return Check("index", "ok", f"{index.index} has {count_of(index.number_of(), 'document')}")


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


def _groups(found: _Found, index: Index) -> Check:
    if DOCUMENTS.agreed(found.mappings, index.name) is None:
        return Check("groups", "not tried", "there are no fields for fingerprints")
    if found.closed:
        return Check("groups", "not tried", "the index is closed")
    without = index.number_of({"bool": {"must_not": [{"exists": {"field": "simhash.group"}}]}})
    if not without:
        return Check("groups", "ok", "every document has a group")
    text = (
        f"{count_of(without, 'document')} without a group, and a collapse on simhash.group shows one of them: "
        f"run `es-simhash backfill --text-field FIELD --store {index.name}`, or search with es_simhash.group_search"
    )
    return Check("groups", "advice", text)


def _not_set_up(found: _Found, index: Index) -> Check:
    if SEEN.agreed(found.mappings, index.name) is not None:
        return Check("mapping", "ok", "it has the fields of seen items, and none of fingerprints")
    if found.closed:
        return Check("mapping", "problem", "it has no fields for fingerprints: open the index first")
    command = "backfill --text-field FIELD" if index.number_of() else "init"
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
    members = _members_of_alias(index)
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
    documents, size = _size(index)
    text = f"{number}, with {documents:,} Lucene documents and {size / 2**20:,.1f} MB in all"
    if size / number > LARGE_SHARD or documents / number > MANY_DOCUMENTS:
        return Check("shards", "advice", f"{text}: split the index, or copy it into one with more shards")
    return Check("shards", "ok", text)


def _replicas(found: _Found, index: Index) -> Check:
    body = index.send("GET", f"/_cluster/health/{quote(index.index, safe='')}")
    nodes, health = body["number_of_data_nodes"], body["status"]
    replicas = max((int(each.get("index.number_of_replicas", 0)) for each in found.settings.values()), default=0)
    if health == "red":
        lost = body.get("unassigned_primary_shards", 0)
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
    members = _members_of_alias(index)
    for name, each in members.items():
        if each.get("is_write_index") and name[-6:].isdigit():
            return _template_of(f"{name[:-6]}999999", index, rolls_over=True)
    return _template_of(index.index, index)


def _template_of(new_index: str, index: Index, *, rolls_over: bool = False) -> Check:
    templates = {
        each["name"]: each["index_template"] for each in index.send("GET", "/_index_template")["index_templates"]
    }
    matching = [
        name
        for name, each in templates.items()
        if any(fnmatchcase(new_index, pattern) for pattern in each["index_patterns"])
    ]
    if not matching:
        name, mapping = None, {}
    else:
        name = max(matching, key=lambda each: templates[each].get("priority") or 0)
        simulated = index.send("POST", f"/_index_template/_simulate_index/{quote(new_index, safe='')}")
        mapping = simulated.get("template", {}).get("mappings", {})
    if name is not None and "data_stream" in templates[name]:
        text = f"the template {name} makes a data stream of this name: use a name that its patterns do not match"
        return Check("template", "problem", text)
    check_source(mapping, f"of the template {name}")
    check_routing_not_required(mapping, f"of the template {name}", index.routing)
    has_ours = "simhash" in mapping.get("properties", {})
    if rolls_over and not has_ours:
        text = (
            "the index after the next rollover has no fields for fingerprints: run `es-simhash init --template --store "
            f"{index.name}`"
        )
        return Check("template", "advice", text)
    if name is None:
        return Check("template", "ok", _NO_TEMPLATE)
    which = "the indices after a rollover" if rolls_over else "new indices of this name"
    text = f"{name} is for {which}, {'with' if has_ours else 'without'} the fields of fingerprints"
    return Check("template", "ok", text)


def _disk(index: Index) -> Check:
    body = index.send("GET", "/_nodes/stats/fs", filter_path="nodes.*.name,nodes.*.fs.total")
    totals = [(node["name"], node.get("fs", {}).get("total", {})) for node in body.get("nodes", {}).values()]
    disks = [Disk(name, each["total_in_bytes"], each["available_in_bytes"]) for name, each in totals if each]
    try:
        body = index.send("GET", "/_cluster/settings", include_defaults="true", flat_settings="true")
    except StoreError:
        body = {}
    return disk_check(disks, {**body.get("defaults", {}), **body.get("persistent", {}), **body.get("transient", {})})


def _privileges(index: Index) -> Check:
    asked = [{"names": [index.index], "privileges": list(PRIVILEGES)}]
    try:
        body = index.send("POST", "/_security/user/_has_privileges", {"index": asked})
    except UnknownRequest:  # it has no security, or says privileges in another way
        if index.dialect.client.startswith("elasticsearch "):
            return Check("privileges", "ok", "the server has no security, so every request is permitted")
        return Check("privileges", "not tried", "the server does not say them, so writing and removing may be refused")
    except StoreError as error:
        return Check("privileges", "not tried", f"writing and removing may be refused ({error})")
    (granted,) = body["index"].values()
    lacking = [name for name in PRIVILEGES if not granted.get(name)]
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
    "groups": _groups,
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
        return Location(True, index.send("POST", "_count")["count"])
    except NotSetUp:
        return Location(False, others=similar_first(index.index, _names(index)))


def measure_space(index: Index) -> Space:
    total = None
    try:
        _, total = _size(index)
        body = index.send("POST", "_disk_usage", run_expensive_tasks="true")  # it reads all files of the index
    except StoreError as error:
        return Space(total, reason=str(error))
    fields: Counter[str] = Counter()
    for name, each in body.items():
        if name != "_shards":
            fields.update({field: usage["total_in_bytes"] for field, usage in each["fields"].items()})
    return Space(total, dict(fields))


def count_keys(index: Index, most: int) -> tuple[tuple[str, int], ...]:
    keys = {"terms": {"field": "simhash.keys", "size": most}}
    search = {"size": 0, "aggs": {"keys": keys}, "track_total_hits": False}
    buckets = index.search(search)["aggregations"]["keys"]["buckets"]
    return tuple((each["key"], each["doc_count"]) for each in buckets)
