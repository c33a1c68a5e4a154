"""The outcomes of an ingest are those of the reference implementation: it compares each document with all before it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from es_simhash import AsyncDocuments, Documents, DuplicateRule, fingerprint
from es_simhash.deciding.limits import Limits
from es_simhash.errors import DuplicateFound
from tests.contract import LinearStore
from tests.contract.watched import StoreCall, WatchedStore
from tests.limited import ingested
from tests.rules import keywords_of
from tests.similarity.reference import jaccard

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from es_simhash.contract import Row, Written


# Words that jieba keeps whole; texts that share most of them are near.
WORDS = (
    "北京 上海 经济 增长 市场 投资 企业 发展 政府 改革 教育 医院 学校 火车 飞机 天气 暴雨 足球 比赛 电影".split()  # noqa: SIM905
)


def text(*numbers: int) -> str:
    """A text of the vocabulary's words; many of them, so that one word more moves few bits."""
    return "，".join(WORDS[number % len(WORDS)] * (1 + number // len(WORDS)) for number in numbers)


LONG = range(16)
texts = st.one_of(
    st.sampled_from([text(*LONG), text(*LONG[:-1]), text(*LONG, 17), text(*LONG, 17, 18), text(*LONG[1:])]),
    st.lists(st.integers(0, 39), min_size=0, max_size=8).map(lambda numbers: text(*numbers)),
    st.sampled_from(["", "  ", "图集", "！！！", "图集 "]),
)
documents = st.lists(st.tuples(st.integers(0, 12), texts), max_size=14, unique_by=lambda document: document[0])
removals = st.sets(st.integers(0, 12), min_size=1, max_size=4)
confirms = st.none() | st.sampled_from([0.01, 0.6, 0.8, 0.9, 1.0])
runs = st.lists(documents | documents | removals, min_size=1, max_size=5)


class Plain:
    """The reference implementation of ingest: one document after the other, each compared with all that are stored.

    A document duplicates the nearest that has an earlier place in the order of writing, and whose text agrees. It keeps
    its place when its text changes a little, and after each batch every link that no longer holds is made anew.
    """

    def __init__(self, max_distance: int, on_duplicate: str, confirm: float | None = None) -> None:
        self.max_distance = max_distance
        self.confirm = confirm
        self.texts: dict[str, str] = {}
        self.contents: dict[str, Any] = {}
        self.on_duplicate = on_duplicate
        self.fingerprints: dict[str, Any] = {}
        self.places: dict[str, int] = {}
        self.originals: dict[str, str | None] = {}
        self.writes = 0

    def ingest(self, id: str, text: str, *fields: Any) -> tuple[str, str | None, int | None]:
        new = fingerprint(text)
        before = self.fingerprints.get(id)
        if before and before.digest == new.digest and not self.moved(id, *fields):
            if self.contents[id] == (text, *fields):
                return "unchanged", None, None
            self.texts[id], self.contents[id] = text, (text, *fields)
            return "updated", self.originals[id], None
        self.writes += 1
        place = self.places[id] if before and self.near(before, new) else self.writes
        near = self.nearest(id, new, text, place)
        if near and not before and self.on_duplicate == "skip":
            return near
        self.fingerprints[id], self.places[id], self.texts[id] = new, place, text
        self.contents[id] = text, *fields
        self.originals[id] = near[1] if near else None
        outcome, original, distance = near or ("new", None, None)
        return ("updated" if before else outcome), original, distance

    def take(self, id: str, text: str, *fields: Any) -> tuple[str, str | None, int | None]:
        """Take a document of a run."""
        return self.ingest(id, text)

    def moved(self, id: str, *fields: Any) -> bool:
        """Return whether the new fields of a document change what it may duplicate."""
        return False

    def near(self, one: Any, other: Any) -> tuple[bool, int] | None:
        if one.digest == other.digest and not one.blank:
            return False, 0
        distance = one.distance(other)
        return (True, distance) if distance is not None and distance <= self.max_distance else None

    def in_window(self, id: str, other: str) -> bool:
        """Return whether the times of two documents allow that one duplicates the other."""
        return True

    def agree(self, one: str, other: str) -> bool:
        return self.confirm is None or jaccard(one, other) >= self.confirm

    def nearest(self, id: str, new: Any, text: str, place: int) -> tuple[str, str, int] | None:
        found = [
            (*near, self.places[other], other)
            for other, theirs in self.fingerprints.items()
            if other != id and self.places[other] < place and self.in_window(id, other)
            if (near := self.near(new, theirs))
            if self.agree(text, self.texts[other])
        ]
        if not found:
            return None
        not_exact, distance, _, original = min(found)
        return "near_duplicate" if not_exact else "exact_duplicate", original, distance

    def mend(self) -> None:
        for id, original in self.originals.items():
            ours = self.fingerprints[id]
            if original is None:
                continue
            there = original in self.places and self.places[original] < self.places[id]
            if (
                there
                and self.in_window(id, original)
                and self.near(ours, self.fingerprints[original])
                and self.agree(self.texts[id], self.texts[original])
            ):
                continue
            near = self.nearest(id, ours, self.texts[id], self.places[id])
            self.originals[id] = near[1] if near else None

    def remove(self, *ids: str) -> None:
        for id in ids:
            for each in (self.fingerprints, self.places, self.originals, self.texts, self.contents):
                each.pop(id, None)
        self.mend()

    def links(self) -> dict[str, tuple[str, str | None]]:
        """For each document its group, which is the end of its chain of originals, and what it duplicates."""
        return {id: (self.head(id), original) for id, original in self.originals.items()}

    def head(self, id: str) -> str:
        original = self.originals[id]
        return id if original is None else self.head(original)


def item(id: int, text: str) -> dict[str, Any]:
    return {"id": id, "text": text}


def played(store: Any, runs: Sequence[Any], item: Callable[..., Any], rule: dict[str, Any], **options: Any) -> Any:
    """Return outcomes and links after some runs; a set of ids is a removal.

    :param item: makes a document of what a run has for it.
    :param options: of each ingest.
    """
    found = []
    with Documents(store) as documents:
        documents.setup(keys=False)
        for run in runs:
            if isinstance(run, set):
                documents.remove(run, **keywords_of(rule))
                continue
            outcomes = ingested(documents, [item(*each) for each in run], **rule, **options)
            found += [(o.outcome, None if o.outcome == "unchanged" else o.duplicate_of, o.distance) for o in outcomes]
        return found, {row.id: (row.group, row.duplicate_of) for row in documents.export()}


def expected(reference: Plain, runs: Sequence[Any], batch_size: int) -> Any:
    outcomes = []
    for run in runs:
        if isinstance(run, set):
            reference.remove(*map(str, run))
            continue
        for start in range(0, len(run), batch_size):
            outcomes += [reference.take(str(id), *given) for id, *given in run[start : start + batch_size]]
            reference.mend()
    return outcomes, reference.links()


@pytest.mark.parametrize("window", [0, 3, 5_000])
@pytest.mark.parametrize("make_store", [LinearStore, lambda: LinearStore(lagging=True), lambda: "sqlite:///:memory:"])
@given(
    runs=runs,
    max_distance=st.integers(0, 7),
    on_duplicate=st.sampled_from(["index", "skip"]),
    size=st.integers(1, 9),
    ahead=st.integers(0, 2),
    confirm=confirms,
    recent=st.sampled_from([0, 100, 300, 1_000_000]),
    few=st.sampled_from([0, 1, 8]),
)
@settings(max_examples=60, deadline=None)
def test_every_outcome_is_that_of_the_reference_whatever_the_batches(
    make_store: Callable[[], Any],
    window: int,
    runs: list[Any],
    max_distance: int,
    on_duplicate: str,
    size: int,
    ahead: int,
    confirm: float | None,
    recent: int,
    few: int,
) -> None:
    rule = {"max_distance": max_distance, "confirm": confirm}
    options = {"on_duplicate": on_duplicate, "batch_size": size, "ahead": ahead}
    limits = Limits(window=window, recent=recent, nearest=few, texts=few + 1)
    found = played(make_store(), runs, item, rule, limits=limits, **options)
    assert found == expected(Plain(max_distance, on_duplicate, confirm), runs, size)


@pytest.mark.slow
@pytest.mark.elasticsearch
def test_elasticsearch_gives_the_outcomes_of_the_reference(
    elasticsearch_url: str, make_index: Callable[[], str]
) -> None:
    @given(
        runs=runs,
        max_distance=st.integers(0, 7),
        on_duplicate=st.sampled_from(["index", "skip"]),
        size=st.integers(1, 9),
        confirm=confirms,
        window=st.sampled_from([2, 20_000]),
    )
    @settings(max_examples=12, deadline=None, derandomize=True)
    def law(
        runs: list[Any], max_distance: int, on_duplicate: str, size: int, confirm: float | None, window: int
    ) -> None:
        address = f"{elasticsearch_url}/{make_index()}"
        with Documents(address) as documents:
            documents.setup(keys=False)
        rule = {"max_distance": max_distance, "confirm": confirm}
        options = {"on_duplicate": on_duplicate, "batch_size": size, "limits": Limits(window=window)}
        wanted = expected(Plain(max_distance, on_duplicate, confirm), runs, size)
        assert played(address, runs, item, rule, **options) == wanted

    law()


NEAR = (text(*LONG), text(*LONG, 17))


def ingest(documents: Documents, *texts: str, **options: Any) -> list[Any]:
    return list(documents.ingest([{"id": n, "text": text} for n, text in enumerate(texts)], **keywords_of(options)))


@pytest.fixture
def memory() -> Iterator[Documents]:
    with Documents("sqlite:///:memory:") as documents:
        yield documents


def test_fail_stores_what_came_before_and_nothing_after(memory: Documents) -> None:
    seen: list[Any] = []
    items = [{"id": n, "text": text} for n, text in enumerate([NEAR[0], "图集", NEAR[0], "另外一篇"])]
    with pytest.raises(DuplicateFound, match=r"document 3: '2' is a duplicate of '0' at a distance of 0 bits"):
        seen.extend(
            (outcome.id, outcome.stored) for outcome in memory.ingest(items, on_duplicate="fail", rule="fingerprint")
        )
    assert seen == [("0", True), ("1", True), ("2", False)]
    assert [row.id for row in _rows(memory, "0", "1", "2", "3")] == ["0", "1"]


def test_an_update_is_written_even_if_it_duplicates(memory: Documents) -> None:
    ingest(memory, NEAR[0], "完全 不同 文章 关于 天气 预报", rule="fingerprint")
    outcomes = list(memory.ingest([{"id": 1, "text": NEAR[0]}], on_duplicate="fail", rule="fingerprint"))
    assert [(o.outcome, o.duplicate_of, o.stored) for o in outcomes] == [("updated", "0", True)]


def test_an_unchanged_document_costs_no_write() -> None:
    store = WatchedStore(LinearStore())
    documents = Documents(store)
    ingest(documents, *NEAR)
    before = store.times_asked("write")
    assert [o.outcome for o in ingest(documents, *NEAR)] == ["unchanged"] * 2
    assert store.times_asked("write") == before


def test_what_the_store_refuses_has_failed_and_the_others_are_stored() -> None:
    outcomes = ingest(Documents(Refusing("1")), NEAR[0], "不相干 文章 关于 电影 学校", "又一篇 文章 关于 飞机 火车")
    assert [(o.outcome, o.stored, o.reason) for o in outcomes] == [
        ("new", True, None),
        ("failed", False, "document 2: too wide"),
        ("new", True, None),
    ]


@given(
    documents=documents,
    refused=st.sets(st.integers(0, 12), max_size=3),
    on_duplicate=st.sampled_from(["index", "skip"]),
)
@settings(deadline=None)
def test_nothing_duplicates_what_the_store_refused(
    documents: list[tuple[int, str]], refused: set[int], on_duplicate: Any
) -> None:
    store = Refusing(*map(str, refused))
    client = Documents(store)
    items = [{"id": id, "text": text} for id, text in documents]
    outcomes = {
        o.id: o
        for o in client.ingest(items, rule=DuplicateRule("fingerprint", max_distance=7), on_duplicate=on_duplicate)
    }
    failed = {id for id, outcome in outcomes.items() if outcome.outcome == "failed"}
    for id, outcome in outcomes.items():
        assert outcome.duplicate_of is None or outcomes[outcome.duplicate_of].stored, (id, outcome)
        assert (outcome.outcome == "failed") <= (id in set(map(str, refused)))
        row = store.fetch((str(id),)).get(str(id))
        assert outcome.stored == (row is not None)
        if row:
            assert row.duplicate_of == outcome.duplicate_of
            assert row.group not in failed


def test_a_run_goes_on_after_a_duplicate_of_what_the_store_refused() -> None:
    outcomes = ingest(Documents(Refusing("0")), NEAR[0], NEAR[0], "不相干 文章 关于 电影 学校", on_duplicate="fail")
    assert [o.outcome for o in outcomes] == ["failed", "new", "new"]


def test_async_ingest_gives_the_same_from_an_async_source(tmp_path: Path, memory: Documents) -> None:
    async def source() -> Any:
        for n, words in enumerate([NEAR[0], NEAR[1], NEAR[0]]):
            yield {"id": n, "text": words}

    async def main() -> list[Any]:
        async with AsyncDocuments(f"sqlite:///{tmp_path}/a.db") as documents:
            return [
                outcome
                async for outcome in documents.ingest(source(), rule=DuplicateRule("fingerprint", max_distance=7))
            ]

    assert asyncio.run(main()) == ingest(
        memory, NEAR[0], NEAR[1], NEAR[0], rule=DuplicateRule("fingerprint", max_distance=7)
    )


class Refusing(WatchedStore):
    """Takes all documents but some."""

    def __init__(self, *ids: str, lagging: bool = False) -> None:
        super().__init__(LinearStore(lagging=lagging))
        self.refused = ids

    def perform(self, op: StoreCall) -> Any:
        if op.method != "write":
            return super().perform(op)
        taken = tuple(entry for entry in op.entries if entry.row.id not in self.refused)
        written: Written = self.watched.write(taken, op.bits)
        return replace(written, refused={each.row.id: "too wide" for each in op.entries if each not in taken})


def _rows(documents: Documents, *ids: str) -> list[Row]:
    rows = documents.store.fetch(ids)
    return [rows[id] for id in ids if id in rows]
