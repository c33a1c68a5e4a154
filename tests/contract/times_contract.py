"""Tests for the times of documents: Rows with times, and Candidates in the times of each Probe."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from es_simhash.contract import Probe, Scan
from es_simhash.search.keys import KeyQuery
from tests.contract.documents import candidates, entry, find_by_keys, keys, write
from tests.contract.linear import LinearStore
from tests.contract.suite import Suite

if TYPE_CHECKING:
    from es_simhash.contract import Entry, Row, Store

FIELD = "meta.date"
DAY = 86_400_000
FIRST = 1_714_521_600_000  # 2024-05-01


class TimesContract(Suite):
    """The times of documents."""

    def test_rows_come_with_their_times_if_a_field_is_named(self) -> None:
        store = self.ready()
        write(store, _on_day("a", 1, 5), entry("none", 5), _on_day("c", 2, 5, keys=keys("k"), length=3))
        store.check_time_field(FIELD)
        expected = {"a": FIRST, "none": None, "c": FIRST + DAY}
        query = Probe(None, None, (KeyQuery(keys("k"), 1),))
        for field, times in ((FIELD, expected), (None, dict.fromkeys(expected))):
            fetched = store.fetch(tuple(expected), field)
            assert {id: row.time for id, row in fetched.items()} == times
            assert _times(store.scan(Scan(time_field=field)).rows) == times
            assert _times(candidates(store, [Probe(5, None)], 3, time_field=field)) == times
            assert _times(find_by_keys(store, query, time_field=field).rows) == {"c": times["c"]}

    def test_times_with_offsets_and_fractions_are_milliseconds_in_utc(self) -> None:
        store = self.ready()
        dates = {"a": "2024-05-01T08:00:00+08:00", "b": "2024-04-30T19:30:00.123456-04:30", "c": "1969-12-31"}
        write(store, *(entry(id, 5, meta={"date": date}) for id, date in dates.items()))
        expected = {"a": FIRST, "b": FIRST + 123, "c": -DAY}
        assert _times(store.scan(Scan(time_field=FIELD)).rows) == expected
        assert _times(store.fetch(tuple(dates), FIELD).values()) == expected

    def test_each_probe_finds_what_is_in_its_own_times_with_both_ends(self) -> None:
        store = self.ready()
        odd, even = (1 << 64) - 1, 0  # so far apart that no store returns one for the other
        values = {day: odd if day % 2 else even for day in range(1, 20)}
        write(store, *(_on_day(f"d{day}", day, value) for day, value in values.items()), entry("none", even))
        for fingerprint, first, last, days in ((odd, 3, 7, (3, 5, 7)), (even, 4, 4, (4,)), (even, 5, 5, ())):
            found = candidates(store, [Probe(fingerprint, None, (), _days(first, last))], 0, time_field=FIELD)
            assert {row.id for row in found} == {f"d{day}" for day in days}
        both = [Probe(odd, None, (), _days(1, 3)), Probe(even, None, (), _days(10, 12))]
        found = candidates(store, both, 0, time_field=FIELD)
        assert {row.id for row in found} >= {"d1", "d3", "d10", "d12"}
        assert all(row.id in {"d1", "d2", "d3", "d10", "d11", "d12"} for row in found)
        anywhere = [Probe(odd, None), Probe(even, None, (), _days(2, 2))]
        found = candidates(store, anywhere, 0, time_field=FIELD)
        assert {row.id for row in found} >= {f"d{day}" for day in range(1, 20, 2)} | {"d2"}

    def test_of_one_digest_the_first_in_the_times_of_each_probe_is_found(self) -> None:
        store = self.ready()
        write(store, *(_on_day(f"d{day}", day, 5, digest="x") for day in (9, 3, 1, 2, 8, 4)))
        probes = [Probe(5, "x", (), _days(first, first + 2)) for first in (1, 2, 7)]
        found = candidates(store, probes, 3, one_per_digest=True, time_field=FIELD)
        assert {row.id for row in found} >= {"d3", "d9"}
        assert len(found) < 6
        found = candidates(store, [probes[0]], 3, one_per_digest=True, time_field=FIELD)
        assert {row.id for row in found} == {"d3"}

    def test_keys_find_and_count_what_is_in_the_times(self) -> None:
        store = self.ready()
        write(store, *(_on_day(f"d{day}", day, None, keys=keys("k", f"k{day}"), length=2) for day in range(1, 10)))
        query = KeyQuery(keys("k", "k3"), 1)
        probes = [Probe(None, None, (query,), _days(2, 6)), Probe(None, None, (query,), _days(8, 9))]
        found = find_by_keys(store, *probes, most=2, time_field=FIELD)
        assert {row.id for row in found.rows} == {"d3", "d2", "d8", "d9"}
        assert found.left_out == {0: 3}
        of_each = [replace(probes[0], most=1), probes[1], replace(probes[0], most=4), replace(probes[1], most=1)]
        found = find_by_keys(store, *of_each, most=2, time_field=FIELD)
        assert {row.id for row in found.rows} == {"d3", "d2", "d4", "d5", "d8", "d9"}
        assert found.left_out == {0: 4, 2: 1, 3: 1}

    def test_random_requests_with_times_have_the_replies_of_the_reference_implementation(self) -> None:
        store, reference = self.ready(), LinearStore()
        rng = random.Random(7)
        for _ in range(40):
            self._move_times(store, reference, rng)

    def _move_times(self, store: Store, reference: Store, rng: random.Random) -> None:
        entries = [_random_entry(f"doc{n}", rng) for n in rng.sample(range(60), rng.randint(1, 12))]
        gone = tuple(f"doc{n}" for n in rng.sample(range(60), 3))
        for each in (store, reference):
            write(each, *entries)
            each.remove(gone)
            each.refresh()
        probes = tuple(_random_probe(rng) for _ in range(4))
        options: dict[str, Any] = {
            "max_distance": rng.choice([-1, 2]),
            "filter": rng.choice([None, {"term": {"lang": "zh"}}]),
            "without": tuple(f"doc{n}" for n in rng.sample(range(60), 3)),
            "most": rng.choice([1, 3, 100]),
            "time_field": FIELD,
        }
        ours, expected = (find_by_keys(each, *probes, **options) for each in (store, reference))
        assert ours.left_out == expected.left_out
        every = {row.id: row for row in reference.scan(Scan(fields=(), time_field=FIELD)).rows}
        for one_per_digest in (False, True):
            ours, expected = (
                find_by_keys(each, *probes, **options, one_per_digest=one_per_digest) for each in (store, reference)
            )
            found = {row.id: row for row in ours.rows}
            # Stores know the rarity of a key only roughly, so of more than ``most`` documents they may choose others.
            assert expected.left_out or found.keys() >= {row.id for row in expected.rows}
            assert len(found) == len(ours.rows)
            for row in ours.rows:
                assert row.time == every[row.id].time
                assert any(_in_times(row, probe) for probe in probes)


def _days(first: int, last: int) -> tuple[int, int]:
    """Return the times from one day of May 2024 to another."""
    return FIRST + (first - 1) * DAY, FIRST + (last - 1) * DAY


def _on_day(id: str, day: int, fingerprint: int | None, **more: Any) -> Entry:
    return entry(id, fingerprint, meta={"date": f"2024-05-{day:02d}"}, **more)


def _times(rows: Any) -> dict[str, int | None]:
    return {row.id: row.time for row in rows}


def _in_times(row: Row, probe: Probe) -> bool:
    if probe.times is None:
        return True
    return row.time is not None and probe.times[0] <= row.time <= probe.times[1]


def _random_probe(rng: random.Random) -> Probe:
    first = rng.randint(1, 9)
    times = rng.choice([None, *[_days(first, first + rng.randint(0, 4))] * 3])
    queries = (KeyQuery(keys("k0", "k1", "k2"), rng.randint(1, 2)),) if rng.random() < 0.5 else ()
    return Probe(rng.choice([None, 0, 1 << 20]), rng.choice([None, f"digest{rng.randint(0, 9)}"]), queries, times)


def _random_entry(id: str, rng: random.Random) -> Entry:
    number = rng.randint(0, 9)
    text = random.Random(number)  # documents with one digest have one fingerprint and the same keys
    value = text.choice([None, 0, 1 << 20, (1 << 64) - 1])
    own = text.choice([None, text.sample(keys("k0", "k1", "k2", "k3"), text.randint(0, 4))])
    fields: dict[str, Any] = rng.choice([{}, {"lang": "zh"}])
    if rng.random() < 0.9:
        fields = {**fields, "meta": {"date": f"2024-05-{rng.randint(1, 12):02d}"}}
    return entry(id, value, digest=f"digest{number}", keys=own, length=2, **fields)
