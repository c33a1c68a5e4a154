"""What other programs, other calls and a refusal of the store do between a decision and its write."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import Documents
from es_simhash.decide.group import group
from es_simhash.decide.run import Options, Run
from es_simhash.decide.turn import Turn
from es_simhash.errors import StoreUnavailable
from es_simhash.rows import Entry, Row, Scan
from es_simhash.store.held import HeldStore
from es_simhash.store.memory_store import MemoryStore
from tests.client import STORM as TEXT
from tests.decide.reference import documents
from tests.decide.test_histories import links
from tests.decide.test_together import RULE, MeanwhileStore, SlowStore, added, taken

if TYPE_CHECKING:
    from collections.abc import Iterator

    from es_simhash.decide.outcome import Outcome

OTHER = "地铁三号线今日开通试运营，线路全长三十一公里，沿途设有二十座车站"
"""It has nothing in common with TEXT."""


@pytest.fixture
def load_of() -> Iterator[Callable[[Turn], Run]]:
    """Returns a large load that holds all documents, until the test ends."""
    with ExitStack() as stack:

        def load(turn: Turn) -> Run:
            run = Run(turn, Options())
            for id, text in (("x", OTHER), ("y", OTHER + "号")):
                taken(run, {"id": id, "text": text})
            stack.enter_context(turn.holding(10_000))
            assert isinstance(turn.store, HeldStore)
            return run

        yield load


LoadOf = Callable[["Turn"], Run]


@pytest.mark.parametrize("copy", [TEXT, TEXT + "完"])
@pytest.mark.parametrize("known", ["pending", "forgotten", "held"])
def test_nothing_is_linked_to_a_text_that_another_program_has_replaced(copy: str, known: str, load_of: LoadOf) -> None:
    store = SlowStore()
    ours, theirs = Turn(store, RULE), Turn(store, RULE)
    added(ours, [{"id": "a", "text": TEXT}])
    if known == "forgotten":
        ours.store.refresh()
    run = load_of(ours) if known == "held" else Run(ours, Options())
    added(theirs, [{"id": "a", "text": "城北新开三条公交线路"}])
    [outcome] = taken(run, {"id": "b", "text": copy})
    assert (outcome.outcome, links(store)["b"]) == ("new", None)


def test_a_large_load_knows_the_texts_that_another_program_has_replaced(
    monkeypatch: pytest.MonkeyPatch, load_of: LoadOf
) -> None:
    store = SlowStore()
    ours, theirs = Turn(store, RULE), Turn(store, RULE)
    added(theirs, [{"id": "z", "text": "城北新开三条公交线路"}])
    run = load_of(ours)
    added(theirs, [{"id": "z", "text": TEXT}])
    monkeypatch.setattr("es_simhash.store.held.FOLLOWED", 0.0)
    [outcome] = taken(run, {"id": "late", "text": TEXT})
    assert (outcome.outcome, outcome.duplicate_of) == ("exact_duplicate", "z")


def test_a_group_that_searches_leaves_no_chain_among_documents_of_one_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("es_simhash.decide.turn.free_memory", lambda: 0)
    store = SlowStore()
    added(Turn(store, RULE), [{"id": "c", "text": TEXT}])
    added(Turn(store, RULE), [{"id": id, "text": TEXT.replace("部分", "多处")} for id in "ab"])
    rows = [stored.row for stored in store.read("ab").values()]
    store.write([Entry(row._replace(order=rows[0].order, duplicate_of=None), keys=None) for row in rows])
    store.refresh()
    group(Turn(store, RULE))
    assert links(store) == {"a": "c", "b": "c", "c": None}
    assert group(Turn(store, RULE)).changed == 0


@pytest.mark.parametrize("update", [{"text": TEXT, "views": 1}, {"text": "城北新开三条公交线路"}])
def test_an_original_whose_update_is_refused_stays_an_original_in_a_large_load(
    update: dict[str, Any], load_of: LoadOf
) -> None:
    store = SlowStore()
    added(Turn(store, RULE), [{"id": "a", "text": TEXT}])
    run = load_of(Turn(store, RULE))
    store.refuse(["a"])
    [refused] = taken(run, {"id": "a", **update})
    [outcome] = taken(run, {"id": "b", "text": TEXT})
    assert (refused.outcome, outcome.outcome, outcome.duplicate_of) == ("failed", "exact_duplicate", "a")


def test_an_original_stays_an_original_in_a_large_load_after_an_error_in_another_call(load_of: LoadOf) -> None:
    store = SlowStore()
    added(Turn(store, RULE), [{"id": "a", "text": TEXT}])
    turn = Turn(store, RULE)
    run = load_of(turn)
    store.fail(["a"])
    with pytest.raises(StoreUnavailable):
        added(turn, [{"id": "a", "text": TEXT + "吗"}])
    [outcome] = taken(run, {"id": "b", "text": TEXT})
    assert outcome.duplicate_of == "a"


def test_a_large_load_takes_documents_that_are_stored_without_a_fingerprint(load_of: LoadOf) -> None:
    store = SlowStore()
    store.write([Entry(Row("a", None, ""), (), json.dumps({"id": "a", "text": TEXT}))])
    run = load_of(Turn(store, RULE))
    [outcome] = taken(run, {"id": "a", "text": TEXT})
    assert (outcome.outcome, outcome.stored) == ("new", True)


def test_an_update_whose_original_is_refused_is_still_an_update() -> None:
    store = SlowStore()
    turn = Turn(store, RULE)
    added(turn, [{"id": "a", "text": OTHER}])
    store.refuse(["h"])
    outcomes = taken(Run(turn, Options()), {"id": "h", "text": TEXT}, {"id": "a", "text": TEXT})
    assert [(one.outcome, one.duplicate_of) for one in outcomes] == [("failed", None), ("updated", None)]


def test_outcomes_are_those_of_the_links_if_another_program_adds_the_original_first() -> None:
    store = MeanwhileStore()
    run = Run(Turn(store, RULE), Options())
    store.call = lambda: added(Turn(store, RULE), [{"id": "a", "text": OTHER}])
    outcomes = [
        (one.id, one.outcome, one.duplicate_of)
        for one in taken(run, {"id": "a", "text": TEXT}, {"id": "b", "text": TEXT})
    ]
    assert outcomes == [("a", "updated", "b"), ("b", "new", None)]
    assert links(store) == {"a": "b", "b": None}


def test_a_backfill_gives_no_document_the_fingerprint_of_a_former_text() -> None:
    store = SlowStore()
    turn = Turn(store, RULE)
    added(turn, [{"id": "a", "text": TEXT}])
    read = store.read(["a"])["a"].row
    added(turn, [{"id": "a", "text": OTHER}])
    [document] = documents([{"id": "a", "text": TEXT}], RULE)
    run = Run(turn, Options())
    [outcome] = run.take([replace(document, source=None, stored=read)])
    [written] = documents([{"id": "a", "text": OTHER}], RULE)
    assert (outcome.outcome, store.read(["a"])["a"].row.digest) == ("failed", written.row.digest)


def test_an_error_says_that_copies_may_be_linked_to_a_text_that_was_replaced() -> None:
    store = SlowStore()
    turn = Turn(store, RULE)
    added(turn, [{"id": "a", "text": TEXT}])
    added(turn, [{"id": "b", "text": TEXT}])
    store.fail(["b", "c"])
    with pytest.raises(StoreUnavailable, match="group --since 1d"):
        added(turn, [{"id": "a", "text": OTHER}])
    with pytest.raises(StoreUnavailable, match=r"try again$"):
        added(turn, [{"id": "c", "text": OTHER}])
    store.fail([])
    assert [outcome.outcome for outcome in added(turn, [{"id": "a", "text": OTHER}])] == ["unchanged"]
    assert group(turn, since=0).changed == 1
    assert links(store) == {"a": None, "b": None}


def test_copies_of_a_document_that_a_backfill_makes_a_copy_get_its_original() -> None:
    store = SlowStore()
    ours, theirs = Turn(store, RULE), Turn(store, RULE)
    added(ours, [{"id": "z", "text": OTHER}])
    added(theirs, [{"id": "a", "text": TEXT}])
    for id in "bc":
        added(ours, [{"id": id, "text": TEXT}])  # search does not find a yet
    assert links(store) == {"a": None, "b": None, "c": "b", "z": None}
    ours.store.refresh()
    [document] = documents([{"id": "b", "text": TEXT}], RULE)
    run = Run(ours, Options())
    run.take([replace(document, source=None, stored=store.read(["b"])["b"].row)])
    assert links(store) == {"a": None, "b": "a", "c": "a", "z": None}


def test_the_original_that_matches_a_filter_is_found_among_many_pending_that_do_not() -> None:
    store = SlowStore()
    turn = Turn(store, RULE)

    def taken_for(tenant: int, id: str, text: str) -> Outcome:
        run = Run(turn, Options(filter={"term": {"tenant": tenant}}))
        return taken(run, {"id": id, "text": text, "tenant": tenant})[0]

    text = TEXT * 3
    assert {taken_for(tenant, f"of {tenant}", text).outcome for tenant in range(60)} == {"new"}
    for id, copy, outcome in (("exact", text, "exact_duplicate"), ("near", text + "完", "near_duplicate")):
        found = taken_for(59, id, copy)
        assert (found.outcome, found.duplicate_of) == (outcome, "of 59")


def test_a_large_load_stores_a_document_again_that_another_program_changed_or_removed(load_of: LoadOf) -> None:
    store = SlowStore()
    run = load_of(Turn(store, RULE))
    store.remove({"x": None})
    added(Turn(store, RULE), [{"id": "y", "text": TEXT}])
    outcomes = taken(run, {"id": "x", "text": OTHER}, {"id": "y", "text": OTHER + "号"})
    added(Turn(store, RULE), [{"id": "y", "text": OTHER + "号", "views": 1}])
    outcomes += taken(run, {"id": "y", "text": OTHER + "号", "views": 7})
    assert [outcome.outcome for outcome in outcomes] == ["new", "updated", "updated"]
    assert store.read(["y"], None)["y"].source == {"id": "y", "text": OTHER + "号", "views": 7}
    assert links(store) == {"x": None, "y": "x"}


def test_a_text_that_another_program_changed_is_not_taken_for_that_of_others_with_its_digest() -> None:
    store = MemoryStore()
    Documents(store).add({"id": "a", "text": TEXT})
    [[stored]] = store.scan(Scan(keys=True))
    store.write([Entry(stored.row, stored.keys, json.dumps({"id": "a", "text": OTHER}))])
    documents, page = Documents(store), f"阅读 10234\n{TEXT}"
    assert documents.add({"id": "b", "text": page}).outcome == "new"
    documents.remove(["a", "b"])
    Documents(store).add({"id": "c", "text": TEXT})
    outcome = documents.add({"id": "d", "text": page})
    assert (outcome.outcome, outcome.duplicate_of) == ("near_duplicate", "c")
