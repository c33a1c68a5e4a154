"""Block keys change how fingerprints are looked up, and no outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from es_simhash import Documents, NotSetUp, Scheme
from es_simhash.contract import Candidates, KeysState
from es_simhash.search.blocks import block_keys
from es_simhash.stores.address import open_store
from tests.contract import LinearStore
from tests.contract.watched import StoreCall, WatchedStore
from tests.deciding.test_keys import CONFIRM, LONG, SENTENCES, documents

if TYPE_CHECKING:
    from collections.abc import Callable

    from es_simhash.contract import Store

ITEMS = [{"id": f"d{n}", "text": LONG + "！" * n} for n in range(5)]
"""Documents with one fingerprint, and another digest each."""


class Recording(WatchedStore):
    """A LinearStore that keeps the requests for candidates."""

    def __init__(self) -> None:
        super().__init__(LinearStore(lagging=True))
        self.asked: list[Candidates] = []

    def perform(self, request: StoreCall) -> Any:
        if request.method == "candidates":
            self.asked.append(request.query)
        return super().perform(request)


def outcomes(store: Store, items: list[dict[str, Any]], keys: list[str], scheme: Scheme, **rule: Any) -> list[Any]:
    with Documents(store, scheme=scheme) as opened:
        opened.setup(keys=keys)
        made = [outcome.to_dict() for outcome in opened.ingest(items, batch_size=3, **rule)]
        made += [sorted((match.id, match.distance) for match in opened.similar(items[0]["text"], **rule))]
        made.append(opened.remove([items[0]["id"]], **rule))
        opened.group(**rule)
        return [*made, sorted((row.id, row.group, row.duplicate_of) for row in opened.export())]


@settings(max_examples=25)
@given(items=documents(), bits=st.sampled_from([64, 128]), rule=st.sampled_from(["copy", "fingerprint"]))
def test_with_block_keys_every_verb_gives_what_it_gives_without(
    items: list[dict[str, Any]], bits: int, rule: str
) -> None:
    scheme = Scheme(bits=bits)
    expected = outcomes(LinearStore(lagging=True), items, [], scheme, rule=rule)
    assert outcomes(LinearStore(lagging=True), items, ["blocks"], scheme, rule=rule) == expected
    assert outcomes(open_store("sqlite:///:memory:"), items, ["blocks"], scheme, rule=rule) == expected


@pytest.mark.elasticsearch
@pytest.mark.parametrize("bits", [64, 128])
@pytest.mark.parametrize("rule", [{"rule": "fingerprint"}, {"rule": "copy", "numbers_agree": False}])
def test_in_elasticsearch_too(
    bits: int, rule: dict[str, Any], make_index: Callable[[], str], elasticsearch_url: str
) -> None:
    items = [{"id": f"d{n}", "text": "。".join([*SENTENCES[n % 3 :], f"第{n}号"][: 2 + n % 5])} for n in range(40)]
    scheme = Scheme(bits=bits)
    there = outcomes(open_store(f"{elasticsearch_url}/{make_index()}"), items, ["blocks"], scheme, **rule)
    assert there == outcomes(LinearStore(lagging=True), items, [], scheme, **rule)
    assert any(each["outcome"] == "near_duplicate" for each in there[: len(items)])


@pytest.mark.parametrize(
    ("keys", "rule", "blocks", "queries"),
    [
        (["blocks"], {"rule": "fingerprint"}, True, False),
        (["blocks", "shingles"], {"rule": "fingerprint"}, True, False),
        (["shingles"], {}, False, True),
        (["blocks"], {"rule": "fingerprint", "max_distance": 0}, True, False),
        (["blocks"], {"rule": "fingerprint", "max_distance": 4}, False, False),
        (["blocks"], {"confirm": CONFIRM}, False, False),
        (["blocks"], {"confirm": CONFIRM, "max_distance": 3}, True, False),
        (["blocks", "shingles"], {"confirm": CONFIRM}, False, True),
    ],
)
def test_a_run_uses_the_keys_that_suit_its_rule(
    keys: list[str], rule: dict[str, Any], blocks: bool, queries: bool
) -> None:
    store = Recording()
    with Documents(store) as opened:
        opened.setup(keys=keys)
        list(opened.ingest(ITEMS, **rule))
        opened.similar(LONG, **rule)
    assert [(request.blocks, request.with_keys) for request in store.asked] == [(blocks, queries)] * 2


def test_block_keys_that_are_added_later_are_used_after_a_backfill_of_everything() -> None:
    store = Recording()
    with Documents(store) as opened:
        opened.setup(keys=["shingles"])
        list(opened.ingest(ITEMS, rule="exact"))
        assert opened.setup(keys=["blocks"]) == "added"
        assert store.describe_keys() == KeysState(("blocks", "shingles"), complete=False)
        assert len(opened.similar(LONG, rule="fingerprint")) == len(ITEMS), (
            "the fingerprints are found without the keys"
        )
        assert not store.asked[-1].blocks
        with pytest.raises(NotSetUp, match="backfill --again"):
            opened.similar(LONG, rule="copy", confirm=CONFIRM)
        list(opened.backfill("text", again=True, rule="exact"))
        assert store.describe_keys().complete
    for row in store.fetch(tuple(item["id"] for item in ITEMS)).values():
        assert row.fingerprint is not None
        assert set(row.keys) > set(block_keys([row.fingerprint], 64)[0])
    with Documents(store) as opened:
        assert len(opened.similar(LONG, rule="fingerprint")) == len(ITEMS)
        assert store.asked[-1].blocks


def test_incomplete_block_keys_alone_do_not_stop_a_run_with_confirm() -> None:
    with Documents(LinearStore()) as opened:
        opened.setup(keys=[])
        list(opened.ingest(ITEMS, rule="fingerprint"))
        opened.setup(keys=["blocks"])
        assert len(opened.similar(LONG, rule="copy", confirm=CONFIRM)) == len(ITEMS)


def test_a_text_that_is_too_short_for_a_fingerprint_has_no_block_keys() -> None:
    store = LinearStore()
    with Documents(store) as opened:
        opened.setup(keys=["blocks"])
        assert [
            outcome.outcome for outcome in opened.ingest([{"id": n, "text": "短"} for n in "ab"], rule="fingerprint")
        ] == [
            "new",
            "exact_duplicate",
        ]
        assert [outcome.outcome for outcome in opened.ingest([{"id": "a", "text": "短"}], rule="fingerprint")] == [
            "unchanged"
        ]
    assert store.fetch(("a",))["a"].keys == ()
