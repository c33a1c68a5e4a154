"""Seen items on user documents of somebody else's."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import SeenItems
from tests.client import CONFIG, PROFILE, Clock, before, source

if TYPE_CHECKING:
    from elasticsearch import Elasticsearch

pytestmark = [pytest.mark.elasticsearch, pytest.mark.slow]


@pytest.fixture
def seen(client: Elasticsearch, users: str) -> SeenItems:
    """Seen items in that index."""
    seen = SeenItems(client, index=users, **CONFIG)
    seen.setup()
    return seen


# --- in a user index of somebody else's --------------------------------------------------------------------


def test_setting_up_adds_our_field_to_a_mapping_and_keeps_the_rest(client: Elasticsearch, users: str) -> None:
    before = client.indices.get_mapping(index=users)[users]["mappings"]
    seen = SeenItems(client, index=users, **CONFIG)
    assert [seen.setup(), seen.setup()] == ["added", "unchanged"]
    after = client.indices.get_mapping(index=users)[users]["mappings"]
    ours = after["properties"].pop("seen")
    assert (after["properties"], after["dynamic"]) == (before["properties"], before["dynamic"])
    assert after["_meta"]["owner"] == "web"
    assert after["_meta"]["es_simhash"]["seen"] == {**CONFIG, "period": 0}
    assert (ours["dynamic"], ours["properties"].keys()) == (
        "strict",
        {"filters", "newest", "added", "forgotten", "mark"},
    )


def test_nobodys_write_is_lost_when_others_write_other_fields_at_the_same_time(
    client: Elasticsearch, users: str, seen: SeenItems
) -> None:
    begin, end = threading.Barrier(2), threading.Event()

    def visit() -> int:
        """Partial updates of another field until the adds are over; returns the last that was acknowledged."""
        begin.wait()
        visits = 3
        while not end.is_set():
            client.update(index=users, id="ann", doc={"visits": visits + 1}, retry_on_conflict=1_000)
            visits += 1
        return visits

    with ThreadPoolExecutor(1) as pool:
        visits = pool.submit(visit)
        begin.wait()
        try:
            for n in range(25):
                seen.add("ann", [n])
        finally:
            end.set()
        last = visits.result()
    assert last > 3
    assert seen.unseen("ann", range(26)) == [25]
    assert {**source(client, users), "seen": None} == {**PROFILE, "visits": last, "seen": None}


def test_a_profile_that_is_replaced_whole_takes_the_seen_items_along_and_adds_go_on(
    client: Elasticsearch, users: str, seen: SeenItems
) -> None:
    seen.add("ann", ["before"])
    before(seen._store, "write_users", lambda: client.index(index=users, id="ann", document=PROFILE))
    assert seen.add("ann", ["ours"]) == 1
    assert seen.unseen("ann", ["before", "ours"]) == ["before"]
    assert {**source(client, users), "seen": None} == {**PROFILE, "seen": None}


def test_a_rotation_of_all_finds_what_was_never_refreshed(
    client: Elasticsearch, users: str, seen: SeenItems, clock: Clock
) -> None:
    client.indices.put_settings(index=users, settings={"refresh_interval": "-1"})
    seen.add_many({"ann": ["a"], "bob": ["a"]})
    clock.now += 1
    assert seen.rotate().users == 2


@pytest.mark.parametrize("profile", [{}, PROFILE], ids=["alone", "with other fields"])
def test_a_document_that_vanishes_while_its_seen_items_are_removed_is_gone(
    client: Elasticsearch, users: str, seen: SeenItems, profile: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    client.index(index=users, id="ann", document=profile)
    seen.add("ann", ["a"])
    send = client.transport.perform_request

    def racing(method: str, path: str, **arguments: Any) -> Any:
        if "/_bulk" in path:
            client.options(ignore_status=404).delete(index=users, id="ann")
        return send(method, path, **arguments)

    monkeypatch.setattr(client.transport, "perform_request", racing)
    seen.remove("ann")
    assert not client.exists(index=users, id="ann")
