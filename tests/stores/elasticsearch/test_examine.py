"""On a real Elasticsearch: doctor finds each broken set-up, says what to do, and finds nothing in one that works."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from elasticsearch import Elasticsearch

from es_simhash import Documents, Scheme
from es_simhash.stores.elasticsearch.health import Disk, disk_check
from es_simhash.stores.elasticsearch.mapping import DOCUMENTS
from es_simhash.tools.doctor import doctor

if TYPE_CHECKING:
    from collections.abc import Callable

TEXT = "市气象台今晨发布暴雨橙色预警，部分路段已经出现积水，交警提醒市民绕行"


def mapping(scheme: Scheme | None = None, **more: Any) -> dict[str, Any]:
    return {**DOCUMENTS.mapping(scheme or Scheme()), **more}


def ready(client: Elasticsearch, index: str, scheme: Scheme | None = None) -> None:
    client.indices.create(index=index, mappings=mapping(scheme), settings={"number_of_replicas": 0})


def mistyped(client: Elasticsearch, index: str) -> None:
    ready(client, f"{index}s")


def without_fields(client: Elasticsearch, index: str) -> None:
    client.index(index=index, id="1", document={"text": TEXT}, refresh=True)


def empty_without_fields(client: Elasticsearch, index: str) -> None:
    client.indices.create(index=index)


def no_source(client: Elasticsearch, index: str) -> None:
    client.indices.create(index=index, mappings=mapping(_source={"enabled": False}))


def partial_source(client: Elasticsearch, index: str) -> None:
    client.indices.create(index=index, mappings=mapping(_source={"excludes": ["simhash.*"]}))


def required_routing(client: Elasticsearch, index: str) -> None:
    client.indices.create(index=index, mappings=mapping(_routing={"required": True}))


def custom_routing(client: Elasticsearch, index: str) -> None:
    ready(client, index)
    client.index(index=index, id="1", routing="a", document={"text": TEXT}, refresh=True)


def block(kind: str) -> Callable[[Elasticsearch, str], None]:
    def blocked(client: Elasticsearch, index: str) -> None:
        ready(client, index)
        client.indices.put_settings(index=index, settings={f"index.blocks.{kind}": True})

    return blocked


def closed(client: Elasticsearch, index: str) -> None:
    ready(client, index)
    client.indices.close(index=index)


def other_type(client: Elasticsearch, index: str) -> None:
    ours = mapping()
    ours["properties"]["simhash"]["properties"]["fp"] = {"type": "keyword"}
    client.indices.create(index=index, mappings=ours)


def no_meta(client: Elasticsearch, index: str) -> None:
    client.indices.create(index=index, mappings=mapping(_meta={}))


def other_scheme(client: Elasticsearch, index: str) -> None:
    ready(client, index, Scheme(weights="tf"))


def incomplete_keys(client: Elasticsearch, index: str) -> None:
    documents = Documents(client, index=index)
    documents.setup(keys=False)
    list(documents.ingest([{"id": 1, "text": TEXT}], rule="fingerprint"))
    documents.setup(keys=True)


def alias_of_two(client: Elasticsearch, index: str) -> None:
    for name in ("a", "b"):
        ready(client, f"{index}-{name}")
        client.indices.put_alias(index=f"{index}-{name}", name=index)


def alias_of_different_schemes(client: Elasticsearch, index: str) -> None:
    for name, scheme in (("a", Scheme()), ("b", Scheme(weights="tf"))):
        ready(client, f"{index}-{name}", scheme)
        client.indices.put_alias(index=f"{index}-{name}", name=index)


def filtered_alias(client: Elasticsearch, index: str) -> None:
    ready(client, f"{index}-a")
    client.indices.put_alias(index=f"{index}-a", name=index, filter={"term": {"lang": "zh"}})


def rolling_alias(client: Elasticsearch, index: str) -> None:
    ready(client, f"{index}-000001")
    client.indices.put_alias(index=f"{index}-000001", name=index, is_write_index=True)


def template(**more: Any) -> Callable[[Elasticsearch, str], None]:
    def made(client: Elasticsearch, index: str) -> None:
        client.indices.put_index_template(name=index, index_patterns=[f"{index}*"], priority=500, **more)

    return made


def strict(client: Elasticsearch, index: str) -> None:
    client.indices.create(index=index, mappings=mapping(dynamic="strict"))


def too_many_replicas(client: Elasticsearch, index: str) -> None:
    client.indices.create(index=index, mappings=mapping(), settings={"number_of_replicas": 9})


def no_refresh(client: Elasticsearch, index: str) -> None:
    client.indices.create(index=index, mappings=mapping(), settings={"refresh_interval": "-1"})


# What is broken: how it is made, the line that finds it, and what the line says.
BROKEN: dict[str, tuple[Callable[[Elasticsearch, str], None], str, str, str]] = {
    "mistyped name": (mistyped, "index", "problem", "(there are: {index}s"),
    "not set up": (without_fields, "mapping", "problem", "run `es-simhash backfill --text-field FIELD --store http"),
    "not set up, empty": (empty_without_fields, "mapping", "problem", "run `es-simhash init --store http"),
    "no _source": (no_source, "_source", "problem", "`_source` disabled"),
    "partial _source": (partial_source, "_source", "problem", "has excludes in its `_source`"),
    "required routing": (required_routing, "routing", "problem", "requires routing"),
    "custom routing": (custom_routing, "routing", "problem", "document '1' of"),
    "write block": (block("write"), "blocks", "problem", 'PUT {index}/_settings {{"index.blocks.write": null}}'),
    "full disk": (block("read_only_allow_delete"), "blocks", "problem", "make room on that disk"),
    "closed": (closed, "index", "problem", "open it (POST {index}/_open)"),
    "a field of another type": (other_type, "mapping", "problem", "maps `simhash.fp` as"),
    "no _meta": (no_meta, "mapping", "problem", "put the whole mapping"),
    "another Scheme": (other_scheme, "Scheme", "problem", "open the store without a Scheme"),
    "incomplete keys": (incomplete_keys, "keys", "problem", "run `es-simhash backfill --again"),
    "an alias of two indices": (alias_of_two, "alias", "problem", "none is its write index: give one"),
    "an alias of different Schemes": (
        alias_of_different_schemes,
        "mapping",
        "problem",
        "an alias of indices that differ",
    ),
    "an alias with a filter": (filtered_alias, "alias", "problem", "duplicates that it hides are missed"),
    "a template of data streams": (template(data_stream={}), "template", "problem", "makes a data stream"),
    "a template without _source": (
        template(template={"mappings": {"_source": {"enabled": False}}}),
        "template",
        "problem",
        "of the template {index} has `_source` disabled",
    ),
    "rollover without a template": (
        rolling_alias,
        "template",
        "advice",
        "run `es-simhash init --template --store http",
    ),
    "strict mapping": (strict, "mapping", "advice", "is refused"),
    "too many replicas": (too_many_replicas, "replicas", "advice", "set number_of_replicas to"),
    "no refresh": (no_refresh, "refresh", "advice", "set index.refresh_interval to null"),
}


@pytest.mark.elasticsearch
@pytest.mark.slow
def test_doctor_finds_each_broken_set_up_and_says_what_to_do(elasticsearch_url: str, index_name: str) -> None:
    with Elasticsearch(elasticsearch_url, request_timeout=60) as client:
        for number, (kind, (make, name, status, says)) in enumerate(BROKEN.items()):
            index = f"{index_name}-{number}"
            try:
                make(client, index)
                diagnosis = doctor(Documents(client, index=index, scheme=Scheme()))
                lines = [check for check in diagnosis.checks if check.name == name]
                assert [check.status for check in lines] == [status], (kind, diagnosis)
                assert says.format(index=index) in lines[0].text, (kind, diagnosis)
                assert "\n" not in lines[0].text
                assert diagnosis.ok == (status == "advice"), (kind, diagnosis)
                assert set(Counter(check.name for check in diagnosis.checks).values()) == {1}, "a line for each"
            finally:
                names = client.indices.resolve_index(name=f"{index}*", expand_wildcards="all")["indices"]
                for each in names:
                    client.indices.delete(index=each["name"])
                client.options(ignore_status=404).indices.delete_index_template(name=index)


@pytest.mark.elasticsearch
@pytest.mark.slow
def test_doctor_finds_no_problem_in_an_index_that_was_set_up_also_behind_an_alias(
    elasticsearch_url: str, index_name: str
) -> None:
    with Elasticsearch(elasticsearch_url, request_timeout=60) as client:
        ready(client, index_name)
        client.indices.put_alias(index=index_name, name=f"{index_name}-alias")
        for name in (index_name, f"{index_name}-alias"):
            diagnosis = doctor(Documents(client, index=name))
            # The disk of the tests may be rather full.
            not_ok = [check for check in diagnosis.checks if check.status != "ok" and check.name != "disk"]
            assert not_ok == []


def test_doctor_says_that_a_server_cannot_be_reached_and_names_what_was_not_tried() -> None:
    diagnosis = doctor(Documents("http://127.0.0.1:1/news"))
    assert not diagnosis.ok
    (problem,) = [check for check in diagnosis.checks if check.status == "problem"]
    assert (problem.name, "check the address" in problem.text) == ("server", True)
    untried = {check.name for check in diagnosis.checks if check.status == "not tried"}
    assert {"mapping", "blocks", "disk", "privileges", "Scheme", "keys"} < untried


GB = 2**30
LEVELS = "cluster.routing.allocation.disk.watermark."


@pytest.mark.parametrize(
    ("available", "settings", "status"),
    [
        (20, {}, "ok"),
        (14, {}, "advice"),
        (4, {}, "problem"),
        (14, {f"{LEVELS}low": "90%"}, "ok"),
        (14, {f"{LEVELS}low": "0.9"}, "ok"),
        (14, {f"{LEVELS}low": "85%", f"{LEVELS}low.max_headroom": "10gb"}, "ok"),
        (14, {f"{LEVELS}low": "15gb"}, "advice"),
        (14, {f"{LEVELS}flood_stage": "15gb"}, "problem"),
        (1, {"cluster.routing.allocation.disk.threshold_enabled": "false"}, "ok"),
    ],
)
def test_a_disk_has_room_below_the_watermarks_of_the_server(
    available: int, settings: dict[str, str], status: str
) -> None:
    disks = [Disk("roomy", 100 * GB, 90 * GB), Disk("full", 100 * GB, available * GB)]
    check = disk_check(disks, settings)
    assert (check.status, "full" in check.text) == (status, True)
