"""Laws of MinHash bands: the same on every machine, and shared as often as the formula says."""

from __future__ import annotations

import json
import random
import tracemalloc
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from es_simhash.text.keys import HASH_BITS, LONGER, PAIRS, WIDTHS, encoded
from es_simhash.text.minhash import _FACTORS, BANDS, ROWS, hashes_of_bands, signatures
from es_simhash.text.shingles import Widths, shingles_of_texts

if TYPE_CHECKING:
    from numpy.typing import NDArray

FILE = Path(__file__).resolve().parents[1] / "vectors" / "minhash-3.jsonl"
LINES: list[dict[str, Any]] = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]
ALL = (1 << 64) - 1
STEP = 0x9E3779B97F4A7C15


def plain_mixed(number: int) -> int:
    """The last step of SplitMix64."""
    number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9 & ALL
    number = (number ^ number >> 27) * 0x94D049BB133111EB & ALL
    return number ^ number >> 31


def bands(words: str, kind: int) -> list[int]:
    return keys(shingles_of_texts([words], WIDTHS[kind])[0], kind) if words else []


def keys(shingles: NDArray[np.uint64], kind: int) -> list[int]:
    hashes = hashes_of_bands(shingles, np.array([shingles.size])).tolist()
    return [kind << HASH_BITS | number >> 64 - HASH_BITS for number in hashes]


def signature(shingles: NDArray[np.uint64]) -> NDArray[np.uint64]:
    [rows] = signatures(shingles, np.array([shingles.size]))
    return rows


def plain_signature(shingles: list[int], row_bits: int = 7) -> list[int]:
    """Every round of the method, one shingle after the other: a row keeps the smallest (round, value)."""
    count = 1 << row_bits
    rows: dict[int, tuple[int, int]] = {}
    for number in range(count):
        for shingle in shingles:
            mixed = plain_mixed(shingle + STEP * (number + 1) & ALL)
            row, value = mixed >> 64 - row_bits, (mixed << row_bits & ALL) >> 8
            rows[row] = min(rows.get(row, (count, ALL)), (number, value))
    for row in range(count):
        last = min(plain_mixed(shingle + STEP * (count + 1 + row) & ALL) >> 8 for shingle in shingles)
        rows[row] = min(rows.get(row, (count, ALL)), (count, last))
    return [number << 56 | value for number, value in (rows[row] for row in range(count))]


def is_han(letter: str) -> bool:
    return letter == "〇" or unicodedata.name(letter, "").startswith("CJK UNIFIED IDEOGRAPH")


def plain_shingles(words: str, widths: Widths) -> list[int]:
    """The numbers of the shingles of a text, one after the other."""
    factors = [0x6A09E667F3BCC909, 0xBB67AE8584CAA73B, 0x3C6EF372FE94F82B, 0xA54FF53A5F1D36F1, 0x510E527FADE682D1]
    padded = words + "\ud800" * 4
    cut = [padded[at : at + (widths.han if is_han(words[at]) else widths.other)] for at in range(len(words))]
    whole = [shingle for shingle in cut if "\ud800" not in shingle] or cut[:1]
    return [
        sum(ord(letter) * factor for letter, factor in zip(shingle, factors, strict=False)) & ALL for shingle in whole
    ]


def plain_bands(words: str, kind: int) -> list[int]:
    """The keys of a text, without numpy."""
    if not words:
        return []
    rows = plain_signature(plain_shingles(words, WIDTHS[kind]))
    made = []
    for band in range(BANDS):
        of = rows[band * ROWS : band * ROWS + ROWS]
        total = sum(row * int(factor) for row, factor in zip(of, _FACTORS, strict=True)) + band * STEP
        made.append(kind << HASH_BITS | plain_mixed(total & ALL) >> 64 - HASH_BITS)
    return made


@pytest.mark.parametrize("line", LINES, ids=[f"line {number}" for number, _ in enumerate(LINES, 1)])
def test_bands_are_those_of_the_file_and_of_the_slow_reference(line: dict[str, Any]) -> None:
    text = line["text"] * line.get("times", 1)
    kind = line["kind"]
    assert encoded(bands(text, kind)) == line["bands"]
    assert bands(text, kind) == plain_bands(text, kind)


def test_texts_together_have_the_hashes_that_each_has_alone() -> None:
    rng = random.Random(1)
    sizes = [1, 2, 5, 60, 150, 3_000]
    texts = ["".join(rng.choice("暴雨〇カ가a1") for _ in range(rng.choice(sizes))) for _ in range(300)]
    texts += ["aa", "a" * 5_000]
    for widths in WIDTHS.values():
        alone = [hashes_of_bands(*shingles_of_texts([text], widths)) for text in texts]
        assert hashes_of_bands(*shingles_of_texts(texts, widths)).tolist() == np.concatenate(alone).tolist()


@settings(max_examples=30)
@given(
    st.text("暴雨〇カ가a1", min_size=1, max_size=60),
    st.tuples(st.integers(1, 5), st.integers(1, 5)).map(lambda two: Widths(*two)),
)
def test_shingles_and_their_signature_are_those_of_the_slow_reference(words: str, widths: Widths) -> None:
    shingles = shingles_of_texts([words], widths)[0]
    assert shingles.tolist() == plain_shingles(words, widths)
    assert signature(shingles).tolist() == plain_signature(shingles.tolist())


@pytest.mark.parametrize("size", [56, 200, 1000])
@pytest.mark.parametrize("similarity", [0.5, 0.65, 0.8])
def test_rows_are_equal_as_often_as_texts_are_similar_and_bands_as_the_formula_says(
    size: int, similarity: float
) -> None:
    rng = np.random.default_rng(size)
    both = round(2 * size * similarity / (1 + similarity))
    true = both / (2 * size - both)
    equal, shared = [], []
    for _ in range(300):
        a = rng.integers(0, ALL, size=size, dtype=np.uint64)
        b = np.concatenate([a[:both], rng.integers(0, ALL, size=size - both, dtype=np.uint64)])
        equal.append(np.mean(signature(a) == signature(b)))
        shared.append(len(set(keys(a, LONGER)) & set(keys(b, LONGER))))
    deviation = (true * (1 - true) / 128 / 300) ** 0.5
    assert abs(np.mean(equal) - true) < 4 * deviation
    assert np.mean(shared) == pytest.approx(BANDS * true**ROWS, rel=0.2)


def test_unrelated_texts_share_no_key() -> None:
    rng = np.random.default_rng(1)
    every = [key for _ in range(3_000) for key in keys(rng.integers(0, ALL, size=50, dtype=np.uint64), PAIRS)]
    assert len(set(every)) == len(every)


def test_a_long_text_of_few_different_shingles_takes_no_more_memory_than_another() -> None:
    one, some = np.zeros(500_000, dtype=np.uint64), np.arange(500_000, dtype=np.uint64)
    assert signature(one).tolist() == plain_signature([0])
    peaks = []
    for shingles in (some, one):
        tracemalloc.start()
        signature(shingles)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] <= 1.5 * peaks[0]
