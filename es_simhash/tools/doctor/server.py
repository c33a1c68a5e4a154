"""An index: the server, blocks, privileges, and what the index holds."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from es_simhash.errors import AccessDenied, NotSetUp, SimhashError, StoreError
from es_simhash.tools.doctor.checks import LARGEST, Check, held

if TYPE_CHECKING:
    from es_simhash import Documents

PRIVILEGES = ("read", "view_index_metadata", "index", "maintenance", "delete", "manage", "create_index")
"""The privileges on the index that the commands need."""
_NEEDED = {"read", "view_index_metadata", "index", "maintenance"}
"""Those that an ingest needs."""
_LEAST = {"max_result_window": 10_000, "max_terms_count": 12_000, "max_docvalue_fields_search": 10}
"""Settings of the index that limit searches, with what those of es_simhash need at most."""
_COUNTED = 1_000
"""Groups up to which their number is exact."""
_BLOCKS = ("write", "read_only", "read_only_allow_delete", "read", "metadata")


def look_at_server(documents: Documents, is_set_up: bool) -> list[Check]:
    """Return the checks of an index.

    :param is_set_up: it has the fields of documents.
    """
    store: Any = documents.store  # of a server
    looks = {
        "server": _server,
        "index": _index,
        "pipeline": _pipelines,
        "documents": _documents,
        "bytes": _bytes,
        "privileges": _privileges,
    }
    if not is_set_up:
        del looks["documents"]
    checks: list[Check] = []
    for name, look in looks.items():
        try:
            checks += look(store)
        except NotSetUp:
            continue  # the set-up says it
        except AccessDenied as error:
            checks.append(Check(name, "not tried", str(error)))
        except SimhashError as error:
            checks.append(Check(name, "problem", str(error)))
            if name == "server":
                break  # nothing else can be asked
    return checks


def _server(store: Any) -> list[Check]:
    version, cluster = store.connection.send("GET", "", index=False, read=itemgetter("version", "cluster_name"))
    product = f"{version.get('distribution', 'elasticsearch')} {version['number']}"
    return [Check("server", "ok", f"{product}, cluster {cluster}")]


def _index(store: Any) -> list[Check]:
    indices = store.indices()
    why = store.read_only(indices)
    named = f"{store.connection.index} stands for {', '.join(sorted(indices))}"
    checks = [Check("index", "ok", named) if why is None else Check("index", "problem", why)]
    for name, (_, mapping, settings, is_write_index) in indices.items():
        is_old = not is_write_index and any(index.is_write_index for index in indices.values())
        for setting, least in _LEAST.items():
            if (allowed := int(settings.get(f"index.{setting}", least))) < least:
                change = f'PUT {name}/_settings {{"index.{setting}": null}}'
                text = f"{name} allows {allowed:,}, searches need up to {least:,}: remove the setting ({change})"
                checks.append(Check(setting, "problem", text))
        if (mode := settings.get("index.mode", "standard")) in ("logsdb", "time_series"):
            text = f"{name} is of the mode {mode}, and refuses a document without @timestamp: make it anew without"
            checks.append(Check("mode", "problem", text))
        if mapping.get("dynamic") == "strict":
            text = f"{name} is strict: a document with a field that is not in the mapping is refused; add it"
            checks.append(Check("mapping", "advice", text))
        checks += [
            _block(name, kind, is_old=is_old) for kind in _BLOCKS if settings.get(f"index.blocks.{kind}") == "true"
        ]
    return checks


def _pipelines(store: Any) -> list[Check]:
    checks = []
    for name, index in store.indices().items():
        for kind in ("default_pipeline", "final_pipeline"):
            if (pipeline := index.settings.get(f"index.{kind}", "_none")) == "_none":
                continue
            try:
                store.connection.send("GET", f"_ingest/pipeline/{quote(pipeline)}", index=False)
                checks.append(Check("pipeline", "ok", f"{name} sends each document through {pipeline!r}"))
            except StoreError as error:
                if error.retryable or isinstance(error, AccessDenied):
                    raise
                text = (
                    f"the {kind} of {name}, {pipeline!r}, is not there, and each document is refused: make it, or "
                    f'remove the setting (PUT {name}/_settings {{"index.{kind}": null}})'
                )
                checks.append(Check("pipeline", "problem", text))
    return checks


def _block(name: str, kind: str, *, is_old: bool) -> Check:
    """Return the check of a block.

    :param is_old: of an index behind an alias that takes no new documents.
    """
    if kind == "read_only_allow_delete":
        return Check("blocks", "problem", f"{name} takes no writes, because a disk was full: make room on that disk")
    remove = f'PUT {name}/_settings {{"index.blocks.{kind}": null}}'
    if is_old and kind in ("write", "read_only"):
        text = f"{name} has a {kind} block, and its documents stay as they are: to change them, remove it ({remove})"
        return Check("blocks", "advice", text)
    return Check("blocks", "problem", f"{name} has a {kind} block: remove it ({remove})")


def _documents(store: Any) -> list[Check]:
    connection = store.connection
    copies = {"exists": {"field": "simhash.duplicate_of"}}
    groups = {
        "groups": {"cardinality": {"field": "simhash.group", "precision_threshold": 40_000}},
        "largest": {"terms": {"field": "simhash.group", "size": _COUNTED}},
    }
    aggregations = {
        "no_digest": {"missing": {"field": "simhash.digest"}},
        "copies": {"filter": copies, "aggs": groups},
    }
    search = {"size": 0, "track_total_hits": True, "aggs": aggregations}
    checks: list[Check] = connection.send("POST", "_search", search, read=lambda answer: _held(answer, connection.name))
    return checks


def _held(answer: Any, store: str) -> list[Check]:
    """Return the checks of what an index holds.

    :param answer: to the search for it.
    :param store: the name of the store.
    """
    counted = answer["aggregations"]
    copied = counted["copies"]
    buckets, others = copied["largest"]["buckets"], copied["largest"]["sum_other_doc_count"]
    largest = [(each["key"], each["doc_count"] + 1) for each in buckets[:LARGEST]]
    groups = f"about {copied['groups']['value']:,}" if others else f"{len(buckets):,}"
    checks = held(answer["hits"]["total"]["value"], copied["doc_count"], groups, largest)
    if without := counted["no_digest"]["doc_count"]:
        text = (
            f"{without:,} documents have none: run `es-simhash backfill --store {store}`; until then a collapse on "
            "simhash.group shows one of them, es_simhash.group_search all"
        )
        checks.append(Check("fingerprints", "advice", text))
    return checks


def _bytes(store: Any) -> list[Check]:
    def read(answer: Any) -> Check:
        if "store" not in (primaries := answer["_all"]["primaries"]):
            return Check("bytes", "problem", "no shard is started: GET _cluster/allocation/explain says why")
        return Check("bytes", "ok", f"{primaries['store']['size_in_bytes']:,} without replicas")

    return [store.connection.send("GET", "_stats/store", read=read)]


def _privileges(store: Any) -> list[Check]:
    asked = {"index": [{"names": [store.connection.index], "privileges": PRIVILEGES}]}
    try:
        [granted] = store.connection.send(
            "POST", "_security/user/_has_privileges", asked, index=False, read=lambda answer: answer["index"].values()
        )
    except StoreError:
        return [Check("privileges", "not tried", "the server does not say them: it is OpenSearch, or has no security")]
    lacking = [name for name in PRIVILEGES if not granted.get(name)]
    if not lacking:
        return [Check("privileges", "ok", "all that the commands need")]
    text = f"your user lacks {', '.join(lacking)}: docs/operation.md lists the commands that need them"
    return [Check("privileges", "problem" if _NEEDED.intersection(lacking) else "advice", text)]
