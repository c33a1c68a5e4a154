"""Requests become calls, and answers replies: what a server is sent and may answer, without one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import Scheme
from es_simhash.contract import ChangeUsers, Link, Relink, Remove, RemoveUsers, Scan, SetUp, UserState, Write
from es_simhash.drive import run
from es_simhash.errors import NotSetUp, SchemeMismatch, StoreError, StoreUnavailable
from es_simhash.stores.elasticsearch import documents, users  # noqa: F401  they register their steps
from es_simhash.stores.elasticsearch.mapping import DOCUMENTS
from es_simhash.stores.elasticsearch.steps import steps
from es_simhash.testing.documents import entry

if TYPE_CHECKING:
    from es_simhash.contract import Op
    from es_simhash.stores.elasticsearch.steps import Call


def performed(op: Op[Any], *answers: Any) -> tuple[list[Call], Any]:
    """The calls that a request takes where these are the answers, and its reply."""
    calls: list[Call] = []
    left = iter(answers)

    def answer(call: Call) -> Any:
        calls.append(call)
        reply = next(left)
        if isinstance(reply, Exception):
            raise reply
        return reply

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


def item(kind: str, id: str, status: int, error: str | None = None) -> dict[str, Any]:
    """What a server says of one document of a bulk request."""
    result: dict[str, Any] = {"_id": id, "status": status}
    return {kind: result | ({"error": {"type": error, "reason": "…"}} if error else {"result": "done"})}


PASSING = [
    (429, "es_rejected_execution_exception"),
    (503, "unavailable_shards_exception"),
    (500, "node_closed_exception"),
]


@pytest.mark.parametrize(("status", "error"), PASSING)
def test_a_document_that_meets_an_error_that_passes_is_sent_again_and_not_refused(status: int, error: str) -> None:
    items = [
        item("index", "a", 201),
        item("index", "b", status, error),
        item("index", "c", 400, "mapper_parsing_exception"),
        item("update", "d", status, error),
    ]
    entries = (*(entry(id, 1) for id in "abc"), replace(entry("d", 1), source="", version=(1, 1)))
    _, written = performed(Write(entries), {"items": items})
    assert written.busy == {"b", "d"}
    assert written.refused.keys() == {"c"}
    assert not written.conflicts


@pytest.mark.parametrize(("status", "error"), PASSING)
def test_a_user_whose_change_meets_an_error_that_passes_is_tried_again_and_not_refused(status: int, error: str) -> None:
    states = {user: UserState(newest=1) for user in ("ann", "bob")}
    items = [item("create", "ann", status, error), item("create", "bob", 400, "mapper_parsing_exception")]
    _, changed = performed(ChangeUsers(states), {"items": items})
    assert changed.conflicts == {"ann"}
    assert changed.refused.keys() == {"bob"}


@pytest.mark.parametrize(("status", "error"), PASSING)
def test_links_and_removals_that_meet_an_error_that_passes_may_be_asked_for_again(status: int, error: str) -> None:
    with pytest.raises(StoreUnavailable):
        performed(Relink({"a": Link("a", None, (1, 1))}), {"items": [item("update", "a", status, error)]})
    with pytest.raises(StoreUnavailable):
        performed(Remove(("a",)), {"items": [item("delete", "a", status, error)]})
    user = {"_id": "ann", "found": True, "_seq_no": 1, "_primary_term": 1, "_source": {"seen": {"newest": 1}}}
    with pytest.raises(StoreUnavailable):
        performed(RemoveUsers(("ann",)), {"docs": [user]}, {"items": [item("delete", "ann", status, error)]})


def test_of_two_who_make_an_index_at_the_same_moment_the_second_changes_nothing() -> None:
    other = {"news": {"mappings": DOCUMENTS.mapping(Scheme(weights="tf"))}}
    taken = StoreError("resource_already_exists_exception: index [news] already exists")
    with pytest.raises(SchemeMismatch, match="at this moment: open it again"):
        performed(SetUp(Scheme()), NotSetUp("no such index"), taken, other)
    same = {"news": {"mappings": DOCUMENTS.mapping(Scheme())}}
    assert performed(SetUp(Scheme()), NotSetUp("no such index"), taken, same)[1] == "unchanged"
