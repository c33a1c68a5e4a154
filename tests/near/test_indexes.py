"""The indexes in memory, compared with all pairs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from es_simhash.near.columns import Columns
from es_simhash.near.key_index import ENTRIES_OF_QUERY, KeyIndex, Near, with_length
from es_simhash.rows import Row, StoreQuery
from es_simhash.text.keys import KeyQuery, key_queries, keys_of_texts

TEXTS = st.lists(st.text(alphabet="今日要闻北京上海天气晴雨a1", min_size=1, max_size=90), min_size=1, max_size=12)


def positions(near: Near, asker: int) -> list[int]:
    """The positions that may be near one asker."""
    return near.positions[near.askers == asker].tolist()


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


@pytest.mark.parametrize("digest", ["no hex", "ab", "F" * 32, "0" * 66])
def test_a_digest_that_no_text_has_is_not_kept_and_finds_nothing(digest: str) -> None:
    columns = Columns(keys=False, fingerprints=True)
    columns.enter([Row("a", 7, digest)], [()])
    assert columns.row("a") == Row("a", 7, "")
    [hits] = columns.search([StoreQuery(7, digest)], originals=True)
    assert (hits.equal, hits.candidates) == ([], [Row("a", 7, "")])
