"""The tables of documents and of keys. The row number is the write order, so two documents cannot have the same."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from es_simhash import Documents
from es_simhash.contract import Candidates, Probe
from es_simhash.errors import StoreError
from es_simhash.fingerprinting.scheme import DEFAULT
from es_simhash.stores.sqlite import SqliteStore
from es_simhash.stores.sqlite.documents import _insert_entries
from es_simhash.stores.sqlite.schema import LEVELS, ROOMS, key_entries
from tests.contract import LinearStore
from tests.contract.documents import entry, scan, write

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from es_simhash.contract import Entry, Store


@pytest.fixture(params=[ROOMS, (1, 2)], ids=["large tables", "small tables"])
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    store = SqliteStore(":memory:", rooms=request.param)
    store.set_up(DEFAULT)
    yield store
    store.close()


def at(write_order: int, entry: Entry) -> Entry:
    """Return the Entry with a write order."""
    return replace(entry, row=replace(entry.row, written=write_order))


def write_orders(store: Store) -> dict[str, int]:
    return {row.id: row.written for row in scan(store)}


def test_a_document_whose_write_order_is_taken_gets_the_next_free_one(store: Store) -> None:
    write(store, *(at(number, entry(f"other{number}", None)) for number in (1_000, 1_001, 1_003, 5_000)))
    write(store, at(1_000, entry("a", 0)), at(1_001, entry("b", 1)), at(5_000, entry("c", 2)))
    assert {id: write_orders(store)[id] for id in "abc"} == {"a": 1_002, "b": 1_004, "c": 5_001}


def test_an_original_stays_before_its_duplicate_if_another_ingest_has_taken_its_write_order(store: Store) -> None:
    write(store, at(1_000, entry("other", 0xFFFF << 16)), at(5_000, entry("later", 0xFFFF << 40)))
    write(store, at(1_000, entry("a", 0)), at(1_001, entry("b", 1, group="a", duplicate_of="a")))
    assert write_orders(store)["a"] < write_orders(store)["b"]
    assert Documents(store).group(rule="fingerprint").changed == 0, "links lead to documents that were written earlier"


def test_the_table_of_keys_holds_the_keys_of_stored_documents_and_nothing_else(store: Store) -> None:
    numbers = {
        int(key_entries([key], length)[0]): (key, length) for key in ("m0", "m1", "m2", "m3") for length in (1, 2)
    }

    def keys() -> set[tuple[str, int, int]]:
        with store._database.use() as connection:  # type: ignore[attr-defined]
            return {(*numbers[number], written) for number, written in connection.execute("SELECT * FROM keys")}

    write(
        store, at(1_000, entry("a", 1, keys=("m0", "m1"), length=2)), at(2_000, entry("b", 1, keys=("m0",), length=1))
    )
    assert keys() == {("m0", 2, 1_000), ("m1", 2, 1_000), ("m0", 1, 2_000)}
    write(store, at(3_000, entry("a", 1, keys=("m1", "m2"), length=2)))
    assert keys() == {("m0", 1, 2_000), ("m1", 2, 3_000), ("m2", 2, 3_000)}
    row = replace(store.fetch(("a",))["a"], keys=("m3",))
    store.annotate((row,), DEFAULT.bits)
    assert keys() == {("m0", 1, 2_000), ("m3", 2, 3_000)}
    write(store, at(4_000, entry("b", 1)))
    assert keys() == {("m3", 2, 3_000)}
    store.remove(("a", "b"))
    assert keys() == set()


def test_entries_of_keys_move_to_the_next_table_when_one_has_more_than_its_room(tmp_path: Path) -> None:
    path = str(tmp_path / "docs.db")

    def written(start: int, count: int) -> list[int]:
        """Write some documents of two keys each by a new program; return how many entries each table has."""
        store = SqliteStore(path, rooms=(10, 30))
        store.set_up(DEFAULT, keys=True)
        for number in range(start, start + count):
            write(store, entry(str(number), number, keys=(f"m{number}", "m"), length=9))
        with store._database.use() as connection:
            sizes = [connection.execute(f"SELECT count(*) FROM {level}").fetchone()[0] for level in LEVELS]
            assert connection.execute("SELECT count(DISTINCT written) FROM keys").fetchone()[0] == start + count
        store.close()
        return sizes

    assert written(0, 5) == [10, 0, 0]
    assert written(5, 1) == [0, 12, 0], "a program counts what others wrote before it"
    assert written(6, 11) == [10, 24, 0]
    assert written(17, 1) == [0, 0, 36]


def test_entries_that_a_failed_write_has_moved_are_counted_again() -> None:
    store = SqliteStore(":memory:", rooms=(10, 30))
    store.set_up(DEFAULT, keys=True)
    write(store, entry("a", 1, keys=tuple("abcdefgh"), length=9))

    def write_and_fail() -> None:
        with store._database.transaction() as connection:
            _insert_entries([(number, 1) for number in range(5)], store._database, connection)
            connection.execute("SELECT no_such_function()")

    with pytest.raises(StoreError):
        write_and_fail()
    write(store, entry("b", 2, keys=tuple("abc"), length=9))
    with store._database.use() as connection:
        sizes = [connection.execute(f"SELECT count(*) FROM {level}").fetchone()[0] for level in LEVELS]
    assert sizes == [0, 11, 0]


@pytest.mark.parametrize("keys", ["[1]", "[", "7"])
def test_a_document_with_damaged_keys_leaves_no_entry_when_it_goes(store: Store, keys: str) -> None:
    for number in range(6):
        write(store, entry(str(number), number, keys=(f"m{number}", "m"), length=9))
    database = store._database  # type: ignore[attr-defined]
    with database.transaction() as connection:
        connection.execute("UPDATE documents SET keys = ? WHERE id = '2'", [keys])
    assert store.remove(("2",)) == {"2"}
    with database.use() as connection:
        assert connection.execute("SELECT count(*), count(DISTINCT written) FROM keys").fetchone() == (10, 5)


@pytest.mark.parametrize("many", [20, 12_000])
@pytest.mark.parametrize("most", [None, 1, 3])
def test_fingerprints_that_many_documents_share_are_found_page_by_page(
    store: Store, many: int, most: int | None
) -> None:
    rng = random.Random(many)
    linear = LinearStore()
    linear.set_up(DEFAULT)
    values = [rng.getrandbits(64) for _ in range(4)]
    values += [value ^ 1 << rng.randrange(64) for value in values for _ in range(3)]
    values += [values[0] & (1 << 64) - (1 << 32) | rng.getrandbits(32) for _ in range(many)]  # one pair in common
    values += rng.choices(values, k=180)
    entries = [entry(str(n), value, digest=f"{n}") for n, value in enumerate(values)]
    for each in (store, linear):
        write(each, *entries)
    for distance in (0, 3, 6):
        query = Candidates(tuple(Probe(value, None) for value in values[:4]), distance, 64, per_fingerprint=most)
        found, expected = store.candidates(query), linear.candidates(query)
        assert {row.id for row in found.rows} >= {row.id for row in expected.rows}
        assert found.left_out == expected.left_out
