"""An index: the server, blocks, privileges, and what the index holds."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any

from es_simhash.errors import AccessDenied, NotSetUp, SimhashError, StoreError
from es_simhash.tools.doctor.checks import LARGEST, Check, held

if TYPE_CHECKING:
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
    looks = {"server": _server, "index": _index, "documents": _documents, "bytes": _bytes, "privileges": _privileges}
    if not is_set_up:
        del looks["documents"]
    checks: list[Check] = []
    for name, look in looks.items():
        try:
            checks += look(store.connection)
        except NotSetUp:
            continue  # the set-up says it
        except AccessDenied as error:
            checks.append(Check(name, "not tried", str(error)))
        except SimhashError as error:
            checks.append(Check(name, "problem", str(error)))
            if name == "server":
                break  # nothing else can be asked
    return checks


def _server(connection: Any) -> list[Check]:
    version, cluster = connection.send("GET", "", index=False, read=itemgetter("version", "cluster_name"))
    product = f"{version.get('distribution', 'elasticsearch')} {version['number']}"
    return [Check("server", "ok", f"{product}, cluster {cluster}")]


def _index(connection: Any) -> list[Check]:
    members = connection.send("GET", "", parameters={"flat_settings": "true"})
    named = f"{connection.index} stands for {', '.join(sorted(members))}"
    checks = [Check("index", "ok", named)]
    if len(members) > 1 or any(name.startswith(".ds-") for name in members):
        text = f"{named}: name one of them, because documents are written by id"
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
        checks += [_block(name, kind) for kind in _BLOCKS if settings.get(f"index.blocks.{kind}") == "true"]
    return checks


def _block(name: str, kind: str) -> Check:
    if kind == "read_only_allow_delete":
        return Check("blocks", "problem", f"{name} takes no writes, because a disk was full: make room on that disk")
    remove = f'PUT {name}/_settings {{"index.blocks.{kind}": null}}'
    return Check("blocks", "problem", f"{name} has a {kind} block: remove it ({remove})")


def _documents(connection: Any) -> list[Check]:
    copies = {"exists": {"field": "simhash.duplicate_of"}}
    groups = {
        "groups": {"cardinality": {"field": "simhash.group", "precision_threshold": 40_000}},
        "largest": {"terms": {"field": "simhash.group", "size": LARGEST}},
    }
    aggregations = {
        "no_digest": {"missing": {"field": "simhash.digest"}},
        "no_group": {"missing": {"field": "simhash.group"}},
        "copies": {"filter": copies, "aggs": groups},
    }
    ask = {"size": 0, "track_total_hits": True, "aggs": aggregations}
    found, counted = connection.send("POST", "_search", ask, read=itemgetter("hits", "aggregations"))
    largest = [(each["key"], each["doc_count"] + 1) for each in counted["copies"]["largest"]["buckets"]]
    number, copied = found["total"]["value"], counted["copies"]["doc_count"]
    checks = held(number, copied, counted["copies"]["groups"]["value"], largest)
    backfill = f"run `es-simhash backfill --store {connection.name}`"
    if without := counted["no_digest"]["doc_count"]:
        checks.append(Check("fingerprints", "advice", f"{without:,} documents have none: {backfill}"))
    if without := counted["no_group"]["doc_count"]:
        text = (
            f"{without:,} documents without a group, and a collapse on simhash.group shows one of them: {backfill}, or "
            "search with es_simhash.group_search"
        )
        checks.append(Check("collapse", "advice", text))
    return checks


def _bytes(connection: Any) -> list[Check]:
    primaries = connection.send("GET", "_stats/store", read=lambda answer: answer["_all"]["primaries"])
    if "store" not in primaries:
        return [Check("bytes", "problem", "no shard is started: GET _cluster/allocation/explain says why")]
    return [Check("bytes", "ok", f"{primaries['store']['size_in_bytes']:,} without replicas")]


def _privileges(connection: Any) -> list[Check]:
    asked = {"index": [{"names": [connection.index], "privileges": PRIVILEGES}]}
    try:
        body = connection.send("POST", "_security/user/_has_privileges", asked, index=False)
    except StoreError:
        return [Check("privileges", "not tried", "the server does not say them: it is OpenSearch, or has no security")]
    (granted,) = body["index"].values()
    lacking = [name for name in PRIVILEGES if not granted.get(name)]
    if not lacking:
        return [Check("privileges", "ok", "all that the commands need")]
    text = f"your user lacks {', '.join(lacking)}: docs/operation.md lists the commands that need them"
    return [Check("privileges", "problem" if _NEEDED.intersection(lacking) else "advice", text)]
