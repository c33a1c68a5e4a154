"""The reference Bloom filter, slow and obvious: a set of bit numbers for each layer, plain ints, one item at a time.

It shares only the sizes of the layers with the library; these have tests of their own. It writes the byte format by
itself.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass, field

from mmh3 import hash64

from es_simhash.bloom.sizing import Config, Size

WORD = 2**64


@dataclass
class ReferenceLayer:
    """The numbers of the bits that are set, and the number of items that set them."""

    size: Size
    bits: set[int] = field(default_factory=set)
    count: int = 0

    def positions(self, item: str | int | bytes) -> set[int]:
        text = item if isinstance(item, bytes) else str(item).encode()
        x, y = hash64(text, signed=False)
        found = set()
        for i in range(self.size.k):
            word = (x + i * y + (i**3 - i) // 6) % WORD
            found.add(8 * (word % (self.size.m // 8)) + word // 2**61)
        return found

    def packed(self) -> bytes:
        return sum(1 << bit for bit in self.bits).to_bytes(self.size.m // 8, "little")


class ReferenceFilter:
    """The same operations as a BloomFilter."""

    def __init__(self, capacity: int, error_rate: float) -> None:
        self.config = Config(capacity, error_rate)
        self.layers = [ReferenceLayer(self.config.size(0))]

    def __contains__(self, item: str | int | bytes) -> bool:
        return any(layer.positions(item) <= layer.bits for layer in self.layers)

    def add(self, item: str | int | bytes) -> bool:
        if item in self:
            return False
        if self.layers[-1].count == self.layers[-1].size.capacity:
            self.layers.append(ReferenceLayer(self.config.size(len(self.layers), self.layers[-1].size.capacity)))
        self.layers[-1].bits |= self.layers[-1].positions(item)
        self.layers[-1].count += 1
        return True

    def to_bytes(self, generation: int = 0) -> bytes:
        config = self.config
        data = b"ESBF" + struct.pack("<BBQdq", 1, len(self.layers), config.capacity, config.error_rate, generation)
        for layer in self.layers:
            data += struct.pack("<HQQQ", layer.size.k, layer.size.m, layer.size.capacity, layer.count)
        return with_checksum(data + b"".join(layer.packed() for layer in self.layers))


def with_checksum(data: bytes) -> bytes:
    """Return the bytes followed by their checksum."""
    return data + struct.pack("<I", zlib.crc32(data))
