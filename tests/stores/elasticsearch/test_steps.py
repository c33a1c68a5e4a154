"""Requests become calls, and answers replies: what a server is sent and may answer, without one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from es_simhash.drive import run
from es_simhash.ops import Scan
from es_simhash.stores.elasticsearch import documents  # noqa: F401  it registers its steps
from es_simhash.stores.elasticsearch.steps import steps

if TYPE_CHECKING:
    from es_simhash.ops import Op
    from es_simhash.stores.elasticsearch.steps import Call


def performed(op: Op[Any], *answers: Any) -> tuple[list[Call], Any]:
    """The calls that a request takes where these are the answers, and its reply."""
    calls: list[Call] = []
    left = iter(answers)

    def answer(call: Call) -> Any:
        calls.append(call)
        return next(left)

    return calls, run(steps(op, "news", "http://here/news"), answer)


SHARDS = {"total": 1, "successful": 1, "skipped": 0, "failed": 0}


def test_a_scan_without_fields_brings_none_along_and_looks_at_every_document() -> None:
    hit = {"_id": "a", "_seq_no": 1, "_primary_term": 1, "sort": [0]}
    page = {"timed_out": False, "_shards": SHARDS, "pit_id": "pit", "hits": {"hits": [hit]}}
    calls, reply = performed(Scan(fields=()), {"id": "pit"}, page, {})
    assert [call.method for call in calls] == ["open_point_in_time", "search", "close_point_in_time"]
    assert calls[1].arguments["source"] is False, "an empty list would bring all fields"
    assert calls[1].arguments["query"] == {"bool": {"filter": []}}
    assert [(row.id, row.digest) for row in reply.rows] == [("a", "")]
