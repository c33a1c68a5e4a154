"""What other programs, other calls and a refusal of the store do between a decision and its write."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash.decide.decider import Decider
from es_simhash.decide.group import group
from es_simhash.decide.run import Options, Run
from es_simhash.errors import StoreUnavailable
from es_simhash.rows import Entry, Row
from tests.client import STORM as TEXT
from tests.decide.reference import documents
from tests.decide.test_histories import links
from tests.decide.test_together import RULE, SlowStore, added, taken

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from es_simhash.decide.outcome import Outcome
    from es_simhash.rows import Scan, Stored

OTHER = "地铁三号线今日开通试运营，线路全长三十一公里，沿途设有二十座车站"
"""It has nothing in common with TEXT."""


def load_of(decider: Decider) -> Run:
    """Return a large load that holds all documents."""
    run = Run(decider, Options(), is_load=True)
    for id, text in (("x", OTHER), ("y", OTHER + "号")):
        taken(run, {"id": id, "text": text})
    assert decider.pending.is_whole
    return run


@pytest.mark.parametrize("copy", [TEXT, TEXT + "完"])
@pytest.mark.parametrize("known", ["pending", "forgotten", "held"])
def test_nothing_is_linked_to_a_text_that_another_program_has_replaced(copy: str, known: str) -> None:
    store = SlowStore()
    ours, theirs = Decider(store, RULE), Decider(store, RULE)
    added(ours, [{"id": "a", "text": TEXT}])
    if known == "forgotten":
        ours.forget(now=True)
    run = load_of(ours) if known == "held" else Run(ours, Options())
    added(theirs, [{"id": "a", "text": "城北新开三条公交线路"}])
    [outcome] = taken(run, {"id": "b", "text": copy})
    assert (outcome.outcome, links(store)["b"]) == ("new", None)


def test_a_large_load_knows_the_texts_that_another_program_has_replaced() -> None:
    store = SlowStore()
    ours, theirs = Decider(store, RULE), Decider(store, RULE)
    added(theirs, [{"id": "z", "text": "城北新开三条公交线路"}])
    run = load_of(ours)
    added(theirs, [{"id": "z", "text": TEXT}])
    ours.forget(now=True)  # as every ten seconds
    assert ours.pending.is_whole
    [outcome] = taken(run, {"id": "late", "text": TEXT})
    assert (outcome.outcome, outcome.duplicate_of) == ("exact_duplicate", "z")


class ChangedInAScan(SlowStore):
    """A call of this program is made after a scan has read a page, and before it returns it."""

    call: Callable[[], object] | None = None

    def scan(self, scan: Scan) -> Iterator[list[Stored]]:
        pages = list(super().scan(scan))
        if scan.keys and self.call is not None:
            call, self.call = self.call, None
            call()
        yield from pages


@pytest.mark.parametrize("forgets", [False, True])
def test_a_large_load_keeps_what_is_written_while_it_reads_the_store(forgets: bool) -> None:
    store = ChangedInAScan()
    decider = Decider(store, RULE)
    added(decider, [{"id": "a", "text": TEXT}])

    def change() -> None:
        added(decider, [{"id": "a", "text": OTHER}])
        if forgets:
            decider.forget(now=True)

    store.call = change
    decider.hold_all()
    [outcome] = added(decider, [{"id": "b", "text": OTHER}])
    assert (outcome.outcome, outcome.duplicate_of) == ("exact_duplicate", "a")


def test_a_group_that_searches_leaves_no_chain_among_documents_of_one_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("es_simhash.decide.group.free_memory", lambda: 0)
    store = SlowStore()
    added(Decider(store, RULE), [{"id": "c", "text": TEXT}])
    added(Decider(store, RULE), [{"id": id, "text": TEXT.replace("部分", "多处")} for id in "ab"])
    rows = [stored.row for stored in store.read("ab").values()]
    store.write([Entry(row._replace(order=rows[0].order, duplicate_of=None), keys=None) for row in rows])
    store.refresh()
    group(store, RULE)
    assert links(store) == {"a": "c", "b": "c", "c": None}
    assert group(store, RULE).changed == 0


@pytest.mark.parametrize("update", [{"text": TEXT, "views": 1}, {"text": "城北新开三条公交线路"}])
def test_a_head_whose_update_is_refused_stays_a_head_in_a_large_load(update: dict[str, Any]) -> None:
    store = SlowStore()
    added(Decider(store, RULE), [{"id": "a", "text": TEXT}])
    run = load_of(Decider(store, RULE))
    store.refuse(["a"])
    [refused] = taken(run, {"id": "a", **update})
    [outcome] = taken(run, {"id": "b", "text": TEXT})
    assert (refused.outcome, outcome.outcome, outcome.duplicate_of) == ("failed", "exact_duplicate", "a")


def test_a_head_stays_a_head_in_a_large_load_after_an_error_in_another_call() -> None:
    store = SlowStore()
    added(Decider(store, RULE), [{"id": "a", "text": TEXT}])
    decider = Decider(store, RULE)
    run = load_of(decider)
    store.fail(["a"])
    with pytest.raises(StoreUnavailable):
        added(decider, [{"id": "a", "text": TEXT + "吗"}])
    [outcome] = taken(run, {"id": "b", "text": TEXT})
    assert outcome.duplicate_of == "a"


def test_a_large_load_still_holds_all_after_another_call_that_decided_nothing() -> None:
    decider = Decider(SlowStore(), RULE)
    load_of(decider)
    with pytest.raises(StoreUnavailable), decider.turn():
        raise StoreUnavailable("the store is away: try again")
    assert decider.pending.is_whole


def test_a_large_load_takes_documents_that_are_stored_without_a_fingerprint() -> None:
    store = SlowStore()
    store.write([Entry(Row("a", None, ""), (), json.dumps({"id": "a", "text": TEXT}))])
    run = load_of(Decider(store, RULE))
    [outcome] = taken(run, {"id": "a", "text": TEXT})
    assert (outcome.outcome, outcome.stored) == ("new", True)


def test_a_large_load_that_begins_while_another_call_forgets_holds_all_or_searches() -> None:
    refreshing, held = threading.Event(), threading.Event()

    class OneAfterTheOther(SlowStore):
        """The other call refreshes after the last page of the load was read, and until the load holds all."""

        def refresh(self) -> None:
            if threading.current_thread().name == "other":
                refreshing.set()
                held.wait(0.5)
            super().refresh()

        def scan(self, scan: Scan) -> Iterator[list[Stored]]:
            yield from super().scan(scan)
            other.start()
            refreshing.wait(5)

    store = OneAfterTheOther()
    added(Decider(store, RULE), [{"id": "a", "text": TEXT}])
    decider = Decider(store, RULE)
    decider._forgotten -= 60
    other = threading.Thread(target=decider.forget, name="other")
    decider.hold_all()
    held.set()
    other.join()
    [outcome] = added(decider, [{"id": "b", "text": TEXT}])
    assert outcome.duplicate_of == "a"


def test_an_update_whose_head_is_refused_is_still_an_update() -> None:
    store = SlowStore()
    decider = Decider(store, RULE)
    added(decider, [{"id": "a", "text": OTHER}])
    store.refuse(["h"])
    outcomes = taken(Run(decider, Options()), {"id": "h", "text": TEXT}, {"id": "a", "text": TEXT})
    assert [(one.outcome, one.duplicate_of) for one in outcomes] == [("failed", None), ("updated", None)]


def test_outcomes_are_those_of_the_links_if_another_program_adds_the_head_first() -> None:
    store = SlowStore()
    run = Run(Decider(store, RULE), Options())
    looked = run.look_up(documents([{"id": "a", "text": TEXT}, {"id": "b", "text": TEXT}], RULE))
    added(Decider(store, RULE), [{"id": "a", "text": OTHER}])
    outcomes = [(one.id, one.outcome, one.duplicate_of) for one in run.take(looked)]
    assert outcomes == [("a", "updated", "b"), ("b", "new", None)]
    assert links(store) == {"a": "b", "b": None}


def test_a_backfill_gives_no_document_the_fingerprint_of_a_former_text() -> None:
    store = SlowStore()
    decider = Decider(store, RULE)
    added(decider, [{"id": "a", "text": TEXT}])
    read = store.read(["a"])["a"].row
    added(decider, [{"id": "a", "text": OTHER}])
    [document] = documents([{"id": "a", "text": TEXT}], RULE)
    run = Run(decider, Options())
    [outcome] = run.take(run.look_up([replace(document, source=None, content=None, stored=read)]))
    [written] = documents([{"id": "a", "text": OTHER}], RULE)
    assert (outcome.outcome, store.read(["a"])["a"].row.digest) == ("failed", written.fingerprint.digest)


def test_an_error_says_that_copies_may_be_linked_to_a_text_that_was_replaced() -> None:
    store = SlowStore()
    decider = Decider(store, RULE)
    added(decider, [{"id": "a", "text": TEXT}])
    added(decider, [{"id": "b", "text": TEXT}])
    store.fail(["b", "c"])
    with pytest.raises(StoreUnavailable, match="group --since 1d"):
        added(decider, [{"id": "a", "text": OTHER}])
    with pytest.raises(StoreUnavailable, match=r"try again$"):
        added(decider, [{"id": "c", "text": OTHER}])
    store.fail([])
    assert [outcome.outcome for outcome in added(decider, [{"id": "a", "text": OTHER}])] == ["unchanged"]
    assert group(store, RULE, since=0).changed == 1
    assert links(store) == {"a": None, "b": None}


def test_copies_of_a_document_that_a_backfill_makes_a_copy_get_its_head() -> None:
    store = SlowStore()
    ours, theirs = Decider(store, RULE), Decider(store, RULE)
    added(theirs, [{"id": "a", "text": TEXT}])
    for id in "bc":
        added(ours, [{"id": id, "text": TEXT}])  # search does not find a yet
    assert links(store) == {"a": None, "b": None, "c": "b"}
    ours.forget(now=True)
    [document] = documents([{"id": "b", "text": TEXT}], RULE)
    run = Run(ours, Options())
    run.take(run.look_up([replace(document, source=None, content=None, stored=store.read(["b"])["b"].row)]))
    assert links(store) == {"a": None, "b": "a", "c": "a"}


def test_the_original_that_matches_a_filter_is_found_among_many_pending_that_do_not() -> None:
    store = SlowStore()
    decider = Decider(store, RULE)

    def taken_for(tenant: int, id: str, text: str) -> Outcome:
        run = Run(decider, Options(filter={"term": {"tenant": tenant}}))
        return taken(run, {"id": id, "text": text, "tenant": tenant})[0]

    text = TEXT * 3
    assert {taken_for(tenant, f"of {tenant}", text).outcome for tenant in range(60)} == {"new"}
    for id, copy, outcome in (("exact", text, "exact_duplicate"), ("near", text + "完", "near_duplicate")):
        found = taken_for(59, id, copy)
        assert (found.outcome, found.duplicate_of) == (outcome, "of 59")


def test_a_large_load_stores_a_document_again_that_another_program_changed_or_removed() -> None:
    store = SlowStore()
    run = load_of(Decider(store, RULE))
    store.remove({"x": None})
    added(Decider(store, RULE), [{"id": "y", "text": TEXT}])
    outcomes = taken(run, {"id": "x", "text": OTHER}, {"id": "y", "text": OTHER + "号"})
    added(Decider(store, RULE), [{"id": "y", "text": OTHER + "号", "views": 1}])
    outcomes += taken(run, {"id": "y", "text": OTHER + "号", "views": 7})
    assert [outcome.outcome for outcome in outcomes] == ["new", "updated", "updated"]
    assert store.read(["y"], None)["y"].source == {"id": "y", "text": OTHER + "号", "views": 7}
    assert links(store) == {"x": None, "y": "x"}
