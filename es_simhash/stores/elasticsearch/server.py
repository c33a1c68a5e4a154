"""What the server says of itself, its nodes, its templates and its indices.

These are the only Calls that are not about documents. All of them only read. Another server with this protocol may lack
some of them; then they raise.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from es_simhash.stores.elasticsearch.calls import Call

if TYPE_CHECKING:
    from es_simhash.stores.elasticsearch.calls import Index

PRIVILEGES = ("read", "view_index_metadata", "index", "maintenance", "delete", "manage", "create_index")
"""The privileges on the index that our commands need."""


def about(index: Index) -> tuple[str, str, str]:
    """Return the product, its version, and the name of the cluster."""
    body = index.send(Call("GET", "/"))
    version = body["version"]
    return version.get("distribution", "elasticsearch"), version["number"], body.get("cluster_name", "?")


def names(index: Index) -> list[str]:
    """Return the names of all indices and aliases that the user may see."""
    body = index.send(Call("GET", "/_resolve/index/*"))
    return [each["name"] for kind in ("indices", "aliases") for each in body[kind] if not each["name"].startswith(".")]


def settings(index: Index) -> dict[str, dict[str, Any]]:
    """Return the settings of the index, or of each index behind the alias, by name; each as one flat object."""
    body = index.send(index.call("GET", "_settings", flat_settings="true"))
    return {name: each["settings"] for name, each in body.items()}


def alias(index: Index) -> dict[str, dict[str, Any]]:
    """Return how each index belongs to our alias, by the name of the index; empty if our name is that of an index."""
    body = index.send(index.call("GET", "_alias"))
    return {name: each["aliases"][index.index] for name, each in body.items() if index.index in each["aliases"]}


def nodes_and_health(index: Index) -> tuple[int, str, int]:
    """Return how many nodes hold data, the health of the index, and how many of its primary shards are not assigned."""
    body = index.send(Call("GET", f"/_cluster/health/{quote(index.index, safe='')}"))
    return body["number_of_data_nodes"], body["status"], body.get("unassigned_primary_shards", 0)


def size(index: Index) -> tuple[int, int]:
    """Return the documents of the index as Lucene counts them, and its bytes; both without replicas."""
    body = index.send(index.call("GET", "_stats/docs,store"))
    primaries = body["_all"]["primaries"]
    return primaries["docs"]["count"], primaries["store"]["size_in_bytes"]


def field_bytes(index: Index) -> dict[str, int]:
    """Return how many bytes each field takes. The server reads all files of the index for that."""
    body = index.send(index.call("POST", "_disk_usage", run_expensive_tasks="true"))
    found: dict[str, int] = {}
    for name, each in body.items():
        if name != "_shards":
            for field, usage in each["fields"].items():
                found[field] = found.get(field, 0) + usage["total_in_bytes"]
    return found


@dataclass(frozen=True)
class Disk:
    """The disk of a node: its bytes."""

    node: str
    total: int
    available: int


def disks(index: Index) -> list[Disk]:
    """Return the disk of each node that says it."""
    body = index.send(Call("GET", "/_nodes/stats/fs", None, {"filter_path": "nodes.*.name,nodes.*.fs.total"}))
    totals = [(node["name"], node.get("fs", {}).get("total", {})) for node in body.get("nodes", {}).values()]
    return [Disk(name, each["total_in_bytes"], each["available_in_bytes"]) for name, each in totals if each]


def cluster_settings(index: Index) -> dict[str, Any]:
    """Return the settings of the cluster as one flat object."""
    body = index.send(Call("GET", "/_cluster/settings", None, {"include_defaults": "true", "flat_settings": "true"}))
    return {**body.get("defaults", {}), **body.get("persistent", {}), **body.get("transient", {})}


@dataclass(frozen=True)
class Template:
    """The index template for a new index with our name.

    :param name: of the template; None if none matches.
    :param data_stream: it makes a data stream, and no index.
    :param mapping: the mapping that the new index gets.
    """

    name: str | None
    data_stream: bool
    mapping: dict[str, Any]


def template(new_index: str, index: Index) -> Template:
    """Return what a new index gets from the templates of the server.

    :param new_index: its name.
    """
    body = index.send(Call("GET", "/_index_template"))
    matching = [
        each
        for each in body["index_templates"]
        if any(fnmatchcase(new_index, pattern) for pattern in each["index_template"]["index_patterns"])
    ]
    if not matching:
        return Template(None, False, {})
    best = max(matching, key=lambda each: each["index_template"].get("priority") or 0)
    simulated = index.send(Call("POST", f"/_index_template/_simulate_index/{quote(new_index, safe='')}"))
    mapping = simulated.get("template", {}).get("mappings", {})
    return Template(best["name"], "data_stream" in best["index_template"], mapping)


def privileges(index: Index) -> list[str]:
    """Return which of our privileges the user lacks.

    :raises StoreError: if the server has no security.
    """
    asked = [{"names": [index.index], "privileges": list(PRIVILEGES)}]
    body = index.send(Call("POST", "/_security/user/_has_privileges", {"index": asked}))
    (granted,) = body["index"].values()
    return [name for name in PRIVILEGES if not granted.get(name)]
