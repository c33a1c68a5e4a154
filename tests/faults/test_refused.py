"""Documents that the server refuses, or finds too large: they have failed, can be mended, and harm no other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from elasticsearch import Elasticsearch

from tests.es_node.proxy import Answer
from tests.faults import contents, ingest, news, unharmed

if TYPE_CHECKING:
    from tests.es_node.proxy import Proxy

pytestmark = [pytest.mark.elasticsearch, pytest.mark.slow]

NEWS = news()
BAD: dict[str, tuple[dict[str, Any], str]] = {
    "0": ({"views": "many"}, "document_parsing_exception"),
    "3": ({"tag": "长" * 20_000}, "whose UTF8 encoding is longer than the max length 32766"),
    "7": ({"place": {"city": "成都"}}, "strict_dynamic_mapping_exception"),
    "11": ({"views": 2**70}, "document_parsing_exception"),
}
MIXED = [{**document, **BAD[document["id"]][0]} if document["id"] in BAD else document for document in NEWS]
GOOD = [document for document in NEWS if document["id"] not in BAD]


@pytest.fixture
def narrow(direct: str, elasticsearch_url: str, index_name: str) -> str:
    """An index with fields of its own, and no others."""
    fields = {
        "id": {"type": "keyword"},
        "text": {"type": "text"},
        "views": {"type": "long"},
        "tag": {"type": "keyword"},
    }
    with Elasticsearch(elasticsearch_url) as client:
        client.indices.put_mapping(index=index_name, dynamic="strict", properties=fields)
    return direct


@pytest.mark.parametrize("on_duplicate", ["index", "skip"])
def test_what_the_index_refuses_has_failed_and_the_others_are_as_if_it_were_not(narrow: str, on_duplicate: Any) -> None:
    outcomes = ingest(narrow, MIXED, on_duplicate=on_duplicate)
    assert [outcome.id for outcome in outcomes] == [document["id"] for document in MIXED]
    failed = {outcome.id or "": outcome for outcome in outcomes if outcome.outcome == "failed"}
    tried = {"0", "3", "7", "11"} if on_duplicate == "index" else failed.keys()
    assert failed.keys() == tried <= BAD.keys()
    for id, outcome in failed.items():
        assert (outcome.reason or "").startswith(f"document {int(id) + 1}: the server refused it: ")
        assert BAD[id][1] in (outcome.reason or "")
        assert outcome.document == MIXED[int(id)]
    taken = [document for document in NEWS if document["id"] not in failed]
    expected, stored = unharmed(taken, on_duplicate=on_duplicate)
    assert contents(narrow) == stored
    assert [(o.id, o.outcome, o.duplicate_of) for o in outcomes if o.id not in failed] == [
        (o.id, o.outcome, o.duplicate_of) for o in expected
    ]


def test_a_request_that_is_too_large_is_split_and_only_what_is_too_large_alone_fails(
    proxy: Proxy, address: str, direct: str
) -> None:
    limit = 2_000
    expected, _ = unharmed(NEWS)
    huge = {each["id"] for each in NEWS[3::9]} - {outcome.duplicate_of for outcome in expected}
    assert len(huge) > 2
    documents = [{**each, "more": "x" * limit} if each["id"] in huge else each for each in NEWS]
    proxy.rule = lambda r: Answer(413) if r.verb == "_bulk" and len(r.body) > limit else None
    outcomes = ingest(address, documents)
    assert proxy.faults
    assert {o.id for o in outcomes if o.outcome == "failed"} == huge
    for outcome in outcomes:
        if outcome.outcome == "failed":
            assert "takes no request of this size (http.max_content_length)" in (outcome.reason or "")
            assert outcome.document == documents[int(outcome.id or "")]
    assert contents(direct) == unharmed([each for each in NEWS if each["id"] not in huge])[1]
