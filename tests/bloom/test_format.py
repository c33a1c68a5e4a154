"""Laws of the byte format: bytes become the same filter again, or raise."""

from __future__ import annotations

import struct
import time
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from es_simhash.bloom import BloomFilter
from es_simhash.errors import FilterFormatError, InputError
from tests.bloom.reference import with_checksum
from tests.bloom.test_filter import BATCHES, CAPACITIES, RATES

HEAD, LAYER, CHECKSUM = 30, 26, 4


def small(layers: int = 2) -> BloomFilter:
    seen = BloomFilter(2, 0.1, generation=1_700_000_000)
    seen.update(range(20))
    assert len(seen.layers) > layers
    return seen


WHOLE = [small().to_bytes(), BloomFilter(1, 0.5).to_bytes()]
each_filter = pytest.mark.parametrize("whole", WHOLE, ids=["grown", "empty"])


@given(CAPACITIES, RATES, BATCHES, st.integers(0, 2**63 - 1))
def test_bytes_become_the_same_filter_again(
    capacity: int, rate: float, batches: list[list[Any]], generation: int
) -> None:
    seen = BloomFilter(capacity, rate, generation=generation)
    for items in batches:
        seen.update(items)
    data = seen.to_bytes()
    for same in (data, bytearray(data), memoryview(data)):
        again = BloomFilter.from_bytes(same)
        assert (again.to_bytes(), again.generation) == (data, generation)
    again.update(["and", "on"])
    seen.update(["and", "on"])
    assert again.to_bytes() == seen.to_bytes()


def test_what_is_read_shares_nothing_with_the_bytes() -> None:
    data = bytearray(small().to_bytes())
    seen = BloomFilter.from_bytes(data)
    data[:] = bytes(len(data))
    assert seen.to_bytes() == small().to_bytes()


@each_filter
def test_every_changed_byte_raises(whole: bytes) -> None:
    for at in range(len(whole)):
        for flip in range(1, 256):
            damaged = bytearray(whole)
            damaged[at] ^= flip
            with pytest.raises(FilterFormatError):
                pytest.fail(f"byte {at} ^ {flip}: {BloomFilter.from_bytes(damaged)}")


@each_filter
def test_every_cut_raises(whole: bytes) -> None:
    for length in range(len(whole)):
        message = f"of {length} bytes is cut or damaged" if length >= 4 else "not a Bloom filter"
        with pytest.raises(FilterFormatError, match=message):
            BloomFilter.from_bytes(whole[:length])
        if length:
            with pytest.raises(FilterFormatError):
                BloomFilter.from_bytes(whole[length:])


def test_a_wrong_beginning_is_reported() -> None:
    with pytest.raises(
        FilterFormatError, match=r"not a Bloom filter: they begin with b'PK\\x03\\x04', and not with b'ESBF'"
    ):
        BloomFilter.from_bytes(b"PK\x03\x04 and so on")


@pytest.mark.parametrize("version", [0, 2, 255])
def test_an_unknown_version_is_reported_with_the_readable_one(version: int) -> None:
    data = bytearray(small().to_bytes())
    data[4] = version
    with pytest.raises(FilterFormatError, match=rf"has format version {version}, and this release reads version 1"):
        BloomFilter.from_bytes(data)


@pytest.mark.parametrize("data", ["RVNCRg==", None, 7, [69, 83]])
def test_data_that_is_no_bytes_is_an_input_error(data: Any) -> None:
    with pytest.raises(InputError, match="decode it first"):
        BloomFilter.from_bytes(data)


# --- forged filters: whole and with a right checksum, but impossible --------------------------------------------------


def forged(at: int, form: str, value: Any, base: bytes = WHOLE[0]) -> bytes:
    data = bytearray(base[:-CHECKSUM])
    struct.pack_into(form, data, at, value)
    return with_checksum(bytes(data))


FORGED = {
    "no layers": with_checksum(WHOLE[0][:5] + b"\0" + WHOLE[0][6:HEAD]),
    "another capacity": forged(6, "<Q", 3),
    "capacity 0": forged(6, "<Q", 0),
    "error rate nan": forged(14, "<d", float("nan")),
    "error rate 1": forged(14, "<d", 1.0),
    "negative generation": forged(22, "<q", -1),
    "no hashes": forged(HEAD, "<H", 0),
    "too many hashes": forged(HEAD, "<H", 65535),
    "bits that are no whole bytes": forged(HEAD + 2, "<Q", struct.unpack_from("<Q", WHOLE[0], HEAD + 2)[0] - 1),
    "more items than bits": forged(HEAD + 18, "<Q", 2**40),
    "later layer for more items than bits": forged(HEAD + LAYER + 10, "<Q", 2**40),
    "later layer for no items": forged(HEAD + LAYER + 10, "<Q", 0),
    "2 ** 63 bits": forged(HEAD + 2, "<Q", 2**63),
    "2 ** 36 bits": forged(HEAD + 2, "<Q", 2**36),
    "255 layers": forged(5, "<B", 255),
    "a large capacity": forged(6, "<Q", 400_000_000),
}


@pytest.mark.parametrize("data", FORGED.values(), ids=FORGED.keys())
def test_an_impossible_header_raises_and_costs_no_memory(data: bytes) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(FilterFormatError):
            BloomFilter.from_bytes(data)
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


def many_layers(number: int) -> bytes:
    """A whole filter of small layers, all of them full, so that each look-up asks all of them."""
    capacity = struct.unpack_from("<Q", WHOLE[0], 6)[0]
    layer = struct.pack("<HQQQ", 64, 64, capacity, capacity)
    header = WHOLE[0][:5] + struct.pack("<B", number) + WHOLE[0][6:HEAD]
    return with_checksum(header + layer * number + b"\0\xff\0\xff\0\xff\0\xff" * number)


def test_a_forged_filter_of_many_layers_is_refused_at_once() -> None:
    started = time.process_time()
    for number in (101, 255):
        with pytest.raises(FilterFormatError, match=f"{number} layers, 100 at most"):
            BloomFilter.from_bytes(many_layers(number))
    assert time.process_time() - started < 5


def test_a_forged_filter_of_the_most_layers_answers_in_time_and_does_not_grow() -> None:
    read = BloomFilter.from_bytes(many_layers(100))
    started = time.process_time()
    assert not any(read.contains_many(range(1_000)))
    assert time.process_time() - started < 5
    with pytest.raises(InputError, match="is full: it has 100 layers"):
        read.add("one more")


def test_a_forged_filter_that_is_read_grows_in_proportion() -> None:
    seen = small()
    full = forged(HEAD + LAYER * (len(seen.layers) - 1) + 18, "<Q", seen.layers[-1].size.capacity)
    read = BloomFilter.from_bytes(full)
    read.update([f"more {number}" for number in range(10)])
    assert len(read.layers) == len(seen.layers) + 1
    assert len(read.to_bytes()) < 10 * len(seen.to_bytes())
