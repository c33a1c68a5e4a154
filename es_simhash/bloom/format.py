"""The byte format of a Bloom filter: one value that holds a whole filter.

The rule. A version of the format, once released, never changes, and every later release can read it. A new layout is a
new version with its own golden files. All numbers are little-endian. The checksum (CRC-32) covers every byte before it.

Version 1, the only one so far. The letters are those of Python's ``struct``:

    4s magic "ESBF" · B version · B number of layers · Q capacity · d error rate · q generation
    for each layer:   H k · Q m · Q capacity · Q count
    for each layer:   its m/8 bytes of bits
    I checksum

An item sets bits by MurmurHash3 x64 128 and the bit positions of layer.py.

The reader trusts no input: a right checksum proves no honest writer. It checks lengths before it allocates memory, so a
hostile header costs none. Bytes that are inconsistent in any way raise an error; they never become a filter.
"""

from __future__ import annotations

import zlib
from functools import lru_cache
from struct import Struct
from typing import TYPE_CHECKING

import numpy as np

from es_simhash.bloom.layer import Layer
from es_simhash.bloom.sizing import MAX_HASHES, MAX_LAYERS, Config, Size
from es_simhash.errors import FilterFormatError, InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

MAGIC = b"ESBF"
VERSION = 1

_HEADER = Struct("<4sBBQdq")
_LAYER = Struct("<HQQQ")
_CHECKSUM = Struct("<I")


def size_in_bytes(layers: Sequence[Layer]) -> int:
    """Return the length of what ``dump`` returns for these layers."""
    return _HEADER.size + sum(_LAYER.size + len(layer.bits) for layer in layers) + _CHECKSUM.size


def dump(config: Config, generation: int, layers: Sequence[Layer]) -> bytes:
    """Return a filter as bytes."""
    header = _HEADER.pack(MAGIC, VERSION, len(layers), config.capacity, config.error_rate, generation)
    table = [_LAYER.pack(each.size.k, each.size.m, each.size.capacity, each.count) for each in layers]
    body = b"".join([header, *table, *(each.bits.tobytes() for each in layers)])
    return body + _CHECKSUM.pack(zlib.crc32(body))


def load(data: bytes) -> tuple[Config, int, list[Layer]]:
    """Return the configuration, the generation and the layers of a filter.

    :raises FilterFormatError: if the bytes are not one whole, undamaged filter of a version that this release reads.
        The message says what is wrong.
    """
    body = memoryview(data)[: -_CHECKSUM.size]
    if data[: len(MAGIC)] != MAGIC:
        raise FilterFormatError(
            f"these bytes are not a Bloom filter: they begin with {data[:4]!r}, and not with {MAGIC!r}"
        )
    if len(data) > len(MAGIC) and data[len(MAGIC)] != VERSION:  # at this place in every version
        raise FilterFormatError(
            f"this Bloom filter has format version {data[len(MAGIC)]}, and this release reads version {VERSION}: "
            "upgrade es_simhash if a later release wrote it; otherwise it is damaged"
        )
    if len(body) < _HEADER.size or data[-_CHECKSUM.size :] != _CHECKSUM.pack(zlib.crc32(body)):
        raise FilterFormatError(f"this Bloom filter of {len(data):,} bytes is cut or damaged: its checksum is wrong")
    _, _, number, capacity, error_rate, generation = _HEADER.unpack_from(body)
    start = _HEADER.size + number * _LAYER.size
    if number > MAX_LAYERS or generation < 0 or len(body) < start:
        raise FilterFormatError(
            f"this Bloom filter has an impossible header: {number} layers, {MAX_LAYERS} at most, of generation "
            f"{generation}"
        )
    table = list(_LAYER.iter_unpack(body[_HEADER.size : start]))
    if len(body) != start + sum(-(-m // 8) for _, m, _, _ in table):
        raise FilterFormatError(f"this Bloom filter of {len(data):,} bytes has layers of other sizes")
    config = _config(capacity, error_rate)
    return config, generation, _layers(data, start, config, table)


@lru_cache(100)  # most filters of a store have one configuration
def _config(capacity: int, error_rate: float) -> Config:
    try:
        return Config(capacity, error_rate)
    except InputError as error:
        raise FilterFormatError(f"this Bloom filter has an impossible header: {error}") from error


def _layers(data: bytes, start: int, config: Config, table: list[tuple[int, ...]]) -> list[Layer]:
    """Return the layers with their bits.

    A layer with a capacity of more than two items a bit raises, because no error rate allows it. The next layer has a
    size that follows from the capacity, so it stays in proportion to the bytes that were read.

    :param start: the offset of the bits of the first layer.
    :param table: (k, m, capacity, count) of each layer.
    """
    if not table or table[0][2] != config.capacity:
        raise FilterFormatError(f"this Bloom filter has no first layer of capacity {config.capacity}")
    layers = []
    for k, m, capacity, count in table:
        if not (1 <= k <= MAX_HASHES and m % 8 == 0 and 1 <= capacity <= 2 * m and count <= m):
            found = f"k={k}, m={m}, capacity={capacity}, count={count}"
            raise FilterFormatError(f"this Bloom filter has an impossible layer: {found}")
        bits = np.frombuffer(data, dtype=np.uint8, count=m // 8, offset=start).copy()
        layers.append(Layer(Size(capacity, m, k), count, bits))
        start += m // 8
    return layers
