"""Bytes come back as the same filter, or not at all."""

from __future__ import annotations

import struct
import tracemalloc
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from es_simhash.bloom import BloomFilter
from es_simhash.errors import FilterFormatError, InputError
from tests.bloom.test_filter import BATCHES, CAPACITIES, RATES, SEEDS
from tests.bloom.twin import Twin, sealed

HEAD, LAYER, CHECKSUM = 36, 26, 4


def small(layers: int = 2) -> BloomFilter:
    seen = BloomFilter(2, 0.1, seed=6, generation=1_700_000_000)
    seen.update(range(20))
    assert len(seen.layers) > layers
    return seen


def small_version_1() -> bytes:
    twin = Twin(4, 0.1, 6)
    for item in range(3):
        twin.add(item)
    return twin.version_1()


WHOLE = [small().to_bytes(), BloomFilter(1, 0.5).to_bytes(), small_version_1()]


@settings(deadline=None)
@given(CAPACITIES, RATES, SEEDS, BATCHES, st.integers(0, 2**63 - 1))
def test_bytes_come_back_as_the_same_filter(
    capacity: int, rate: float, seed: int, batches: list[list[Any]], generation: int
) -> None:
    seen = BloomFilter(capacity, rate, seed=seed, generation=generation)
    for items in batches:
        seen.update(items)
    data = seen.to_bytes()
    assert len(data) == seen.size_in_bytes
    for same in (data, bytearray(data), memoryview(data)):
        again = BloomFilter.from_bytes(same)
        assert again == seen
        assert again.to_bytes() == data
    again.update(["and", "on"])
    seen.update(["and", "on"])
    assert again == seen


@settings(deadline=None)
@given(RATES, SEEDS, st.lists(st.integers(), max_size=10))
def test_version_1_is_read_as_a_filter_of_today(rate: float, seed: int, items: list[int]) -> None:
    twin, seen = Twin(10, rate, seed), BloomFilter(10, rate, seed=seed)
    for item in items:
        twin.add(item)
        seen.add(item)
    read = BloomFilter.from_bytes(twin.version_1())
    assert read == seen
    assert read.to_bytes()[4] == 2


def test_what_is_read_shares_nothing_with_the_bytes() -> None:
    data = bytearray(small().to_bytes())
    seen = BloomFilter.from_bytes(data)
    data[:] = bytes(len(data))
    assert seen == small()


@pytest.mark.parametrize("whole", WHOLE, ids=["version 2", "version 2, empty", "version 1"])
def test_every_changed_byte_raises(whole: bytes) -> None:
    for at in range(len(whole)):
        for flip in range(1, 256):
            damaged = bytearray(whole)
            damaged[at] ^= flip
            with pytest.raises(FilterFormatError):
                pytest.fail(f"byte {at} ^ {flip}: {BloomFilter.from_bytes(damaged)}")


@pytest.mark.parametrize("whole", WHOLE, ids=["version 2", "version 2, empty", "version 1"])
def test_every_cut_raises(whole: bytes) -> None:
    for length in range(len(whole)):
        told = rf"expected \d+ bytes.*got {length}$" if length else "no Bloom filter"
        with pytest.raises(FilterFormatError, match=told):
            BloomFilter.from_bytes(whole[:length])
        if length:
            with pytest.raises(FilterFormatError):
                BloomFilter.from_bytes(whole[length:])


@pytest.mark.parametrize("whole", WHOLE, ids=["version 2", "version 2, empty", "version 1"])
def test_bytes_too_many_raise(whole: bytes) -> None:
    for more in (b"\0", b"\xff" * 7, whole):
        expected = rf"followed by other bytes.*expected {len(whole)} bytes, and got {len(whole + more)}$"
        with pytest.raises(FilterFormatError, match=expected):
            BloomFilter.from_bytes(whole + more)


@settings(deadline=None)
@given(st.binary(max_size=200) | st.binary(max_size=200).map(lambda tail: b"ESBF\x02\x01" + tail))
def test_foreign_bytes_raise(data: bytes) -> None:
    with pytest.raises(FilterFormatError):
        BloomFilter.from_bytes(data)


def test_a_wrong_beginning_is_told() -> None:
    with pytest.raises(
        FilterFormatError, match=r"no Bloom filter: they begin with b'PK\\x03\\x04', and not with b'ESBF'"
    ):
        BloomFilter.from_bytes(b"PK\x03\x04 and so on")


@pytest.mark.parametrize("version", [0, 3, 255])
def test_an_unknown_version_is_told_with_those_that_are_read(version: int) -> None:
    data = bytearray(small().to_bytes())
    data[4] = version
    with pytest.raises(FilterFormatError, match=rf"of version {version}, and this release reads the versions 1, 2"):
        BloomFilter.from_bytes(data)


def test_a_damaged_bit_is_told_as_such() -> None:
    data = bytearray(small().to_bytes())
    data[-CHECKSUM - 1] ^= 1
    with pytest.raises(
        FilterFormatError, match=r"is damaged: its checksum is [0-9a-f]{8}, and [0-9a-f]{8} was written"
    ):
        BloomFilter.from_bytes(data)


@pytest.mark.parametrize("data", ["RVNCRg==", None, 7, [69, 83]])
def test_what_is_not_bytes_is_the_callers_mistake(data: Any) -> None:
    with pytest.raises(InputError, match="decode it first"):
        BloomFilter.from_bytes(data)


# --- forged: whole, with a right checksum, and yet impossible ---------------------------------------------------------


def forged(at: int, form: str, value: Any, base: bytes = WHOLE[0]) -> bytes:
    data = bytearray(base[:-CHECKSUM])
    struct.pack_into(form, data, at, value)
    return sealed(bytes(data))


FORGED = {
    "hash": forged(5, "<B", 2),
    "no layers": sealed(WHOLE[0][:6] + b"\0\0" + WHOLE[0][8:HEAD]),
    "other capacity": forged(12, "<Q", 3),
    "capacity of nothing": forged(12, "<Q", 0),
    "error rate nan": forged(20, "<d", float("nan")),
    "error rate 1": forged(20, "<d", 1.0),
    "negative generation": forged(28, "<q", -1),
    "no hashes": forged(HEAD, "<H", 0),
    "hashes without end": forged(HEAD, "<H", 65535),
    "bits that are no bytes": forged(HEAD + 2, "<Q", struct.unpack_from("<Q", WHOLE[0], HEAD + 2)[0] - 1),
    "more items than its bits can tell": forged(HEAD + 18, "<Q", 2**40),
    "later layer for more items than bits": forged(HEAD + LAYER + 10, "<Q", 2**40),
    "later layer for no items": forged(HEAD + LAYER + 10, "<Q", 0),
    "version 1, other hash": forged(5, "<B", 0, WHOLE[2]),
    "version 1, huge capacity": forged(12, "<Q", 2**28, WHOLE[2]),
}


@pytest.mark.parametrize("data", FORGED.values(), ids=FORGED.keys())
def test_a_header_that_cannot_be_raises(data: bytes) -> None:
    with pytest.raises(FilterFormatError):
        BloomFilter.from_bytes(data)


def test_the_forger_can_write_what_is_true() -> None:
    assert forged(12, "<Q", 2) == WHOLE[0]
    assert BloomFilter.from_bytes(forged(28, "<q", 5)).generation == 5


@pytest.mark.parametrize(
    "data",
    [
        forged(HEAD + 2, "<Q", 2**63),
        forged(HEAD + 2, "<Q", 2**36),
        forged(6, "<H", 65535),
        forged(12, "<Q", 400_000_000),
        forged(28, "<Q", 2**36, WHOLE[2]),
    ],
    ids=["bits", "bits", "layers", "capacity", "bits of version 1"],
)
def test_a_hostile_header_costs_no_memory(data: bytes) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(FilterFormatError):
            BloomFilter.from_bytes(data)
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


def test_a_forged_filter_that_is_read_grows_in_proportion() -> None:
    seen = small()
    full = forged(HEAD + LAYER * (len(seen.layers) - 1) + 18, "<Q", seen.layers[-1].capacity)
    read = BloomFilter.from_bytes(full)
    read.update([f"more {number}" for number in range(10)])
    assert len(read.layers) == len(seen.layers) + 1
    assert read.size_in_bytes < 10 * seen.size_in_bytes
