"""The laws of stored documents: read, write, links, scan, count."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from es_simhash.errors import InputError
from es_simhash.rows import Entry, Row, Scan, StoreQuery
from tests.store.conftest import Rolled
from tests.store.documents import document, entry, ids, keys, link, put, row_of, scanned

if TYPE_CHECKING:
    from es_simhash.store.protocol import Store
    from tests.store.conftest import Stores


# --- read and write --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "row",
    [
        Row("a", (1 << 64) - 1, "d" * 32, length=75, order=1 << 60, written=1, time=-5, content=-(1 << 63)),
        Row("a", None, "d" * 32),
        Row("a", 0, ""),
        Row("字 \u2028'\"\\", 1 << 63, "ff" * 32, duplicate_of="b", time=0, content=(1 << 63) - 1),
        Row("a", 5, "d" * 32, duplicate_of="b", pinned=True, named="x"),
    ],
)
def test_a_row_is_read_as_it_was_written(store: Store, row: Row) -> None:
    put(store, Entry(row, keys("g1"), "{}"))
    assert row_of(store, row.id)._replace(version=None) == row


def test_ids_that_do_not_exist_are_left_out(store: Store) -> None:
    put(store, entry("a"))
    assert store.read(["b", "a", "a"]).keys() == {"a"}
    assert store.read([]) == {}


def test_what_was_acknowledged_is_read_without_a_refresh(stores: Stores) -> None:
    store = stores.ready()
    store.write([entry("a")])
    assert stores.again(store).read(["a"])


def test_a_document_keeps_its_fields(store: Store) -> None:
    fields = {"n": 1, "big": 1 << 70, "list": [1, {"a": None}], "text": "字\0", "o": {"a.b": 1}}
    put(store, document("a", fields))
    assert store.read(["a"], None)["a"].source == fields
    assert store.read(["a"])["a"].source is None


def test_fields_of_a_document_are_chosen(store: Store) -> None:
    put(store, document("a", {"n": 1, "o": {"p": {"q": 2, "r": 3}, "s": 4}, "t": 5}))
    assert store.read(["a"], ["n", "o.p.q", "o.s", "missing", "o.missing"])["a"].source == {
        "n": 1,
        "o": {"p": {"q": 2}, "s": 4},
    }


def test_a_new_document_conflicts_with_one_that_is_there(store: Store) -> None:
    put(store, entry("a", 1))
    written = store.write([entry("a", 2), entry("b", 3)])
    if isinstance(store, Rolled):  # the server compares the ids of one index
        pytest.skip("whoever writes a new document has read its id before")
    assert written.conflicts == {"a"}
    assert written.versions.keys() == {"b"}
    assert row_of(store, "a").fingerprint == 1


def test_a_write_is_done_on_the_version_that_it_replaces(store: Store) -> None:
    put(store, entry("a", 1))
    first = row_of(store, "a").version
    second = entry("a", 2, version=first)
    written = store.write([second])
    assert not written.conflicts
    assert row_of(store, "a").version == written.versions["a"] != first
    assert store.write([entry("a", 3, version=first)]).conflicts == {"a"}
    assert row_of(store, "a").fingerprint == 2


def test_the_version_of_a_document_that_was_removed_does_not_come_again(store: Store) -> None:
    put(store, entry("a"))
    version = row_of(store, "a").version
    store.remove({"a": None})
    assert store.write([entry("a", version=version)]).conflicts == {"a"}
    assert store.read(["a"]) == {}
    put(store, entry("a"))
    assert store.write([entry("a", version=version)]).conflicts == {"a"}


def test_a_write_without_a_document_changes_the_row_and_the_keys_alone(store: Store) -> None:
    put(store, document("a", {"n": 1}))
    row = row_of(store, "a")._replace(fingerprint=7, digest="e" * 32)
    written = store.write([Entry(row, keys("g1"))])
    store.refresh()
    assert row_of(store, "a") == row._replace(version=written.versions["a"])
    assert store.read(["a"], None)["a"].source == {"n": 1}
    assert scanned(store, Scan(keys=True))[0].keys == keys("g1")


def test_a_write_without_a_document_makes_none(store: Store) -> None:
    written = store.write([replace(entry("a"), source=None)])
    assert written.conflicts == {"a"}
    assert store.read(["a"]) == {}


def test_nothing_is_written_where_nothing_is_given(store: Store) -> None:
    assert store.write([]).versions == store.remove({}).versions == {}


# --- remove ----------------------------------------------------------------------------------------------------------


def test_documents_are_removed_on_their_version(store: Store) -> None:
    put(store, entry("a"), entry("b"), entry("c"))
    old = row_of(store, "a").version
    put(store, entry("a"))
    written = store.remove({"a": old, "b": row_of(store, "b").version, "c": None, "missing": None, "gone": old})
    assert written.conflicts == {"a"}
    store.refresh()
    assert ids(scanned(store)) == ["a"]


# --- links -----------------------------------------------------------------------------------------------------------


def test_a_link_changes_nothing_else(store: Store) -> None:
    put(store, document("a", {"n": 1}), replace(document("b", {"n": 2}, time=3, content=4), keys=keys("g1", "p2")))
    former = row_of(store, "b")
    link(store, "b", "a")
    linked = row_of(store, "b")
    assert linked == former._replace(duplicate_of="a", version=linked.version)
    assert linked.version != former.version
    assert linked.group == "a"
    assert store.read(["b"], None)["b"].source == {"n": 2}
    assert [sorted(one.keys) for one in scanned(store, Scan(keys=True))] == [[], sorted(keys("g1", "p2"))]
    link(store, "b", None)
    assert row_of(store, "b")._replace(version=former.version) == former


def test_a_link_is_written_on_its_version(store: Store) -> None:
    put(store, entry("a"), entry("b"))
    old = row_of(store, "b")._replace(duplicate_of="a")
    put(store, entry("b"))
    written = store.write([Entry(row, keys=None) for row in (old, old._replace(id="missing"))])
    assert written.conflicts == {"b", "missing"}
    assert row_of(store, "b").duplicate_of is None


def test_the_members_of_a_group_are_its_original_and_the_copies(store: Store) -> None:
    put(store, *(entry(id) for id in "abcde"))
    for id, original in {"b": "a", "c": "a", "e": "d"}.items():
        link(store, id, original)
    assert sorted(ids(store.members(["a", "missing"]))) == ["a", "b", "c"]
    assert sorted(ids(store.members(["a", "d"]))) == ["a", "b", "c", "d", "e"]
    link(store, "b", None)
    store.remove({"c": None})
    store.refresh()
    assert ids(store.members(["a"])) == ["a"]


def test_a_group_may_have_a_name_of_its_own(store: Store) -> None:
    put(store, entry("a"), entry("b", named="a name"), entry("c", duplicate_of="b", named="a name"), entry("a name"))
    assert sorted(ids(store.members(["a name"]))) == ["a name", "b", "c"]
    assert {id: row_of(store, id).group for id in "abc"} == {"a": "a", "b": "a name", "c": "a name"}
    written = store.write([Entry(row_of(store, "b").in_group("b"), keys=None)])
    assert not written.conflicts
    store.refresh()
    assert (ids(store.members(["b"])), row_of(store, "b").named) == (["b"], None)


# --- scan and count --------------------------------------------------------------------------------------------------


def test_a_scan_finds_each_document_once(store: Store) -> None:
    entries = [entry(f"{number}", number, "g1", "p2") for number in range(2_500)]
    put(store, *entries)
    rows = [one.row._replace(version=None) for one in scanned(store)]
    assert sorted(rows) == sorted(one.row for one in entries)
    assert len(scanned(store)) == 2_500


def test_a_scan_reads_the_documents_of_its_beginning(store: Store) -> None:
    put(store, *(entry(f"{number}", 1) for number in range(2_500)))
    pages = store.scan(Scan(by_order=True))
    first = next(pages)
    rest = [f"{number}" for number in range(len(first), 2_500)]
    put(store, *(entry(id, 2) for id in rest), entry("new", 2))
    assert sorted(ids(one for page in pages for one in page)) == sorted(rest)


def test_a_scan_reads_what_it_is_asked_for(store: Store) -> None:
    put(store, Entry(entry("a").row, keys("g1", "p2"), json.dumps({"n": 1, "m": 2})))
    [nothing] = scanned(store)
    assert (nothing.keys, nothing.source) == ((), None)
    [one] = scanned(store, Scan(keys=True, fields=("n",)))
    assert (sorted(one.keys), one.source) == (sorted(keys("g1", "p2")), {"n": 1})
    assert scanned(store, Scan(fields=None))[0].source == {"n": 1, "m": 2}


def test_documents_without_a_digest_are_scanned_apart(store: Store) -> None:
    put(store, entry("a"), entry("b", digest=""))
    assert ids(scanned(store)) == ["a"]
    assert ids(scanned(store, Scan(missing=True))) == ["b"]
    assert sorted(ids(scanned(store, Scan(missing=None)))) == ["a", "b"]
    counts = [store.count(Scan(missing=missing)) for missing in (None, True, False)]
    assert counts == [2, 1, 1]


def test_a_scan_since_a_time_finds_what_was_written_then(store: Store) -> None:
    put(store, entry("a", written=5), entry("b", written=6), entry("c", written=7))
    assert sorted(ids(scanned(store, Scan(since=6)))) == ["b", "c"]


def test_a_scan_has_an_order(store: Store) -> None:
    put(
        store,
        document("a", {"date": "2024-05-02"}, order=3),
        document("b", {}, order=2),
        document("c", {"date": "2024-05-01"}, order=1),
    )
    assert ids(scanned(store, Scan(by_order=True))) == ["c", "b", "a"]
    assert ids(scanned(store, Scan(by_field="date"))) == ["c", "a", "b"]


def test_a_filter_chooses_documents(store: Store) -> None:
    put(store, document("a", {"lang": "zh", "o": {"n": 1}}), document("b", {"lang": "en"}))
    assert ids(scanned(store, Scan(filter={"term": {"lang": "zh"}}))) == ["a"]
    assert store.count(Scan(filter={"range": {"o.n": {"lt": 2}}})) == 1
    assert store.count(Scan(filter={"bool": {"must_not": [{"ids": {"values": ["a"]}}]}})) == 1


@pytest.mark.parametrize("filter", [{"no_such_type": {}}, {"term": {}, "terms": {}}])
def test_a_filter_that_cannot_be_evaluated_raises(store: Store, filter: dict[str, object]) -> None:
    put(store, document("a", {"lang": "zh"}))
    with pytest.raises(InputError):
        store.count(Scan(filter=filter))
    with pytest.raises(InputError):
        scanned(store, Scan(filter=filter))
    with pytest.raises(InputError):
        store.search([StoreQuery(0)], filter, originals=True)
