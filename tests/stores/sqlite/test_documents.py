"""The table of documents. The row number is the write order, so two documents cannot have the same."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from es_simhash import Documents
from es_simhash.contract import Candidates, Probe
from es_simhash.fingerprinting.scheme import DEFAULT
from es_simhash.stores.sqlite import SqliteStore
from tests.contract import LinearStore
from tests.contract.documents import entry, scan, write

if TYPE_CHECKING:
    from collections.abc import Iterator

    from es_simhash.contract import Entry, Store


@pytest.fixture
def store() -> Iterator[Store]:
    store = SqliteStore(":memory:")
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
