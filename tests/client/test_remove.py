"""What is removed can be saved and ingested again; the documents and the links are then as before."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import Documents, InputError, StoreError, read_file
from es_simhash.store.memory_store import MemoryStore
from tests.client import HARVEST, METRO, STORM, before, links

if TYPE_CHECKING:
    from pathlib import Path

NEWS: list[dict[str, Any]] = [
    {"id": "a", "text": STORM, "n": 1.50, "more": {"x": [None, "甲"]}},
    {"id": "b", "text": METRO},
    {"id": "c", "text": STORM, "lang": "zh"},
    {"id": "d", "text": STORM.replace("部分", "多处")},
]
LINKS = {"a": None, "b": None, "c": "a", "d": "a"}


def stored(documents: Documents) -> dict[str, dict[str, Any]]:
    return documents.fetch(LINKS, fields="*")


def test_duplicates_are_saved_removed_and_ingested_again(address: str, tmp_path: Path) -> None:
    path = tmp_path / "removed.jsonl"
    with Documents(address) as documents:
        documents.setup()
        list(documents.ingest(NEWS))
        assert links(documents) == LINKS
        whole = stored(documents)
        duplicates = list(documents.duplicates())
        assert sorted((each.id, each.original, each.exact) for each in duplicates) == [
            ("c", "a", True),
            ("d", "a", False),
        ]
        assert documents.remove_duplicates(duplicates, save=str(path)) == 2
        assert stored(documents).keys() == {"a", "b"}
        assert os.stat(path).st_mode & 0o077 == 0, "only the owner may read it"
        assert {o.outcome for o in documents.ingest(read_file(path))} == {"exact_duplicate", "near_duplicate"}
        assert (links(documents), stored(documents)) == (LINKS, whole)


def test_an_original_is_saved_and_removed_and_its_copies_get_another(address: str, tmp_path: Path) -> None:
    path = tmp_path / "removed.jsonl"
    with Documents(address) as documents:
        documents.setup()
        list(documents.ingest(NEWS))
        whole = stored(documents)
        assert documents.remove(["a", "none"], save=str(path)) == {"a"}
        assert links(documents) == {"b": None, "c": None, "d": "c"}
        assert documents.remove(matching={"ids": {"values": ["b"]}}) == {"b"}
        assert [outcome.duplicate_of for outcome in documents.ingest(read_file(path))] == ["c"]
        assert stored(documents) == {id: whole[id] for id in "acd"}
        with pytest.raises(InputError, match=r"File exists.*: name another file"):
            documents.remove(["c"], save=str(path))
        assert stored(documents).keys() == {"a", "c", "d"}


def test_an_id_that_stands_in_no_field_is_saved_too(address: str, tmp_path: Path) -> None:
    path = tmp_path / "removed.jsonl"
    with Documents(address) as documents:
        documents.setup(id_field="_id")
        assert documents.add({"_id": "x", "text": HARVEST}).stored
        assert documents.remove(["x"], save=str(path)) == {"x"}
        assert [o.id for o in documents.ingest(read_file(path), id_field="_id")] == ["x"]
        assert documents.fetch(["x"], fields="*") == {"x": {"text": HARVEST}}


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no full device")
def test_nothing_is_removed_that_was_not_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    with Documents("memory://") as documents:
        list(documents.ingest(NEWS))
        full = open("/dev/full", "wb", buffering=0)  # noqa: SIM115  remove closes it
        monkeypatch.setattr("es_simhash.machine.FileIO", lambda *_, **__: full)
        with pytest.raises(StoreError, match="cannot write"):
            documents.remove(["a"], save="removed")
        assert links(documents) == LINKS


@pytest.mark.parametrize("by_id", [True, False])
def test_a_document_that_changes_before_its_removal_stays_and_is_told(
    by_id: bool, caplog: pytest.LogCaptureFixture
) -> None:
    store = MemoryStore()
    documents, other = Documents(store), Documents(store)
    documents.add({"id": "a", "text": STORM})
    before(store, "remove", lambda: other.add({"id": "a", "text": STORM, "views": 7}))
    removed = documents.remove(["a"]) if by_id else documents.remove(matching={"match_all": {}})
    assert removed == set()
    assert documents.fetch(["a"], fields=["views"]) == {"a": {"views": 7}}
    assert "1 document not removed, because other programs changed them: remove them again" in caplog.text
