"""The calls that a request takes, without a server: answers are given to them by hand."""

from __future__ import annotations

from typing import Any

import pytest

from es_simhash.contract import FetchUsers, Relink, Remove, RemoveUsers
from es_simhash.drive import Pause, run
from es_simhash.errors import ConflictError, StoreUnavailable
from es_simhash.stores.elasticsearch import store as _  # noqa: F401  it registers the steps
from es_simhash.stores.elasticsearch import users
from es_simhash.stores.elasticsearch.steps import Call, steps

NAME = "http://es.example:9200/users"


def perform(op: Any, *answers: Any) -> tuple[Any, list[Call]]:
    """The reply, and the calls; the last answer is given again and again. Pauses are over at once."""
    left, calls = list(answers), []

    def answer(call: Call) -> Any:
        calls.append(call)
        return left.pop(0) if len(left) > 1 else left[0]

    return run(_unpaused(steps(op, "users", NAME)), answer), calls


def _unpaused(work: Any) -> Any:
    reply = None
    while True:
        try:
            request = work.send(reply)
        except StopIteration as end:
            return end.value
        reply = None if isinstance(request, Pause) else (yield request)


def found(*ids: str, **source: Any) -> dict[str, Any]:
    return {"docs": [{"_id": id, "found": True, "_seq_no": 3, "_primary_term": 1, "_source": source} for id in ids]}


def done(kind: str, **statuses: int) -> dict[str, Any]:
    error = {"error": {"type": "some_exception", "reason": "why"}}
    return {"items": [{kind: {"_id": id, "status": s, **(error if s >= 300 else {})}} for id, s in statuses.items()]}


def test_a_removal_that_was_beaten_reads_again_only_those_who_are_left() -> None:
    there = {"seen": {"newest": 1}, "name": "安妮"}
    removed, calls = perform(
        RemoveUsers(("ann", "bob")),
        found("ann", "bob", **there),
        done("update", ann=200, bob=409),
        found("bob", **there),
        done("update", bob=200),
    )
    assert removed == {"ann", "bob"}
    assert [call.arguments["ids"] for call in calls if call.method == "mget"] == [["ann", "bob"], ["bob"]]


def test_a_removal_that_others_keep_beating_is_given_up_at_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(users, "REMOVAL_DEADLINE", 0.05)
    both = {**found("ann", seen={"newest": 1}), **done("delete", ann=409)}  # the answer to either call
    with pytest.raises(ConflictError, match="seen items of users ann were not removed"):
        perform(RemoveUsers(("ann",)), both)


@pytest.mark.parametrize("op", [FetchUsers(()), RemoveUsers(())], ids=["fetch", "remove"])
def test_of_nobody_nothing_is_asked(op: Any) -> None:
    assert perform(op, None)[1] == []


@pytest.mark.parametrize(
    ("op", "kind"),
    [(Remove(("a", "b")), "delete"), (Relink({}), "update"), (RemoveUsers(("a", "b")), "delete")],
    ids=["remove", "relink", "remove users"],
)
def test_what_a_server_is_too_busy_for_is_an_error_that_passes(op: Any, kind: str) -> None:
    with pytest.raises(StoreUnavailable):
        perform(op, {**found("a", "b", seen={"newest": 1}), **done(kind, a=200, b=503)})
