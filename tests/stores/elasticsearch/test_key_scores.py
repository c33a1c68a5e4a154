"""Keys of documents have scores on every version of OpenSearch: version 3 needs another mapping."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import Documents, DuplicateRule, Scheme
from es_simhash.contract import KeysState
from es_simhash.errors import NotSetUp
from es_simhash.stores.elasticsearch.mapping import DOCUMENTS
from tests.stores.elasticsearch.recorder import INFO, set_up

if TYPE_CHECKING:
    from tests.stores.elasticsearch.recorder import Recorder

STATE = {"keys": KeysState.COMPLETE.value}
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


@pytest.mark.parametrize("version", ["2.4.0", "2.19.7", "3.0.0", "3.9.0", "7.10.2"])
def test_the_keys_of_a_new_index_have_scores(recorder: Recorder, version: str) -> None:
    server_of(recorder, version)
    set_up(recorder.address)
    [body] = put(recorder, "/news")
    # OpenSearch 2 calls itself 7.10 in its compatibility mode, and knows no use_similarity.
    scored = {"use_similarity": True} if version.startswith("3") else {}
    assert keys_of(body["mappings"]) == {"type": "keyword", **scored}


def test_an_index_from_an_older_opensearch_is_named_and_init_changes_its_mapping(recorder: Recorder) -> None:
    server_of(recorder, "3.9.0", OF_OLD)
    with Documents(recorder.address, deadline=0) as documents:
        with pytest.raises(NotSetUp, match=r"is not that of OpenSearch 3, .*: run `es-simhash init --store opensearch"):
            documents.similar("市气象台今晨发布暴雨橙色预警", rule=DuplicateRule(confirm=0.8))
        assert put(recorder, "/news/_mapping") == []
        assert documents.setup(keys=True) == "added"
    [body] = put(recorder, "/news/_mapping")
    assert keys_of(body)["use_similarity"] is True
    assert body["_meta"] == OF_OLD["_meta"]


def with_scores(mapping: dict[str, Any]) -> dict[str, Any]:
    copy: dict[str, Any] = json.loads(json.dumps(mapping))
    keys_of(copy)["use_similarity"] = True
    return copy


@pytest.mark.parametrize("version", ["2.19.7", "3.9.0"])
def test_an_index_that_fits_is_left_as_it_is(recorder: Recorder, version: str) -> None:
    server_of(recorder, version, with_scores(OF_OLD) if version >= "3" else OF_OLD)
    with Documents(recorder.address, deadline=0) as documents:
        assert documents.setup(keys=True) == "unchanged"
    assert {method for method, *_ in recorder.asked} == {"GET", "POST"}


def test_a_user_who_may_not_ask_for_the_version_gets_one_warning(
    recorder: Recorder, caplog: pytest.LogCaptureFixture
) -> None:
    server_of(recorder, "3.9.0", OF_OLD)
    recorder.answers["GET /"] = (403, {"error": {"type": "security_exception", "reason": "no"}, "status": 403})
    for mapping, warnings in ((OF_OLD, 1), (with_scores(OF_OLD), 0)):
        recorder.answers["GET /news/_mapping"] = (200, {"news": {"mappings": mapping}})
        caplog.clear()
        with Documents(recorder.address, deadline=0) as documents:
            replies = [documents._store.describe_keys() for _ in range(2)]
        assert replies == [KeysState.COMPLETE] * 2
        said = [record.getMessage() for record in caplog.records if record.name == "es_simhash"]
        assert [each.endswith("give the user the permission cluster:monitor/main") for each in said] == [
            True
        ] * warnings
