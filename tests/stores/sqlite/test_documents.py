"""The write order is the row number in SQLite, so two documents cannot have the same."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from es_simhash import Documents
from es_simhash.contract import SetUp
from es_simhash.fingerprinting.scheme import DEFAULT
from es_simhash.stores.address import open_store
from es_simhash.testing.documents import entry, scan, write

if TYPE_CHECKING:
    from collections.abc import Iterator

    from es_simhash.contract import Entry, Store


@pytest.fixture
def store() -> Iterator[Store]:
    store = open_store("sqlite:///:memory:")
    store.perform(SetUp(DEFAULT))
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
    assert Documents(store).group().changed == 0, "links lead to documents that were written earlier"
