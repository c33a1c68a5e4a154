"""The indexes in memory, compared with all pairs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from es_simhash.near.columns import Columns
from es_simhash.near.fingerprint_index import FingerprintIndex
from es_simhash.near.key_index import ENTRIES_OF_QUERY, KeyIndex, Near, with_length
from es_simhash.rows import Row, StoreQuery
from es_simhash.text.keys import GRAM, HASH_BITS, PAIRS, KeyQuery, key_queries, keys_of_texts

TEXTS = st.lists(st.text(alphabet="今日要闻北京上海天气晴雨a1", min_size=1, max_size=90), min_size=1, max_size=12)


def positions(near: Near, asker: int) -> list[int]:
    """The positions that may be near one asker."""
    return near.positions[near.askers == asker].tolist()


@pytest.mark.parametrize("distance", range(8))
def test_fingerprints_within_each_distance_are_found_and_no_others(distance: int) -> None:
    random = np.random.default_rng(distance)
    values = random.integers(0, 2**63, 6_000, dtype=np.uint64)
    for number in range(1, len(values), 2):  # near the one before: 1 to 8 bits differ
        bits = random.choice(64, 1 + number % 8, replace=False).astype(np.uint64)
        values[number] = values[number - 1] ^ np.bitwise_or.reduce(np.uint64(1) << bits)
    index = FingerprintIndex()
    for part in np.split(np.arange(len(values)), [1, 30, 5_000]):
        index.add(values[part], part)
    askers = [*values[::50].tolist(), None]
    near = index.near(askers, [distance] * len(askers), values, np.ones(len(values), dtype=np.bool_))
    for number, asker in enumerate(askers[:-1]):
        expected = [at for at, value in enumerate(values.tolist()) if (value ^ asker).bit_count() <= distance]
        assert positions(near, number) == expected
    assert not positions(near, len(askers) - 1)


def test_a_crowd_of_one_fingerprint_is_found_whole() -> None:
    index = FingerprintIndex()
    values = np.full(20_000, 7, dtype=np.uint64)
    index.add(values, np.arange(20_000))
    assert index.near([6], [3], values, np.ones(20_000, dtype=np.bool_)).positions.tolist() == list(range(20_000))


def fulfils(query: KeyQuery, keys: tuple[int, ...], length: int) -> bool:
    """The condition as it is defined; the hash of a q-gram is that of an entry, without its lowest bits."""
    if query.lengths is not None and not query.lengths[0] <= length <= query.lengths[1]:
        return False
    short = np.zeros(1, dtype=np.int64)
    theirs = {int(with_length(np.array([key], dtype=np.uint64), short)[0]) for key in keys}
    asked = [int(with_length(np.array([key], dtype=np.uint64), short)[0]) for key in query.keys]
    return sum(key in theirs for key in asked) >= query.minimum


@given(TEXTS, st.data())
def test_texts_that_fulfil_a_query_are_found_in_each_way_to_add_them(texts: list[str], data: st.DataObject) -> None:
    keys = keys_of_texts(texts)
    index = KeyIndex()
    cut = data.draw(st.integers(0, len(texts)))
    for start, part in ((0, keys[:cut]), (cut, keys[cut:])):
        index.add(range(start, start + len(part)), [key.values for key in part], [key.length for key in part])
    queries = [key_queries(key, 0.8) for key in keys]
    near = index.near(queries)
    for number, theirs in enumerate(queries):
        expected = [at for at, key in enumerate(keys) if any(fulfils(q, key.values, key.length) for q in theirs)]
        assert set(expected) <= set(positions(near, number))
        exact = [at for at in positions(near, number) if at not in expected]
        assert all(any(set(q.keys) & set(keys[at].values) for q in theirs) for at in exact)


def test_it_is_said_when_not_all_entries_of_a_common_key_are_read() -> None:
    index = KeyIndex()
    keys = (1 << 7, 2 << 7, 3 << 7)
    count = ENTRIES_OF_QUERY // 2
    index.add(range(count + 1), [keys] * count + [keys[2:]], [0] * (count + 1))
    near = index.near([[KeyQuery(keys[:2], 1)], [KeyQuery(keys, 1)], [KeyQuery(keys, 2)]])
    assert [len(positions(near, number)) for number in range(3)] == [count] * 3
    assert set(near.cut) == {1}, "whoever has the last key alone is not found"


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(0, 3), st.booleans()), max_size=30))
def test_columns_answer_as_a_list_of_rows(moves: list[tuple[str, int, bool]]) -> None:
    columns, rows = Columns(keys=False, fingerprints=True), dict[str, Row]()
    for order, (id, value, is_drop) in enumerate(moves):
        if is_drop:
            columns.drop(id)
            rows.pop(id, None)
        else:
            original = next((row.id for row in rows.values() if row.id != id and row.duplicate_of is None), None)
            row = Row(id, value, f"{value:032x}", order=order, written=order, version=order or None)
            if value == 1:
                row = row._replace(duplicate_of=original)
            row = row.in_group("a name") if value == 2 else row
            columns.enter([row], [()])
            rows[id] = row
    assert (len(columns), columns.count(None), columns.count(9)) == (
        len(rows),
        len(rows),
        sum(row.written >= 9 for row in rows.values()),
    )
    assert {row.id: row for row in columns.rows()} == rows == {id: columns.row(id) for id in rows}
    for value in range(4):
        [hits] = columns.search([StoreQuery(value, f"{value:032x}", distance=0, most_equal=2)], originals=True)
        equal = sorted((row for row in rows.values() if row.fingerprint == value), key=lambda row: row.order)
        assert hits.equal == equal[:2]
        [hits] = columns.search([StoreQuery(value, distance=1)], originals=True)
        near = [r for r in rows.values() if ((r.fingerprint or 0) ^ value).bit_count() <= 1 and r.duplicate_of is None]
        assert hits.candidates == sorted(near, key=lambda row: row.order)
    for name in [*"abcdef", "a name", "no name"]:
        assert {row.id for row in columns.members([name])} == {row.id for row in rows.values() if row.group == name}
    assert {row.id for row in columns.members([*"abcdef", "a name"])} == rows.keys()


ROWS = st.builds(
    Row,
    st.text(max_size=3),
    st.none() | st.integers(0, (1 << 64) - 1),
    st.sampled_from(["", "0" * 32, "f" * 64]),
    st.none() | st.integers(0, 1 << 30),
    st.none() | st.text(max_size=3),
    st.integers(-(1 << 63), (1 << 63) - 1),
    st.integers(0, (1 << 63) - 1),
    st.none() | st.integers(-(1 << 63), (1 << 63) - 1),
    st.none() | st.integers(-(1 << 63), (1 << 63) - 1),
    st.booleans(),
    st.none() | st.text(max_size=3),
    st.none() | st.integers(0, (1 << 63) - 1),
)


@given(
    st.lists(ROWS, max_size=9, unique_by=lambda row: row.id), st.lists(ROWS, max_size=9, unique_by=lambda row: row.id)
)
def test_columns_return_each_row_and_its_keys_as_they_were_entered(first: list[Row], second: list[Row]) -> None:
    columns = Columns(keys=True, fingerprints=True)
    for keys, part in (
        (((GRAM << HASH_BITS) + 128, (PAIRS << HASH_BITS) + 129), first),
        (((PAIRS << HASH_BITS) + 1,), second),
    ):
        columns.enter(part, [keys] * len(part))
    expected = {row.id: row for row in [*first, *second]}
    assert {row.id: row for row in columns.rows()} == expected
    assert {len(keys) for keys in columns.keys_of(second)} <= {1}
    assert all(
        set(keys) == {128, (PAIRS << HASH_BITS) + 129}
        for keys in columns.keys_of([row for row in first if row == expected[row.id] and row not in second])
    )


@pytest.mark.parametrize("digest", ["no hex", "ab", "F" * 32, "0" * 66])
def test_a_digest_that_no_text_has_is_not_kept_and_finds_nothing(digest: str) -> None:
    columns = Columns(keys=False, fingerprints=True)
    columns.enter([Row("a", 7, digest)], [()])
    assert columns.row("a") == Row("a", 7, "")
    [hits] = columns.search([StoreQuery(7, digest)], originals=True)
    assert (hits.equal, hits.candidates) == ([], [Row("a", 7, "")])
