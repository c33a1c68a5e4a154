"""An index: the server, blocks, privileges, and what the index holds. The official client asks for everything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import elasticsearch

from es_simhash.tools.doctor.checks import LARGEST, Check, held

if TYPE_CHECKING:
    from collections.abc import Callable

    from es_simhash import Documents

PRIVILEGES = ("read", "view_index_metadata", "index", "maintenance", "delete", "manage", "create_index")
"""The privileges on the index that the commands need."""
_NEEDED = {"read", "view_index_metadata", "index", "maintenance"}
"""Those that an ingest needs."""
_BLOCKS = ("write", "read_only", "read_only_allow_delete", "read", "metadata")


def look_at_server(documents: Documents, is_set_up: bool) -> list[Check]:
    """Return the checks of an index.

    :param is_set_up: it has the fields of documents.
    """
    store: Any = documents.store  # of a server
    client, index = store.connection.client, store.connection.index
    server = _attempt("server", lambda: _server(client))
    if server[0].status == "problem":
        return server
    checks = server + _attempt("index", lambda: _index(client, index))
    if is_set_up:
        checks += _attempt("documents", lambda: _documents(client, index, documents.name))
    checks += _attempt("bytes", lambda: _bytes(client, index))
    return checks + _attempt("privileges", lambda: _privileges(client, index))


def _failures() -> tuple[type[Exception], ...]:
    """Return the errors of the official clients that are installed."""
    kinds: list[type[Exception]] = [elasticsearch.ApiError, elasticsearch.TransportError]
    try:
        from opensearchpy import OpenSearchException
    except ImportError:
        return tuple(kinds)
    return (*kinds, OpenSearchException)


def _attempt(name: str, look: Callable[[], list[Check]]) -> list[Check]:
    """Return what a function finds. An error of the server is a problem; a missing privilege is not."""
    try:
        return look()
    except _failures() as error:
        status: int | str | None = getattr(error, "status_code", None)
        if status == 404:
            return []  # the set-up says it
        text = f"the server says: {' '.join(str(error).split())}"
        return [Check(name, "not tried" if status in (401, 403) else "problem", text)]
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        return [
            Check(
                name,
                "problem",
                f"the server's answer is none of Elasticsearch ({type(error).__name__}): correct the address",
            )
        ]


def _server(client: Any) -> list[Check]:
    body = client.info()
    version = body["version"]
    product = f"{version.get('distribution', 'elasticsearch')} {version['number']}"
    return [Check("server", "ok", f"{product}, cluster {body.get('cluster_name', '?')}")]


def _index(client: Any, index: str) -> list[Check]:
    members = client.indices.get(index=index, flat_settings=True)
    checks = [Check("index", "ok", f"{index} stands for {', '.join(members)}")]
    if len(members) > 1 or any(name.startswith(".ds-") for name in members):
        text = f"{index} stands for {', '.join(sorted(members))}: name one of them, because documents are written by id"
        checks = [Check("index", "problem", text)]
    for name, each in members.items():
        mapping, settings = each.get("mappings", {}), each.get("settings", {})
        source = mapping.get("_source", {})
        lossy = source.get("enabled") is False or source.get("includes") or source.get("excludes")
        if lossy or settings.get("index.mapping.source.mode", "stored") != "stored":
            checks.append(Check("_source", "problem", f"{name} does not keep whole documents in _source: make it anew"))
        if mapping.get("_routing", {}).get("required"):
            checks.append(Check("routing", "problem", f"{name} requires routing: make an index without"))
        if mapping.get("dynamic") == "strict":
            text = f"{name} is strict: a document with a field that is not in the mapping is refused; add it"
            checks.append(Check("mapping", "advice", text))
        checks += [
            _block(name, kind) for kind in _BLOCKS if str(settings.get(f"index.blocks.{kind}")).lower() == "true"
        ]
    return checks


def _block(name: str, kind: str) -> Check:
    if kind == "read_only_allow_delete":
        return Check("blocks", "problem", f"{name} takes no writes, because a disk was full: make room on that disk")
    remove = f'PUT {name}/_settings {{"index.blocks.{kind}": null}}'
    return Check("blocks", "problem", f"{name} has a {kind} block: remove it ({remove})")


def _documents(client: Any, index: str, store: str) -> list[Check]:
    copies = {"exists": {"field": "simhash.duplicate_of"}}
    groups = {
        "groups": {"cardinality": {"field": "simhash.group", "precision_threshold": 40_000}},
        "largest": {"terms": {"field": "simhash.group", "size": LARGEST}},
    }
    body: dict[str, Any] = {
        "size": 0,
        "track_total_hits": True,
        "aggs": {
            "no_digest": {"missing": {"field": "simhash.digest"}},
            "no_group": {"missing": {"field": "simhash.group"}},
            "copies": {"filter": copies, "aggs": groups},
        },
    }
    found = client.search(index=index, body=body)
    counted = found["aggregations"]
    largest = [(each["key"], each["doc_count"] + 1) for each in counted["copies"]["largest"]["buckets"]]
    number, copied = found["hits"]["total"]["value"], counted["copies"]["doc_count"]
    checks = held(number, copied, counted["copies"]["groups"]["value"], largest)
    backfill = f"run `es-simhash backfill --store {store}`"
    if without := counted["no_digest"]["doc_count"]:
        checks.append(Check("fingerprints", "advice", f"{without:,} documents have none: {backfill}"))
    if without := counted["no_group"]["doc_count"]:
        text = (
            f"{without:,} documents without a group, and a collapse on simhash.group shows one of them: {backfill}, or "
            "search with es_simhash.group_search"
        )
        checks.append(Check("collapse", "advice", text))
    return checks


def _bytes(client: Any, index: str) -> list[Check]:
    size = client.indices.stats(index=index, metric="store")["_all"]["primaries"]["store"]["size_in_bytes"]
    return [Check("bytes", "ok", f"{size:,} without replicas")]


def _privileges(client: Any, index: str) -> list[Check]:
    if not isinstance(client, elasticsearch.Elasticsearch):
        return [Check("privileges", "not tried", "OpenSearch does not say them, so writing may be refused")]
    try:
        body = client.security.has_privileges(index=[{"names": [index], "privileges": list(PRIVILEGES)}])
    except elasticsearch.BadRequestError:
        return [Check("privileges", "ok", "the server has no security, so every request is permitted")]
    (granted,) = body["index"].values()
    lacking = [name for name in PRIVILEGES if not granted.get(name)]
    if not lacking:
        return [Check("privileges", "ok", "all that the commands need")]
    text = f"your user lacks {', '.join(lacking)}: docs/operation.md lists the commands that need them"
    return [Check("privileges", "problem" if _NEEDED.intersection(lacking) else "advice", text)]
