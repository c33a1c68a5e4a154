"""Fingerprints and keys in memory during a load: every search finds what it finds without them."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest

from es_simhash.contract import Candidates, Probe
from es_simhash.fingerprinting.scheme import DEFAULT, Scheme
from es_simhash.search.keys import TextKeys, key_queries, text_keys
from es_simhash.stores.sqlite import SqliteStore
from es_simhash.stores.sqlite.known import LEAST
from tests.contract.documents import entry, write

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

LETTERS = "天地玄黄宇宙洪荒日月盈昃"


def texts(seed: int, count: int) -> list[TextKeys]:
    rng = random.Random(seed)
    made = ["".join(rng.choice(LETTERS) for _ in range(rng.randrange(8, 120))) for _ in range(count // 2)]
    return [text_keys(text) for text in (*made, *(text[1:] + "终" for text in made))]


def add(store: SqliteStore, keys: Sequence[TextKeys], first: int = 0) -> None:
    entries = (entry(str(first + n), None, keys=some.values, length=some.length) for n, some in enumerate(keys))
    write(store, *entries)


def found(store: SqliteStore, asked: Sequence[TextKeys]) -> set[str]:
    probes = tuple(Probe(None, None, key_queries(some, 0.8), None, 500) for some in asked)
    return {row.id for row in store.candidates(Candidates(probes, -1, 64)).rows}


def found_singly(store: SqliteStore, asked: Sequence[TextKeys]) -> set[str]:
    """The reference: each looks alone, in a store that has just been opened."""
    return set[str]().union(*(found(SqliteStore(store._database.path), [some]) for some in asked))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "docs.db"


@pytest.fixture
def store(file: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(str(file))
    store.set_up(DEFAULT, keys=True)
    yield store
    store.close()


def test_a_load_finds_what_single_searches_find_whatever_is_written_between(store: SqliteStore) -> None:
    keys = texts(1, 600)
    for start in (0, 200, 400):
        add(store, keys[start : start + 200], start)
        for asked in (keys[:300], keys[300:]):
            assert found(store, asked) == found_singly(store, asked)


def test_what_another_program_writes_is_found_at_once(store: SqliteStore, file: Path) -> None:
    keys = texts(3, 400)
    add(store, keys[:100])
    found(store, keys[200:])
    other = SqliteStore(str(file))
    add(other, keys[300:310], 300)
    assert {str(300 + number) for number in range(10)} <= found(store, keys[200:])
    assert found(store, keys[200:]) == found_singly(store, keys[200:])
    store.close()
    add(other, keys[310:320], 310)
    assert found(store, keys[200:]) == found_singly(store, keys[200:])


def test_damaged_keys_are_seen_by_a_load(store: SqliteStore, file: Path, caplog: pytest.LogCaptureFixture) -> None:
    keys = texts(4, 300)
    add(store, keys[:50])
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("UPDATE documents SET keys = x'5b' WHERE id = '7'")
    found(store, keys[:150])
    assert "document '7'" in caplog.text


def test_what_is_restored_is_found_by_a_load(store: SqliteStore) -> None:
    keys = texts(5, 400)
    add(store, keys[:200])
    whole = store.fetch_whole(tuple(str(number) for number in range(50)))
    store.remove(tuple(whole))
    found(store, keys[200:])
    store.restore(whole)
    assert found(store, keys[200:]) == found_singly(store, keys[200:])
    assert {str(number) for number in range(50)} & found(store, keys[200:])


def test_a_number_that_few_short_texts_and_many_longer_ones_have(store: SqliteStore) -> None:
    rng = random.Random(6)
    longer = ["".join(rng.choice(LETTERS) for _ in range(200)) + "3日" for _ in range(600)]
    short = "".join(rng.choice(LETTERS) for _ in range(63))
    every = [text_keys(text) for text in (*longer, f"{short}3日", f"{short}4日")]
    add(store, every)
    asked = key_queries(text_keys(f"{short[1:]}3日"), 0.8, numbers=True)
    assert len(asked) == 2
    expected = {
        str(n)
        for n, some in enumerate(every)
        if any(query.is_fulfilled_by(some.values, some.length) for query in asked)
    }
    assert "600" in expected
    rows = store.candidates(Candidates((Probe(None, None, asked, None, 500),), -1, 64)).rows
    assert {row.id for row in rows} == expected


def near_equal(seed: int, count: int, bits: int = 64) -> list[int]:
    """Return fingerprints, most of them near some others, and some of them equal."""
    rng = random.Random(seed)
    base = [rng.getrandbits(bits) for _ in range(20)]
    near = [rng.choice(base) ^ sum(1 << bit for bit in rng.sample(range(8), rng.randrange(5))) for _ in range(count)]
    return [rng.getrandbits(bits) if rng.random() < 0.2 else value for value in near]


def nearest_found(store: SqliteStore, asked: Sequence[int], distance: int, bits: int = 64) -> list[int | None]:
    """Return for each fingerprint how far the nearest document is that a load finds for the rule ``fingerprint``."""
    probes = tuple(Probe(value, None) for value in asked)
    request = Candidates(probes, distance, bits, one_per_digest=True, per_fingerprint=1, nearest=1, counted=False)
    return nearest_of(asked, [row.fingerprint for row in store.candidates(request).rows], distance)


def nearest_of(asked: Sequence[int], stored: Sequence[int | None], distance: int) -> list[int | None]:
    """The reference: each is compared with each."""
    least = [min(((value ^ each).bit_count() for each in stored if each is not None), default=999) for value in asked]
    return [each if each <= distance else None for each in least]


@pytest.mark.parametrize("bits", [64, 128])
@pytest.mark.parametrize("distance", [0, 2, 3, 4])
def test_a_load_finds_the_nearest_whatever_is_written_and_removed_between(
    tmp_path: Path, distance: int, bits: int
) -> None:
    store = SqliteStore(str(tmp_path / "docs.db"))
    store.set_up(Scheme(bits=bits))
    values = near_equal(distance, 900, bits)
    stored: dict[str, int] = {}
    for start in (0, 300, 600):
        some = {str(number): values[number] for number in range(start, start + 300)}
        write(store, *(entry(id, value, digest=id) for id, value in some.items()), bits=bits)
        stored |= some
        for asked in (values[:200], values[500:]):
            assert nearest_found(store, asked, distance, bits) == nearest_of(asked, [*stored.values()], distance)
        gone = random.Random(start).sample(sorted(stored), 100)
        store.remove(tuple(gone))
        for id in gone:
            del stored[id]
        assert nearest_found(store, values[:400], distance, bits) == nearest_of(
            values[:400], [*stored.values()], distance
        )
    store.close()


def test_a_load_counts_what_it_leaves_out_if_that_is_asked_for(store: SqliteStore) -> None:
    values = near_equal(7, 400)
    write(store, *(entry(str(n), value, digest=str(n)) for n, value in enumerate(values)))
    probes = tuple(Probe(value, None) for value in values[: 2 * LEAST])
    request = Candidates(probes, 3, 64, one_per_digest=True, per_fingerprint=1, nearest=1)
    for _ in range(2):  # the second time the fingerprints are in memory
        found = store.candidates(request)
        kinds = set(values)
        for number, probe in enumerate(probes):
            near = sum((probe.fingerprint ^ kind).bit_count() <= 3 for kind in kinds)  # type: ignore[operator]
            assert found.left_out.get(number, 0) >= near - 1


def test_a_load_looks_up_only_the_nearest(store: SqliteStore) -> None:
    values = near_equal(8, 6 * LEAST)
    write(store, *(entry(str(n), value, digest=str(n)) for n, value in enumerate(values)))
    with patch.object(store._database.segments, "near", side_effect=AssertionError):
        nearest_found(store, values[: 2 * LEAST], 3)


def test_a_fingerprint_that_another_program_writes_is_found_at_once(store: SqliteStore, file: Path) -> None:
    values = near_equal(9, 400)
    write(store, *(entry(str(n), value, digest=str(n)) for n, value in enumerate(values[:200])))
    nearest_found(store, values, 3)
    other = SqliteStore(str(file))
    write(other, *(entry(str(n), value, digest=str(n)) for n, value in enumerate(values) if n >= 200))
    assert nearest_found(store, values, 3) == [0] * 400
    store.close()
    other.remove(tuple(map(str, range(400))))
    other.close()
    assert nearest_found(store, values, 3) == [None] * 400


def test_a_load_goes_on_without_a_fingerprint_that_is_no_number(store: SqliteStore, file: Path) -> None:
    values = near_equal(11, 300)
    write(store, *(entry(str(n), value, digest=str(n)) for n, value in enumerate(values)))
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("UPDATE documents SET fp = 'x' WHERE id = '7'")
    expected = nearest_of(values, [value for n, value in enumerate(values) if n != 7], 3)
    assert nearest_found(store, values, 3) == expected


def test_a_damaged_document_is_seen_by_a_load(store: SqliteStore, file: Path, caplog: pytest.LogCaptureFixture) -> None:
    values = near_equal(10, 300)
    write(store, *(entry(str(n), value, digest=str(n)) for n, value in enumerate(values)))
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("UPDATE documents SET duplicate_of = id WHERE id = '7'")
    found = nearest_found(store, values, 3)
    assert "document '7'" in caplog.text
    assert found == nearest_of(values, [value for n, value in enumerate(values) if n != 7], 3)
