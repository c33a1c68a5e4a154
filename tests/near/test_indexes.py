"""The indexes in memory, compared with all pairs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from es_simhash.near.fingerprint_index import FingerprintIndex
from es_simhash.near.key_index import KeyIndex, Near, with_length
from es_simhash.near.memory import Memory
from es_simhash.rows import SAME, Probe, Row
from es_simhash.text.keys import KeyQuery, key_queries, keys_of_texts

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
    for part in np.split(values, [1, 30, 5_000]):
        index.add(part.tolist())
    askers = [*values[::50].tolist(), None]
    near = index.near(askers, [distance] * len(askers))
    for number, asker in enumerate(askers[:-1]):
        expected = [at for at, value in enumerate(values.tolist()) if (value ^ asker).bit_count() <= distance]
        assert positions(near, number) == expected
    assert not positions(near, len(askers) - 1)


def test_a_crowd_of_one_fingerprint_is_found_whole() -> None:
    index = FingerprintIndex()
    index.add([7] * 20_000)
    assert index.near([6], [3]).positions.tolist() == list(range(20_000))


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
    for part in (keys[:cut], keys[cut:]):
        index.add([key.values for key in part], [key.length for key in part])
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
    index.add([keys] * 9_000 + [keys[2:]], [0] * 9_001)
    near = index.near([[KeyQuery(keys[:2], 1)], [KeyQuery(keys, 1)]])
    assert (len(positions(near, 0)), len(positions(near, 1)), set(near.cut)) == (9_000, 9_000, {1})


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(0, 3), st.booleans()), max_size=30))
def test_memory_answers_as_a_list_of_rows(moves: list[tuple[str, int, bool]]) -> None:
    memory, rows = Memory(keys=False, fingerprints=True), dict[str, Row]()
    for order, (id, value, is_drop) in enumerate(moves):
        if is_drop:
            memory.drop(id)
            rows.pop(id, None)
        else:
            head = next((row.id for row in rows.values() if row.id != id and row.duplicate_of is None), None)
            row = Row(id, value, f"digest {value}", duplicate_of=head if value == 1 else None, order=order)
            memory.enter([row], [()])
            rows[id] = row
    for value in range(4):
        [hits] = memory.search([Probe(value, f"digest {value}", distance=0)], heads=True)
        same = sorted((row for row in rows.values() if row.fingerprint == value), key=lambda row: row.order)
        assert hits.same == same[:SAME]
        [hits] = memory.search([Probe(value, distance=1)], heads=True)
        near = [r for r in rows.values() if ((r.fingerprint or 0) ^ value).bit_count() <= 1 and r.duplicate_of is None]
        assert hits.rows == sorted(near, key=lambda row: row.order)
    for id in "abcdef":
        assert {row.id for row in memory.members([id])} == {r.id for r in rows.values() if r.duplicate_of == id}
