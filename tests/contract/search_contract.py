"""Tests for the methods that search documents: candidates, dependents, scan, count and read_fingerprints."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from es_simhash.contract import (
    Candidates,
    Probe,
    Scan,
)
from es_simhash.fingerprinting.scheme import Scheme
from tests.contract.documents import candidates, entry, fingerprints, flip, keys, keys_of, near, plain, scan, write
from tests.contract.linear import LinearStore, is_near
from tests.contract.suite import Suite

if TYPE_CHECKING:
    from collections.abc import Mapping

    from es_simhash.contract import Entry, Store


class SearchContract(Suite):
    """Searching documents."""

    def test_everything_within_max_distance_is_found(self) -> None:
        store = self.ready()
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
        store = self.ready(Scheme(bits=128))
        rng = random.Random(4)
        centres = [rng.getrandbits(128), (1 << 128) - 1, 1 << 63, 1 << 64, 0]
        planted = {
            f"{number}-{distance}-{n}": flip(centre, rng.sample(range(128), distance))
            for number, centre in enumerate(centres)
            for distance in range(18)
            for n in range(3)
        }
        planted |= {f"across-{n}": flip(centres[0], range(56, 56 + n)) for n in range(1, 17)}
        write(store, *(entry(id, value) for id, value in planted.items()), entry("none", None), bits=128)
        rows = store.fetch((*planted, "none"))
        assert {id: row.fingerprint for id, row in rows.items()} == {**planted, "none": None}
        for max_distance in (0, 3, 7, 8, 12, 15):
            for centre in centres:
                expected = {id for id, value in planted.items() if (value ^ centre).bit_count() <= max_distance}
                found = candidates(store, [Probe(centre, None)], max_distance, bits=128)
                assert {row.id for row in found} >= expected
        together = candidates(store, [Probe(centre, None) for centre in centres], 7, bits=128)
        near = {i for i, v in planted.items() if any((v ^ centre).bit_count() <= 7 for centre in centres)}
        assert {row.id for row in together} >= near
        changed = replace(rows["none"], fingerprint=5)
        assert store.annotate((changed,), 128).conflicts == frozenset()
        assert store.fetch(("none",))["none"].fingerprint == 5

    def test_a_search_says_which_ids_exist(self) -> None:
        store = self.ready()
        write(store, entry("a", 1), entry("新", None))
        request = Candidates((Probe(7, "d"),), 3, 64, filter={"ids": {"values": []}}, ids=("a", "b", "新"))
        assert store.candidates(request).ids == {"a", "新"}
        assert store.candidates(replace(request, probes=())).ids == {"a", "新"}

    def test_a_batch_of_probes_finds_what_each_finds_alone(self) -> None:
        store = self.ready()
        rng = random.Random(2)
        centres = [rng.getrandbits(64) for _ in range(130)]
        write(store, *(entry(f"n{i}", flip(value, rng.sample(range(64), i % 8))) for i, value in enumerate(centres)))
        for max_distance in (0, 3, 7):
            together = candidates(store, [Probe(value, None) for value in centres], max_distance)
            alone = {row.id for value in centres for row in near(store, value, max_distance)}
            assert {row.id for row in together} >= alone
            assert len({row.id for row in together}) == len(together)

    def test_a_digest_finds_documents_without_fingerprint(self) -> None:
        store = self.ready()
        write(store, entry("a", None, digest="d"), entry("b", None, digest="e"), entry("c", 7, digest="d"))
        assert {row.id for row in candidates(store, [Probe(None, "d")], 3)} == {"a", "c"}

    def test_below_distance_0_only_digests_are_looked_at(self) -> None:
        store = self.ready()
        write(store, entry("a", 5, digest="x"), entry("b", 5, digest="y"), entry("c", None, digest="x"))
        probes = (Probe(5, "x"), Probe(5, None), Probe(7, "z"))
        assert {row.id for row in candidates(store, probes, -1)} == {"a", "c"}
        assert candidates(store, [Probe(5, None)], -1) == []

    def test_an_empty_probe_finds_nothing(self) -> None:
        store = self.ready()
        write(store, entry("a", 0), entry("b", None))
        assert candidates(store, [Probe(None, None)], 3) == []
        assert candidates(store, [], 3) == []

    def test_a_full_segment_is_not_cut_short(self) -> None:
        store = self.ready()
        ids = {f"id{n}" for n in range(2_500)}
        write(store, *(entry(id, 42) for id in sorted(ids)))
        assert {row.id for row in near(store, 42, 3)} == ids

    def test_one_per_digest_is_the_first_written(self) -> None:
        store = self.ready()
        for id in ("c", "a", "b"):
            write(store, entry(id, 9, digest="d"))
        write(store, entry("z", 8, digest="e"))
        rows = candidates(store, [Probe(9, "d")], 1, one_per_digest=True)
        assert sorted(row.id for row in rows) == ["c", "z"]
        rows = candidates(store, [Probe(9, "d")], 1, one_per_digest=True, without=("c",))
        assert sorted(row.id for row in rows) == ["a", "z"]

    def test_of_the_documents_with_one_fingerprint_the_first_written_are_found(self) -> None:
        store = self.ready()
        values = (8, 9, 1 << 40)
        write(store, *(entry(f"{v}-{n}", v, digest=f"{v}-{n // 2}") for n in range(1_200) for v in values))
        probes = (Probe(9, "9-500"), Probe(1 << 40, None), Probe(None, "8-7"))

        def found(**options: Any) -> tuple[set[str], Mapping[int, int]]:
            reply = store.candidates(Candidates(probes, 1, bits=64, **options))
            return {row.id for row in reply.rows}, reply.left_out

        copies = {"9-1000", "9-1001", "8-14", "8-15"}
        first = {f"{value}-0" for value in (8, 9, 1 << 40)}
        assert found(per_fingerprint=1) == (first | copies, {})
        assert found(per_fingerprint=1, one_per_digest=True) == (first | {"9-1000", "8-14"}, {})
        some = {f"{value}-{n}" for value in (8, 9, 1 << 40) for n in range(3)}
        assert found(per_fingerprint=3) == (some | copies, {0: 2 * 1_197, 1: 1_197})
        ids, left_out = found(per_fingerprint=3, one_per_digest=True)
        assert ids == {f"{value}-{n}" for value in (8, 9, 1 << 40) for n in (0, 2, 4)} | {"9-1000", "8-14"}
        assert left_out.keys() == {0, 1}
        many = tuple(Probe(9, f"none-{n}") for n in range(150))
        left_out = store.candidates(Candidates(many, 0, bits=64, per_fingerprint=3)).left_out
        assert left_out == dict.fromkeys(range(150), 1_197)
        ids, _ = found(per_fingerprint=1, without=("9-0", "8-0", "8-14"))
        assert ids == {"9-1", "8-1", f"{1 << 40}-0"} | copies - {"8-14"}

    def test_an_id_with_a_zero_byte_is_that_of_no_document(self) -> None:
        store = self.ready()
        write(store, entry("a", 9), entry("b", 9))
        assert store.fetch(("a\0b",)) == {}
        assert [row.id for row in scan(store, filter={"ids": {"values": ["a\0b", "b"]}})] == ["b"]
        assert {row.id for row in candidates(store, [Probe(9, None)], 0, without=("a\0b", "b"))} == {"a"}

    def test_very_many_ids_may_be_left_out(self) -> None:
        store = self.ready()
        write(store, entry("a", 9, digest="d"), entry("id7", 9, digest="d"))
        without = tuple(f"id{n}" for n in range(20_500))
        assert [row.id for row in candidates(store, [Probe(9, "d")], 1, without=without)] == ["a"]

    def test_many_digests_on_one_fingerprint_are_not_cut_short(self) -> None:
        store = self.ready()
        write(store, *(entry(f"id{n}", 42, digest=f"d{n}") for n in range(1_200)))
        assert len(candidates(store, [Probe(42, None)], 0, one_per_digest=True)) == 1_200

    def test_candidates_match_the_filter(self) -> None:
        store = self.ready()
        write(
            store,
            entry("a", 1, lang="zh", year=2020),
            entry("b", 1, lang="en", year=2024),
            entry("c", 1, lang=["zh", "en"], year=2026),
            entry("d", 1),
        )
        filters: list[tuple[Mapping[str, Any], set[str]]] = [
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
        for filter, expected in filters:
            assert {row.id for row in candidates(store, [Probe(1, None)], 0, filter=filter)} == expected, filter

    def test_dependents_name_a_document_as_their_original_or_as_their_head(self) -> None:
        store = self.ready()
        write(
            store,
            entry("head", 1),
            entry("a", 1, group="head", duplicate_of="head"),
            entry("b", 1, group="head", duplicate_of="a"),
            entry("c", 1, group="other", duplicate_of="a"),
            entry("alone", 1),
        )
        assert store.dependents(("head",), ()) == {"a"}
        assert store.dependents((), ("head",)) == {"a", "b"}
        assert store.dependents(("a", "none"), ("other", "alone")) == {"b", "c"}
        assert store.dependents((), ()) == set()

    def test_dependents_are_not_cut_short(self) -> None:
        store = self.ready()
        write(store, *(entry(f"id{n}", None, group="head") for n in range(2_500)))
        assert len(store.dependents((), ("head",))) == 2_500

    def test_fingerprints_are_those_that_search_finds_since_the_former_reply(self) -> None:
        self._read_fingerprints(64)

    def test_fingerprints_of_128_bits_are_read_too(self) -> None:
        self._read_fingerprints(128)

    def _read_fingerprints(self, bits: int) -> None:
        store = self.ready(Scheme(bits=bits))
        rng = random.Random(bits)
        values = {str(n): rng.getrandbits(bits) for n in range(30)}
        write(store, *(entry(id, value) for id, value in values.items()), entry("none", None), bits=bits)
        assert store.read_fingerprints(most=30) is None
        found, after = fingerprints(store, most=31)
        if after is None:
            return  # a store need not support it
        assert found == set(values.values())
        write(store, entry("0", 1), entry("new", 2), bits=bits)
        found, after = fingerprints(store, after, own=2)
        assert found <= {*values.values(), 1, 2}  # some may be read again
        write(store, entry("0", 3), bits=bits)
        found, after = fingerprints(store, after, own=1)
        assert found == set()
        write(store, entry("1", 4), entry("2", 5), bits=bits)
        found, after = fingerprints(store, after, own=1)
        assert found == {4, 5}
        write(store, entry("0", 6), bits=bits)
        store.remove(("new",))
        store.refresh()
        assert 6 in fingerprints(store, after)[0]

    def test_keys_are_those_that_search_finds_since_the_former_reply(self) -> None:
        store = self.ready()
        written = {str(n): keys(f"m{n}", "m") for n in range(30)}
        write(store, *(entry(id, None, keys=own, length=5) for id, own in written.items()), entry("none", 1))
        found, after = keys_of(store, most=31)
        if after is None:
            return  # a store need not support it
        assert found == {(frozenset(keys), 5) for keys in written.values()}
        write(store, entry("new", None, keys=keys("m"), length=7))
        assert (frozenset(keys("m")), 7) in keys_of(store, after)[0]
        found, after = keys_of(store, after, own=1)
        assert found <= {*((frozenset(own), 5) for own in written.values()), (frozenset(keys("m")), 7)}  # again
        write(store, entry("newer", None, keys=keys("m"), length=8))
        assert keys_of(store, after, own=1)[0] == set()
        assert (frozenset(keys("m")), 8) in keys_of(store, after)[0]

    def test_a_scan_returns_every_document_once(self) -> None:
        store = self.ready()
        ids = [f"id{n}" for n in range(12_000)]  # more than a page
        write(store, *(entry(id, n or None, n=n) for n, id in enumerate(ids)))
        assert sorted(row.id for row in scan(store)) == sorted(ids)
        rest = scan(store, filter={"range": {"n": {"gte": 11_990}}})
        assert sorted(row.id for row in rest) == sorted(ids[11_990:])
        assert plain(rest) == plain(store.fetch(tuple(ids[11_990:])).values())

    def test_slices_together_hold_every_document_once(self) -> None:
        store = self.ready()
        ids = [f"id{n}" for n in range(300)]
        write(store, *(entry(id, 1) for id in ids))
        found = [[row.id for row in scan(store, slice=(part, 3), size=50)] for part in range(3)]
        assert sorted(id for part in found for id in part) == sorted(ids)
        assert all(found)
        assert store.count(Scan()) == 300

    def test_a_scan_returns_the_requested_fields(self) -> None:
        store = self.ready()
        write(store, entry("a", 1, title="x", text="y"), entry("b", None, text="z"))
        page = store.scan(Scan(fields=("title", "text")))
        assert {row.id: source for row, source in zip(page.rows, page.sources, strict=True)} == {
            "a": {"title": "x", "text": "y"},
            "b": {"text": "z"},
        }
        assert store.count(Scan(fields=("text",), missing=True)) == 0

    def test_random_requests_have_the_replies_of_the_reference_implementation(self) -> None:
        store, reference = self.ready(), LinearStore()
        rng = random.Random(3)
        pool = [rng.getrandbits(64) for _ in range(6)]
        for _ in range(75):
            self._move(store, reference, rng, pool)

    def _move(self, store: Store, reference: Store, rng: random.Random, pool: list[int]) -> None:
        ids = [f"doc{n}" for n in rng.sample(range(60), rng.randint(1, 12))]
        kind = rng.choice(["write", "write", "write", "remove", "query", "query"])
        if kind == "write":
            entries = [self._random_entry(id, rng, pool) for id in ids]
            write(store, *entries)
            write(reference, *entries)
        elif kind == "remove":
            assert store.remove(tuple(ids)) == reference.remove(tuple(ids))
        store.refresh()
        max_distance = rng.randint(0, 7)
        probes = [
            Probe(flip(rng.choice(pool), rng.sample(range(64), 3)), f"digest{rng.randint(0, 9)}") for _ in range(3)
        ]
        filter = rng.choice([None, {"term": {"lang": "zh"}}, {"bool": {"must_not": {"exists": {"field": "lang"}}}}])
        without = tuple(ids[:2])
        for one_per_digest in (False, True):
            options: dict[str, Any] = {"filter": filter, "without": without, "one_per_digest": one_per_digest}
            ours = candidates(store, probes, max_distance, **options)
            expected = candidates(reference, probes, max_distance, **options)
            # A store may return more candidates than the near ones, and never fewer.
            assert plain(expected) == plain(row for row in ours if any(is_near(row, p, max_distance) for p in probes))
        assert plain(store.fetch(tuple(ids)).values()) == plain(reference.fetch(tuple(ids)).values())

    @staticmethod
    def _random_entry(id: str, rng: random.Random, pool: list[int]) -> Entry:
        digest = rng.randint(0, 9)
        # Documents with one digest have one fingerprint, as exact duplicates have.
        value = None if digest == 0 else flip(pool[digest % len(pool)], range(digest // len(pool) * 5, digest))
        fields: dict[str, Any] = rng.choice([{}, {"lang": "zh"}, {"lang": "en"}])
        return entry(id, value, digest=f"digest{digest}", group=rng.choice("abc"), **fields)
