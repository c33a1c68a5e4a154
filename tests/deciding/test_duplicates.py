"""Duplicates of the head of a group: which they are, and that removing them loses no text that is not near a head."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from es_simhash import Documents, Duplicate, DuplicateRule
from es_simhash.deciding.duplicates import remove_duplicates
from es_simhash.deciding.saved import Saved
from es_simhash.errors import StoreError
from es_simhash.fingerprinting.normalisation import digest
from es_simhash.fingerprinting.scheme import DEFAULT
from tests.cli import HARVEST, STORM, STORM_FARTHER, STORM_NEAR
from tests.contract import LinearStore
from tests.contract.documents import entry, flip, scan, write
from tests.limited import resolved

if TYPE_CHECKING:
    from pathlib import Path

    from es_simhash.contract import Row, Store


def test_in_a_chain_only_what_is_near_the_head_goes_and_all_comes_back(store: Store, tmp_path: Path) -> None:
    chain = {"head": 0, "near": 0b11, "end": 0b1111, "behind": 0b111111, "alone": 1 << 60 | 0xFF00}
    write(store, *(entry(id, value, text=f"text of {id}") for id, value in chain.items()))
    write(store, entry("copy", 0, digest="digest of head", text="text of head"))
    documents = Documents(store)
    documents.group(rule=DuplicateRule("fingerprint", max_distance=2))
    found = sorted(documents.duplicates(rule=DuplicateRule("fingerprint", max_distance=2)), key=lambda each: each.id)
    assert found == [Duplicate("copy", "head", 0, True), Duplicate("near", "head", 2, False)]
    ids = (*chain, "copy")
    before = store.fetch_fields(ids, None)
    path = str(tmp_path / "removed.jsonl")
    assert documents.remove_duplicates(found, save=path, rule=DuplicateRule("fingerprint", max_distance=2)) == 2
    assert {row.id: (row.group, row.duplicate_of) for row in scan(store)} == {
        "head": ("head", None),
        "end": ("end", None),
        "behind": ("end", "end"),
        "alone": ("alone", None),
    }
    saved = [json.loads(line) for line in (tmp_path / "removed.jsonl").read_text().splitlines()]
    assert {document["id"] for document in saved} == {"copy", "near"}
    list(documents.ingest(saved, rule=DuplicateRule("fingerprint", max_distance=2)))
    assert store.fetch_fields(ids, None) == before


BITS = st.lists(st.integers(0, 11), max_size=4, unique=True)


@settings(max_examples=60)
@given(
    near=st.lists(BITS, min_size=2, max_size=14),
    copies=st.lists(st.integers(0, 13), max_size=4),
    max_distance=st.integers(0, 4),
    batch=st.integers(1, 4),
)
def test_exactly_the_members_near_their_head_go_and_no_link_leads_to_them(
    near: list[list[int]], copies: list[int], max_distance: int, batch: int
) -> None:
    store = LinearStore()
    store.set_up(DEFAULT)
    write(store, *(entry(f"{n}", flip(0, bits)) for n, bits in enumerate(near)))
    some = [(n, original) for n, original in enumerate(copies) if original < len(near)]
    write(store, *(entry(f"copy {n}", flip(0, near[of]), digest=f"digest of {of}") for n, of in some))
    blank = digest("", DEFAULT.digest)
    write(store, entry("blank", None, digest=blank), entry("blank too", None, digest=blank))
    documents = Documents(store)
    documents.group(rule=DuplicateRule("fingerprint", max_distance=max_distance))
    before = {row.id: row for row in scan(store)}
    expected = {id for id, row in before.items() if row.group != id and is_near(before[row.group], row, max_distance)}
    found = list(documents.duplicates(rule=DuplicateRule("fingerprint", max_distance=max_distance)))
    rule = resolved(documents, rule="fingerprint", max_distance=max_distance)
    assert remove_duplicates(store, found, rule, batch=batch) == len(expected)
    after = {row.id: row for row in scan(store)}
    assert {each.id for each in found} == expected
    assert after.keys() == before.keys() - expected
    assert {each.head for each in found} <= after.keys()
    assert {row.duplicate_of for row in after.values()} - {None} <= after.keys()
    assert {row.group for row in after.values()} <= after.keys()


def is_near(head: Row, row: Row, max_distance: int) -> bool:
    assert head.fingerprint is not None
    assert row.fingerprint is not None
    return head.digest == row.digest or (head.fingerprint ^ row.fingerprint).bit_count() <= max_distance


def test_a_document_stays_if_it_or_its_head_changed_after_the_search() -> None:
    store = LinearStore()
    store.set_up(DEFAULT)
    write(store, entry("a", 0), *(entry(id, 1, group="a", duplicate_of="a") for id in ("b", "c")))
    write(store, entry("x", 1 << 40 | 0xFF), entry("y", 1 << 40 | 0xFF, group="x", duplicate_of="x"))
    documents = Documents(store)
    found = list(documents.duplicates(rule="fingerprint"))
    assert {each.id for each in found} == {"b", "c", "y"}
    write(store, entry("b", 0xFFFF0000))
    documents.remove(["x"], rule="fingerprint")
    assert documents.remove_duplicates(found, rule="fingerprint") == 1
    assert {row.id for row in scan(store)} == {"a", "b", "y"}


def test_texts_confirm_where_the_rule_says_so() -> None:
    documents = Documents(LinearStore())
    documents.setup(keys=False)
    texts = {"a": STORM, "b": STORM_NEAR, "c": STORM_FARTHER, "d": STORM, "e": HARVEST}
    list(
        documents.ingest(
            [{"id": id, "text": text} for id, text in texts.items()], rule=DuplicateRule("fingerprint", max_distance=7)
        )
    )
    assert {each.id for each in documents.duplicates(rule=DuplicateRule("fingerprint", max_distance=7))} == {
        "b",
        "c",
        "d",
    }
    assert {each.id for each in documents.duplicates(rule=DuplicateRule("copy", confirm=0.999))} == {"d"}


def test_nothing_is_removed_that_could_not_be_saved_and_an_error_says_what_was_removed(tmp_path: Path) -> None:
    store = LinearStore()
    store.set_up(DEFAULT)
    write(store, entry("a", 0), *(entry(id, 1, group="a", duplicate_of="a") for id in ("b", "c", "d")))
    documents = Documents(store)
    path = str(tmp_path / "removed.jsonl")
    calls: list[int] = []

    def full_disk(number: int) -> None:
        calls.append(number)
        if len(calls) == 2:  # the documents of the second batch
            raise OSError(28, "No space left on device")

    found = list(documents.duplicates(rule="fingerprint"))
    rule = resolved(documents, rule="fingerprint")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.fsync", full_disk)
        with (
            closing(Saved(store, path, "id")) as saved,
            pytest.raises(StoreError, match=r"cannot write .*No space left on device; 2 documents were removed"),
        ):
            remove_duplicates(store, found, rule, saved=saved, batch=2)
    assert len(scan(store)) == 2
