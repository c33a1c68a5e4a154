"""Which failures of a server pass, in every form in which a server reports them."""

from __future__ import annotations

from typing import Any

import pytest

from es_simhash.errors import InputError, StoreError, StoreUnavailable
from es_simhash.stores.elasticsearch.failures import AWAY, OVERLOAD, ShardsAway, check_complete, error_from_body, passes

GONE = {"type": "node_disconnected_exception", "reason": "[node-2][127.0.0.1:9302][…[phase/fetch/id]] disconnected"}
BAD_QUERY = {"type": "query_shard_exception", "reason": "no such field"}
PHASE = {"type": "search_phase_execution_exception", "reason": "", "phase": "fetch", "grouped": True}
NO_NODE = {"type": "illegal_state_exception", "reason": "no node found for id: fuErS9oaTYmReDYeTslVEA"}
REPORTS: dict[str, dict[str, Any]] = {
    "by its id alone": {**NO_NODE, "root_cause": [NO_NODE]},
    "alone": GONE,
    "as the root cause": {**PHASE, "root_cause": [GONE]},
    "as one root cause of two": {**PHASE, "root_cause": [BAD_QUERY, GONE]},
    "where the root causes are empty": {**PHASE, "root_cause": [], "caused_by": GONE},
    "at any depth": {**PHASE, "root_cause": [], "caused_by": {"type": "exception", "caused_by": {**GONE}}},
    "in a failed shard": {**PHASE, "root_cause": [], "failed_shards": [{"shard": 0, "reason": GONE}]},
    "in the cause of a failed shard": {
        **PHASE,
        "failed_shards": [{"shard": 1, "reason": {"type": "remote_transport_exception", "caused_by": GONE}}],
    },
}


@pytest.mark.parametrize("how", REPORTS)
def test_a_node_that_dropped_out_passes_wherever_the_server_reports_it(how: str) -> None:
    body = {"error": REPORTS[how], "status": 500}
    assert passes(body, 500)
    error = error_from_body(body, 500, "es")
    assert isinstance(error, ShardsAway)
    assert error.retryable


@pytest.mark.parametrize("kind", sorted(AWAY | OVERLOAD))
def test_a_passing_type_passes_whatever_its_status(kind: str) -> None:
    error = error_from_body({"error": {"type": kind, "reason": "…"}}, 500, "es")
    assert isinstance(error, StoreUnavailable)
    assert isinstance(error, ShardsAway) == (kind in AWAY)


@pytest.mark.parametrize("status", [429, 502, 503, 504])
@pytest.mark.parametrize("body", [None, "", "<html>busy</html>", {}, {"error": "busy"}, {"error": None}])
def test_a_busy_server_passes_though_its_body_says_nothing(body: Any, status: int) -> None:
    error = error_from_body(body, status, "es")
    assert isinstance(error, StoreUnavailable)
    assert not isinstance(error, ShardsAway)
    assert f"es is too busy or not ready (HTTP {status}" in str(error)


def test_a_search_without_a_shard_that_could_say_why_passes() -> None:
    body = {"error": {**PHASE, "reason": "all shards failed", "root_cause": [], "failed_shards": []}}
    assert isinstance(error_from_body(body, 503, "es"), ShardsAway)


@pytest.mark.parametrize(
    "error",
    [BAD_QUERY, {**PHASE, "root_cause": [BAD_QUERY]}, {"type": "unheard_of_exception"}, {}, "a text", None, [], [GONE]],
)
@pytest.mark.parametrize("status", [400, 500])
def test_another_failure_lasts(error: Any, status: int) -> None:
    body = {"error": error}
    if error != [GONE]:
        assert not passes(body, status)
        assert isinstance(error_from_body(body, status, "es"), InputError | StoreError)


@pytest.mark.parametrize(("status", "passing"), [(403, False), (429, True), (503, True)])
def test_a_block_passes_if_the_server_lifts_it_itself(status: int, passing: bool) -> None:
    blocked = {"type": "cluster_block_exception", "reason": "index [news] blocked by: […]"}
    assert passes({"error": {**blocked, "root_cause": [blocked]}}, status) == passing


@pytest.mark.parametrize(("reason", "retryable"), [(GONE, True), (BAD_QUERY, False), (None, True)])
def test_a_reply_with_failed_shards_is_retried_if_their_failures_pass(reason: Any, retryable: bool) -> None:
    failures = [] if reason is None else [{"shard": 0, "reason": BAD_QUERY}, {"shard": 1, "reason": reason}]
    shards = {"total": 3, "successful": 1, "failed": 2, "failures": failures}
    with pytest.raises(StoreError, match="2 of 3 shards failed") as raised:
        check_complete({"_shards": shards}, "es")
    assert raised.value.retryable == retryable


def test_another_illegal_state_lasts() -> None:
    body = {"error": {"type": "illegal_state_exception", "reason": "no parent found"}, "status": 500}
    assert not error_from_body(body, 500, "es").retryable
