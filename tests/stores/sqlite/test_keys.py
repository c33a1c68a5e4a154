"""The keys of a file in levels: they are those of the documents, whatever is written, removed and read between."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING
from unittest.mock import patch

import numpy as np
import pytest

from es_simhash.contract import Candidates, Probe
from es_simhash.errors import StoreError
from es_simhash.fingerprinting.scheme import DEFAULT
from es_simhash.search.key_levels import MOST, POSITION_BITS, entries_of
from es_simhash.search.key_table import KeyTable
from es_simhash.search.keys import KeyQuery, TextKeys, key_queries, text_keys
from es_simhash.stores.sqlite import SqliteStore
from es_simhash.stores.sqlite.keys import StoredKeys
from es_simhash.stores.sqlite.schema import keys_as_bytes, read_keys
from tests.contract.documents import entry, find_by_keys, keys, write

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

LETTERS = "天地玄黄宇宙洪荒日月盈昃辰宿列张"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "docs.db"


@pytest.fixture(params=[(3, 4), (500, 2_000)], ids=["small pages", "large pages"])
def store(file: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[SqliteStore]:
    page, piece = request.param
    monkeypatch.setattr("es_simhash.stores.sqlite.keys._PIECE", piece)  # pages that are merged at once
    store = SqliteStore(str(file), key_page=page)
    store.set_up(DEFAULT, keys=True)
    yield store
    store.close()


def texts(rng: random.Random, count: int) -> list[TextKeys]:
    made = ["".join(rng.choice(LETTERS) for _ in range(rng.choice([5, 30, 58, 70, 120, 300]))) for _ in range(count)]
    return [text_keys(text + rng.choice(["", "3日", "4日"])) for text in made]


def stored_entries(store: SqliteStore) -> NDArray[np.uint64]:
    """Return all entries of the file, with those of former states."""
    with store._database.use() as connection:
        found = b"".join(page for (page,) in connection.execute("SELECT entries FROM key_pages"))
    return np.sort(np.frombuffer(found, dtype="<u8"))


def expected_entries(store: SqliteStore) -> NDArray[np.uint64]:
    """Return the entries of the documents as their rows have them."""
    with store._database.use() as connection:
        rows = connection.execute("SELECT keys, length, number FROM documents WHERE number IS NOT NULL").fetchall()
    numbers = np.array([number for _, _, number in rows], dtype=np.int64)
    return entries_of([read_keys(stored) for stored, _, _ in rows], [length for _, length, _ in rows], numbers)


def test_keys_of_a_row_come_back_from_their_bytes() -> None:
    some = (*keys("g1", "p1", "m1", "n1"), 0, (1 << 36) - 1)
    assert read_keys(keys_as_bytes(some)) == some
    assert len(keys_as_bytes(some)) == 5 * len(some)
    assert read_keys(keys_as_bytes(())) == ()


@pytest.mark.parametrize("seed", range(4))
def test_the_entries_are_those_of_the_documents_and_of_former_states(store: SqliteStore, seed: int) -> None:
    rng = random.Random(seed)
    every = texts(rng, 60)
    for _ in range(40):
        some = rng.sample(range(20), rng.randint(1, 6))
        if rng.random() < 0.25:
            store.remove(tuple(map(str, some)))
        else:
            chosen = [(str(number), rng.choice(every)) for number in some]
            write(store, *(entry(id, None, keys=own.values, length=own.length) for id, own in chosen))
        stored, expected = stored_entries(store), expected_entries(store)
        assert np.isin(expected, stored).all()
        assert len(np.unique(stored)) == len(stored)
    # One large write makes all levels one. Then nothing is left of what was removed or replaced.
    write(store, *(entry(f"last {n}", None, keys=own.values, length=own.length) for n, own in enumerate(every * 20)))
    assert stored_entries(store).tolist() == expected_entries(store).tolist()
    with store._database.use() as connection:
        assert connection.execute("SELECT count(*) FROM key_levels").fetchone() == (1,)


@pytest.mark.parametrize("dense", [0, 8, 1_000])
def test_a_file_finds_what_the_table_in_memory_finds(
    store: SqliteStore, file: Path, monkeypatch: pytest.MonkeyPatch, dense: int
) -> None:
    monkeypatch.setattr("es_simhash.search.key_table._DENSE", dense)
    rng = random.Random(7)
    every = texts(rng, 150)
    every += [text_keys("".join(rng.sample(LETTERS, 12))) for _ in range(150)]
    reference = KeyTable()
    reference.add([own.values for own in every], [own.length for own in every])
    for start in range(0, 300, 60):
        some = every[start : start + 60]
        write(store, *(entry(str(start + n), None, keys=own.values, length=own.length) for n, own in enumerate(some)))
    queries = [key_queries(own, 0.8, numbers=True) for own in every]
    expected = reference.sharing(queries, 1_000)
    opened = SqliteStore(str(file), key_page=store._database._key_page)
    for _ in range(3):  # the first time pages are read, later whole levels
        for asked in (queries[:1], queries):
            with opened._database.transaction(write=False) as connection:
                found = opened._database.keys.table(connection).sharing(asked, 1_000)
            assert [[number - 1 for number in some or ()] for some in found] == expected[: len(asked)]
    for query in (query for some in queries[:40] for query in some):
        with opened._database.transaction(write=False) as connection:
            ranked = opened._database.keys.table(connection).ranked(query, len(every))
        memory = reference.ranked(query, len(every))
        assert (ranked.positions - 1).tolist() == memory.positions.tolist()
        assert ranked.scores.tolist() == memory.scores.tolist()
    opened.close()


def test_of_a_key_of_very_many_documents_the_first_or_the_last_are_read(store: SqliteStore) -> None:
    write(store, *(entry(str(n), None, keys=keys("m"), length=9) for n in range(700)))
    with store._database.transaction(write=False) as connection:
        [level] = StoredKeys("other", store._database._key_page)._current(connection).values()
        first = np.array(keys("m"), dtype=np.uint64) << np.uint64(POSITION_BITS)
        for last, expected in ((False, [1, 2, 3, 4]), (True, [697, 698, 699, 700])):
            values, counts = level.entries(first, first | np.uint64(MOST - 1), 4, last=last)
            assert (values & np.uint64(MOST - 1)).tolist() == expected
            assert counts.tolist() == [4]
        assert level.sizes(first, first | np.uint64(MOST - 1))[0] > 500


def test_numbers_that_were_used_up_are_given_anew(store: SqliteStore) -> None:
    rng = random.Random(3)
    store._database.keys = StoredKeys("news", store._database._key_page, most=100)
    every = texts(rng, 30)
    for _ in range(12):
        write(store, *(entry(str(n), None, keys=own.values, length=own.length) for n, own in enumerate(every)))
        store.remove(tuple(str(n) for n in rng.sample(range(30), 5)))
    with store._database.use() as connection:
        assert connection.execute("SELECT max(number) FROM documents").fetchone()[0] <= 100
    write(store, *(entry(str(n), None, keys=own.values, length=own.length) for n, own in enumerate(every)))
    for number, own in enumerate(every):
        probe = Probe(None, None, key_queries(own, 0.8), None, 100)
        assert str(number) in {row.id for row in store.candidates(Candidates((probe,), -1, 64)).rows}


def test_a_merge_uses_the_pages_that_it_has_read(store: SqliteStore) -> None:
    every = texts(random.Random(8), 200)
    for start in range(0, 200, 5):
        some = every[start : start + 5]
        write(store, *(entry(str(start + n), None, keys=own.values, length=own.length) for n, own in enumerate(some)))
    with store._database.use() as connection:
        pages = connection.execute("SELECT count(*), max(page) FROM key_pages").fetchone()
        levels = connection.execute("SELECT count(*), sum(length(pages) / 8) FROM key_levels").fetchone()
    assert levels[1] == pages[0]
    assert pages[1] <= pages[0] + 2 * levels[0]


def test_a_write_that_is_undone_leaves_no_level(store: SqliteStore) -> None:
    write(store, entry("a", 1, keys=keys("m1", "m2"), length=9))

    def write_and_fail() -> None:
        with store._database.transaction() as connection:
            store._database.keys.add([entry("b", 1, keys=keys("m3"), length=9).row], [2], connection)
            connection.execute("SELECT no_such_function()")

    with pytest.raises(StoreError):
        write_and_fail()
    write(store, entry("c", 1, keys=keys("m4"), length=9))
    assert stored_entries(store).tolist() == expected_entries(store).tolist()


def test_another_program_may_merge_levels_between_searches(store: SqliteStore, file: Path) -> None:
    every = texts(random.Random(5), 120)
    other = SqliteStore(str(file), key_page=store._database._key_page)
    for start in range(0, 120, 10):
        some = every[start : start + 10]
        rows = [entry(str(start + n), None, keys=own.values, length=own.length) for n, own in enumerate(some)]
        write(other if start % 20 else store, *rows)
        for each in (store, other):
            for number, own in enumerate(every):
                probe = Probe(None, None, key_queries(own, 0.8), None, 1_000)
                found = {row.id for row in each.candidates(Candidates((probe,), -1, 64)).rows}
                assert (str(number) in found) == (number < start + 10)
    other.close()


def test_levels_that_do_not_fit_into_memory_stay_in_the_file(store: SqliteStore) -> None:
    every = texts(random.Random(6), 60)
    write(store, *(entry(str(n), None, keys=own.values, length=own.length) for n, own in enumerate(every)))
    store.close()
    with (
        patch("es_simhash.stores.sqlite.keys.free_memory", return_value=0),
        patch("es_simhash.stores.sqlite.keys._KEPT", 5),
    ):
        for _ in range(4):
            for number, own in enumerate(every):
                probe = Probe(None, None, key_queries(own, 0.8), None, 1_000)
                assert str(number) in {row.id for row in store.candidates(Candidates((probe,), -1, 64)).rows}
        assert not any(level.is_known for level in store._database.keys._levels.values())


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE key_levels SET last = 'x'",
        "UPDATE key_levels SET firsts = x'00'",
        "UPDATE key_levels SET pages = 'x'",
        "UPDATE key_levels SET pages = x''",
        "UPDATE key_pages SET entries = 7",
        "UPDATE key_pages SET entries = x'0102'",
        "DELETE FROM key_pages",
    ],
)
def test_a_damaged_table_of_keys_is_an_error_that_says_so(store: SqliteStore, file: Path, change: str) -> None:
    write(store, *(entry(str(n), None, keys=keys(f"m{n}", "m"), length=9) for n in range(20)))
    store.close()
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute(change)
    query = text_keys("天地玄黄宇宙洪荒").shingles
    for use in (
        lambda: find_by_keys(store, Probe(None, None, key_queries(text_keys("天地" * 40), 0.8))),
        lambda: write(store, *(entry(str(n), None, keys=query, length=8) for n in range(100))),
    ):
        with pytest.raises(StoreError, match="its table of keys cannot be read; restore it from a copy"):
            use()


def test_entries_of_numbers_that_were_never_given_are_dropped(store: SqliteStore, file: Path) -> None:
    write(store, *(entry(str(n), None, keys=keys(f"m{n}", "m"), length=9) for n in range(20)))
    store.close()
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute(
            "UPDATE key_pages SET entries = CAST(zeroblob(length(entries) - 8) || x'ffffffffffffffff' AS BLOB)"
        )
    write(store, *(entry(f"new {n}", None, keys=keys(f"m{n}", "m"), length=9) for n in range(100)))
    assert len(find_by_keys(store, KeyQuery(keys("m"), 1), most=200).rows) == 100


@pytest.mark.parametrize("number", ["'x'", "x'ff'", "-5", "1.5", "1 << 60"])
def test_a_damaged_number_hides_one_document_alone(store: SqliteStore, file: Path, number: str) -> None:
    def found() -> set[str]:
        return {row.id for row in find_by_keys(store, Probe(None, None, key_queries(own, 0.8), None, 100)).rows}

    own = text_keys("天地玄黄宇宙洪荒" * 10)
    write(store, *(entry(str(n), None, keys=own.values, length=own.length) for n in range(5)))
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute(f"UPDATE documents SET number = {number} WHERE id = '3'")
    assert found() >= {"0", "1", "2", "4"}
    write(store, *(entry(f"more {n}", None, keys=own.values, length=own.length) for n in range(40)))
    assert found() >= {"0", "1", "2", "4", *(f"more {n}" for n in range(40))}
    row = store.fetch(("3",))["3"]
    write(store, replace(entry("3", None), row=replace(row, keys=own.values, length=own.length)))
    assert "3" in found()
