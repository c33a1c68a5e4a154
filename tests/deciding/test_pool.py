"""Laws of the pool: it holds what the Rows hold, in their write order, and says which links differ."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from es_simhash.contract import Link, Row
from es_simhash.deciding import pool as module
from es_simhash.deciding.pool import PoolReader, digest_words

IDS = ["a", "b", "é", "气象", "\ud800", "𠮷", "long" * 100]
DIGESTS = ["0123456789abcdef" * 2, "0123456789ABCDEF" * 2, "0f" * 16, "0f" * 15, "0f" * 32, "of " * 10 + "of", ""]
ids = st.sampled_from(IDS) | st.text(min_size=1, max_size=5)


@st.composite
def some_rows(draw: st.DrawFn, bits: int) -> list[Row]:
    return [
        Row(
            id,
            draw(st.none() | st.integers(0, (1 << bits) - 1)),
            draw(st.sampled_from(DIGESTS)),
            draw(st.just(id) | ids),
            draw(st.none() | ids),
            draw(st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(0, 3)),
            draw(st.tuples(st.integers(), st.text())),
            time=draw(st.none() | st.integers(-5, 5)),
        )
        for id in draw(st.lists(ids, unique=True, max_size=12))
    ]


def pool_of(rows: list[Row], bits: int, page: int) -> module.Pool:
    reader = PoolReader(bits, timed=True)
    for start in range(0, len(rows), page):
        reader.add(rows[start : start + page])
    return reader.pool()


@pytest.mark.parametrize("bits", [64, 128])
@given(data=st.data(), page=st.integers(1, 5))
def test_the_pool_holds_what_the_rows_hold_in_their_write_order(bits: int, data: st.DataObject, page: int) -> None:
    rows = data.draw(some_rows(bits))
    pool = pool_of(rows, bits, page)
    ordered = sorted(rows, key=lambda row: (row.written, row.id))
    positions = range(len(pool))
    assert [pool.id(position) for position in positions] == [row.id for row in ordered]
    assert [pool.fingerprint(position) for position in positions] == [row.fingerprint for row in ordered]
    assert [pool.time(position) for position in positions] == [row.time for row in ordered]
    assert [pool.position(row.id) for row in ordered] == list(positions)
    assert pool.position("no such id") is None
    digests = [row.digest for row in ordered]
    firsts = [-1 if digest == "0f" * 16 else digests.index(digest) for digest in digests]
    assert pool.texts("0f" * 16).tolist() == firsts
    for position, digest in enumerate(digests):
        assert [each for each in DIGESTS if pool.has_digest(position, each)] == [digest]


@given(data=st.data(), page=st.integers(1, 5))
def test_what_changed_is_each_document_whose_links_differ_with_its_version(data: st.DataObject, page: int) -> None:
    rows = data.draw(some_rows(64))
    pool = pool_of(rows, 64, page)
    count = len(rows)
    heads = np.array(
        data.draw(st.lists(st.integers(0, max(0, count - 1)), min_size=count, max_size=count)), dtype=np.int64
    )
    drawn = data.draw(st.lists(st.integers(-1, max(0, count - 1)), min_size=count, max_size=count))
    originals = np.array(drawn, dtype=np.int64)
    right = {
        row.id: Link(pool.id(head), None if original < 0 else pool.id(original), row.version)
        for row, head, original in zip(
            sorted(rows, key=lambda row: (row.written, row.id)), heads.tolist(), drawn, strict=True
        )
    }
    expected: dict[str, Any] = {
        row.id: right[row.id]
        for row in rows
        if (row.group, row.duplicate_of) != (right[row.id].group, right[row.id].duplicate_of)
    }
    changes = list(pool.links(pool.changed(heads, originals), heads, originals))
    assert changes == list(expected.items())


def test_ids_with_one_hash_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "hash", lambda id: 7, raising=False)
    rows = [Row(id, None, "", id, None, 0) for id in "abc"]
    pool = pool_of(rows, 64, 2)
    assert [pool.position(id) for id in "abcd"] == [0, 1, 2, None]


@given(st.lists(st.sampled_from(DIGESTS), max_size=6))
def test_the_words_of_a_digest_do_not_depend_on_its_neighbours(digests: list[str]) -> None:
    together = digest_words(digests)
    assert together.shape == (len(digests), 2)
    assert [words.tolist() for words in together] == [digest_words([digest])[0].tolist() for digest in digests]
