"""Laws of block keys: every two fingerprints within 3 bits share one, and almost no others do."""

from __future__ import annotations

import json
import random
from itertools import combinations
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from es_simhash.search.blocks import KIND, LARGEST_DISTANCE, WIDTHS, block_keys, key_numbers
from es_simhash.search.encoding import ALPHABET

FILE = Path(__file__).resolve().parents[1] / "vectors" / "blocks-1.jsonl"
LINES: list[dict[str, Any]] = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]
each_width = pytest.mark.parametrize("bits", [64, 128])


def plain_keys(fingerprint: int, bits: int) -> tuple[str, ...]:
    """The keys of one fingerprint, by strings of zeros and ones."""
    text, blocks = f"{fingerprint:0{bits}b}", []
    for width in WIDTHS[bits]:
        blocks.append(text[:width].zfill(max(WIDTHS[bits])))
        text = text[width:]
    made = []
    for number, choice in enumerate(combinations(blocks, len(blocks) - 3)):
        digits = 5 if bits == 64 else 6
        binary = (f"{number:b}" + "".join(choice)).zfill(6 * digits)
        made.append(KIND + "".join(ALPHABET[int(binary[at : at + 6], 2)] for at in range(0, len(binary), 6)))
    return tuple(made)


@pytest.mark.parametrize("line", LINES, ids=lambda line: line["fingerprint"])
def test_the_keys_of_the_golden_file_never_change(line: dict[str, Any]) -> None:
    assert list(block_keys([int(line["fingerprint"], 16)], line["bits"])[0]) == line["keys"]


@each_width
@given(data=st.data())
def test_the_keys_are_those_of_the_reference(bits: int, data: st.DataObject) -> None:
    some = data.draw(st.lists(st.integers(0, (1 << bits) - 1), max_size=5))
    assert block_keys(some, bits) == [plain_keys(value, bits) for value in some]


@each_width
def test_blocks_cover_every_bit_once_and_stay_within_a_word(bits: int) -> None:
    assert sum(WIDTHS[bits]) == bits
    ends = np.cumsum(WIDTHS[bits])
    assert all((end - 1) // 64 == (end - width) // 64 for end, width in zip(ends, WIDTHS[bits], strict=True))


@pytest.mark.slow
@each_width
def test_however_up_to_three_bits_are_spread_a_key_stays_equal(bits: int) -> None:
    value = random.Random(bits).getrandbits(bits)
    masks = [sum(1 << at for at in some) for k in range(LARGEST_DISTANCE + 1) for some in combinations(range(bits), k)]
    assert len(masks) == sum(comb(bits, k) for k in range(LARGEST_DISTANCE + 1))
    for start in range(0, len(masks), 50_000):
        changed = key_numbers([value ^ mask for mask in masks[start : start + 50_000]], bits)
        assert (changed == key_numbers([value], bits)).any(axis=1).all()


@each_width
def test_with_four_bits_in_four_blocks_no_key_stays_equal(bits: int) -> None:
    ends = np.cumsum(WIDTHS[bits])[:4].tolist()
    far = sum(1 << (bits - end) for end in ends)
    assert not set(block_keys([0], bits)[0]) & set(block_keys([far], bits)[0])


@each_width
@given(data=st.data())
def test_shared_keys_find_what_a_comparison_with_each_fingerprint_finds(bits: int, data: st.DataObject) -> None:
    centre = data.draw(st.integers(0, (1 << bits) - 1))
    flips = st.lists(st.integers(0, bits - 1), max_size=6)
    stored = [centre ^ sum(1 << bit for bit in set(some)) for some in data.draw(st.lists(flips, max_size=8))]
    asked = set(block_keys([centre], bits)[0])
    shared = [bool(asked & set(keys)) for keys in block_keys(stored, bits)]
    for value, found in zip(stored, shared, strict=True):
        assert found or (value ^ centre).bit_count() > LARGEST_DISTANCE


@each_width
def test_random_fingerprints_share_no_key(bits: int) -> None:
    rng = random.Random(bits)
    numbers = key_numbers([rng.getrandbits(bits) for _ in range(2_000)], bits)
    # Of 2 million pairs 0.4 share a key by chance at 64 bits.
    assert numbers.size - np.unique(numbers).size <= 5
    assert len({len(set(row)) for row in numbers.tolist()}) == 1
