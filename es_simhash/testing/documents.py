"""What every store keeps of requests on documents, and short forms of these requests for tests."""

from __future__ import annotations

import itertools
import json
import random
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from es_simhash.contract import (
    Candidates,
    Count,
    Dependents,
    Describe,
    Entry,
    Fetch,
    FetchFields,
    Link,
    Probe,
    Refresh,
    Relink,
    Remove,
    Row,
    Scan,
    SetUp,
    Store,
    Write,
    Written,
)
from es_simhash.fingerprinting.scheme import DEFAULT, Scheme
from es_simhash.testing.linear import LinearStore, is_near

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class DocumentsContract:
    """The laws of requests on documents, as tests for pytest."""

    def make_store(self) -> Store:
        """A new, empty store that was not set up."""
        raise NotImplementedError

    def _ready(self) -> Store:
        store = self.make_store()
        store.perform(SetUp(DEFAULT))
        return store

    def test_a_new_store_has_no_scheme(self) -> None:
        assert self.make_store().perform(Describe()) is None

    def test_setting_up_keeps_the_scheme_and_may_be_repeated(self) -> None:
        store = self.make_store()
        scheme = Scheme(weights="tf", digest="sha256")
        assert [store.perform(SetUp(scheme)) for _ in range(2)] == ["created", "unchanged"]
        assert store.perform(Describe()) == scheme

    def test_what_was_written_is_fetched_at_once(self) -> None:
        store = self._ready()
        assert write(store, entry("a", 5, digest="d", group="g", duplicate_of="o")).refused == {}
        row = store.perform(Fetch(("a", "b")))["a"]
        assert (row.id, row.fingerprint, row.digest, row.group, row.duplicate_of) == ("a", 5, "d", "g", "o")

    def test_what_is_not_there_is_not_fetched(self) -> None:
        store = self._ready()
        assert store.perform(Fetch(("a",))) == {}
        assert store.perform(Fetch(())) == {}

    def test_every_fingerprint_comes_back_as_it_was(self) -> None:
        store = self._ready()
        values = [0, 1, (1 << 63) - 1, 1 << 63, (1 << 64) - 1, 0x0001_0010_0100_1000, None]
        write(store, *(entry(f"id{i}", value) for i, value in enumerate(values)))
        rows = store.perform(Fetch(tuple(f"id{i}" for i in range(len(values)))))
        assert [rows[f"id{i}"].fingerprint for i in range(len(values))] == values
        for value in values:
            if value is not None:
                assert value in {row.fingerprint for row in near(store, value, 0)}

    def test_an_id_is_any_string(self) -> None:
        store = self._ready()
        ids = ("新闻 1", "a/b?c=d&e", "'\"\\", "_x", "%20", "x" * 512, "💡", "1", "01", " 1 ", "null")
        write(store, *(entry(id, place) for place, id in enumerate(ids)))
        rows = store.perform(Fetch(ids))
        assert set(rows) == set(ids)
        assert {row.id for row in near(store, 0, 7)} == set(ids)
        assert store.perform(Remove(ids)) == set(ids)

    def test_everything_within_max_distance_is_found(self) -> None:
        store = self._ready()
        rng = random.Random(1)
        centre = rng.getrandbits(64)
        planted = {
            f"{distance}-{n}": flip(centre, rng.sample(range(64), distance))
            for distance in range(12)
            for n in range(12)
        }
        planted |= {f"low-{n}": flip(centre, rng.sample(range(16), n)) for n in range(8)}  # all in one segment
        write(store, *(entry(id, value) for id, value in planted.items()))
        write(store, *(entry(f"far-{n}", rng.getrandbits(64)) for n in range(200)))
        for max_distance in range(8):
            expected = {id for id, value in planted.items() if (value ^ centre).bit_count() <= max_distance}
            assert {row.id for row in near(store, centre, max_distance)} >= expected

    def test_fingerprints_of_128_bits_are_kept_and_everything_near_is_found(self) -> None:
        store = self.make_store()
        store.perform(SetUp(Scheme(bits=128)))
        rng = random.Random(4)
        centres = [rng.getrandbits(128), (1 << 128) - 1, 1 << 63, 1 << 64, 0]
        planted = {
            f"{number}-{distance}-{n}": flip(centre, rng.sample(range(128), distance))
            for number, centre in enumerate(centres)
            for distance in range(18)
            for n in range(3)
        }
        planted |= {f"across-{n}": flip(centres[0], range(56, 56 + n)) for n in range(1, 17)}
        entries = [entry(id, value, bits=128) for id, value in planted.items()]
        write(store, *entries, entry("none", None, bits=128))
        rows = store.perform(Fetch((*planted, "none")))
        assert {id: row.fingerprint for id, row in rows.items()} == {**planted, "none": None}
        assert {row.bits for row in rows.values() if row.fingerprint is not None} == {128}
        for max_distance in (0, 3, 7, 8, 12, 15):
            for centre in centres:
                expected = {id for id, value in planted.items() if (value ^ centre).bit_count() <= max_distance}
                found = candidates(store, [Probe(centre, None, 128)], max_distance)
                assert {row.id for row in found} >= expected
        together = candidates(store, [Probe(centre, None, 128) for centre in centres], 7)
        near = {i for i, v in planted.items() if any((v ^ centre).bit_count() <= 7 for centre in centres)}
        assert {row.id for row in together} >= near
        changed = replace(entries[0], fingerprint=5, source="", version=rows[entries[0].id].version)
        assert not write(store, changed).conflicts
        assert store.perform(Fetch((changed.id,)))[changed.id].fingerprint == 5

    def test_a_batch_finds_what_its_members_find(self) -> None:
        store = self._ready()
        rng = random.Random(2)
        centres = [rng.getrandbits(64) for _ in range(130)]
        write(store, *(entry(f"n{i}", flip(value, rng.sample(range(64), i % 8))) for i, value in enumerate(centres)))
        for max_distance in (0, 3, 7):
            together = candidates(store, [Probe(value, None) for value in centres], max_distance)
            alone = {row.id for value in centres for row in near(store, value, max_distance)}
            assert {row.id for row in together} >= alone
            assert len({row.id for row in together}) == len(together)

    def test_a_digest_finds_documents_without_fingerprint(self) -> None:
        store = self._ready()
        write(store, entry("a", None, digest="d"), entry("b", None, digest="e"), entry("c", 7, digest="d"))
        assert {row.id for row in candidates(store, [Probe(None, "d")], 3)} == {"a", "c"}

    def test_below_distance_0_only_digests_are_looked_at(self) -> None:
        store = self._ready()
        write(store, entry("a", 5, digest="x"), entry("b", 5, digest="y"), entry("c", None, digest="x"))
        probes = (Probe(5, "x"), Probe(5, None), Probe(7, "z"))
        assert {row.id for row in store.perform(Candidates(probes, -1))} == {"a", "c"}
        assert store.perform(Candidates((Probe(5, None),), -1)) == []

    def test_nothing_asked_nothing_found(self) -> None:
        store = self._ready()
        write(store, entry("a", 0), entry("b", None))
        assert candidates(store, [Probe(None, None)], 3) == []
        assert candidates(store, [], 3) == []

    def test_a_full_segment_is_not_cut_short(self) -> None:
        store = self._ready()
        ids = {f"id{n}" for n in range(2_500)}
        write(store, *(entry(id, 42) for id in sorted(ids)))
        assert {row.id for row in near(store, 42, 3)} == ids

    def test_one_per_digest_is_the_first_written(self) -> None:
        store = self._ready()
        for id in ("c", "a", "b"):
            write(store, entry(id, 9, digest="d"))
        write(store, entry("z", 8, digest="e"))
        rows = candidates(store, [Probe(9, "d")], 1, one_per_digest=True)
        assert sorted(row.id for row in rows) == ["c", "z"]
        rows = candidates(store, [Probe(9, "d")], 1, one_per_digest=True, without=("c",))
        assert sorted(row.id for row in rows) == ["a", "z"]

    def test_very_many_ids_may_be_left_out(self) -> None:
        store = self._ready()
        write(store, entry("a", 9, digest="d"), entry("id7", 9, digest="d"))
        without = tuple(f"id{n}" for n in range(20_500))
        assert [row.id for row in candidates(store, [Probe(9, "d")], 1, without=without)] == ["a"]

    def test_many_digests_on_one_fingerprint_are_not_cut_short(self) -> None:
        store = self._ready()
        write(store, *(entry(f"id{n}", 42, digest=f"d{n}") for n in range(1_200)))
        assert len(candidates(store, [Probe(42, None)], 0, one_per_digest=True)) == 1_200

    def test_a_filter_is_honoured(self) -> None:
        store = self._ready()
        write(
            store,
            entry("a", 1, lang="zh", year=2020),
            entry("b", 1, lang="en", year=2024),
            entry("c", 1, lang=["zh", "en"], year=2026),
            entry("d", 1),
        )
        clauses: list[tuple[Mapping[str, Any], set[str]]] = [
            ({"term": {"lang": "zh"}}, {"a", "c"}),
            ({"terms": {"lang": ["en", "fr"]}}, {"b", "c"}),
            ({"range": {"year": {"gte": 2024}}}, {"b", "c"}),
            ({"range": {"year": {"gt": 2020, "lt": 2026}}}, {"b"}),
            ({"exists": {"field": "lang"}}, {"a", "b", "c"}),
            ({"ids": {"values": ["a", "d"]}}, {"a", "d"}),
            ({"match_all": {}}, {"a", "b", "c", "d"}),
            ({"bool": {"must_not": [{"term": {"lang": "en"}}]}}, {"a", "d"}),
            ({"bool": {"filter": [{"term": {"lang": "en"}}, {"range": {"year": {"lte": 2024}}}]}}, {"b"}),
            ({"bool": {"should": [{"term": {"year": 2020}}, {"term": {"year": 2026}}]}}, {"a", "c"}),
        ]
        for clause, expected in clauses:
            assert {row.id for row in candidates(store, [Probe(1, None)], 0, filter=clause)} == expected, clause

    def test_writing_an_id_again_replaces_it(self) -> None:
        store = self._ready()
        write(store, entry("a", 1, digest="d", duplicate_of="x"), entry("b", 2))
        before = store.perform(Fetch(("a", "b")))
        write(store, entry("a", 1 << 40, digest="e"))
        after = store.perform(Fetch(("a",)))["a"]
        assert (after.fingerprint, after.digest, after.duplicate_of) == (1 << 40, "e", None)
        assert after.written > max(row.written for row in before.values())
        assert {row.id for row in near(store, 1, 0)} == set()
        assert {row.id for row in candidates(store, [Probe(None, "d")], 0)} == set()
        assert {row.id for row in near(store, 1 << 40, 0)} == {"a"}

    def test_what_was_removed_is_gone(self) -> None:
        store = self._ready()
        write(store, entry("a", 1), entry("b", 1))
        assert store.perform(Remove(("a", "nothing"))) == {"a"}
        store.perform(Refresh())
        rows = store.perform(Fetch(("a", "b")))
        assert set(rows) == {"b"}
        assert {row.id for row in near(store, 1, 3)} == {"b"}
        assert store.perform(Remove(())) == set()

    def test_a_scan_comes_upon_every_document_once(self) -> None:
        store = self._ready()
        ids = [f"id{n}" for n in range(12_000)]  # more than a page
        write(store, *(entry(id, place or None, n=place) for place, id in enumerate(ids)))
        assert sorted(row.id for row in scan(store)) == sorted(ids)
        rest = scan(store, filter={"range": {"n": {"gte": 11_990}}})
        assert sorted(row.id for row in rest) == sorted(ids[11_990:])
        assert plain(rest) == plain(store.perform(Fetch(tuple(ids[11_990:]))).values())

    def test_links_are_changed_only_if_nobody_wrote_since(self) -> None:
        store = self._ready()
        write(store, entry("a", 1), entry("b", 2), entry("c", 3, duplicate_of="a", lang="zh"), entry("d", 4))
        rows = {row.id: row for row in scan(store)}
        write(store, entry("b", 2))
        assert store.perform(Remove(("a",))) == {"a"}
        links = {id: Link("g", "o", row.version) for id, row in rows.items()}
        assert store.perform(Relink({**links, "c": Link("c", None, rows["c"].version)})) == {"a", "b"}
        store.perform(Refresh())
        after = store.perform(Fetch(("a", "b", "c", "d")))
        found = {id: (row.group, row.duplicate_of) for id, row in after.items()}
        assert found == {"b": ("b", None), "c": ("c", None), "d": ("g", "o")}
        assert {id: row.written for id, row in after.items() if id != "b"} == {id: rows[id].written for id in "cd"}
        assert [row.id for row in candidates(store, [Probe(3, None)], 0, filter={"term": {"lang": "zh"}})] == ["c"]
        # A change of the links is a change: who read before it comes too late.
        assert store.perform(Relink({"d": Link("x", None, rows["d"].version)})) == {"d"}
        assert store.perform(Relink({"d": Link("x", None, after["d"].version)})) == set()

    def test_dependents_name_a_document_as_their_original_or_as_their_head(self) -> None:
        store = self._ready()
        write(
            store,
            entry("head", 1),
            entry("a", 1, group="head", duplicate_of="head"),
            entry("b", 1, group="head", duplicate_of="a"),
            entry("c", 1, group="other", duplicate_of="a"),
            entry("alone", 1),
        )
        assert store.perform(Dependents(("head",), ())) == {"a"}
        assert store.perform(Dependents((), ("head",))) == {"a", "b"}
        assert store.perform(Dependents(("a", "none"), ("other", "alone"))) == {"b", "c"}
        assert store.perform(Dependents((), ())) == set()

    def test_dependents_are_not_cut_short(self) -> None:
        store = self._ready()
        write(store, *(entry(f"id{n}", None, group="head") for n in range(2_500)))
        assert len(store.perform(Dependents((), ("head",)))) == 2_500

    def test_a_document_is_removed_only_in_the_version_given(self) -> None:
        store = self._ready()
        write(store, entry("a", 1), entry("b", 2))
        versions = {row.id: row.version for row in scan(store)}
        write(store, entry("a", 3))
        assert store.perform(Remove(("a", "b", "c"), versions)) == {"b"}
        assert store.perform(Remove(("a",))) == {"a"}

    def test_slices_are_everything_once(self) -> None:
        store = self._ready()
        ids = [f"id{n}" for n in range(300)]
        write(store, *(entry(id, 1) for id in ids))
        found = [[row.id for row in scan(store, slice=(part, 3), size=50)] for part in range(3)]
        assert sorted(id for part in found for id in part) == sorted(ids)
        assert all(found)
        assert store.perform(Count(Scan())) == 300

    def test_a_fingerprint_is_put_into_a_document_of_the_version_given(self) -> None:
        store = self._ready()
        write(store, entry("a", 1, lang="zh", text="old"), entry("b", 2, duplicate_of="a"))
        rows = {row.id: row for row in scan(store)}
        write(store, entry("b", 3))
        changed = [replace(entry(id, None, digest="new"), source="", version=rows[id].version) for id in ("a", "b")]
        written = write(store, *changed)
        assert written.conflicts == {"b"}
        assert not written.refused
        after = store.perform(Fetch(("a", "b")))
        assert [(row.id, row.fingerprint, row.digest) for row in after.values()] == [
            ("a", None, "new"),
            ("b", 3, "digest of b"),
        ]
        assert [row.id for row in scan(store, filter={"term": {"lang": "zh"}})] == ["a"]
        assert near(store, 1, 0) == []

    def test_a_scan_brings_fields_along(self) -> None:
        store = self._ready()
        write(store, entry("a", 1, title="x", text="y"), entry("b", None, text="z"))
        page = store.perform(Scan(fields=("title", "text")))
        assert {row.id: source for row, source in zip(page.rows, page.sources, strict=True)} == {
            "a": {"title": "x", "text": "y"},
            "b": {"text": "z"},
        }
        assert store.perform(Count(Scan(fields=("text",), missing=True))) == 0

    def test_fields_of_documents_are_fetched_as_last_written(self) -> None:
        store = self._ready()
        write(store, entry("a", 5, text="旧", n=1), entry("b", None, n=2))
        write(store, entry("a", 6, text="新", n=3))
        fields = store.perform(FetchFields(("a", "b", "c"), ("text", "title")))
        assert fields == {"a": {"text": "新"}, "b": {}}
        assert store.perform(FetchFields((), ("text",))) == {}

    def test_closing_twice_is_fine(self) -> None:
        store = self._ready()
        store.close()
        store.close()

    def test_random_moves_end_as_in_the_slow_twin(self) -> None:
        store, twin = self._ready(), LinearStore()
        rng = random.Random(3)
        pool = [rng.getrandbits(64) for _ in range(6)]
        for _ in range(75):
            self._move(store, twin, rng, pool)

    def _move(self, store: Store, twin: Store, rng: random.Random, pool: list[int]) -> None:
        ids = [f"doc{n}" for n in rng.sample(range(60), rng.randint(1, 12))]
        kind = rng.choice(["write", "write", "write", "remove", "query", "query"])
        if kind == "write":
            entries = [self._random_entry(id, rng, pool) for id in ids]
            write(store, *entries)
            write(twin, *entries)
        elif kind == "remove":
            assert store.perform(Remove(tuple(ids))) == twin.perform(Remove(tuple(ids)))
        store.perform(Refresh())
        max_distance = rng.randint(0, 7)
        probes = [
            Probe(flip(rng.choice(pool), rng.sample(range(64), 3)), f"digest{rng.randint(0, 9)}") for _ in range(3)
        ]
        clause = rng.choice([None, {"term": {"lang": "zh"}}, {"bool": {"must_not": {"exists": {"field": "lang"}}}}])
        without = tuple(ids[:2])
        for one_per_digest in (False, True):
            options: dict[str, Any] = {"filter": clause, "without": without, "one_per_digest": one_per_digest}
            ours = candidates(store, probes, max_distance, **options)
            wanted = candidates(twin, probes, max_distance, **options)
            # A store may give more than what is near; it never gives less.
            assert plain(wanted) == plain(row for row in ours if any(is_near(row, p, max_distance) for p in probes))
        assert plain(store.perform(Fetch(tuple(ids))).values()) == plain(twin.perform(Fetch(tuple(ids))).values())

    @staticmethod
    def _random_entry(id: str, rng: random.Random, pool: list[int]) -> Entry:
        digest = rng.randint(0, 9)
        # One digest, one fingerprint: as exact copies have it.
        value = None if digest == 0 else flip(pool[digest % len(pool)], range(digest // len(pool) * 5, digest))
        fields: dict[str, Any] = rng.choice([{}, {"lang": "zh"}, {"lang": "en"}])
        return entry(id, value, digest=f"digest{digest}", group=rng.choice("abc"), **fields)


def entry(
    id: str,
    fingerprint: int | None,
    *,
    digest: str | None = None,
    group: str | None = None,
    duplicate_of: str | None = None,
    **fields: Any,
) -> Entry:
    """An Entry for a test; its digest and group are its own unless given; each is written after the one before."""
    row = Row(id, fingerprint, digest or f"digest of {id}", group or id, duplicate_of, next(_written))
    return Entry(row, json.dumps({"id": id, **fields}))


_written = itertools.count(1)


def write(store: Store, *entries: Entry, bits: int = 64) -> Written:
    """Write, and make it visible to Candidates."""
    written = store.perform(Write(entries, bits))
    store.perform(Refresh())
    return written


def near(store: Store, fingerprint: int, max_distance: int) -> list[Row]:
    """What is really near, of the candidates for a fingerprint."""
    rows = candidates(store, [Probe(fingerprint, None)], max_distance)
    return [row for row in rows if is_near(row, Probe(fingerprint, None), max_distance)]


def candidates(store: Store, probes: list[Probe], max_distance: int, bits: int = 64, **options: Any) -> list[Row]:
    """The candidates for some Probes."""
    return store.perform(Candidates(tuple(probes), max_distance, bits, **options))


def scan(store: Store, **options: Any) -> list[Row]:
    """All documents that Scan comes upon."""
    page = store.perform(Scan(**options))
    rows = list(page.rows)
    while page.after is not None:
        page = store.perform(Scan(page.after, **options))
        rows += page.rows
    return rows


def flip(value: int, bits: Iterable[int]) -> int:
    """A fingerprint with some bits turned over."""
    for bit in bits:
        value ^= 1 << bit
    return value


def plain(rows: Iterable[Row]) -> list[tuple[Any, ...]]:
    """Rows without the count of writes, which is each store's own; sorted."""
    return sorted((r.id, r.fingerprint, r.digest, r.group, r.duplicate_of or "") for r in rows)
