"""Tests for block keys: they find every fingerprint within 3 bits, and they stay with their document."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from es_simhash.contract import Candidates, Link, Probe
from es_simhash.fingerprinting.scheme import DEFAULT, Scheme
from es_simhash.search.blocks import LARGEST_DISTANCE, block_keys
from es_simhash.search.keys import KeyQuery
from tests.contract.documents import entry, find_by_keys, flip, plain, scan, write
from tests.contract.linear import LinearStore, is_near
from tests.contract.suite import Suite

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_simhash.contract import Entry, Row, Store

FAR = flip((1 << 64) - 1, range(0, 64, 2))
OTHER = flip(0, range(32))


class BlocksContract(Suite):
    """Block keys of documents."""

    def test_by_block_keys_everything_within_three_bits_is_found(self) -> None:
        find_planted(self.ready(), 64)

    def test_by_block_keys_of_128_bits_everything_within_three_bits_is_found(self) -> None:
        find_planted(self.ready(Scheme(bits=128)), 128)

    def test_of_many_fingerprints_at_once_each_finds_its_neighbour(self) -> None:
        store = self.ready()
        rng = random.Random(8)
        values = [rng.getrandbits(64) for _ in range(1_200)]
        write(store, *(with_blocks(f"{n}", value) for n, value in enumerate(values)))
        asked = [flip(value, rng.sample(range(64), 3)) for value in values]
        assert near(store, asked, 3) == {f"{n}" for n in range(len(values))}

    def test_block_keys_and_keys_of_the_text_are_kept_side_by_side(self) -> None:
        store = self.ready()
        write(
            store,
            with_blocks("both", 1, keys=("m0", "g暴雨"), length=4),
            with_blocks("blocks", 1),
            entry("text", FAR, keys=("m0",), length=1),
        )
        rows = store.fetch(("both", "blocks", "text"))
        of_blocks = set(block_keys([1], 64)[0])
        assert {id: (set(row.keys), row.length) for id, row in rows.items()} == {
            "both": ({"m0", "g暴雨", *of_blocks}, 4),
            "blocks": (of_blocks, None),
            "text": ({"m0"}, 1),
        }
        assert near(store, [1, 0], 1) == {"both", "blocks"}
        found = find_by_keys(store, KeyQuery(("m0",), 1))
        assert {row.id for row in found.rows} == {"both", "text"}
        assert {row.id: row.length for row in found.rows} == {"both": 4, "text": 1}

    def test_a_document_has_the_block_keys_of_its_last_fingerprint(self) -> None:
        store = self.ready()
        write(store, with_blocks("a", 1), with_blocks("b", 1))
        write(store, with_blocks("a", FAR))
        assert (near(store, [1, OTHER], 3), near(store, [FAR, OTHER], 3)) == ({"b"}, {"a"})
        stored = store.fetch(("a", "b"))
        changed = (
            replace(stored["a"], fingerprint=2, keys=block_keys([2], 64)[0]),
            replace(stored["b"], keys=()),
        )
        assert not store.annotate(changed, DEFAULT.bits).conflicts
        store.refresh()
        assert set(store.fetch(("a",))["a"].keys) == set(block_keys([2], 64)[0])
        assert store.fetch(("b",))["b"].keys == ()
        assert near(store, [2, OTHER], 0) == {"a"}
        [row] = [row for row in scan(store) if row.id == "a"]
        assert store.relink({"a": Link("g", "o", row.version)}) == set()
        store.refresh()
        assert near(store, [2, OTHER], 0) == {"a"}

    def test_random_requests_by_block_keys_have_the_replies_of_the_reference_implementation(self) -> None:
        store, reference = self.ready(), LinearStore()
        rng = random.Random(9)
        values = [flip(0, rng.sample(range(64), rng.randint(0, 6))) for _ in range(30)] + [FAR]
        for _ in range(30):
            ids = [f"doc{n}" for n in rng.sample(range(60), 8)]
            entries = [with_blocks(id, rng.choice([None, *values]), lang=rng.choice(["zh", "en"])) for id in ids]
            for each in (store, reference):
                write(each, *entries)
            probes = tuple(Probe(rng.choice(values), rng.choice([None, f"digest of {ids[0]}"])) for _ in range(4))
            request = Candidates(
                probes,
                rng.randint(0, LARGEST_DISTANCE),
                DEFAULT.bits,
                filter=rng.choice([None, {"term": {"lang": "zh"}}]),
                without=tuple(ids[1:3]),
                blocks=True,
            )
            ours, expected = (within(each.candidates(request).rows, request) for each in (store, reference))
            assert plain(ours) == plain(expected)


def find_planted(store: Store, bits: int) -> None:
    """Write documents near some fingerprints, and check that each of the fingerprints finds them."""
    rng = random.Random(bits)
    centres = [rng.getrandbits(bits) for _ in range(30)]
    planted = {
        f"{number}-{distance}-{n}": flip(centre, rng.sample(range(bits), distance))
        for number, centre in enumerate(centres)
        for distance in range(6)
        for n in range(4)
    }
    write(store, *(with_blocks(id, value, bits) for id, value in planted.items()), bits=bits)
    for max_distance in range(LARGEST_DISTANCE + 1):
        for asked in (centres, centres[:2], centres[:1]):
            expected = {
                id for id, v in planted.items() if any((v ^ centre).bit_count() <= max_distance for centre in asked)
            }
            assert near(store, asked, max_distance, bits) == expected


def with_blocks(
    id: str, fingerprint: int | None, bits: int = 64, keys: Sequence[str] = (), length: int | None = None, **fields: Any
) -> Entry:
    """Return an Entry with block keys.

    :param keys: further keys, of the text.
    :param length: None for an Entry without keys of the text.
    """
    made = entry(id, fingerprint, **fields)
    of_blocks = () if fingerprint is None else block_keys([fingerprint], bits)[0]
    return replace(made, row=replace(made.row, keys=(*keys, *of_blocks), length=length))


def near(store: Store, fingerprints: Sequence[int], max_distance: int, bits: int = 64) -> set[str]:
    """Return the ids of the documents near a fingerprint, looked up by block keys."""
    probes = tuple(Probe(value, None) for value in fingerprints)
    request = Candidates(probes, max_distance, bits, blocks=True)
    return {row.id for row in within(store.candidates(request).rows, request)}


def within(rows: Sequence[Row], request: Candidates) -> list[Row]:
    """Return the Rows that are near one of the Probes."""
    return [row for row in rows if any(is_near(row, probe, request.max_distance) for probe in request.probes)]
