"""What the results of the documents of a bulk request mean: busy, refused, a conflict, or an error."""

from __future__ import annotations

from dataclasses import replace

import pytest

from es_simhash.contract import Link, UserState
from es_simhash.errors import StoreError, StoreUnavailable
from es_simhash.stores.elasticsearch.documents import annotate, refresh, relink, remove, write
from es_simhash.stores.elasticsearch.users import change_users, remove_users
from tests.contract.documents import entry, keys
from tests.stores.elasticsearch.answered import RETRYABLE, SHARDS, index_with, item


@pytest.mark.parametrize(("status", "error"), RETRYABLE)
def test_a_document_with_a_retryable_error_is_busy_and_not_refused(status: int, error: str) -> None:
    items = [
        item("index", "a", 201),
        item("index", "b", status, error),
        item("index", "c", 400, "mapper_parsing_exception"),
    ]
    written = write(index_with({"items": items}), tuple(entry(id, 1) for id in "abc"), 64)
    assert written.busy == {"b"}
    assert written.refused.keys() == {"c"}
    assert not written.conflicts


@pytest.mark.parametrize(("status", "error"), RETRYABLE)
def test_a_user_with_a_retryable_error_is_a_conflict_and_not_refused(status: int, error: str) -> None:
    states = {user: UserState(newest=1) for user in ("ann", "bob")}
    items = [item("create", "ann", status, error), item("create", "bob", 400, "mapper_parsing_exception")]
    changed = change_users(index_with({"items": items}), states)
    assert changed.conflicts == {"ann"}
    assert changed.refused.keys() == {"bob"}


@pytest.mark.parametrize(("status", "error"), RETRYABLE)
def test_links_and_removals_with_a_retryable_error_raise_a_retryable_error(status: int, error: str) -> None:
    with pytest.raises(StoreUnavailable):
        relink(index_with({"items": [item("update", "a", status, error)]}), {"a": Link("a", None, (1, 1))})
    deleting = {"items": [item("delete", "a", status, error)]}
    with pytest.raises(StoreUnavailable):
        remove(index_with(deleting), ("a",))
    user = {"_id": "a", "found": True, "_seq_no": 1, "_primary_term": 1, "_source": {"seen": {"newest": 1}}}
    with pytest.raises(StoreUnavailable):
        remove_users(index_with(user, deleting), ("a",))


@pytest.mark.parametrize(("status", "error"), RETRYABLE)
def test_a_row_with_a_retryable_error_is_busy_and_neither_refused_nor_a_conflict(status: int, error: str) -> None:
    rows = tuple(replace(entry(id, 1).row, version=(1, 1)) for id in "ab")
    written = annotate(index_with({"items": [item("update", "a", 200), item("update", "b", status, error)]}), rows, 64)
    assert written.busy == {"b"}
    assert not written.refused
    assert not written.conflicts


def test_a_row_that_is_stored_already_is_no_conflict() -> None:
    """The response to the first request got lost, and the request was sent again."""
    row = replace(entry("a", 1).row, version=(1, 1), keys=keys("sb", "sc", "sa"), length=9)
    index = index_with({"items": [item("update", "a", 200)]})
    annotate(index, (row,), 64)
    simhash = index.client.calls[0].body[1]["doc"]["simhash"]
    simhash = {**simhash, "keys": sorted(simhash["keys"])}  # as a synthetic _source returns them
    stored = {"_id": "a", "found": True, "_seq_no": 2, "_primary_term": 1, "_source": {"simhash": simhash}}
    conflict = {"items": [item("update", "a", 409, "version_conflict_engine_exception")]}
    assert not annotate(index_with(conflict, stored), (row,), 64).conflicts
    changed = {**stored, "_source": {"simhash": {**simhash, "group": "other"}}}
    assert annotate(index_with(conflict, changed), (row,), 64).conflicts == {"a"}


def test_a_refresh_with_a_failed_shard_is_an_error() -> None:
    refresh(index_with({"_shards": SHARDS}))
    failures = [{"shard": 0, "reason": {"type": "engine_closed_exception", "reason": "closed"}}]
    failed = {"_shards": {"total": 2, "successful": 1, "failed": 1, "failures": failures}}
    with pytest.raises(StoreError, match="1 of 2 shards failed: engine_closed_exception: closed") as caught:
        refresh(index_with(failed))
    assert caught.value.retryable
