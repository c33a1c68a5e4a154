"""The fingerprints of a file in levels: they are those of the documents, whatever is written and removed between."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest

from es_simhash.contract import Candidates, Probe
from es_simhash.errors import StoreError
from es_simhash.fingerprinting.encoding import to_array
from es_simhash.fingerprinting.scheme import Scheme
from es_simhash.stores.sqlite import SqliteStore
from es_simhash.stores.sqlite.segments import StoredSegments, _of_documents
from tests.contract.documents import entry, write

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

each_width = pytest.mark.parametrize("bits", [64, 128])


SMALL = {
    "stores.sqlite.segments._KEPT": 3,
    "stores.sqlite.segments._AT_ONCE": 2,
    "stores.sqlite.segments._FEW": 0,
    "search.hamming._COLUMNS": 5,
}


@pytest.fixture(
    params=[(32, 3, {}), (32, 0, SMALL), (4_000, 20, {})],
    ids=["small pages", "small limits", "large pages"],
)
def sizes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> tuple[int, int]:
    """Bytes of a page, and the most fingerprints in no level."""
    page, unsorted, limits = request.param
    for name, value in limits.items():
        monkeypatch.setattr(f"es_simhash.{name}", value)
    return page, unsorted


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "docs.db"


def opened(file: Path, bits: int, sizes: tuple[int, int]) -> SqliteStore:
    store = SqliteStore(str(file))
    store._database.segments = StoredSegments("docs", *sizes)
    store.set_up(Scheme(bits=bits))
    return store


@pytest.fixture(params=[64, 128])
def store(file: Path, request: pytest.FixtureRequest, sizes: tuple[int, int]) -> Iterator[SqliteStore]:
    store = opened(file, request.param, sizes)
    yield store
    store.close()


def width(store: SqliteStore) -> int:
    scheme = store.describe()
    assert scheme is not None
    return scheme.bits


def some_values(rng: random.Random, count: int, bits: int) -> list[int]:
    """Return fingerprints: equal ones, near ones, some that share segments, and others."""
    base = [rng.getrandbits(bits) for _ in range(3)]
    values = []
    for _ in range(count):
        value = rng.choice(base)
        for _ in range(rng.choice([0, 1, 3, 4, 7, 9])):
            value ^= 1 << rng.randrange(bits)
        shared = rng.getrandbits(16) << rng.randrange(0, bits, 16)
        values.append(rng.choice([value, value ^ shared, rng.getrandbits(bits)]))
    return values


def near_ids(store: SqliteStore, asked: Sequence[int], max_distance: int) -> set[str]:
    probes = tuple(Probe(value, None) for value in asked)
    return {row.id for row in store.candidates(Candidates(probes, max_distance, width(store))).rows}


def expected_ids(documents: Mapping[str, int], asked: Sequence[int], max_distance: int) -> set[str]:
    """The reference: each is compared with each."""
    return {id for id, value in documents.items() if any((value ^ each).bit_count() <= max_distance for each in asked)}


def put(store: SqliteStore, values: Mapping[str, int]) -> None:
    write(store, *(entry(id, value, digest=id) for id, value in values.items()), bits=width(store))


@pytest.mark.parametrize("seed", range(4))
def test_a_search_finds_what_is_near_whatever_two_programs_write_and_remove(
    store: SqliteStore, file: Path, sizes: tuple[int, int], seed: int
) -> None:
    rng, bits = random.Random(seed), width(store)
    stores = [store, opened(file, bits, sizes)]
    documents: dict[str, int] = {}
    for _ in range(25):
        writer = rng.choice(stores)
        for id, value in zip(rng.sample(range(40), 8), some_values(rng, 8, bits), strict=True):
            documents[str(id)] = value
            put(writer, {str(id): value})
        gone = rng.sample(sorted(documents), rng.randint(0, 3))
        rng.choice(stores).remove(tuple(gone))
        documents = {id: value for id, value in documents.items() if id not in gone}
        asked = some_values(rng, 3, bits) + rng.sample(list(documents.values()), 3)
        for max_distance in (0, 1, 3, bits // 16, 7, bits // 8 - 1):
            expected = expected_ids(documents, asked, max_distance)
            assert near_ids(rng.choice(stores), asked, max_distance) == expected
            one = expected_ids(documents, asked[:1], max_distance)
            assert near_ids(rng.choice(stores), asked[:1], max_distance) == one
    stores[1].close()


@pytest.mark.parametrize("asked_at_once", [1, 10])
def test_a_search_among_near_equal_fingerprints_finds_what_is_near(
    store: SqliteStore, sizes: tuple[int, int], asked_at_once: int
) -> None:
    rng, bits = random.Random(asked_at_once), width(store)
    base = rng.getrandbits(bits)

    def near() -> int:
        return base ^ sum(1 << bit for bit in rng.sample(range(bits), rng.randrange(5)))

    documents = {str(n): near() for n in range(1_500)}
    put(store, documents)
    with patch.object(StoredSegments, "_every", autospec=True, side_effect=StoredSegments._every) as every:
        for max_distance in (0, 3, 7):
            asked = [near() for _ in range(asked_at_once)]
            assert near_ids(store, asked, max_distance) == expected_ids(documents, asked, max_distance)
    assert every.called or sizes == (4_000, 20)


def test_one_write_of_many_leaves_one_level_without_what_was_removed(store: SqliteStore) -> None:
    rng, bits = random.Random(1), width(store)
    values = list(dict.fromkeys(some_values(rng, 3_000, bits)))
    write(store, *(entry(str(n), value, digest=str(n)) for n, value in enumerate(values[:100])), bits=bits)
    store.remove(tuple(map(str, range(50))))
    write(store, *(entry(f"{n}", value, digest=str(n)) for n, value in enumerate(values[100:], 100)), bits=bits)
    segments = store._database.segments
    with store._database.transaction(write=False) as connection:
        [level] = segments._current(bits, connection).values()
        stored = segments._every(level, bits, connection)
        [pages] = connection.execute("SELECT count(*) FROM segment_pages WHERE page > 0").fetchone()
    words = [[value >> shift & (1 << 64) - 1 for shift in range(bits - 64, -1, -64)] for value in values[50:]]
    assert sorted(stored.reshape(len(stored), -1).tolist()) == sorted(words)
    assert pages == len(level.firsts)


def test_many_documents_with_few_fingerprints_are_stored_once_and_not_read_again(store: SqliteStore) -> None:
    bits = width(store)
    with patch("es_simhash.stores.sqlite.segments._of_documents", side_effect=_of_documents) as read:
        for start in range(0, 6_000, 300):
            put(store, {str(n): n % 30 << 20 for n in range(start, start + 300)})
    assert read.call_count <= 2
    with store._database.transaction(write=False) as connection:
        segments = store._database.segments
        levels = segments._current(bits, connection).values()
        stored = [len(segments._every(level, bits, connection)) for level in levels]
        assert sum(stored) + len(segments._unsorted(bits, connection)) <= 60
        assert stored
    assert len(near_ids(store, [0], 0)) == 200


def test_after_a_rollback_the_levels_of_another_program_are_read(
    store: SqliteStore, file: Path, sizes: tuple[int, int]
) -> None:
    bits = width(store)
    put(store, {str(n): n << 20 for n in range(600)})

    def fails() -> None:
        segments = store._database.segments
        with store._database.transaction() as connection:
            segments.add(to_array(range(3_000), bits), bits, connection)
            segments.near(to_array([7], bits), 0, bits, connection)  # so the new level is known
            raise InterruptedError

    with pytest.raises(InterruptedError):
        fails()
    other = opened(file, bits, sizes)
    more = {f"more {n}": n << 40 for n in range(3_000)}
    put(other, more)  # makes a level with the number of the one that is gone
    other.close()
    for value in (5 << 40, 2_999 << 40, 599 << 20):
        assert near_ids(store, [value], 0) == expected_ids(more | {"599": 599 << 20}, [value], 0)


def test_a_table_without_rows_is_made_again_from_the_documents(store: SqliteStore, file: Path) -> None:
    put(store, {str(n): n << 20 for n in range(600)})
    with closing(sqlite3.connect(file)) as connection, connection:
        for table in ("segment_levels", "segment_pages"):
            connection.execute(f"DELETE FROM {table}")
    assert near_ids(store, [599 << 20], 0) == {"599"}
    put(store, {"one more": 1 << 50})
    assert near_ids(store, [599 << 20, 1 << 50], 0) == {"599", "one more"}
    with store._database.use() as connection:
        assert connection.execute("SELECT count(*) FROM segment_levels").fetchone() == (1,)


def test_what_another_program_writes_is_found_at_once(store: SqliteStore, file: Path, sizes: tuple[int, int]) -> None:
    bits = width(store)
    write(store, *(entry(str(n), n << 20, digest=str(n)) for n in range(600)), bits=bits)
    assert near_ids(store, [1 << 62], 0) == set()
    other = opened(file, bits, sizes)
    for number in range(5):
        write(other, entry(f"other {number}", 1 << 62, digest=f"other {number}"), bits=bits)
        assert len(near_ids(store, [1 << 62], 0)) == number + 1
    write(other, *(entry(f"many {n}", n << 21, digest=f"many {n}") for n in range(3_000)), bits=bits)
    other.close()
    assert near_ids(store, [2_999 << 21], 0) == {"many 2999"}


def test_a_restored_document_is_found(store: SqliteStore) -> None:
    bits = width(store)
    write(store, *(entry(str(n), n << 20, digest=str(n)) for n in range(600)), bits=bits)
    whole = store.fetch_whole(("599",))
    store.remove(("599",))
    write(store, *(entry(f"more {n}", n << 40, digest=f"more {n}") for n in range(3_000)), bits=bits)
    store.restore(whole)
    assert near_ids(store, [599 << 20], 0) == {"599"}


def test_a_new_fingerprint_of_a_document_is_found_and_the_former_one_is_not(store: SqliteStore) -> None:
    bits = width(store)
    write(store, *(entry(str(n), n << 20, digest=str(n)) for n in range(600)), bits=bits)
    row = store.fetch(("7",))["7"]
    store.annotate((replace(row, fingerprint=1 << 60),), bits)
    assert near_ids(store, [1 << 60], 0) == {"7"}
    assert near_ids(store, [7 << 20], 0) == set()


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE segment_levels SET firsts = x'0102'",
        "UPDATE segment_levels SET page = 'x'",
        "UPDATE segment_levels SET page = page + 1000",
        "UPDATE segment_levels SET firsts = ''",
        "UPDATE segment_pages SET fingerprints = x'0102' WHERE page > 0",
        "UPDATE segment_pages SET fingerprints = 'text' WHERE page = 0",
        "UPDATE segment_pages SET fingerprints = randomblob(length(fingerprints)) WHERE page > 0",
        "UPDATE segment_pages SET fingerprints = x'' WHERE page > 0",
        "UPDATE segment_levels SET page = 0",
        "UPDATE segment_levels SET size = size + 1000",
        "UPDATE segment_levels SET size = 'x'",
        "DELETE FROM segment_pages WHERE page > 0",
    ],
)
@each_width
def test_damage_of_the_table_is_an_error_that_names_the_file(file: Path, change: str, bits: int) -> None:
    store = opened(file, bits, (4_000, 500))
    write(store, *(entry(str(n), n << 20, digest=str(n)) for n in range(600)), bits=bits)
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute(change)
    store._database.segments.forget()
    with pytest.raises(StoreError, match="is damaged: its table of segments"):
        near_ids(store, [0], 3)
    store.close()
