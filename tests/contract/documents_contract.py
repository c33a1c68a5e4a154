"""Tests for the methods that read and write documents by their ids."""

from __future__ import annotations

from dataclasses import replace

from es_simhash.contract import Entry, Link, Probe
from es_simhash.fingerprinting.scheme import DEFAULT
from tests.contract.documents import candidates, entry, near, scan, write
from tests.contract.suite import Suite


class DocumentsContract(Suite):
    """Reading and writing documents by their ids."""

    def test_what_was_written_is_fetched_at_once(self) -> None:
        store = self.ready()
        assert write(store, entry("a", 5, digest="d", group="g", duplicate_of="o")).refused == {}
        row = store.fetch(("a", "b"))["a"]
        assert (row.id, row.fingerprint, row.digest, row.group, row.duplicate_of) == ("a", 5, "d", "g", "o")

    def test_ids_that_do_not_exist_are_left_out(self) -> None:
        store = self.ready()
        assert store.fetch(("a",)) == {}
        assert store.fetch(()) == {}

    def test_every_fingerprint_comes_back_as_it_was(self) -> None:
        store = self.ready()
        values = [0, 1, (1 << 63) - 1, 1 << 63, (1 << 64) - 1, 0x0001_0010_0100_1000, None]
        write(store, *(entry(f"id{i}", value) for i, value in enumerate(values)))
        rows = store.fetch(tuple(f"id{i}" for i in range(len(values))))
        assert [rows[f"id{i}"].fingerprint for i in range(len(values))] == values
        for value in values:
            if value is not None:
                assert value in {row.fingerprint for row in near(store, value, 0)}

    def test_an_id_is_any_string(self) -> None:
        store = self.ready()
        ids = ("新闻 1", "a/b?c=d&e", "'\"\\", "_x", "%20", "x" * 512, "💡", "1", "01", " 1 ", "null")
        write(store, *(entry(id, fingerprint) for fingerprint, id in enumerate(ids)))
        rows = store.fetch(ids)
        assert set(rows) == set(ids)
        assert {row.id for row in near(store, 0, 7)} == set(ids)
        assert store.remove(ids) == set(ids)

    def test_writing_an_id_again_replaces_it(self) -> None:
        store = self.ready()
        write(store, entry("a", 1, digest="d", duplicate_of="x"), entry("b", 2))
        before = store.fetch(("a", "b"))
        write(store, entry("a", 1 << 40, digest="e"))
        after = store.fetch(("a",))["a"]
        assert (after.fingerprint, after.digest, after.duplicate_of) == (1 << 40, "e", None)
        assert after.written > max(row.written for row in before.values())
        assert {row.id for row in near(store, 1, 0)} == set()
        assert {row.id for row in candidates(store, [Probe(None, "d")], 0)} == set()
        assert {row.id for row in near(store, 1 << 40, 0)} == {"a"}

    def test_a_document_that_exists_is_not_created(self) -> None:
        store = self.ready()
        write(store, entry("a", 1))
        written = store.write((entry("a", 2), entry("b", 3)), DEFAULT.bits)
        assert written.conflicts == {"a"}
        rows = store.fetch(("a", "b"))
        assert {id: row.fingerprint for id, row in rows.items()} == {"a": 1, "b": 3}

    def test_a_document_is_replaced_only_if_it_still_has_the_version(self) -> None:
        store = self.ready()
        write(store, *(entry(id, 1) for id in ("same", "written", "linked", "removed")))
        read = store.fetch(("same", "written", "linked", "removed"))
        write(store, entry("written", 2))
        assert store.relink({"linked": Link("same", "same", read["linked"].version)}) == set()
        store.remove(("removed",))
        entries = [entry(id, 3) for id in read]
        again = tuple(Entry(replace(each.row, version=read[each.row.id].version), each.source) for each in entries)
        assert store.write(again, DEFAULT.bits).conflicts == {"written", "linked", "removed"}
        rows = store.fetch(tuple(read))
        assert {id: row.fingerprint for id, row in rows.items()} == {"same": 3, "written": 2, "linked": 1}

    def test_fields_of_documents_are_fetched_as_last_written(self) -> None:
        store = self.ready()
        write(store, entry("a", 5, text="旧", n=1), entry("b", None, n=2))
        write(store, entry("a", 6, text="新", n=3))
        fields = store.fetch_fields(("a", "b", "c"), ("text", "title"))
        assert fields == {"a": {"text": "新"}, "b": {}}
        assert store.fetch_fields((), ("text",)) == {}
        whole = store.fetch_fields(("a", "b", "c"), None)
        assert {
            id: {name: source[name] for name in ("text", "n") if name in source} for id, source in whole.items()
        } == {
            "a": {"text": "新", "n": 3},
            "b": {"n": 2},
        }
        assert all("simhash" not in source for source in whole.values())

    def test_annotate_writes_rows_into_documents_that_still_have_the_version(self) -> None:
        store = self.ready()
        write(store, entry("a", 1, lang="zh", text="old"), entry("b", 2, duplicate_of="a"), entry("c", 3))
        rows = {row.id: row for row in scan(store)}
        write(store, entry("b", 4))
        store.remove(("c",))
        changed = [replace(row, fingerprint=None, digest="new") for row in rows.values()]
        written = store.annotate((*changed, replace(rows["a"], id="never written")), DEFAULT.bits)
        assert written.conflicts == {"b", "c", "never written"}
        assert not written.refused
        assert not written.busy
        store.refresh()
        after = store.fetch(("a", "b", "c", "never written"))
        assert {row.id: (row.fingerprint, row.digest) for row in after.values()} == {
            "a": (None, "new"),
            "b": (4, "digest of b"),
        }
        assert near(store, 1, 0) == []

    def test_annotate_changes_the_row_and_keeps_the_other_fields(self) -> None:
        store = self.ready()
        write(store, entry("a", 1, lang="zh", deep={"er": [1, None]}), entry("b", None))
        row = store.fetch(("a",))["a"]
        changed = replace(row, fingerprint=2, digest="e", group="g", duplicate_of="o")
        assert store.annotate((changed,), DEFAULT.bits).conflicts == frozenset()
        store.refresh()
        after = store.fetch(("a",))["a"]
        assert after == changed
        assert store.fetch_fields(("a",), ("lang", "deep"))["a"] == {"lang": "zh", "deep": {"er": [1, None]}}
        assert [row.id for row in scan(store, filter={"term": {"lang": "zh"}})] == ["a"]
        assert [row.id for row in near(store, 2, 0)] == ["a"]
        assert near(store, 1, 0) == []

    def test_the_content_of_a_document_is_kept_by_all_but_a_write(self) -> None:
        store = self.ready()
        for content in (0, 1, -(1 << 63), (1 << 63) - 1):
            row = replace(entry("a", 1).row, content=content)
            write(store, Entry(row, '{"id": "a"}'))
            read = store.fetch(("a",))["a"]
            assert read.content == content
            assert not store.annotate((replace(read, fingerprint=2, content=None),), DEFAULT.bits).conflicts
            assert not store.relink({"a": Link("b", "b", store.fetch(("a",))["a"].version)})
            assert store.fetch(("a",))["a"].content == content
        write(store, entry("a", 1))
        assert store.fetch(("a",))["a"].content is None

    def test_annotate_changes_the_version(self) -> None:
        store = self.ready()
        write(store, entry("a", 1), entry("b", 2))
        row = store.fetch(("a",))["a"]
        first, second = replace(row, group="g"), replace(row, group="h")
        assert store.annotate((first,), DEFAULT.bits).conflicts == frozenset()
        assert store.annotate((second,), DEFAULT.bits).conflicts == {"a"}
        assert store.fetch(("a",))["a"].group == "g"

    def test_a_whole_document_comes_back_as_it_was(self) -> None:
        store = self.ready()
        write(store, entry("a", 5, digest="d", group="g", duplicate_of="o", text="中 \ud83d"), entry("b", None))
        rows, fields = store.fetch(("a", "b")), store.fetch_fields(("a", "b"), None)
        whole = store.fetch_whole(("a", "b", "c"))
        assert whole.keys() == {"a", "b"}
        assert store.restore(whole).conflicts == {"a", "b"}
        store.remove(("a",))
        assert store.restore(whole).conflicts == {"b"}
        assert store.fetch(("a", "b")) == rows
        assert store.fetch_fields(("a", "b"), None) == fields
        assert store.fetch_whole(("a", "b")) == whole
        assert {row.id for row in near(store, 5, 0)} == {"a"}

    def test_what_was_removed_is_gone(self) -> None:
        store = self.ready()
        write(store, entry("a", 1), entry("b", 1))
        assert store.remove(("a", "nothing")) == {"a"}
        store.refresh()
        rows = store.fetch(("a", "b"))
        assert set(rows) == {"b"}
        assert {row.id for row in near(store, 1, 3)} == {"b"}
        assert store.remove(()) == set()

    def test_a_document_is_removed_only_if_it_still_has_the_version(self) -> None:
        store = self.ready()
        write(store, entry("a", 1), entry("b", 2))
        versions = {row.id: row.version for row in scan(store)}
        write(store, entry("a", 3))
        assert store.remove(("a", "b", "c"), versions) == {"b"}
        assert store.remove(("a",)) == {"a"}

    def test_links_change_only_in_documents_that_still_have_the_version(self) -> None:
        store = self.ready()
        write(store, entry("a", 1), entry("b", 2), entry("c", 3, duplicate_of="a", lang="zh"), entry("d", 4))
        rows = {row.id: row for row in scan(store)}
        write(store, entry("b", 2))
        assert store.remove(("a",)) == {"a"}
        links = {id: Link("g", "o", row.version) for id, row in rows.items()}
        assert store.relink({**links, "c": Link("c", None, rows["c"].version)}) == {"a", "b"}
        store.refresh()
        after = store.fetch(("a", "b", "c", "d"))
        found = {id: (row.group, row.duplicate_of) for id, row in after.items()}
        assert found == {"b": ("b", None), "c": ("c", None), "d": ("g", "o")}
        assert {id: row.written for id, row in after.items() if id != "b"} == {id: rows[id].written for id in "cd"}
        assert [row.id for row in candidates(store, [Probe(3, None)], 0, filter={"term": {"lang": "zh"}})] == ["c"]
        # A change of the links changes the version.
        assert store.relink({"d": Link("x", None, rows["d"].version)}) == {"d"}
        assert store.relink({"d": Link("x", None, after["d"].version)}) == set()
