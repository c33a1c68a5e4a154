"""The Calls of requests on seen items, without a server: the test gives the responses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from es_simhash.errors import ConflictError
from es_simhash.stores.elasticsearch.users import fetch_users, remove_users, remove_users_within
from tests.stores.elasticsearch.answered import index_with

if TYPE_CHECKING:
    from collections.abc import Callable

    from es_simhash.stores.elasticsearch.index import Index


@pytest.fixture(autouse=True)
def _without_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("es_simhash.retries.pause", lambda seconds: None)


def index_of_users(*responses: Any) -> Index:
    """Return an Index that gets these responses. The last one is repeated."""
    return index_with(*responses, name="users", last_again=True)


def found(*ids: str, **source: Any) -> dict[str, Any]:
    """Return the response to a request for one document, or for several."""
    documents = [{"_id": id, "found": True, "_seq_no": 3, "_primary_term": 1, "_source": source} for id in ids]
    return documents[0] if len(ids) == 1 else {"docs": documents}


def done(kind: str, **statuses: int) -> dict[str, Any]:
    error = {"error": {"type": "some_exception", "reason": "why"}}
    return {"items": [{kind: {"_id": id, "status": s, **(error if s >= 300 else {})}} for id, s in statuses.items()]}


def test_after_a_conflict_a_removal_reads_only_the_remaining_users_again() -> None:
    there = {"seen": {"newest": 1}, "name": "安妮"}
    index = index_of_users(
        found("ann", "bob", **there),
        done("update", ann=200, bob=409),
        found("bob", **there),
        done("update", bob=200),
    )
    assert remove_users(index, ("ann", "bob")) == {"ann", "bob"}
    reads, again = [call for call in index.client.calls if call.path != "/users/_bulk"]
    assert reads.body["ids"] == ["ann", "bob"]
    assert again.path == "/users/_doc/bob"


def test_a_removal_with_lasting_conflicts_gives_up_at_the_deadline() -> None:
    both = {**found("ann", seen={"newest": 1}), **done("delete", ann=409)}  # the response to either Call
    with pytest.raises(ConflictError, match="seen items of users ann were not removed"):
        remove_users_within(index_of_users(both), ("ann",), 0.05)


@pytest.mark.parametrize("user", ["..", ".a", "a/b", "a b", "安妮", "https://a.cn/1?b=2#c", "%2e", "a\n", 513 * "a"])
def test_a_user_whose_id_cannot_stand_in_a_path_is_read_by_a_multi_get(user: str) -> None:
    index = index_of_users({"docs": [found(user, seen={"newest": 7})]})
    assert fetch_users(index, (user,))[user].newest == 7
    [call] = index.client.calls
    assert (call.path, call.body) == ("/users/_mget", {"ids": [user]})


@pytest.mark.parametrize("user", ["ann", "a.b-c_1", "-", "_x"])
def test_any_other_user_is_read_by_a_get(user: str) -> None:
    index = index_of_users(found(user, seen={"newest": 7}))
    assert fetch_users(index, (user,))[user].newest == 7
    [call] = index.client.calls
    assert (call.method, call.path, call.body) == ("GET", f"/users/_doc/{user}", None)
    assert fetch_users(index_of_users({"_id": user, "found": False}), (user,)) == {}


@pytest.mark.parametrize("method", [fetch_users, remove_users])
def test_no_users_take_no_call(method: Callable[..., Any]) -> None:
    index = index_of_users(None)
    method(index, ())
    assert index.client.calls == []
