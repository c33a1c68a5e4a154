"""Tests for keys: Rows with keys, candidates by keys, and which keys a store has."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash.bloom.seen import SeenConfig
from es_simhash.contract import KeysState, Link, Probe
from es_simhash.errors import InputError, NotSetUp
from es_simhash.fingerprinting.scheme import DEFAULT
from es_simhash.search.encoding import KEY_BITS
from es_simhash.search.keys import KeyQuery
from tests.contract.documents import candidates, entry, find_by_keys, keys, plain, scan, write
from tests.contract.linear import LinearStore
from tests.contract.set_up_contract import at_the_same_moment
from tests.contract.suite import Suite

if TYPE_CHECKING:
    from collections.abc import Iterable

    from es_simhash.contract import Entry, Found, Row, Store

SOME = keys(*(f"m{n}" for n in range(6)))
"""Keys for the tests."""


class KeysContract(Suite):
    """Keys of documents."""

    # --- rows ------------------------------------------------------------------------------------------------------

    def test_keys_and_length_come_back_as_they_were_written(self) -> None:
        store = self.ready()
        written = {"a": keys("m1", "m0"), "b": (*keys("g1", "p1", "m8", "n1"), 0, (1 << KEY_BITS) - 1), "empty": ()}
        write(store, *(entry(id, 1, keys=some, length=len(id)) for id, some in written.items()), entry("none", 1))
        rows = store.fetch((*written, "none"))
        assert {id: (set(row.keys), row.length) for id, row in rows.items()} == {
            **{id: (set(some), len(id)) for id, some in written.items()},
            "none": (set(), None),
        }
        for key in written["b"]:
            [row] = find_by_keys(store, KeyQuery((key,), 1)).rows
            assert (row.id, set(row.keys), row.length) == ("b", set(written["b"]), 1)

    def test_rows_of_a_scan_and_of_candidates_without_queries_come_without_keys(self) -> None:
        store = self.ready()
        write(store, entry("a", 1, digest="d", keys=SOME, length=9))
        for row in (*scan(store), *candidates(store, [Probe(1, "d")], 3)):
            assert (row.keys, row.length) == ((), None)

    # --- candidates ------------------------------------------------------------------------------------------------

    def test_documents_with_enough_keys_in_common_are_found(self) -> None:
        store = self.ready()
        write(store, *(entry(f"{n}", None, keys=SOME[:n], length=1) for n in range(7)), entry("none", 0))
        for minimum in range(1, 7):
            expected = {str(n) for n in range(minimum, 7)}
            assert ids(find_by_keys(store, KeyQuery(SOME, minimum))) == expected
        assert ids(find_by_keys(store, KeyQuery(SOME, 7))) == set(), "there are not so many keys"
        assert ids(find_by_keys(store, KeyQuery(keys("m7", "m5"), 1))) == {"6"}
        assert ids(find_by_keys(store, KeyQuery((), 1))) == set()
        assert ids(find_by_keys(store, KeyQuery(keys("m7"), 1))) == set()

    def test_documents_with_a_length_in_the_range_are_found(self) -> None:
        store = self.ready()
        write(store, *(entry(f"{n}", None, keys=keys("m0"), length=n) for n in range(6)))
        for lengths, expected in [((2, 4), "234"), ((0, 0), "0"), ((5, 9), "5"), ((6, 9), ""), (None, "012345")]:
            assert ids(find_by_keys(store, KeyQuery(keys("m0"), 1, lengths))) == set(expected)

    def test_a_document_that_fulfils_one_of_several_queries_is_found(self) -> None:
        store = self.ready()
        write(
            store,
            entry("first", None, keys=keys("m0", "m1"), length=5),
            entry("second", None, keys=keys("m3", "m4"), length=50),
            entry("both", None, keys=keys("m0", "m1", "m3"), length=50),
            entry("half and half", None, keys=keys("m0", "m3"), length=50),
            entry("too short", None, keys=keys("m3"), length=5),
        )
        queries = (KeyQuery(keys("m0", "m1", "m2"), 2), KeyQuery(keys("m3", "m4"), 1, (10, 60)))
        found = find_by_keys(store, Probe(None, None, queries))
        assert ids(found) == {"first", "second", "both", "half and half"}
        assert ids(find_by_keys(store, *queries)) == ids(found)

    def test_a_common_key_counts_less_than_a_rare_one(self) -> None:
        store = self.ready()
        write(
            store,
            *(entry(f"template {n}", None, keys=keys("m0", "m1", "m2"), length=1) for n in range(30)),
            entry("copy", None, keys=keys("m3", "m4"), length=1),
            entry("copy of the template", None, keys=keys("m0", "m3"), length=1),
        )
        query = KeyQuery(keys("m0", "m1", "m2", "m3", "m4"), 1)
        for most, expected in [(1, {"copy"}), (2, {"copy", "copy of the template"})]:
            found = find_by_keys(store, query, most=most)
            assert ids(found) == expected
            assert found.left_out == {0: 32 - most}

    def test_the_documents_that_share_the_most_keys_come_first_then_those_written_first(self) -> None:
        store = self.ready()
        shared = [2, 5, 1, 5, 3, 2, 6, 0]
        write(store, *(entry(f"{i}", None, keys=(*SOME[:n], *keys(f"x{i}")), length=1) for i, n in enumerate(shared)))
        ranking = "6134052"
        for most in range(1, 9):
            found = find_by_keys(store, KeyQuery(SOME, 1), most=most)
            assert ids(found) == set(ranking[:most])
            assert found.left_out == ({0: len(ranking) - most} if most < len(ranking) else {})

    def test_the_largest_number_of_shared_keys_over_the_fulfilled_queries_counts(self) -> None:
        store = self.ready()
        write(
            store,
            entry("2 and 2", None, keys=keys("m0", "m1", "m3", "m4"), length=1),
            entry("3 of a query that it does not fulfil", None, keys=keys("m0", "m5", "m6", "m7"), length=1),
            entry("3", None, keys=keys("m3", "m4", "m5"), length=1),
            entry("1", None, keys=keys("m1"), length=1),
        )
        queries = (
            KeyQuery(keys("m0", "m1", "m2"), 1),
            KeyQuery(keys("m3", "m4", "m5"), 2),
            KeyQuery(keys("m5", "m6", "m7"), 4),
        )
        assert ids(find_by_keys(store, Probe(None, None, queries), most=1)) == {"3"}
        assert ids(find_by_keys(store, Probe(None, None, queries), most=2)) == {"3", "2 and 2"}

    def test_each_probe_has_its_own_limit(self) -> None:
        store = self.ready()
        write(store, *(entry(f"{key}{n}", None, keys=keys(f"m{key}"), length=1) for key in "abc" for n in range(3)))
        probes = [KeyQuery(keys(f"m{key}"), 1) for key in "abzba"]
        found = find_by_keys(store, *probes, most=2)
        assert ids(found) == {"a0", "a1", "b0", "b1"}
        assert found.left_out == dict.fromkeys((0, 1, 3, 4), 1)
        assert len(found.rows) == len(ids(found))

    def test_a_probe_may_have_a_limit_of_its_own(self) -> None:
        store = self.ready()
        shared = [2, 5, 1, 5, 3, 2, 6, 0]
        write(store, *(entry(f"{i}", None, keys=(*SOME[:n], *keys(f"x{i}")), length=1) for i, n in enumerate(shared)))
        ranking, queries = "6134052", (KeyQuery(SOME, 1),)
        for most in range(1, 9):
            found = find_by_keys(store, Probe(None, None, queries, most=most), most=3)
            assert ids(found) == set(ranking[:most])
            assert found.left_out == ({0: len(ranking) - most} if most < len(ranking) else {})
        probes = [Probe(None, None, queries, most=most) for most in (2, None, 1, 2, 30)]
        found = find_by_keys(store, *probes[:4], most=4)
        assert ids(found) == set(ranking[:4])
        assert found.left_out == {0: 5, 1: 3, 2: 6, 3: 5}
        found = find_by_keys(store, *probes, most=4)
        assert ids(found) == set(ranking)
        assert found.left_out == {0: 5, 1: 3, 2: 6, 3: 5}
        assert len(found.rows) == len(ids(found))

    def test_the_limit_of_a_probe_counts_of_one_digest_one_document(self) -> None:
        store = self.ready()
        for n in range(3):
            write(store, *(entry(f"{key}{n}", 1, digest=key, keys=keys(f"m{key}", "m"), length=1) for key in "abc"))
        probes = [Probe(None, None, (KeyQuery(keys("m"), 1),), most=most) for most in (3, 1)]
        found = find_by_keys(store, *probes, one_per_digest=True, most=2)
        assert ids(found) == {"a0", "b0", "c0"}
        assert found.left_out.keys() == {1}
        assert 2 <= found.left_out[1] <= 8
        assert ids(find_by_keys(store, probes[1], one_per_digest=True)) == {"a0"}

    def test_more_probes_than_a_store_takes_at_once_are_all_looked_up(self) -> None:
        store = self.ready()
        write(store, *(entry(f"{n}", n << 20, keys=keys(f"m{n}", "m"), length=1) for n in range(250)))
        found = find_by_keys(store, *(KeyQuery(keys(f"m{n}"), 1) for n in range(250)))
        assert ids(found) == {str(n) for n in range(250)}

    def test_candidates_by_keys_match_the_filter_and_leave_ids_out(self) -> None:
        store = self.ready()
        write(store, *(entry(f"{n}", None, keys=SOME[n:], length=1, lang="zh" if n % 2 else "en") for n in range(6)))
        query = KeyQuery(SOME, 1)
        found = find_by_keys(store, query, filter={"term": {"lang": "zh"}}, most=2)
        assert (ids(found), found.left_out) == ({"1", "3"}, {0: 1})
        found = find_by_keys(store, query, without=("0", "2"), most=2)
        assert (ids(found), found.left_out) == ({"1", "3"}, {0: 2})
        found = find_by_keys(store, query, filter={"term": {"lang": "zh"}}, without=("1",), most=2)
        assert (ids(found), found.left_out) == ({"3", "5"}, {})
        with pytest.raises(InputError):
            find_by_keys(store, query, filter={"nonsense": {}})

    def test_documents_with_one_digest_count_once(self) -> None:
        store = self.ready()
        for n in range(3):
            write(store, *(entry(f"{key}{n}", 1, digest=key, keys=keys(f"m{key}", "m"), length=1) for key in "abc"))
        found = find_by_keys(store, KeyQuery(keys("m"), 1), one_per_digest=True, most=3)
        assert (ids(found), found.left_out) == ({"a0", "b0", "c0"}, {})
        found = find_by_keys(store, KeyQuery(keys("m", "mb"), 1), one_per_digest=True, most=2, without=("a0", "b0"))
        assert ids(found) == {"b1", "c0"}
        # A store may count all documents of the digests that were left out.
        assert found.left_out.keys() == {0}
        assert 1 <= found.left_out[0] <= 5
        found = find_by_keys(store, KeyQuery(keys("m"), 1), most=3)
        assert (ids(found), found.left_out) == ({"a0", "b0", "c0"}, {0: 6})

    def test_a_probe_finds_by_its_digest_its_fingerprint_and_its_keys(self) -> None:
        store = self.ready()
        far = 0x1111_1111_1111_1111  # every segment differs from that of the Probe
        write(
            store,
            entry("digest", None, digest="d"),
            entry("fingerprint", 7, keys=keys("m9"), length=1),
            *(entry(f"keys{n}", far, keys=keys("m0"), length=1) for n in range(3)),
            entry("nothing", far, keys=keys("m9"), length=1),
        )
        probe = Probe(6, "d", (KeyQuery(keys("m0"), 1),))
        found = find_by_keys(store, probe, max_distance=0, most=2)
        assert ids(found) >= {"digest", "keys0", "keys1"}
        assert not ids(found) & {"keys2", "nothing"}
        assert found.left_out == {0: 1}
        found = find_by_keys(store, probe, Probe(None, None, (KeyQuery(keys("m8"), 1),)), max_distance=1)
        assert {"digest", "fingerprint", "keys0", "keys1", "keys2"} <= ids(found)
        assert {row.id: set(row.keys) for row in found.rows}["fingerprint"] == {*keys("m9")}
        assert ids(find_by_keys(store, probe, max_distance=-1, most=1)) == {"digest", "keys0"}

    # --- changes of documents --------------------------------------------------------------------------------------

    def test_a_document_has_the_keys_of_its_last_text(self) -> None:
        store = self.ready()
        write(store, entry("a", 1, keys=keys("m0", "m1"), length=2), entry("b", 1, keys=keys("m0"), length=1))
        write(store, entry("a", 1, keys=keys("m1", "m2"), length=3))
        assert [ids(find_by_keys(store, KeyQuery((key,), 1))) for key in SOME[:3]] == [{"b"}, {"a"}, {"a"}]
        assert ids(find_by_keys(store, KeyQuery(keys("m1"), 1, (2, 2)))) == set()
        write(store, entry("a", 1))
        assert ids(find_by_keys(store, KeyQuery(SOME, 1))) == {"b"}
        write(store, entry("a", 1, keys=keys("m5"), length=1))
        assert store.remove(("a", "b")) == {"a", "b"}
        write(store, entry("c", 1))
        assert ids(find_by_keys(store, KeyQuery(SOME, 1))) == set()

    def test_annotate_replaces_the_keys_and_changes_the_version(self) -> None:
        store = self.ready()
        write(store, entry("a", 1, lang="zh"), entry("b", 1, keys=keys("m0"), length=1), entry("c", 1))
        before = store.fetch(("a", "b"))
        changed = (
            replace(before["a"], keys=keys("m1", "m2"), length=2),
            replace(before["b"], keys=keys("m2", "m3"), length=3),
        )
        assert store.annotate(changed, DEFAULT.bits).conflicts == frozenset()
        store.refresh()
        found = find_by_keys(store, *(KeyQuery((key,), 1) for key in SOME))
        assert {row.id: (set(row.keys), row.length) for row in found.rows} == {
            "a": ({*keys("m1", "m2")}, 2),
            "b": ({*keys("m2", "m3")}, 3),
        }
        assert ids(find_by_keys(store, KeyQuery(keys("m0"), 1))) == set()
        assert ids(find_by_keys(store, KeyQuery(keys("m2"), 1), filter={"term": {"lang": "zh"}})) == {"a"}
        again = replace(before["a"], keys=keys("m5"), length=1)
        assert store.annotate((again,), DEFAULT.bits).conflicts == {"a"}
        after = store.fetch(("b",))["b"]
        without = replace(after, keys=(), length=None)
        assert store.annotate((without,), DEFAULT.bits).conflicts == frozenset()
        store.refresh()
        assert ids(find_by_keys(store, KeyQuery(SOME, 1))) == {"a"}
        row = store.fetch(("b",))["b"]
        assert (row.keys, row.length) == ((), None)

    def test_a_change_of_the_links_keeps_the_keys(self) -> None:
        store = self.ready()
        write(store, entry("a", 1, keys=keys("m0", "m1"), length=2))
        version = scan(store)[0].version
        assert store.relink({"a": Link("g", "o", version)}) == set()
        store.refresh()
        [row] = find_by_keys(store, KeyQuery(keys("m1"), 1, (2, 2))).rows
        assert (row.group, row.duplicate_of, set(row.keys), row.length) == ("g", "o", {*keys("m0", "m1")}, 2)

    def test_random_requests_by_keys_have_the_replies_of_the_reference_implementation(self) -> None:
        store, reference = self.ready(), LinearStore()
        rng = random.Random(5)
        for _ in range(60):
            self._move_keys(store, reference, rng)

    def _move_keys(self, store: Store, reference: Store, rng: random.Random) -> None:
        some = [f"doc{n}" for n in rng.sample(range(40), rng.randint(1, 10))]
        kind = rng.choice(["write", "write", "annotate", "remove", "query"])
        entries = [_random_entry(id, rng) for id in some]
        for each in (store, reference):
            if kind == "write":
                write(each, *entries)
            elif kind == "remove":
                each.remove(tuple(some))
            elif kind == "annotate":
                stored = each.fetch(tuple(some))
                rows = tuple(
                    replace(new.row, version=stored[new.row.id].version, written=stored[new.row.id].written)
                    for new in entries
                    if new.row.id in stored
                )
                assert not each.annotate(rows, DEFAULT.bits).conflicts
            each.refresh()
        probes = [_random_probe(rng) for _ in range(3)]
        options: dict[str, Any] = {
            "max_distance": rng.choice([-1, 2]),
            "filter": rng.choice([None, {"term": {"lang": "zh"}}]),
            "without": tuple(some[:2]),
            "most": 100,
        }
        for one_per_digest in (False, True):
            options["one_per_digest"] = one_per_digest
            ours, expected = (find_by_keys(each, *probes, **options) for each in (store, reference))
            assert _values(ours.rows) == _values(expected.rows)
            assert ours.left_out == expected.left_out == {}
            # Stores know the rarity of a key only roughly, so they may choose others. The number is the same.
            for limits in ((None, None, None), (1, 3, None)):
                limited = [replace(probe, most=most) for probe, most in zip(probes, limits, strict=True)]
                few, expected = (find_by_keys(each, *limited, **options | {"most": 2}) for each in (store, reference))
                assert ids(few) <= ids(ours)
                assert few.left_out.keys() == expected.left_out.keys()
                assert all(few.left_out[index] >= number for index, number in expected.left_out.items())
        fetched = (each.fetch(tuple(some)).values() for each in (store, reference))
        assert _values(next(fetched)) == _values(next(fetched))

    # --- which keys a store has ------------------------------------------------------------------------------------

    def test_a_new_store_has_no_keys(self) -> None:
        store = self.make_store()
        assert store.describe_keys() == KeysState.NONE
        store.set_up(DEFAULT)
        assert store.describe_keys() == KeysState.NONE

    def test_a_store_that_is_set_up_with_keys_has_them_from_the_start(self) -> None:
        store = self.make_store()
        assert [store.set_up(DEFAULT, keys=True) for _ in range(2)] == ["created", "unchanged"]
        assert store.describe_keys() == KeysState.COMPLETE
        assert store.set_up(DEFAULT) == "unchanged"
        assert store.describe_keys() == KeysState.COMPLETE

    def test_a_store_that_was_set_up_without_keys_gets_none_by_another_set_up(self) -> None:
        store = self.ready()
        write(store, entry("a", 1))
        assert store.set_up(DEFAULT, keys=True) == "unchanged"
        assert store.describe_keys() == KeysState.NONE

    def test_of_two_programs_that_set_up_with_keys_at_the_same_moment_both_find_the_keys(self) -> None:
        store = self.make_store()
        both = (store, self.open_again(store))
        at_the_same_moment(*(partial(each.set_up, DEFAULT, keys=True) for each in both))
        assert store.describe_keys() == KeysState.COMPLETE

    def test_a_store_must_be_set_up_before_its_keys(self) -> None:
        store = self.make_store()
        with pytest.raises(NotSetUp):
            store.set_up_keys()
        with pytest.raises(NotSetUp):
            store.complete_keys()
        assert store.describe() is None

    def test_keys_of_a_store_without_documents_are_complete(self) -> None:
        store = self.ready()
        assert [store.set_up_keys() for _ in range(2)] == ["added", "unchanged"]
        assert store.describe_keys() == KeysState.COMPLETE
        assert self.open_again(store).describe_keys() == KeysState.COMPLETE
        write(store, entry("a", 1, keys=SOME, length=9))
        assert store.set_up_keys() == "unchanged"
        assert store.describe_keys() == KeysState.COMPLETE
        assert store.describe() == DEFAULT
        assert store.set_up(DEFAULT) == "unchanged"
        assert store.describe_keys() == KeysState.COMPLETE

    def test_keys_of_a_store_with_documents_are_incomplete_until_they_are_completed(self) -> None:
        store = self.ready()
        write(store, entry("a", None))
        for _ in range(2):
            store.set_up_keys()
            assert store.describe_keys() == KeysState.INCOMPLETE
        store.complete_keys()
        assert store.set_up_keys() == "unchanged"
        assert store.describe_keys() == KeysState.COMPLETE
        assert store.describe() == DEFAULT

    def test_a_store_without_keys_has_none_to_complete(self) -> None:
        store = self.ready()
        write(store, entry("a", 1))
        store.complete_keys()
        assert store.describe_keys() == KeysState.NONE

    def test_keys_and_seen_items_keep_each_other(self) -> None:
        store = self.ready()
        write(store, entry("a", 1))
        store.set_up_keys()
        store.set_up_seen(SeenConfig())
        assert store.describe_keys() == KeysState.INCOMPLETE
        store.complete_keys()
        assert store.describe_keys() == KeysState.COMPLETE
        assert store.describe_seen() == SeenConfig()
        assert store.describe() == DEFAULT

    def test_two_programs_may_set_up_keys_at_the_same_moment(self) -> None:
        store = self.ready()
        both = (store, self.open_again(store))
        replies = at_the_same_moment(*(each.set_up_keys for each in both))
        assert set(replies) <= {"added", "unchanged"}
        assert "added" in replies
        assert store.describe_keys() == KeysState.COMPLETE
        assert store.describe() == DEFAULT


def ids(found: Found) -> set[str]:
    """Return the ids of the Rows."""
    return {row.id for row in found.rows}


def _values(rows: Iterable[Row]) -> list[tuple[Any, ...]]:
    """Return what stores agree on of Rows, sorted: :func:`plain` and the keys."""
    return sorted((*plain([row])[0], sorted(row.keys), -1 if row.length is None else row.length) for row in rows)


def _random_probe(rng: random.Random) -> Probe:
    numbers = rng.choice([(), (), keys("n1"), keys("n1", "n2"), keys("n3")])
    queries = tuple(
        KeyQuery(
            tuple(rng.sample(SOME, rng.randint(1, 6))),
            rng.randint(1, 3),
            rng.choice([None, (rng.randint(0, 3), rng.randint(2, 6))]),
            numbers,
        )
        for _ in range(rng.randint(0, 2))
    )
    return Probe(rng.choice([None, 0, 1 << 20]), rng.choice([None, f"digest{rng.randint(0, 20)}"]), queries)


def _random_entry(id: str, rng: random.Random) -> Entry:
    number = rng.randint(0, 20)
    text = random.Random(number)  # documents with one digest have one fingerprint and the same keys
    # The last one is so far from those of the Probes that no store returns it by chance.
    value = text.choice([None, 0, 1 << 20, (1 << 64) - 1])
    own = text.choice(
        [None, [*text.sample(SOME, text.randint(0, 6)), *text.choice([(), keys("n1"), keys("n2", "n4")])]]
    )
    fields: dict[str, Any] = rng.choice([{}, {"lang": "zh"}])
    return entry(id, value, digest=f"digest{number}", keys=own, length=text.randint(0, 6), **fields)
