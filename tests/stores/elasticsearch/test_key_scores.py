"""Keys of documents have scores on every version of OpenSearch: version 3 needs another mapping."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import Documents, Scheme
from es_simhash.contract import KeysState
from es_simhash.errors import NotSetUp
from es_simhash.stores.elasticsearch.mapping import DOCUMENTS
from tests.stores.elasticsearch.recorder import INFO, set_up

if TYPE_CHECKING:
    from tests.stores.elasticsearch.recorder import Recorder

STATE = {"keys": KeysState.of_new_store(("shingles",)).to_dict()}
OF_OLD = DOCUMENTS.mapping(Scheme(), STATE)


def server_of(recorder: Recorder, version: str, mapping: dict[str, Any] | None = None) -> None:
    recorder.answers["GET /"] = (200, {**INFO, "version": {"distribution": "opensearch", "number": version}})
    recorder.answers["POST /news/_search?allow_partial_search_results=false"] = (
        200,
        {"_shards": {"failed": 0}, "hits": {"hits": []}},
    )
    recorder.answers["PUT /news/_mapping"] = (200, {"acknowledged": True})
    recorder.answers["GET /news/_settings/index.mapping.source.mode?flat_settings=true"] = (200, {})
    if mapping is not None:
        recorder.answers["GET /news/_mapping"] = (200, {"news": {"mappings": mapping}})


def put(recorder: Recorder, path: str) -> list[Any]:
    return [json.loads(body) for method, asked, _, body in recorder.asked if (method, asked) == ("PUT", path)]


def keys_of(mapping: dict[str, Any]) -> Any:
    return mapping["properties"]["simhash"]["properties"]["keys"]


@pytest.mark.parametrize("version", ["2.4.0", "2.19.7", "3.0.0", "3.9.0"])
def test_the_keys_of_a_new_index_have_scores(recorder: Recorder, version: str) -> None:
    server_of(recorder, version)
    set_up(recorder.address)
    [body] = put(recorder, "/news")
    scored = {"use_similarity": True} if version >= "3" else {}
    assert keys_of(body["mappings"]) == {"type": "keyword", **scored}


def test_an_index_from_an_older_opensearch_is_named_and_init_changes_its_mapping(recorder: Recorder) -> None:
    server_of(recorder, "3.9.0", OF_OLD)
    with Documents(recorder.address, deadline=0) as documents:
        with pytest.raises(NotSetUp, match=r"is not that of OpenSearch 3, .*: run `es-simhash init --store opensearch"):
            documents.similar("市气象台今晨发布暴雨橙色预警", confirm=0.8)
        assert put(recorder, "/news/_mapping") == []
        assert documents.setup(keys=["shingles"]) == "added"
    [body] = put(recorder, "/news/_mapping")
    assert keys_of(body)["use_similarity"] is True
    assert body["_meta"] == OF_OLD["_meta"]


@pytest.mark.parametrize("version", ["2.19.7", "3.9.0"])
def test_an_index_that_fits_is_left_as_it_is(recorder: Recorder, version: str) -> None:
    mapping = json.loads(json.dumps(OF_OLD))
    if version >= "3":
        keys_of(mapping)["use_similarity"] = True
    server_of(recorder, version, mapping)
    with Documents(recorder.address, deadline=0) as documents:
        assert documents.setup(keys=["shingles"]) == "unchanged"
    assert {method for method, *_ in recorder.asked} == {"GET", "POST"}
