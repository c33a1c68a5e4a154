"""Documents that are added one at a time have the outcomes of one document after another, whoever adds them."""

from __future__ import annotations

import itertools
import logging
import random
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from es_simhash import Documents, DuplicateRule
from es_simhash.contract import Written
from es_simhash.errors import DuplicateFound, InputError, NotSetUp, StoreError, StoreUnavailable
from es_simhash.stores.address import open_store
from tests.contract import LinearStore
from tests.contract.watched import StoreCall, WatchedStore
from tests.deciding.test_ingest import LONG, Refusing, text, texts
from tests.deciding.test_ingest_filter import CLAUSE, Choosy
from tests.limited import in_batches, limit_adding
from tests.rules import keywords_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


TEXT = text(*LONG)
OTHER = "完全 不同 文章 关于 天气 预报 以及 城市 地铁 线路"

one = st.tuples(st.integers(0, 9), texts, st.sampled_from(["zh", "en"]))
some = st.lists(one, max_size=6)
moves = st.lists(
    st.one_of(
        st.tuples(st.just("add"), one.map(lambda document: [document]), st.booleans()),
        st.tuples(st.just("add"), one.map(lambda document: [document]), st.booleans()),
        st.tuples(st.just("add_many"), some, st.booleans()),
        st.tuples(st.just("ingest"), st.lists(one, max_size=4, unique_by=lambda document: document[0]), st.booleans()),
        st.tuples(st.just("left"), one.map(lambda document: [document]), st.booleans()),
        st.tuples(st.just("remove"), st.lists(one, min_size=1, max_size=3), st.just(False)),
    ),
    max_size=12,
)


class Filtered(Choosy):
    """The reference implementation, in which each move has a filter or none."""

    def nearest(self, id: str, new: Any, text: str, place: int) -> tuple[str, str, int] | None:
        return (
            super().nearest(id, new, text, place)
            if self.filtered
            else super(Choosy, self).nearest(id, new, text, place)
        )

    def remove(self, *ids: str) -> None:
        for id in ids:
            self.inside.pop(id, None)
        super().remove(*ids)

    filtered = False


def parts(documents: Sequence[Any]) -> list[list[Any]]:
    """Split documents where an id occurs again."""
    split: list[list[Any]] = [[]]
    for document in documents:
        if any(document[0] == other[0] for other in split[-1]):
            split.append([])
        split[-1].append(document)
    return split


def expected(reference: Filtered, moves: Sequence[Any]) -> Any:
    outcomes = []
    for verb, documents, filtered in moves:
        reference.filtered = filtered
        if verb == "remove":
            reference.remove(*{str(id) for id, _, _ in documents})
            continue
        for part in parts(documents):
            outcomes += [reference.take(str(id), text, lang) for id, text, lang in part]
            reference.mend()
    return outcomes, reference.links()


def played(store: Any, moves: Sequence[Any], limits: Mapping[str, float], **options: Any) -> Any:
    found: list[Any] = []
    with Documents(store) as client:
        limit_adding(client, **limits)
        client.setup(keys=False)
        for verb, documents, filtered in moves:
            items = [{"id": id, "text": text, "lang": lang} for id, text, lang in documents]
            chosen = {**options, "filter": CLAUSE if filtered else None}
            if verb == "remove":
                client.remove(
                    [item["id"] for item in items],
                    rule=DuplicateRule("fingerprint", max_distance=options["max_distance"]),
                )
            elif verb == "add":
                found += [client.add(items[0], **chosen)]
            elif verb == "left":
                found += [next(client.ingest(items, **chosen))]
            else:
                found += getattr(client, verb)(items, **chosen)
        links = {row.id: (row.group, row.duplicate_of) for row in client.export()}
    return [(o.outcome, None if o.outcome == "unchanged" else o.duplicate_of, o.distance) for o in found], links


@pytest.mark.parametrize("most", [0, 3, 5_000])
@pytest.mark.parametrize("make_store", [lambda: LinearStore(lagging=True), lambda: "sqlite:///:memory:"])
@given(
    moves=moves,
    max_distance=st.integers(0, 7),
    on_duplicate=st.sampled_from(["index", "skip"]),
    oldest=st.sampled_from([0.0, 10.0]),
)
@example(  # an update moves a document into the filter
    moves=[("add", [(1, "天气", "en")], True), ("add", [(1, "北京", "zh")], True), ("add", [(0, "北京", "zh")], True)],
    max_distance=0,
    on_duplicate="index",
    oldest=10.0,
)
@settings(max_examples=40, deadline=None)
def test_the_outcomes_are_those_of_one_document_after_another_whatever_was_refreshed(
    make_store: Callable[[], Any],
    most: int,
    moves: list[Any],
    max_distance: int,
    on_duplicate: Any,
    oldest: float,
) -> None:
    right = expected(Filtered(max_distance, on_duplicate), moves)
    limits = {"documents": most, "oldest": oldest}
    options: dict[str, Any] = {"rule": "fingerprint", "max_distance": max_distance, "on_duplicate": on_duplicate}
    assert played(make_store(), moves, limits, **options) == right


def test_the_memory_is_emptied_once_it_has_so_many_characters() -> None:
    store = Slow()
    with Documents(store) as documents:
        documents.setup(keys=False)
        limit_adding(documents, characters=100)
        for number in range(9):  # three of them have more than 100 characters
            outcome = documents.add({"id": number, "text": f"{number}" + "雨" * 16}, rule="fingerprint")
            assert outcome.outcome == "new"
    assert store.performed["refresh"] == 2


# --- threads and tasks -------------------------------------------------------------------------------------------


class Slow(WatchedStore):
    """A lagging store whose requests take a while. It counts the calls of each method."""

    def __init__(self) -> None:
        super().__init__(LinearStore(lagging=True))
        self.performed: Counter[str] = Counter()

    def perform(self, request: StoreCall) -> Any:
        self.performed[request.method] += 1
        time.sleep(random.uniform(0, 0.004))
        return super().perform(request)


def check_that_each_text_is_new_once(outcomes: Sequence[Any], documents: Sequence[Any]) -> None:
    news = {o.id for o in outcomes if o.outcome == "new"}
    text_of = {str(document["id"]): document["text"] for document in documents}
    assert sorted(text_of[id] for id in news) == sorted(set(text_of.values()))
    for outcome in outcomes:
        if outcome.outcome != "new":
            assert outcome.outcome == "exact_duplicate"
            assert outcome.duplicate_of in news
            assert text_of[outcome.duplicate_of] == text_of[outcome.id]


DOCUMENTS = [{"id": n, "text": (TEXT, OTHER, "图集")[n % 3]} for n in range(60)]


@pytest.mark.parametrize("on_duplicate", ["index", "skip"])
def test_of_concurrent_calls_with_one_text_one_is_new_and_they_share_their_requests(on_duplicate: Any) -> None:
    store = Slow()
    with Documents(store) as documents, ThreadPoolExecutor(30) as threads:
        outcomes = list(
            threads.map(lambda each: documents.add(each, on_duplicate=on_duplicate, rule="fingerprint"), DOCUMENTS)
        )
    check_that_each_text_is_new_once(outcomes, DOCUMENTS)
    assert [o.id for o in outcomes] == [str(each["id"]) for each in DOCUMENTS]  # each caller got its own outcome
    assert store.performed["refresh"] == 0
    assert store.performed["write"] < 30


def test_two_ids_at_the_same_time_are_a_document_and_its_update() -> None:
    with Documents(Slow()) as documents, ThreadPoolExecutor(8) as threads:
        same = [{"id": "a", "text": TEXT if n % 2 else OTHER} for n in range(40)]
        outcomes = list(threads.map(documents.add, same))
        row = documents.fetch(["a"])["a"]
    assert Counter(o.outcome for o in outcomes)["new"] == 1
    assert {o.outcome for o in outcomes} <= {"new", "updated", "unchanged"}
    assert row.duplicate_of is None


def test_what_another_program_added_at_the_same_moment_is_updated_and_not_replaced_unseen() -> None:
    store = LinearStore(lagging=True)
    with Documents(store) as one, Documents(store) as other:
        one.setup(keys=False)
        for each, id in ((one, "1"), (other, "2")):
            assert each.add({"id": id, "text": id}, rule="fingerprint").outcome == "new"
        one.add_many([{"id": "a", "text": TEXT}, {"id": "b", "text": OTHER}], rule="fingerprint")
        outcomes = [
            other.add({"id": "a", "text": TEXT}, rule="fingerprint"),
            other.add({"id": "b", "text": f"{OTHER} 又"}, rule="fingerprint"),
            *other.add_many(
                [{"id": "c", "text": OTHER}, {"id": "d", "text": TEXT}, {"id": "d", "text": OTHER}], rule="fingerprint"
            ),
        ]
        assert [o.outcome for o in outcomes] == ["unchanged", "updated", "near_duplicate", "new", "updated"]


class Gated(WatchedStore):
    """A lagging store. The write of the document ``held`` begins when ``gate`` is set, or refuses it."""

    def __init__(self, *, refuse: bool = False) -> None:
        super().__init__(LinearStore(lagging=True))
        self.gate, self.waits = threading.Event(), threading.Event()
        self._refuse = refuse

    def perform(self, request: StoreCall) -> Any:
        if request.method == "write" and any(each.row.id == "held" for each in request.entries):
            self.waits.set()
            assert self.gate.wait(30)
            if self._refuse:
                return Written({"held": "too wide"}, searchable=False)
        return super().perform(request)


@pytest.mark.parametrize("refuse", [False, True])
def test_a_document_waits_for_one_that_is_written_if_it_may_be_its_duplicate_and_only_then(refuse: bool) -> None:
    store = Gated(refuse=refuse)
    with Documents(store) as documents, ThreadPoolExecutor(3) as threads:
        documents.setup(keys=False)
        documents.add({"id": "first", "text": "一"}, rule="fingerprint")
        held = threads.submit(documents.add, {"id": "held", "text": TEXT}, rule="fingerprint")
        assert store.waits.wait(30)
        assert documents.add({"id": "free", "text": OTHER}, rule="fingerprint").outcome == "new"
        same_text = threads.submit(documents.add, {"id": "copy", "text": TEXT}, rule="fingerprint")
        same_id = threads.submit(documents.add, {"id": "held", "text": TEXT}, rule="fingerprint")
        time.sleep(0.2)
        assert not any(each.done() for each in (same_text, same_id))
        store.gate.set()
        assert held.result().outcome == ("failed" if refuse else "new")
        assert same_id.result().outcome == ("failed" if refuse else "unchanged")
        copy = same_text.result()
        assert (copy.outcome, copy.duplicate_of) == (("new", None) if refuse else ("exact_duplicate", "held"))


def test_of_documents_near_each_other_that_are_added_at_once_no_two_are_new() -> None:
    rng = random.Random(5)
    words = [f"词{n}" for n in range(60)]
    bases = [rng.sample(words, 40) for _ in range(8)]
    some = [[*rng.choice(bases), f"尾{rng.randrange(9)}"] for _ in range(120)]
    with Documents(Slow()) as documents, ThreadPoolExecutor(10) as threads:
        items = [{"id": n, "text": " ".join(each)} for n, each in enumerate(some)]
        outcomes = list(
            threads.map(lambda each: documents.add(each, rule=DuplicateRule("fingerprint", max_distance=5)), items)
        )
        rows = documents.fetch([o.id for o in outcomes if o.outcome == "new" and o.id])
        stored = {row.id: row for row in documents.export()}
    values = [row.fingerprint for row in rows.values() if row.fingerprint is not None]
    assert all((a ^ b).bit_count() > 5 for a, b in itertools.combinations(values, 2))
    assert 1 < len(values) < len(some)
    for outcome in outcomes:
        if outcome.duplicate_of is not None:
            ours, original = (stored[id].fingerprint for id in (str(outcome.id), outcome.duplicate_of))
            assert ours is not None
            assert original is not None
            assert (ours ^ original).bit_count() == outcome.distance


# --- faults ------------------------------------------------------------------------------------------------------


class LostReply(WatchedStore):
    """A lagging store that writes, and whose reply then gets lost."""

    lost = False

    def perform(self, request: StoreCall) -> Any:
        reply = super().perform(request)
        if request.method == "write" and self.lost:
            self.lost = False
            raise StoreUnavailable("the reply got lost")
        return reply


def test_after_an_error_it_is_known_what_the_store_wrote() -> None:
    store = LostReply(LinearStore(lagging=True))
    with Documents(store, deadline=0) as documents:
        documents.setup(keys=False)
        store.lost = True
        with pytest.raises(StoreUnavailable, match="the reply got lost"):
            documents.add({"id": "a", "text": TEXT}, rule="fingerprint")
        outcome = documents.add({"id": "b", "text": TEXT}, rule="fingerprint")
    assert (outcome.outcome, outcome.duplicate_of) == ("exact_duplicate", "a")


def test_every_call_that_goes_together_gets_the_error() -> None:
    class Broken(Slow):
        def perform(self, request: StoreCall) -> Any:
            if request.method == "write":
                raise StoreError("broken")
            return super().perform(request)

    def error_of(document: Any) -> str:
        with pytest.raises(StoreError) as caught:
            documents.add(document, rule="fingerprint")
        return str(caught.value)

    with Documents(Broken()) as documents, ThreadPoolExecutor(10) as threads:
        assert set(threads.map(error_of, DOCUMENTS)) == {"broken"}


def test_a_document_that_the_store_refuses_fails_alone() -> None:
    with Documents(Refusing("1")) as documents:
        outcomes = documents.add_many([{"id": n, "text": TEXT} for n in range(3)], rule="fingerprint")
        many = [documents.add({"id": 1, "text": f"{OTHER} {n}"}, rule="fingerprint") for n in range(30)]
    assert [(o.outcome, o.duplicate_of) for o in outcomes] == [
        ("new", None),
        ("failed", None),
        ("exact_duplicate", "0"),
    ]
    assert {(o.outcome, o.reason) for o in many} == {("failed", "the document: too wide")}


def test_fail_raises_for_its_own_document_alone() -> None:
    with Documents(LinearStore(lagging=True)) as documents:
        documents.add({"id": "a", "text": TEXT}, on_duplicate="fail", rule="fingerprint")
        with pytest.raises(DuplicateFound, match=r"'b' is a duplicate of 'a': it is not stored"):
            documents.add({"id": "b", "text": TEXT}, on_duplicate="fail", rule="fingerprint")
        assert documents.add({"id": "a", "text": TEXT}, on_duplicate="fail", rule="fingerprint").outcome == "unchanged"
        assert set(documents.fetch(["a", "b"])) == {"a"}


def test_a_document_that_cannot_be_used_is_rejected_with_the_reason() -> None:
    with Documents(LinearStore()) as documents:
        assert documents.add({"id": "a"}, rule="fingerprint").reason == (
            "the document: no text in field 'text': name the field that holds the text (text_field)"
        )
        assert [
            o.outcome for o in documents.add_many([{"id": "a"}, {"id": "b", "text": TEXT}, 3], rule="fingerprint")
        ] == [
            "rejected",
            "new",
            "rejected",
        ]


def test_the_store_is_refreshed_once_before_a_run_if_it_must_be() -> None:
    store = Slow()
    with Documents(store) as documents:
        documents.add({"id": "a", "text": TEXT}, rule="fingerprint")
        assert [o.outcome for o in documents.ingest([{"id": "b", "text": TEXT}], rule="fingerprint")] == [
            "exact_duplicate"
        ]
        before = store.performed["refresh"]
        assert [o.outcome for o in documents.ingest([{"id": "c", "text": TEXT}], rule="fingerprint")] == [
            "exact_duplicate"
        ]
    assert store.performed["refresh"] == before + 2  # what was added is still remembered: one before, one at the end


# --- bad arguments -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"refresh": "now"}, "refresh is 'now': use False, True or 'wait_for'"),
        ({"refresh": 1}, "refresh is 1: use False, True or 'wait_for'"),
        ({"pipeline": "p"}, "memory has no ingest pipelines: leave pipeline out"),
        ({"on_duplicate": "drop"}, "on_duplicate is 'drop': use one of index, skip, fail"),
        ({"filter": {"match": {"a": "b"}}}, "match"),
    ],
)
def test_a_bad_argument_raises_at_once(options: dict[str, Any], message: str) -> None:
    with Documents(LinearStore()) as documents, pytest.raises(InputError, match=message):
        documents.add({"id": "a", "text": TEXT}, **keywords_of(options))


# --- iterators that are left -------------------------------------------------------------------------------------


def test_what_an_iterator_that_was_left_wrote_is_found_by_the_next_call() -> None:
    """One call for each document, each left in another way, finds the duplicates that one whole run finds."""

    def left_by_break(documents: Documents, item: Any) -> Any:
        taken = []
        for outcome in documents.ingest([item], rule="fingerprint"):
            taken.append(outcome)
            break
        return taken[0]

    def left_by_next(documents: Documents, item: Any) -> Any:
        return next(documents.ingest([item], rule="fingerprint"))

    for call in (left_by_break, left_by_next):
        with Documents(LinearStore(lagging=True)) as documents:
            outcomes = [call(documents, item) for item in DOCUMENTS]
            assert documents.add({"id": "x", "text": TEXT}, rule="fingerprint").outcome == "exact_duplicate"
        check_that_each_text_is_new_once(outcomes, DOCUMENTS)


def test_an_iterator_that_loses_something_says_it(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A command that ran in this process has changed both.
    monkeypatch.setattr(logging.getLogger("es_simhash.iterators"), "disabled", False)
    caplog.set_level(logging.WARNING, "es_simhash")
    with Documents("sqlite:///:memory:") as documents:
        documents.ingest(DOCUMENTS, rule="fingerprint")
        assert caplog.messages == [
            "ingest() was called, but never iterated: nothing is stored; iterate to the end, or use add_many()"
        ]
        caplog.clear()
        next(in_batches(documents, 10).ingest(DOCUMENTS, rule="fingerprint"))
        assert caplog.messages == [
            "ingest() was stopped early: 9 outcomes were not reported, and documents that were not read are not "
            "stored: iterate to the end, or use add_many()"
        ]
        caplog.clear()
        for outcome in in_batches(documents, 10).ingest(DOCUMENTS[20:], workers=1, rule="fingerprint"):
            if outcome.id == "29":
                break
        assert [message.partition(": ")[2] for message in caplog.messages] == [
            "30 documents were read ahead and are not stored: ingest them again"
        ]
        caplog.clear()
        assert len(list(documents.ingest(DOCUMENTS, rule="fingerprint"))) == 60
        documents.export()
        assert next(documents.export()).id
        assert caplog.messages == []


# --- Elasticsearch -----------------------------------------------------------------------------------------------


@pytest.mark.elasticsearch
def test_elasticsearch_gives_one_new_and_nine_copies_and_search_finds_them_when_asked(
    elasticsearch_url: str, index_name: str
) -> None:
    from elasticsearch import Elasticsearch

    address = f"{elasticsearch_url}/{index_name}"
    with Documents(address) as documents, Elasticsearch(elasticsearch_url) as client, ThreadPoolExecutor(10) as threads:
        with pytest.raises(NotSetUp, match=r"does not exist.*: correct the name, or run"):
            documents.add({"id": "a", "text": TEXT}, rule="fingerprint")
        client.index(index=index_name, id="old", document={"text": "of another program"}, refresh=True)
        with pytest.raises(NotSetUp, match="and has 1 document: to give them fingerprints, run `es-simhash backfill"):
            documents.add({"id": "a", "text": TEXT}, rule="fingerprint")
        documents.setup(rule="fingerprint")
        client.indices.put_settings(index=index_name, settings={"refresh_interval": "300ms"})
        ten = [{"id": str(n), "text": TEXT} for n in range(10)]
        outcomes = list(threads.map(documents.add, ten))
        assert Counter(o.outcome for o in outcomes) == {"new": 1, "exact_duplicate": 9}
        missing = documents.add({"id": "piped", "text": OTHER}, pipeline="no-such-pipeline", rule="fingerprint")
        assert (missing.outcome, "no-such-pipeline" in str(missing.reason)) == ("failed", True)
        documents.add({"id": "waited", "text": OTHER}, refresh="wait_for", rule="fingerprint")
        assert [match.id for match in documents.similar(OTHER, rule="fingerprint")] == ["waited"]
        client.indices.put_settings(index=index_name, settings={"refresh_interval": "-1"})
        documents.add({"id": "refreshed", "text": OTHER}, refresh=True, rule="fingerprint")
        assert [match.id for match in documents.similar(OTHER, rule="fingerprint")] == ["refreshed", "waited"]
        documents.add({"id": "hidden", "text": OTHER}, rule="fingerprint")
        assert len(documents.similar(OTHER, rule="fingerprint")) == 2
        assert [o.outcome for o in documents.add_many([{"id": "again", "text": OTHER}], rule="fingerprint")] == [
            "exact_duplicate"
        ]


@pytest.mark.elasticsearch
def test_in_elasticsearch_a_write_whose_reply_got_lost_is_repeated_and_no_conflict(
    elasticsearch_url: str, index_name: str
) -> None:
    writes: list[StoreCall] = []

    class LosesReplies(WatchedStore):
        """The reply to the first attempt of each write gets lost."""

        def perform(self, request: StoreCall) -> Any:
            reply = super().perform(request)
            if request.method == "write":
                writes.append(request)
                if writes.count(request) == 1:
                    raise StoreUnavailable("the reply got lost")
            return reply

    store = LosesReplies(open_store(f"{elasticsearch_url}/{index_name}"))
    with Documents(store) as documents:
        documents.setup(keys=False)
        assert [
            documents.add({"id": id, "text": text}, rule="fingerprint").outcome
            for id, text in (("a", TEXT), ("b", OTHER))
        ] == [
            "new",
            "new",
        ]
    assert len(writes) == 4
