"""The Calls of requests on seen items, without a server: the test gives the responses."""

from __future__ import annotations

from typing import Any

import pytest
from es_simhash.drive import Pause, run
from es_simhash.stores.elasticsearch.handlers import steps

from es_simhash.errors import ConflictError, StoreUnavailable
from es_simhash.stores.elasticsearch import users
from es_simhash.stores.elasticsearch.calls import Call, Index
from es_simhash.stores.elasticsearch.client import ELASTICSEARCH

INDEX = Index("users", "http://es.example:9200/users", ELASTICSEARCH)


def perform(request: Any, *responses: Any) -> tuple[Any, list[Call]]:
    """Return the reply and the Calls. The last response is repeated. Pauses take no time."""
    left, calls = list(responses), []

    def answer(call: Call) -> Any:
        calls.append(call)
        return left.pop(0) if len(left) > 1 else left[0]

    return run(_without_pauses(steps(request, INDEX)), answer), calls


def _without_pauses(work: Any) -> Any:
    reply = None
    while True:
        try:
            request = work.send(reply)
        except StopIteration as end:
            return end.value
        reply = None if isinstance(request, Pause) else (yield request)


def found(*ids: str, **source: Any) -> dict[str, Any]:
    """Return the response to a request for one document, or for several."""
    documents = [{"_id": id, "found": True, "_seq_no": 3, "_primary_term": 1, "_source": source} for id in ids]
    return documents[0] if len(ids) == 1 else {"docs": documents}


def done(kind: str, **statuses: int) -> dict[str, Any]:
    error = {"error": {"type": "some_exception", "reason": "why"}}
    return {"items": [{kind: {"_id": id, "status": s, **(error if s >= 300 else {})}} for id, s in statuses.items()]}


def test_after_a_conflict_a_removal_reads_only_the_remaining_users_again() -> None:
    there = {"seen": {"newest": 1}, "name": "安妮"}
    removed, calls = perform(
        RemoveUsers(("ann", "bob")),
        found("ann", "bob", **there),
        done("update", ann=200, bob=409),
        found("bob", **there),
        done("update", bob=200),
    )
    assert removed == {"ann", "bob"}
    reads, again = [call for call in calls if call.path != "/users/_bulk"]
    assert reads.body["ids"] == ["ann", "bob"]
    assert again.path == "/users/_doc/bob"


def test_a_removal_with_lasting_conflicts_gives_up_at_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(users, "REMOVAL_DEADLINE", 0.05)
    both = {**found("ann", seen={"newest": 1}), **done("delete", ann=409)}  # the response to either Call
    with pytest.raises(ConflictError, match="seen items of users ann were not removed"):
        perform(RemoveUsers(("ann",)), both)


@pytest.mark.parametrize("user", ["..", ".a", "a/b", "a b", "安妮", "https://a.cn/1?b=2#c", "%2e", "a\n", 513 * "a"])
def test_a_user_whose_id_cannot_stand_in_a_path_is_read_by_a_multi_get(user: str) -> None:
    states, [call] = perform(FetchUsers((user,)), {"docs": [found(user, seen={"newest": 7})]})
    assert states[user].newest == 7
    assert (call.path, call.body) == ("/users/_mget", {"ids": [user]})


@pytest.mark.parametrize("user", ["ann", "a.b-c_1", "-", "_x"])
def test_any_other_user_is_read_by_a_get(user: str) -> None:
    states, [call] = perform(FetchUsers((user,)), found(user, seen={"newest": 7}))
    assert states[user].newest == 7
    assert (call.method, call.path, call.body) == ("GET", f"/users/_doc/{user}", None)
    assert perform(FetchUsers((user,)), {"_id": user, "found": False})[0] == {}


@pytest.mark.parametrize("request_", [FetchUsers(()), RemoveUsers(())], ids=["fetch", "remove"])
def test_no_users_take_no_call(request_: Any) -> None:
    assert perform(request_, None)[1] == []


@pytest.mark.parametrize(
    ("request_", "kind"),
    [(Remove(("a", "b")), "delete"), (Relink({}), "update"), (RemoveUsers(("a", "b")), "delete")],
    ids=["remove", "relink", "remove users"],
)
def test_a_server_that_is_too_busy_is_a_retryable_error(request_: Any, kind: str) -> None:
    with pytest.raises(StoreUnavailable):
        perform(request_, {**found("a", "b", seen={"newest": 1}), **done(kind, a=200, b=503)})
