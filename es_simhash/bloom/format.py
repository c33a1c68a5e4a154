"""Bytes for ever: a filter as one value, and back.

The rule. A version, once released, is readable for ever and never changes; a new layout is a new version with its own
golden files. All numbers are little-endian; the checksum (CRC-32) covers every byte before it.

Version 2, the one that is written:

    4s magic "ESBF" · B version · B hash · H number of layers · I seed · Q capacity · d error rate · q generation
    for each layer:   H k · Q m · Q capacity · Q count
    for each layer:   its m/8 bytes of bits
    I checksum

Version 1, an early layout that is still read: one layer, no generation.

    4s magic "ESBF" · B version · B hash · H k · I seed · Q capacity · d error rate · Q m · Q count
    its m/8 bytes of bits
    I checksum

Hash 1 is the only one so far: MurmurHash3 x64 128 and the positions of layer.py.

Reading trusts nothing: lengths are checked before anything is allocated, so that a hostile header costs no memory;
what does not hold together raises, and never answers.
"""

from __future__ import annotations

import zlib
from struct import Struct
from typing import TYPE_CHECKING

from es_simhash.bloom.layer import Layer
from es_simhash.bloom.sizing import MAX_HASHES, Config, Size
from es_simhash.errors import FilterFormatError, InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

MAGIC = b"ESBF"
VERSION = 2
READABLE = (1, 2)
HASH = 1

_START = Struct("<4sBB")  # what all versions begin with
_HEAD_1 = Struct("<4sBBHIQdQQ")
_HEAD_2 = Struct("<4sBBHIQdq")
_LAYER_2 = Struct("<HQQQ")
_CHECKSUM = Struct("<I")


def size_in_bytes(layers: Sequence[Layer]) -> int:
    """Return the length of what ``dump`` gives for these layers."""
    return _HEAD_2.size + sum(_LAYER_2.size + len(layer.bits) for layer in layers) + _CHECKSUM.size


def dump(config: Config, generation: int, layers: Sequence[Layer]) -> bytes:
    """Return a filter as bytes of the current version."""
    head = _HEAD_2.pack(MAGIC, VERSION, HASH, len(layers), config.seed, config.capacity, config.error_rate, generation)
    table = [_LAYER_2.pack(each.size.k, each.size.m, each.size.capacity, each.count) for each in layers]
    body = b"".join([head, *table, *(each.bits for each in layers)])
    return body + _CHECKSUM.pack(zlib.crc32(body))


def load(data: bytes) -> tuple[Config, int, list[Layer]]:
    """Return the configuration, the generation and the layers of a filter.

    Raises FilterFormatError, which says what is wrong, for anything but a whole, undamaged filter of a version that
    is readable.
    """
    if not data or data[: len(MAGIC)] != MAGIC[: len(data)]:
        raise FilterFormatError(
            f"these bytes are no Bloom filter: they begin with {data[:4]!r}, and not with {MAGIC!r}"
        )
    _at_least(data, _START.size)
    _, version, hash_id = _START.unpack_from(data)
    if version not in READABLE:
        raise FilterFormatError(
            f"this Bloom filter is of version {version}, and this release reads the versions "
            f"{', '.join(map(str, READABLE))}: a later release wrote it, or it is damaged"
        )
    if version == 1:
        return _load_1(data, hash_id)
    return _load_2(data, hash_id)


def _load_1(data: bytes, hash_id: int) -> tuple[Config, int, list[Layer]]:
    _at_least(data, _HEAD_1.size)
    _, _, _, k, seed, capacity, error_rate, m, count = _HEAD_1.unpack_from(data)
    _check(data, _HEAD_1.size + _length(m) + _CHECKSUM.size, hash_id)
    config = _config(capacity, error_rate, seed)
    return config, 0, _layers(data, _HEAD_1.size, config, [(k, m, capacity, count)])


def _load_2(data: bytes, hash_id: int) -> tuple[Config, int, list[Layer]]:
    _at_least(data, _HEAD_2.size)
    _, _, _, number, seed, capacity, error_rate, generation = _HEAD_2.unpack_from(data)
    start = _HEAD_2.size + number * _LAYER_2.size
    _at_least(data, start)
    table = list(_LAYER_2.iter_unpack(data[_HEAD_2.size : start]))
    _check(data, start + sum(_length(m) for _, m, _, _ in table) + _CHECKSUM.size, hash_id)
    if generation < 0:
        raise FilterFormatError(f"this Bloom filter has a generation before 1970: {generation}")
    config = _config(capacity, error_rate, seed)
    return config, generation, _layers(data, start, config, table)


def _length(m: int) -> int:
    return -(-m // 8)


def _at_least(data: bytes, size: int) -> None:
    if len(data) < size:
        raise FilterFormatError(f"this Bloom filter is cut: expected {size} bytes at least, and got {len(data)}")


def _check(data: bytes, size: int, hash_id: int) -> None:
    """Raise unless the bytes are as long as their header says, agree with their checksum, and have a known hash."""
    if len(data) != size:
        how = "cut" if len(data) < size else "followed by other bytes"
        raise FilterFormatError(f"this Bloom filter is {how}, or damaged: expected {size} bytes, and got {len(data)}")
    (written,) = _CHECKSUM.unpack_from(data, size - _CHECKSUM.size)
    if (found := zlib.crc32(memoryview(data)[: -_CHECKSUM.size])) != written:
        raise FilterFormatError(
            f"this Bloom filter is damaged: its checksum is {found:08x}, and {written:08x} was written"
        )
    if hash_id != HASH:
        raise FilterFormatError(f"this Bloom filter is of hash {hash_id}, and this release knows hash {HASH} only")


def _config(capacity: int, error_rate: float, seed: int) -> Config:
    try:
        return Config(capacity, error_rate, seed)
    except InputError as error:
        raise FilterFormatError(f"this Bloom filter has a header that can't be: {error}") from error


def _layers(data: bytes, start: int, config: Config, table: list[tuple[int, ...]]) -> list[Layer]:
    """Return the layers of a table of (k, m, capacity, count), with their bits, which begin at ``start``.

    A layer for more than two items a bit is refused, as no error rate gives that: so the next layer, which is as large
    as the capacity says, is never out of proportion to the bytes that were read.
    """
    if not table or table[0][2] != config.capacity:
        raise FilterFormatError(f"this Bloom filter has no first layer of capacity {config.capacity}")
    layers = []
    for k, m, capacity, count in table:
        if not (1 <= k <= MAX_HASHES and m % 8 == 0 and 1 <= capacity <= 2 * m and count <= m):
            found = f"k={k}, m={m}, capacity={capacity}, count={count}"
            raise FilterFormatError(f"this Bloom filter has a layer that can't be: {found}")
        layers.append(Layer(Size(capacity, m, k), count, bytearray(data[start : start + m // 8])))
        start += m // 8
    return layers
