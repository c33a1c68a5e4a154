"""Groups, their members, and what a person should look at."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from es_simhash import Documents, DuplicateRule
from es_simhash.errors import InputError
from es_simhash.fingerprinting.scheme import DEFAULT
from es_simhash.tools.review import groups, members, review
from tests.contract import LinearStore
from tests.contract.documents import entry, write
from tests.deciding.conftest import store as store

if TYPE_CHECKING:
    from es_simhash.contract import Store


def test_a_group_has_its_members_by_distance_and_a_summary(store: Store) -> None:
    write(store, entry("a", 0, title="T"), entry("b", 7, group="a", duplicate_of="a"), entry("alone", 1 << 50))
    write(store, entry("c", 0, digest="digest of a", group="a", duplicate_of="a"), entry("short", None, group="a"))
    documents = Documents(store)
    [summary] = groups(documents)
    assert (summary.group, summary.members, summary.exact, summary.farthest) == ("a", 4, 1, 3)
    for id in ("a", "b", "short"):
        found = [(each.id, each.distance, each.exact) for each in members(documents, id)]
        assert found == [("a", 0, False), ("c", 0, True), ("b", 3, False), ("short", None, False)]
    assert [each.id for each in members(documents, "alone")] == ["alone"]
    with pytest.raises(InputError, match="there is no document with id 'none'"):
        members(documents, "none")
    assert documents.sources(["a", "none"]) == {"a": {"id": "a", "title": "T"}}
    assert documents.sources(["a"], fields=["title"]) == {"a": {"title": "T"}}
    assert list(groups(documents, filter={"ids": {"values": ["alone", "b"]}})) == []


def test_near_misses_are_the_pairs_just_outside_the_rule_in_different_groups() -> None:
    store = LinearStore()
    store.set_up(DEFAULT)
    values = {"a": 0, "within": 0b111, "just outside": 0xF0, "farther": 0x1F00, "far": (1 << 64) - 1}
    write(store, *(entry(id, value) for id, value in values.items()))
    documents = Documents(store)
    documents.group(rule="fingerprint")
    found = review(documents, near_misses=2, rule="fingerprint")
    assert [({miss.a_id, miss.b_id}, miss.distance) for miss in found.near_misses] == [
        ({"a", "just outside"}, 4),
        ({"a", "farther"}, 5),
    ]
    [group] = found.groups
    assert (group.summary.members, group.outside) == (2, frozenset())
    documents.group(rule=DuplicateRule("fingerprint", max_distance=4))
    [group] = review(documents, rule="fingerprint").groups
    assert [member.id for member in group.members] == ["a", "just outside", "within"]
    assert group.outside == {"just outside"}
