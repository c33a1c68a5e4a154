"""Times are read as Elasticsearch reads them, and a window holds what is near enough on both sides."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from es_simhash import DuplicateRule, Fingerprinter, Row
from es_simhash.decide.rule import ResolvedRule
from es_simhash.errors import InputError
from es_simhash.similarity.times import checked_time, parse_time, time_of

if TYPE_CHECKING:
    from collections.abc import Callable

DAY = 1_714_521_600_000  # 2024-05-01

READ: dict[Any, int] = {
    "2024": 1_704_067_200_000,
    2024: 1_704_067_200_000,
    "2024-05": DAY,
    "2024-05-01": DAY,
    "2024-05-01T10": DAY + 36_000_000,
    "2024-05-01T10Z": DAY + 36_000_000,
    "2024-05-01T10+08": DAY + 7_200_000,
    "2024-05-01T10:20": DAY + 37_200_000,
    "2024-05-01T10:20:30": DAY + 37_230_000,
    "2024-05-01T10:20:30.123456789Z": DAY + 37_230_123,
    "2024-05-01T10:20:30.1-03:30": DAY + 37_230_100 + 12_600_000,
    "2024-05-01T10:20:30+0800": DAY + 37_230_000 - 28_800_000,
    "2024-05-01T00:00+18:00": DAY - 64_800_000,
    "2024-02-29": 1_709_164_800_000,
    "0001-01-01": -62_135_596_800_000,
    "1950-01-01": -631_152_000_000,
    "9999-12-31T23:59:59.999Z": 253_402_300_799_999,
    DAY: DAY,
    str(DAY): DAY,
    10**11: 10**11,
    -(10**12): -(10**12),
    float(DAY + 1): DAY + 1,  # as pandas makes it beside a missing value
    -1e11: -(10**11),
    9999: 253_370_764_800_000,
}
NOT_READ = [
    *("", "yesterday", "2024-13-01", "2023-02-29", "2024-05-01  10:00", "2024-05-01T24:00:00", "2024-05-01T10:20:60"),
    *("2024-05-01T10:20:30z", "2024-05-01T10:20+18:30", "2024-05-01T10:20+08:60", "2024-5-1", "20240501T"),
    *("٢٠٢٤", "+2024", " 2024", "2024-05-01\n", None, True, 1.5, [], {}, 10**17, -(10**17), 10**5000, "1" * 16),
    *(2024.5, 2024.0, 1714521600000.5, 20_240_501.0, 1e17, float("nan"), float("inf")),
    *(0, 999, 20_240_501, "20240501", 1_714_521_600, "1714521600", 20_240_501_103_000),
]


@pytest.mark.parametrize(("value", "time"), READ.items())
def test_iso_dates_and_milliseconds_are_read(value: Any, time: int) -> None:
    assert parse_time(value) == time
    assert checked_time(value) == time


def test_a_space_may_stand_for_the_t() -> None:
    assert parse_time("2024-05-01 10:20:30") == parse_time("2024-05-01T10:20:30")
    assert parse_time("2024-05-01 10:20:30.5+08:00") == parse_time("2024-05-01T10:20:30.5+08:00")


@pytest.mark.parametrize("value", NOT_READ, ids=range(len(NOT_READ)))
def test_other_values_are_no_times(value: Any) -> None:
    assert parse_time(value) is None


@given(
    time=st.datetimes(min_value=datetime(2, 1, 1), max_value=datetime(9998, 12, 31)),
    minutes=st.integers(-18 * 60, 18 * 60),
)
def test_a_time_with_an_offset_is_that_of_datetime(time: datetime, minutes: int) -> None:
    aware = time.replace(tzinfo=timezone(timedelta(minutes=minutes)))
    exact = aware - datetime(1970, 1, 1, tzinfo=timezone.utc)
    expected = exact // timedelta(milliseconds=1)
    assert parse_time(aware.isoformat()) == expected
    assert checked_time(aware) == expected


@pytest.mark.elasticsearch
def test_elasticsearch_reads_every_time_in_the_same_way(make_index: Callable[[], str], elasticsearch_url: str) -> None:
    from elasticsearch import Elasticsearch

    index = make_index()
    with Elasticsearch(elasticsearch_url) as client:
        client.indices.create(index=index, mappings={"properties": {"date": {"type": "date"}}})
        lines: list[Any] = []
        for number, value in enumerate(READ):
            lines += [{"index": {"_id": str(number)}}, {"date": value}]
        assert not client.bulk(index=index, operations=lines, refresh=True)["errors"]
        fields = [{"field": "date", "format": "epoch_millis"}]
        hits = client.search(index=index, size=100, docvalue_fields=fields)["hits"]["hits"]
        read = {int(hit["_id"]): int(hit["fields"]["date"][0]) for hit in hits}
    assert read == dict(enumerate(READ.values()))


@pytest.mark.parametrize(
    ("document", "field"),
    [
        ({"date": DAY}, "date"),
        ({"date": [DAY]}, "date"),
        ({"date": [None, DAY]}, "date"),
        ({"a": {"b": DAY}}, "a.b"),
        ({"a.b": DAY}, "a.b"),
        ({"a": [{"b": DAY}, {"c": 1}]}, "a.b"),
        ({"a": {"b.c": DAY}}, "a.b.c"),
    ],
)
def test_the_time_of_a_document_is_the_one_value_of_its_field(document: Any, field: str) -> None:
    assert time_of(document, field) == DAY


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({}, "no time in field 'date': name the field that holds the time"),
        ({"date": None}, "no time in field 'date'"),
        ({"date": []}, "no time in field 'date'"),
        ({"date": [DAY, DAY]}, "the field 'date' holds 2 times: use one"),
        ({"date": {"day": 1}}, """the time in field 'date' is {'day': 1}, which is no date: use ISO 8601"""),
        ({"date": "x" * 1000}, "the time in field 'date' is 'xxx"),
    ],
)
def test_a_document_without_one_date_is_an_error_that_shows_the_value(document: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        time_of(document, "date")
    assert str(caught.value).startswith(message)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("hours", [-8, 8])
def test_a_datetime_at_the_end_of_its_range_is_read(hours: int) -> None:
    zone = timezone(timedelta(hours=hours))
    for moment in (datetime.min, datetime.max):
        assert checked_time(moment.replace(tzinfo=zone)) == checked_time(moment) - hours * 3_600_000


def test_a_window_is_inclusive_on_both_sides() -> None:
    chosen = DuplicateRule(within=timedelta(milliseconds=10), time_field="date")
    rule, rows = ResolvedRule(chosen, Fingerprinter(), keys=True), {n: Row("", None, "", time=n) for n in range(120)}
    assert rule.query(rows[100], None).times == (90, 110)
    inside = [rule.is_in_window(rows[100], rows[other]) for other in (89, 90, 110, 111)]
    assert inside == [False, True, True, False]
    timeless = Row("", None, "")
    assert not rule.is_in_window(rows[100], timeless)
    assert not rule.is_in_window(timeless, timeless)


def test_the_depth_of_arrays_around_a_time_does_not_matter() -> None:
    deep: list[Any] = [DAY]
    for _ in range(5_000):
        deep = [deep]
    assert time_of({"at": deep}, "at") == DAY


@pytest.mark.parametrize("unit", ["D", "s", "ms", "ns"])
def test_a_time_of_numpy_is_a_time_as_a_datetime_is(unit: Literal["D", "s", "ms", "ns"]) -> None:
    assert parse_time(np.datetime64("2024-05-01", unit)) == DAY
    assert parse_time(np.datetime64("NaT", unit)) is None


def test_a_date_is_a_time_as_a_datetime_is() -> None:
    assert parse_time(date(2024, 5, 1)) == parse_time(datetime(2024, 5, 1)) == parse_time("2024-05-01")
