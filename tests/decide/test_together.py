"""Documents that several threads add at the same time."""

from __future__ import annotations

import random
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash.decide.remove import remove
from es_simhash.decide.run import Options, Run
from es_simhash.decide.turn import Turn
from es_simhash.errors import StoreUnavailable
from es_simhash.ingest.add import Adds
from es_simhash.retries import Call, limited, pause
from es_simhash.rows import Description, Written
from es_simhash.similarity.rule import DuplicateRule
from tests.client import STORM as TEXT
from tests.decide.lagging import LaggingStore
from tests.decide.reference import FINGERPRINTER, Plain, documents, resolved
from tests.decide.test_histories import links, text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from es_simhash.decide.outcome import Outcome
    from es_simhash.rows import Entry, Hits, StoreQuery
    from es_simhash.store.protocol import Filter

RULE = resolved("copy")


class SlowStore(LaggingStore):
    """It takes its time, refuses some ids, and fails for some."""

    def __init__(self, refused: Sequence[str] = (), failing: Sequence[str] = ()) -> None:
        super().__init__()
        self.set_up(Description(scheme=FINGERPRINTER.scheme, keys=True))
        self._refused, self._failing = set(refused), set(failing)

    def refuse(self, ids: Sequence[str]) -> None:
        self._refused = set(ids)

    def fail(self, ids: Sequence[str]) -> None:
        self._failing = set(ids)

    def write(self, entries: Sequence[Entry]) -> Written:
        pause(0.02)
        if any(entry.row.id in self._failing for entry in entries):
            raise StoreUnavailable("the store is away: try again")
        written = super().write([entry for entry in entries if entry.row.id not in self._refused])
        refused = {entry.row.id: "it is refused" for entry in entries if entry.row.id in self._refused}
        return replace(written, refused=refused)


class MeanwhileStore(SlowStore):
    """Another program does something once, after this one has searched."""

    call: Callable[[], object] | None = None

    def search(self, queries: Sequence[StoreQuery], filter: Filter | None, *, originals: bool) -> list[Hits]:
        hits = super().search(queries, filter, originals=originals)
        if self.call is not None:
            call, self.call = self.call, None
            call()
        return hits


def added(turn: Turn, sources: Sequence[Mapping[str, Any]]) -> list[Outcome]:
    """Add documents, each in a call of its own, ten at a time."""
    adds = Adds(turn)

    def add(source: Mapping[str, Any]) -> Outcome:
        [outcome] = adds.add(documents([source], RULE), Options())
        return outcome

    with ThreadPoolExecutor(10) as pool:
        return list(pool.map(add, sources))


def taken(run: Run, *sources: Mapping[str, Any]) -> list[Outcome]:
    return run.take(documents(sources, RULE))


def test_of_ten_equal_texts_at_once_one_is_new() -> None:
    store = SlowStore()
    outcomes = added(Turn(store, RULE), [{"id": str(n), "text": TEXT} for n in range(10)])
    [original] = [outcome.id for outcome in outcomes if outcome.outcome == "new"]
    assert {outcome.duplicate_of for outcome in outcomes} == {None, original}
    assert links(store) == {str(n): None if str(n) == original else original for n in range(10)}


@pytest.mark.parametrize("kind", ["refused", "failing"])
def test_no_copy_is_linked_to_a_document_that_was_not_stored(kind: str) -> None:
    def take(source: Mapping[str, Any]) -> list[Outcome]:
        try:
            return taken(Run(turn, Options()), source)
        except StoreUnavailable:
            return []

    for _ in range(5):
        store = SlowStore(**{kind: [str(n) for n in range(3)]})
        turn, sources = Turn(store, RULE), [{"id": str(n), "text": TEXT} for n in range(10)]
        if kind == "refused":
            outcomes = added(turn, sources)
        else:
            with ThreadPoolExecutor(10) as pool:
                outcomes = [outcome for some in pool.map(take, sources) for outcome in some]
        stored = links(store)
        assert set(stored) == {str(n) for n in range(3, 10)}
        [original] = [id for id, duplicate_of in stored.items() if duplicate_of is None]
        assert {duplicate_of for id, duplicate_of in stored.items() if id != original} == {original}
        told = {outcome.id: outcome.duplicate_of for outcome in outcomes if outcome.stored}
        assert told == stored


def test_documents_that_go_together_are_written_even_if_the_call_is_cancelled_that_writes_them() -> None:
    store = MeanwhileStore()
    turn = Turn(store, RULE)
    adds, calls = Adds(turn), [Call() for _ in range(4)]
    items = [documents([{"id": str(number), "text": TEXT}], RULE) for number in range(4)]

    def take(number: int) -> list[Outcome]:
        return calls[number].do(lambda: adds.add(items[number], Options()))

    def cancel() -> None:
        for call in calls[:3]:
            call.cancelled.set()

    store.call = cancel
    with ThreadPoolExecutor(4) as pool:
        with turn.take():
            waiting = [pool.submit(take, number) for number in range(4)]
            time.sleep(0.3)
        [outcome] = waiting[3].result(10)
    stored = links(store)
    assert set(stored) == {"0", "1", "2", "3"}
    assert list(stored.values()).count(None) == 1
    assert outcome.duplicate_of == stored["3"]


def test_a_call_whose_document_another_one_has_stored_says_so_even_at_its_deadline() -> None:
    turn = Turn(SlowStore(), RULE)
    adds = Adds(turn)

    def take(id: str) -> list[Outcome]:
        with limited(0.5):
            return adds.add(documents([{"id": id, "text": TEXT}], RULE), Options())

    with ThreadPoolExecutor(1) as pool, turn.take():
        waits = pool.submit(take, "b")
        time.sleep(0.1)
        own = take("a")
        outcomes = [*own, *waits.result(5)]
    assert [(outcome.outcome, outcome.duplicate_of) for outcome in outcomes] == [
        ("new", None),
        ("exact_duplicate", "a"),
    ]


def test_a_copy_joins_a_group_of_another_name_in_the_batch_of_its_original() -> None:
    store = SlowStore()
    turn = Turn(store, RULE)
    added(turn, [{"id": "a", "text": TEXT}])
    added(turn, [{"id": "b", "text": TEXT}])
    remove(turn, ["a"])
    other = "地铁三号线今日开通试运营，线路全长三十一公里，沿途设有二十座车站"
    taken(Run(turn, Options()), {"id": "b", "text": other}, {"id": "c", "text": other + "。"})
    assert {id: stored.row.group for id, stored in store.read(["b", "c"]).items()} == {"b": "a", "c": "a"}


def test_what_another_program_stored_or_removed_is_noticed() -> None:
    store = MeanwhileStore()
    ours, theirs = Turn(store, RULE), Turn(store, RULE)
    added(theirs, [{"id": "a", "text": TEXT}])
    store.refresh()
    store.remove({"a": None})  # search still finds it
    [outcome] = added(ours, [{"id": "b", "text": TEXT}])
    assert outcome.outcome == "new"
    store.call = lambda: added(theirs, [{"id": "c", "text": TEXT}])
    [outcome] = taken(Run(ours, Options()), {"id": "c", "text": "地铁三号线今日开通试运营，线路全长三十一公里"})
    assert outcome.outcome == "updated"


@pytest.mark.parametrize("room", [300, 10_000])
def test_a_large_load_finds_what_is_stored_and_what_others_store(room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("es_simhash.store.held.FOLLOWED", 0.0)
    store = SlowStore()
    chance, texts = random.Random(3), list[str]()
    ours, theirs = Turn(store, RULE), Turn(store, RULE)
    plain = Plain(RULE)
    with ours.holding(room):
        for start in range(0, 600, 40):
            run = Run(theirs if start % 200 == 120 else ours, Options())
            sources = [{"id": str(id), "text": text(chance, texts)} for id in range(start, start + 40)]
            texts += [str(source["text"]) for source in sources]
            batch = documents(sources, RULE)
            outcomes = [(o.outcome, o.duplicate_of) for o in run.take(batch)]
            assert outcomes == [plain.ingest(document) for document in batch]
            theirs.store.refresh()
    assert links(store) == plain.links()


def test_the_original_of_a_crowd_in_one_batch_is_found() -> None:
    sentence = "全市各级医院门诊时间、急诊安排和咨询电话如下，请市民按照公告提前预约，分时就诊，错峰前往。"
    sources = [{"id": f"{n:03}", "text": sentence * 2 + chr(0x4E00 + 7 * n) * (1 + n % 3)} for n in range(120)]
    store, plain = SlowStore(), Plain(RULE)
    run = Run(Turn(store, RULE), Options())
    batch = documents(sources, RULE)
    outcomes = [(outcome.outcome, outcome.duplicate_of) for outcome in run.take(batch)]
    assert outcomes == [plain.ingest(document) for document in batch]


def test_documents_that_are_removed_while_their_copies_change_leave_no_wrong_link() -> None:
    chance = random.Random(5)
    store = SlowStore()
    turn = Turn(store, RULE)
    added(
        turn,
        [{"id": f"{group}-{n}", "text": f"{TEXT}见{group}版" + "。" * n} for group in "甲乙丙" for n in range(8)],
    )

    def change(step: int) -> None:
        group = "甲乙丙"[step % 3]
        if chance.random() < 0.3:
            remove(turn, [original for original in set(links(store).values()) if original is not None][:1])
        else:
            source = {"id": f"{group}-{chance.randrange(8)}", "text": f"{TEXT}见{group}版" + "！" * chance.randrange(3)}
            taken(Run(turn, Options()), source)

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(change, range(90), timeout=120))
    stored = links(store)
    assert all(original is None or stored.get(original, "gone") is None for original in stored.values())


def test_a_document_whose_time_changes_is_decided_again() -> None:
    rule = resolved(DuplicateRule("copy", within=timedelta(days=7), time_field="date"))
    store, plain = LaggingStore(), Plain(rule)
    store.set_up(Description(scheme=FINGERPRINTER.scheme, keys=True))
    run = Run(Turn(store, rule), Options())
    for id, date in (("a", "2026-05-01"), ("b", "2026-05-02"), ("b", "2026-06-02"), ("a", "2026-06-01")):
        batch = documents([{"id": id, "text": TEXT, "date": date}], rule)
        [outcome] = run.take(batch)
        assert (outcome.outcome, outcome.duplicate_of) == plain.ingest(batch[0])
        assert links(store) == plain.links()


def test_what_another_program_wrote_over_a_pending_document_is_what_is_stored() -> None:
    store = SlowStore()
    ours, theirs = Turn(store, RULE), Turn(store, RULE)
    for turn, text_of_it, outcome in ((ours, TEXT, "new"), (theirs, "地铁三号线今日开通", "updated")):
        assert [one.outcome for one in added(turn, [{"id": "a", "text": text_of_it}])] == [outcome]
    assert [one.outcome for one in added(ours, [{"id": "a", "text": "地铁三号线今日开通"}])] == ["unchanged"]


def test_a_copy_of_a_document_with_a_lost_original_gets_an_original_that_is_there() -> None:
    store = SlowStore()
    added(Turn(store, RULE), [{"id": "a", "text": TEXT}])
    added(Turn(store, RULE), [{"id": "b", "text": TEXT}])
    store.remove({"a": None})  # another program ended before it decided b again
    store.refresh()
    [outcome] = added(Turn(store, RULE), [{"id": "c", "text": TEXT}])
    assert (outcome.outcome, outcome.duplicate_of) == ("exact_duplicate", "b")
    assert links(store) == {"b": None, "c": "b"}


def test_a_call_waits_for_others_until_its_deadline_at_most() -> None:
    store = SlowStore()
    turn = Turn(store, RULE)
    added(turn, [{"id": "a", "text": TEXT}])

    def add() -> None:
        with limited(0.2), pytest.raises(StoreUnavailable, match="other calls"):
            taken(Run(turn, Options()), {"id": "b", "text": TEXT})

    with turn.take(), ThreadPoolExecutor(1) as pool:
        pool.submit(add).result()
    [outcome] = added(turn, [{"id": "b", "text": TEXT}])
    assert outcome.duplicate_of == "a"


class InterruptedStore(SlowStore):
    """Its first search is interrupted by Ctrl-C."""

    interrupted = False

    def search(self, queries: Sequence[StoreQuery], filter: Filter | None, *, originals: bool) -> list[Hits]:
        if not self.interrupted:
            self.interrupted = True
            pause(0.2)  # the other calls wait by then
            raise KeyboardInterrupt
        return super().search(queries, filter, originals=originals)


def test_an_interrupted_call_does_not_interrupt_those_that_wait() -> None:
    store = InterruptedStore()
    turn, ids = Turn(store, RULE), [str(n) for n in range(8)]
    adds = Adds(turn)

    def add(id: str) -> str:
        try:
            [outcome] = adds.add(documents([{"id": id, "text": id * 9}], RULE), Options())
        except KeyboardInterrupt:
            return "interrupted"
        return outcome.outcome

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(add, ids))
    assert sorted(results) == ["interrupted", *["new"] * 7]
    assert len(store.read(ids)) == 7
