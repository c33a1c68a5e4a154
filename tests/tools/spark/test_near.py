"""Near pairs of one partition equal those of the reference, which compares all rows of a key. No Spark is needed."""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from es_simhash.fingerprinting.encoding import to_longs
from es_simhash.tools.spark.near import KEY, NearSearch, whole_keys
from tests.contract.documents import flip

Row = dict[str, Any]


@st.composite
def rows_of_keys(draw: st.DrawFn) -> list[Row]:
    """Rows with common keys, some of them in chunks. A document has one fingerprint, or none."""
    count = draw(st.integers(0, 12))
    values = draw(
        st.lists(
            st.none() | st.lists(st.integers(0, 63), max_size=4).map(lambda bits: flip(1 << 63, bits)),
            min_size=count,
            max_size=count,
        )
    )
    most = draw(st.lists(st.integers(1, 12), min_size=count, max_size=count))
    rows = []
    for position, value in enumerate(values):
        for key in draw(st.sets(st.integers(0, 3), max_size=3)):
            low, high = draw(st.sampled_from([(0, 0), (0, 1)]))
            side = draw(st.integers(low, high))
            row = {"number": 0, "key": key, "low": low, "high": high, "side": side, "position": position}
            row["most"] = most[position]
            rows.append(row | {"fp0": None if value is None else to_longs(value, 64)[0], "value": value})
    return sorted(rows, key=lambda row: [row[name] for name in KEY])


SCHEMA = pa.schema(
    [(name, pa.int32()) for name in ("number", "low", "high", "side")]
    + [(name, pa.int64()) for name in ("key", "position", "most", "fp0")]
)


def found_by(search: NearSearch, rows: list[Row], batch: int) -> tuple[set[tuple[int, int, int | None]], int]:
    batches = pa.Table.from_pylist(rows, schema=SCHEMA).to_batches(max_chunksize=batch)
    found = [row for made in search(batches) for row in made.to_pylist()]
    pairs = {(row["earlier"], row["later"], row["distance"]) for row in found if not row["left_out"]}
    return pairs, sum(row["left_out"] for row in found)


def reference(rows: list[Row], max_distance: int | None) -> set[tuple[int, int, int]]:
    keys = defaultdict(list)
    for row in rows:
        keys[tuple(row[name] for name in KEY)].append(row)
    pairs = set()
    for some in keys.values():
        for one, other in combinations(some, 2):
            distance = 65
            if one["value"] is not None and other["value"] is not None:
                distance = (one["value"] ^ other["value"]).bit_count()
            across = one["low"] == one["high"] or one["side"] != other["side"]
            if across and (max_distance is None or distance <= max_distance):
                pairs.add((*sorted((one["position"], other["position"])), distance))
    return pairs


@given(rows=rows_of_keys(), max_distance=st.none() | st.integers(0, 7), batch=st.integers(1, 9))
@settings(max_examples=150)
def test_the_nearest_pairs_equal_the_reference(rows: list[Row], max_distance: Any, batch: int) -> None:
    found, left_out = found_by(NearSearch(64, max_distance, nearest=True, held=3), rows, batch)
    every = reference(rows, max_distance)
    most = {row["position"]: row["most"] for row in rows}
    for later in {pair[1] for pair in every}:
        of_later = sorted((pair for pair in every if pair[1] == later), key=lambda pair: (pair[2], pair[0]))
        nearest = of_later[: most[later]]
        assert nearest == sorted((pair for pair in found if pair[1] == later), key=lambda pair: (pair[2], pair[0]))
    assert found <= every
    assert left_out >= len(every) - len(found)


@given(rows=rows_of_keys(), max_distance=st.integers(0, 7), batch=st.integers(1, 9))
@settings(max_examples=150)
def test_connecting_pairs_have_the_nearest_earlier_row_and_the_same_components(
    rows: list[Row], max_distance: int, batch: int
) -> None:
    found, _ = found_by(NearSearch(64, max_distance), rows, batch)
    every = reference(rows, max_distance)
    best = {later: min((d, e) for e, other, d in every if other == later) for later in {pair[1] for pair in every}}
    measured = [pair for pair in found if pair[2] is not None]
    assert {later: min((d, e) for e, other, d in measured if other == later) for _, later, _ in measured} == best
    assert components(found) == components(every)


def components(pairs: set[Any]) -> set[frozenset[int]]:
    groups = {position: {position} for pair in pairs for position in pair[:2]}
    for earlier, later, _ in pairs:
        if groups[earlier] is not groups[later]:
            groups[earlier] |= groups[later]
            for member in groups[later]:
                groups[member] = groups[earlier]
    return {frozenset(group) for group in groups.values()}


@given(rows=rows_of_keys(), batch=st.integers(1, 9), least=st.integers(1, 9))
def test_all_rows_of_a_key_are_in_one_table(rows: list[Row], batch: int, least: int) -> None:
    batches = pa.Table.from_pylist(rows, schema=SCHEMA).to_batches(max_chunksize=batch)
    tables = [table.to_pylist() for table in whole_keys(batches, least)]
    assert [row for table in tables for row in table] == [{name: row[name] for name in SCHEMA.names} for row in rows]
    keys = [{tuple(row[name] for name in KEY) for row in table} for table in tables]
    assert all(one.isdisjoint(other) for one, other in combinations(keys, 2))
