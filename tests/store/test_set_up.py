"""The laws of a store itself: set up, described, changed."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from es_simhash.bloom.seen import SeenConfig
from es_simhash.errors import NotSetUp, SchemeMismatch
from es_simhash.rows import Description
from es_simhash.similarity.rule import DuplicateRule
from es_simhash.text.scheme import DEFAULT, Scheme
from tests.store.documents import DOCUMENTS, entry, put

if TYPE_CHECKING:
    from tests.store.conftest import Stores

SEEN = Description(seen=SeenConfig(capacity=50, generations=3, period=60))
RULE = DuplicateRule(
    rule="copy", min_similarity=0.7, within=timedelta(days=7), time_field="date", text_field=("title", "body")
)


def test_a_store_that_was_not_set_up_raises(stores: Stores) -> None:
    store = stores.new()
    with pytest.raises(NotSetUp, match=r"setup\(\)"):
        store.describe()


@pytest.mark.parametrize("keys", [True, False])
def test_a_store_keeps_how_it_was_set_up(stores: Stores, keys: bool) -> None:
    wanted = Description(Scheme(weights="tf", stop_words="none"), keys, RULE, "url", SEEN.seen)
    store = stores.ready(wanted)
    description = stores.again(store).describe()
    assert description.instance
    assert replace(description, instance="") == wanted


def test_a_second_set_up_changes_nothing(stores: Stores) -> None:
    store = stores.ready()
    former = store.describe()
    assert stores.again(store).set_up(DOCUMENTS) == "unchanged"
    assert store.set_up(Description()) == "unchanged"
    assert store.set_up(replace(DOCUMENTS, rule=RULE, keys=False)) == "unchanged"
    assert store.describe() == former


def test_seen_items_are_added_to_a_store_with_documents(stores: Stores) -> None:
    store = stores.ready()
    put(store, entry("a"))
    assert store.set_up(SEEN) == "added"
    description = stores.again(store).describe()
    assert (description.scheme, description.keys, description.seen) == (DEFAULT, True, SEEN.seen)
    assert store.read(["a"])


def test_documents_are_added_to_a_store_with_seen_items(stores: Stores) -> None:
    store = stores.ready(SEEN)
    assert store.describe().scheme is None
    assert store.set_up(replace(DOCUMENTS, rule=RULE)) == "added"
    put(store, entry("a"))
    description = stores.again(store).describe()
    assert replace(description, instance="") == replace(DOCUMENTS, rule=RULE, seen=SEEN.seen)


def test_another_scheme_and_other_seen_items_are_refused(stores: Stores) -> None:
    store = stores.ready(replace(DOCUMENTS, seen=SEEN.seen))
    former = store.describe()
    other = Description(seen=SeenConfig(capacity=51))
    for changed, words in ((replace(former, scheme=Scheme(weights="tf")), "tf"), (other, "50")):
        with pytest.raises(SchemeMismatch, match=words):
            store.set_up(changed)
    assert store.describe() == former


def test_the_rule_is_changed_and_nothing_else(stores: Stores) -> None:
    store = stores.ready(replace(DOCUMENTS, seen=SEEN.seen))
    former = store.describe()
    store.set_up(replace(former, rule=RULE, id_field="url", stale=True, seen=None, instance="other"), change=True)
    description = stores.again(store).describe()
    assert description == replace(former, rule=RULE, id_field="url", stale=True)
    store.set_up(replace(description, stale=False), change=True)
    assert not store.describe().stale


def test_each_store_is_another_one(stores: Stores) -> None:
    one, two = stores.ready(), stores.ready()
    assert one.describe().instance != two.describe().instance
    assert stores.again(one).describe().instance == one.describe().instance


def test_writes_keep_the_instance(stores: Stores) -> None:
    store = stores.ready()
    instance = store.describe().instance
    put(store, entry("a"), entry("b"))
    store.remove({"a": None})
    assert store.describe().instance == instance


def test_a_store_is_closed_twice(stores: Stores) -> None:
    store = stores.ready()
    store.close()
    store.close()
