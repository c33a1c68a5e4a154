"""Only documents in the window around a document's own time can be its duplicates, in every verb and on every store."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from es_simhash import Documents, DuplicateRule
from es_simhash.deciding.limits import Limits
from es_simhash.errors import InputError
from es_simhash.stores.address import open_store
from tests.contract import LinearStore
from tests.deciding import test_ingest, test_keys
from tests.deciding.test_ingest import LONG, Plain, confirms, expected, played, text, texts
from tests.limited import in_batches
from tests.rules import keywords_of

if TYPE_CHECKING:
    from collections.abc import Callable

HOURS = 5
WITHIN = timedelta(hours=HOURS)
START = datetime(2024, 5, 1)
hours = st.sampled_from([0, 0, 1, 5, 6, 10, 11, 200])
documents = st.lists(st.tuples(st.integers(0, 12), texts, hours), max_size=14, unique_by=lambda document: document[0])
runs = st.lists(documents | documents | test_ingest.removals, min_size=1, max_size=5)


def date(hour: int) -> Any:
    """Return the time of an hour in one of the forms that a document may have."""
    time = START + timedelta(hours=hour)
    return [
        time.isoformat(),
        f"{time + timedelta(hours=8):%Y-%m-%dT%H:%M:%S}+08:00",
        int(time.replace(tzinfo=timezone.utc).timestamp() * 1000),
    ][hour % 3]


class PlainInWindow(Plain):
    """The reference implementation with a window."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.hours: dict[str, int] = {}

    def in_window(self, id: str, other: str) -> bool:
        return abs(self.hours[id] - self.hours[other]) <= HOURS

    def moved(self, id: str, *fields: Any) -> bool:
        return bool(self.contents[id][1:] != fields)

    def take(self, id: str, text: str, *fields: Any) -> Any:
        [hour] = fields
        before = self.hours.get(id)
        self.hours[id] = hour
        outcome = self.ingest(id, text, hour)
        if outcome[0] == "unchanged" and before is not None:  # nothing is written, not even the time
            self.hours[id] = before
        return outcome


def rule(**more: Any) -> DuplicateRule:
    return DuplicateRule(within=WITHIN, time_field="meta.date", **more)


def document(id: Any, text: str, hour: int) -> dict[str, Any]:
    return {"id": id, "text": text, "meta": {"date": date(hour)}}


@pytest.mark.parametrize("window", [0, 3, 5_000])
@pytest.mark.parametrize("make_store", [LinearStore, lambda: LinearStore(lagging=True), lambda: "sqlite:///:memory:"])
@given(
    runs=runs,
    max_distance=st.integers(0, 7),
    on_duplicate=st.sampled_from(["index", "skip"]),
    size=st.integers(1, 9),
    ahead=st.integers(0, 2),
    confirm=confirms,
)
@settings(max_examples=50, deadline=None)
def test_every_outcome_is_that_of_the_reference_whatever_the_batches(
    make_store: Callable[[], Any],
    window: int,
    runs: list[Any],
    max_distance: int,
    on_duplicate: Any,
    size: int,
    ahead: int,
    confirm: float | None,
) -> None:
    our_rule = rule(max_distance=max_distance, confirm=confirm)
    options = {"on_duplicate": on_duplicate, "batch_size": size, "ahead": ahead}
    found = played(make_store(), runs, document, {"rule": our_rule}, limits=Limits(window=window), **options)
    assert found == expected(PlainInWindow(max_distance, on_duplicate, confirm), runs, size)


@pytest.mark.parametrize("store", ["lagging", "sqlite"])
@settings(max_examples=30, deadline=None)
@given(items=test_keys.documents(), every=st.lists(hours, min_size=12, max_size=12), batch=st.integers(1, 5))
def test_with_keys_the_outcomes_are_those_of_the_reference(
    store: str, items: list[dict[str, Any]], every: list[int], batch: int
) -> None:
    items = [{**item, "hour": hour, "meta": {"date": date(hour)}} for item, hour in zip(items, every, strict=False)]
    opened = LinearStore(lagging=True) if store == "lagging" else open_store("sqlite:///:memory:")
    outcomes = in_batches(test_keys, batch).ingest(
        opened, items, rule=DuplicateRule(within=WITHIN, time_field="meta.date")
    )
    assert test_keys.links(outcomes) == test_keys.reference(items, HOURS)


# --- the same on every store -----------------------------------------------------------------------------------------

TEXTS = [text(*LONG), text(*LONG[:-1]), text(*LONG), text(*LONG[1:]), "图集", text(*LONG, 17)]
ITEMS = [document(f"d{n}", TEXTS[n % 6], (7 * n) % 31) for n in range(60)]
RULES = [
    rule(rule="fingerprint"),
    rule(rule="exact"),
    rule(max_distance=7, confirm=0.8),
    rule(confirm=0.8),
]


def everything(opened: Documents, rule: DuplicateRule, **options: Any) -> Any:
    """Return what all verbs answer."""
    outcomes = [each.to_dict() for each in in_batches(opened, 17).ingest(ITEMS, rule=rule, **keywords_of(options))]
    updates = [document(f"d{n}", TEXTS[(n + 1) % 6], (7 * n + 3) % 31) for n in range(0, 60, 7)]
    outcomes += [each.to_dict() for each in opened.ingest(updates, rule=rule, **keywords_of(options))]
    similar = [opened.similar_to(f"d{n}", rule=rule) for n in range(0, 60, 5)]
    similar += opened.similar_many(TEXTS, times=[date(n) for n in range(6)], rule=rule)
    opened.remove([f"d{n}" for n in range(0, 60, 9)], rule=rule)
    linked = {row.id: (row.group, row.duplicate_of) for row in opened.export()}
    report = opened.group(rule=rule)
    grouped = {row.id: (row.group, row.duplicate_of) for row in opened.export()}
    return outcomes, similar, linked, (report.groups, report.members, report.largest), grouped


@pytest.mark.elasticsearch
@pytest.mark.parametrize("type", ["date", "date_nanos"])
@pytest.mark.parametrize("keys", [False, True])
@pytest.mark.parametrize("rule", RULES, ids=["near", "digest", "confirm 7", "confirm"])
def test_elasticsearch_and_sqlite_give_the_answers_of_the_reference_store(
    rule: DuplicateRule, keys: bool, type: str, make_index: Callable[[], str], elasticsearch_url: str
) -> None:
    with Documents(LinearStore()) as opened:
        opened.setup(keys=keys)
        reference = everything(opened, rule)
    with Documents("sqlite:///:memory:") as opened:
        opened.setup(keys=keys)
        assert everything(opened, rule) == reference
    index = make_index()
    with Documents(f"{elasticsearch_url}/{index}") as opened:
        opened.setup(keys=keys)
        map_field(elasticsearch_url, index, {"meta": {"properties": {"date": {"type": type}}}})
        assert everything(opened, rule) == reference
    assert {outcome["outcome"] for outcome in reference[0]} >= {"new", "exact_duplicate", "updated"}


def map_field(url: str, index: str, properties: Any) -> None:
    from elasticsearch import Elasticsearch

    with Elasticsearch(url) as client:
        client.indices.put_mapping(index=index, properties=properties)


# --- single laws -----------------------------------------------------------------------------------------------------


def test_both_edges_of_the_window_are_inside_and_exact_duplicates_obey_it() -> None:
    run = [(n, TEXTS[0], h) for n, h in enumerate([10, 15, 5, 16, 4])]
    found, _ = played("sqlite:///:memory:", [run], document, {"rule": rule()})
    assert [original for _, original, _ in found] == [None, "0", "0", "1", "2"]


def test_with_a_length_of_0_only_documents_of_the_same_time_are_duplicates() -> None:
    dates = ["2024-05-01", "2024-05-02", "2024-05-01T00:00:00Z", "2024-05-02T08:00+08:00"]
    items = [{"id": n, "text": TEXTS[0], "date": date} for n, date in enumerate(dates)]
    with Documents("sqlite:///:memory:") as opened:
        outcomes = opened.ingest(items, rule=DuplicateRule("fingerprint", within=timedelta(0), time_field="date"))
        assert [outcome.duplicate_of for outcome in outcomes] == [None, None, "0", "1"]


def test_a_document_without_a_date_is_rejected_with_field_value_and_place() -> None:
    values = [{}, {"date": None}, {"date": "yesterday"}, {"date": ["2024-05-01", "2024-05-02"]}, {"date": True}]
    items = [{"id": n, "text": TEXTS[0], **value} for n, value in enumerate([*values, {"date": ["2024-05-01"]}])]
    with Documents("sqlite:///:memory:") as opened:
        outcomes = list(opened.ingest(items, rule=DuplicateRule("fingerprint", within=WITHIN, time_field="date")))
    reasons = [outcome.reason for outcome in outcomes]
    assert [outcome.outcome for outcome in outcomes] == ["rejected"] * 5 + ["new"]
    assert reasons[0] == "document 1: no time in field 'date': name the field that holds the time (time_field)"
    assert reasons[2] == (
        "document 3: the time in field 'date' is \"yesterday\", which is no date: use ISO 8601, such as 2024-05-01 or "
        "2024-05-01T08:30:00+08:00, or milliseconds since 1970"
    )
    assert reasons[3] == "document 4: the field 'date' holds 2 times: use one"
    assert outcomes[2].document == items[2]


@pytest.mark.parametrize("make_store", [LinearStore, lambda: "sqlite:///:memory:"])
def test_a_stored_document_without_a_time_is_nobodys_duplicate_and_is_named_where_it_is_asked_for(
    make_store: Callable[[], Any],
) -> None:
    with Documents(make_store()) as opened:
        opened.setup(keys=False)
        items = [{"id": "none", "text": TEXTS[0]}, {"id": "bad", "text": TEXTS[1], "date": "May"}]
        list(opened.ingest(items, rule="fingerprint"))
        opened.setup(rule=DuplicateRule("fingerprint", within=WITHIN, time_field="date"))
        [outcome] = opened.ingest(
            [{"id": "new", "text": TEXTS[0], "date": "2024"}],
            rule=DuplicateRule("fingerprint", within=WITHIN, time_field="date"),
        )
        assert outcome.outcome == "new"
        assert [
            m.id
            for m in opened.similar(
                TEXTS[0], time="2024", rule=DuplicateRule("fingerprint", within=WITHIN, time_field="date")
            )
        ] == ["new"]
        with pytest.raises(InputError, match="document 'none': no time in field 'date'"):
            opened.similar_to("none", rule=DuplicateRule("fingerprint", within=WITHIN, time_field="date"))
        before = {row.id: (row.group, row.duplicate_of) for row in opened.export()}
        with pytest.raises(InputError, match=r"document 'none': no time in field 'date'.*\(filter\)"):
            opened.group(rule=DuplicateRule("fingerprint", within=WITHIN, time_field="date"))
        assert {row.id: (row.group, row.duplicate_of) for row in opened.export()} == before
        report = opened.group(
            filter={"term": {"date": "2024"}}, rule=DuplicateRule("fingerprint", within=WITHIN, time_field="date")
        )
        assert report.documents == 1


def test_a_backfill_decides_by_the_window_and_rejects_documents_without_a_time() -> None:
    store = LinearStore()
    with Documents(store) as opened:
        opened.setup(keys=False)
        items = [document("a", TEXTS[0], 0), document("b", TEXTS[0], 6), document("c", TEXTS[0], 7)]
        list(opened.ingest([*items, {"id": "none", "text": TEXTS[0]}], rule="exact"))
        store.rows = {
            id: (row.__class__(id, None, "", "", None, 0, version=row.version), source)
            for id, (row, source) in store.rows.items()
        }
        store.searchable = dict(store.rows)
        opened.setup(rule=rule())
        outcomes = {each.id: each for each in opened.backfill(rule=rule(text_field="text"))}
        assert {id: each.duplicate_of for id, each in outcomes.items()} == {
            "a": None,
            "b": None,
            "c": "b",
            "none": None,
        }
        assert outcomes["none"].reason is not None
        assert "no time in field 'meta.date'" in outcomes["none"].reason


def test_a_text_needs_a_time_with_within_and_has_none_without() -> None:
    with Documents("sqlite:///:memory:") as opened:
        opened.setup(keys=False)
        with pytest.raises(InputError, match="give the time of the text"):
            opened.similar("x", rule=rule())
        with pytest.raises(InputError, match="a time counts only with within"):
            opened.similar("x", time="2024", rule="fingerprint")
        with pytest.raises(InputError, match="the time 'May' is no date: use ISO 8601"):
            opened.similar("x", time="May", rule=rule())
        with pytest.raises(InputError, match="2 texts have 1 times: give one time for each text"):
            opened.similar_many(["x", "y"], times=["2024"], rule=rule())
        with pytest.raises(InputError, match="the times are one string"):
            opened.similar_many(["x"], times="2024", rule=rule())
        assert opened.similar_many([], times=[], rule=rule()) == []


# --- Elasticsearch ---------------------------------------------------------------------------------------------------

PROPERTIES: dict[str, Any] = {
    "day": {"type": "date"},
    "nanos": {"type": "date_nanos"},
    "text_date": {"type": "keyword"},
    "seconds": {"type": "date", "format": "strict_date_optional_time||epoch_second"},
    "bare": {"type": "date", "doc_values": False},
    "inside": {"type": "nested", "properties": {"day": {"type": "date"}}},
    "plain": {"properties": {"day": {"type": "date", "format": "yyyy-MM-dd||epoch_millis"}}},
}


@pytest.mark.elasticsearch
def test_a_field_that_is_not_mapped_as_a_date_raises_before_anything_is_read(
    make_index: Callable[[], str], elasticsearch_url: str
) -> None:
    index = make_index()
    with Documents(f"{elasticsearch_url}/{index}") as opened:
        opened.setup(keys=False)
        map_field(elasticsearch_url, index, PROPERTIES)
        problems = {
            "none": "it has no mapping",
            "text_date": "its type is keyword",
            "plain": "its type is object",
            "seconds": "its format is epoch_second",
            "bare": "it has no doc values",
            "inside.day": "it has no mapping",
        }
        for field, problem in problems.items():
            options: dict[str, Any] = {"within": WITHIN, "time_field": field}
            asked: list[Callable[[], Any]] = [
                lambda: list(opened.ingest(unreadable(), **keywords_of(options))),  # noqa: B023
                lambda: opened.similar("x", time="2024", **keywords_of(options)),  # noqa: B023
                lambda: opened.similar_to("x", **keywords_of(options)),  # noqa: B023
                lambda: opened.group(**keywords_of(options)),  # noqa: B023
                lambda: opened.remove(["x"], **keywords_of(options)),  # noqa: B023
                lambda: list(opened.backfill(**keywords_of({"text_field": "text", **options}))),  # noqa: B023
            ]
            for ask in asked:
                with pytest.raises(InputError, match=problem) as caught:
                    ask()
                assert f"the index {index} cannot compare times in the field {field!r}" in str(caught.value)
                assert f"PUT {index}/_mapping" in str(caught.value)
        for field in ("day", "nanos", "plain.day"):
            assert opened.group(rule=DuplicateRule("fingerprint", within=WITHIN, time_field=field)).documents == 0


def unreadable() -> Any:
    raise AssertionError("the input is read")
    yield


@pytest.mark.elasticsearch
def test_times_that_date_nanos_cannot_hold_are_outside_and_do_no_harm(
    make_index: Callable[[], str], elasticsearch_url: str
) -> None:
    index = make_index()
    with Documents(f"{elasticsearch_url}/{index}") as opened:
        opened.setup(keys=False)
        map_field(elasticsearch_url, index, PROPERTIES)
        items = [
            {"id": n, "text": TEXTS[0], "nanos": day} for n, day in enumerate(["1970-01-02", "1970-01-01", "2262"])
        ]
        old = {"id": 3, "text": TEXTS[0], "nanos": "1950"}
        rule = DuplicateRule(within=timedelta(days=7), time_field="nanos")
        outcomes = list(opened.ingest([*items, old], rule=rule))
        assert [outcome.outcome for outcome in outcomes] == ["new", "exact_duplicate", "new", "failed"]
        for time, ids in {"1969-12-28": ["0", "1"], "1950": [], "2300": [], "2262-01-07": ["2"], "9999": []}.items():
            assert sorted(m.id for m in opened.similar(TEXTS[0], time=time, rule=rule)) == ids
        old = {"id": 4, "text": TEXTS[0], "day": "1950-01-01"}
        rule = DuplicateRule(within=timedelta(days=7), time_field="day")
        opened.setup(rule=rule)
        list(opened.ingest([old], rule=rule))
        assert [m.id for m in opened.similar(TEXTS[0], time="1949-12-25", rule=rule)] == ["4"]


@pytest.mark.elasticsearch
def test_a_field_may_have_the_name_of_one_of_ours(make_index: Callable[[], str], elasticsearch_url: str) -> None:
    index = make_index()
    items = [{"id": n, "text": TEXTS[0], "written": f"2024-05-0{n}"} for n in (1, 2, 9)]
    with Documents(f"{elasticsearch_url}/{index}") as opened:
        opened.setup(keys=False)
        map_field(elasticsearch_url, index, {"written": {"type": "date"}})
        outcomes = opened.ingest(
            items, rule=DuplicateRule("fingerprint", within=timedelta(days=2), time_field="written")
        )
        assert [outcome.duplicate_of for outcome in outcomes] == [None, "1", None]
        assert (
            opened.group(rule=DuplicateRule("fingerprint", within=timedelta(days=2), time_field="written")).changed == 0
        )
