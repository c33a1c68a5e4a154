"""The Calls that set up an index, its keys and seen items, also while another program does the same."""

from __future__ import annotations

from typing import Any

import pytest

from es_simhash import Scheme
from es_simhash.bloom.seen import SeenConfig
from es_simhash.errors import (
    AccessDenied,
    NotSetUp,
    SchemeMismatch,
    StoreError,
    StoreUnavailable,
)
from es_simhash.stores.elasticsearch.documents import set_up
from es_simhash.stores.elasticsearch.keys_state import set_up_keys
from es_simhash.stores.elasticsearch.mapping import DOCUMENTS, META, SEEN
from es_simhash.stores.elasticsearch.set_up import identify
from es_simhash.stores.elasticsearch.users import set_up_seen
from tests.stores.elasticsearch.answered import SHARDS, index_with

OURS, THEIRS = Scheme(), Scheme(weights="tf")
USABLE: list[Any] = [
    {"timed_out": False, "_shards": SHARDS, "hits": {"hits": []}},  # no document has custom routing
    {"news": {"settings": {}}},
]
"""The responses to the questions whether an index can be used, before fields are added to it."""


def mapped(mapping: dict[str, Any]) -> dict[str, Any]:
    """Return the response to a request for the mapping."""
    return {"news": {"mappings": mapping}}


def test_of_two_programs_that_make_an_index_at_the_same_moment_the_second_changes_nothing() -> None:
    exists = StoreError("resource_already_exists_exception: index [news] already exists")
    with pytest.raises(SchemeMismatch, match=THEIRS.version):
        set_up(index_with(NotSetUp("no such index"), exists, mapped(DOCUMENTS.mapping(THEIRS))), OURS)
    same = mapped(DOCUMENTS.mapping(OURS))
    assert set_up(index_with(NotSetUp("no such index"), exists, same), OURS) == "unchanged"


def test_of_two_programs_that_add_to_an_index_at_the_same_moment_the_first_gets_the_error() -> None:
    index = index_with(mapped({}), *USABLE, {}, mapped(DOCUMENTS.mapping(OURS)))
    assert set_up(index, OURS) == "added"
    assert [(call.method, call.path) for call in index.client.calls] == [
        ("GET", "/news/_mapping"),
        ("POST", "/news/_search"),
        ("GET", "/news/_settings/index.mapping.source.mode"),
        ("PUT", "/news/_mapping"),
        ("GET", "/news/_mapping"),
    ]
    with pytest.raises(SchemeMismatch, match=THEIRS.version):
        set_up(index_with(mapped({}), *USABLE, {}, mapped(DOCUMENTS.mapping(THEIRS))), OURS)
    ours, theirs = SeenConfig(), SeenConfig(capacity=5)
    with pytest.raises(SchemeMismatch, match="'capacity': 5"):
        set_up_seen(index_with(mapped({}), *USABLE, {}, mapped(SEEN.mapping(theirs))), ours)


def test_the_check_of_routing_is_repeated_and_not_left_out_if_the_server_is_busy() -> None:
    with pytest.raises(StoreUnavailable):
        set_up(index_with(mapped({}), StoreUnavailable("busy")), OURS)
    with pytest.raises(StoreError):
        set_up(index_with(mapped({}), {"timed_out": True, "_shards": SHARDS, "hits": {"hits": []}}), OURS)


def test_a_mapping_with_another_scheme_and_missing_fields_is_not_changed() -> None:
    incomplete = DOCUMENTS.mapping(THEIRS)
    del incomplete["properties"]["simhash"]["properties"]["s0"]
    index = index_with(mapped(incomplete))
    with pytest.raises(SchemeMismatch, match=THEIRS.version):
        set_up(index, OURS)
    assert [call.method for call in index.client.calls] == ["GET"]


# --- keys ----------------------------------------------------------------------------------------------------------


def test_keys_are_in_the_mapping_from_its_first_version_and_not_added_to_one_that_was_set_up() -> None:
    index = index_with(NotSetUp("no such index"), {})
    set_up(index, OURS, keys=True)
    assert index.client.calls[1].body["mappings"]["_meta"][META]["keys"] == "complete"
    index = index_with(mapped({}), *USABLE, {}, mapped(DOCUMENTS.mapping(OURS)))
    set_up(index, OURS, keys=True)
    assert index.client.calls[3].body["_meta"][META]["keys"] == "complete"
    incomplete = DOCUMENTS.mapping(OURS)
    del incomplete["properties"]["simhash"]["properties"]["s0"]
    index = index_with(mapped(incomplete), *USABLE, {}, mapped(DOCUMENTS.mapping(OURS)))
    set_up(index, OURS, keys=True)
    assert "keys" not in index.client.calls[3].body["_meta"][META]


def test_the_set_up_of_keys_keeps_everything_else_in_the_mapping() -> None:
    mapping = DOCUMENTS.mapping(OURS)
    mapping["_meta"] = {"owner": "news", META: {**mapping["_meta"][META], "seen": SeenConfig().to_dict()}}
    after = {**mapping, "_meta": {"owner": "news", META: {**mapping["_meta"][META], "keys": "complete"}}}
    empty = {"_shards": SHARDS, "count": 0}
    index = index_with(mapped(mapping), {"_shards": SHARDS}, empty, {}, mapped(after))
    assert set_up_keys(index) == "added"
    [put] = [call for call in index.client.calls if call.method == "PUT"]
    assert (put.path, put.body) == ("/news/_mapping", {"_meta": after["_meta"]})


def test_keys_that_another_program_replaced_are_set_up_again() -> None:
    mapping = DOCUMENTS.mapping(OURS)
    theirs = {**mapping, "_meta": {META: {**mapping["_meta"][META], "rule": {"rule": "exact"}}}}
    both = {**mapping, "_meta": {META: {**theirs["_meta"][META], "keys": "incomplete"}}}
    counted = [{"_shards": SHARDS}, {"_shards": SHARDS, "count": 5}]
    index = index_with(mapped(mapping), *counted, {}, mapped(theirs), *counted, {}, mapped(both))
    assert set_up_keys(index) == "added"
    first, second = (call.body["_meta"][META] for call in index.client.calls if call.method == "PUT")
    assert first == {**mapping["_meta"][META], "keys": "incomplete"}
    assert second == both["_meta"][META]


def test_a_user_who_may_not_read_settings_is_warned_once_that_a_new_index_goes_unnoticed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    denied = AccessDenied("action [indices:monitor/settings/get] is unauthorized")
    index = index_with(denied, denied)
    assert identify(index) == identify(index) == {("news", "")}
    [said] = [record.getMessage() for record in caplog.records]
    assert said.endswith("grant view_index_metadata")


def test_nothing_is_at_the_address_of_an_index_that_does_not_exist() -> None:
    assert identify(index_with(NotSetUp("no such index [news]"))) == frozenset()
