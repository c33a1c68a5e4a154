"""The reference Bloom filter, slow and obvious: a set of bit numbers for each layer, plain ints, one item at a time.

It shares only the sizes of the layers with the library; these have tests of their own. It has its own MurmurHash3, and
writes the byte format by itself.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass, field

from es_simhash.bloom.sizing import Config, Size

WORD = 2**64


def murmur3(data: bytes) -> tuple[int, int]:
    """Return the two words of MurmurHash3 x64 128, after Austin Appleby's description."""
    c1, c2 = 0x87C37B91114253D5, 0x4CF5AD432745937F

    def rotate(word: int, by: int) -> int:
        return (word << by | word >> (64 - by)) % WORD

    def mix_in(word: int, first: int, by: int, second: int) -> int:
        return rotate(word * first % WORD, by) * second % WORD

    def finish(word: int) -> int:
        word = (word ^ word >> 33) * 0xFF51AFD7ED558CCD % WORD
        word = (word ^ word >> 33) * 0xC4CEB9FE1A85EC53 % WORD
        return word ^ word >> 33

    h1 = h2 = 0
    whole = len(data) - len(data) % 16
    for at in range(0, whole, 16):
        k1, k2 = struct.unpack_from("<QQ", data, at)
        h1 ^= mix_in(k1, c1, 31, c2)
        h1 = ((rotate(h1, 27) + h2) * 5 + 0x52DCE729) % WORD
        h2 ^= mix_in(k2, c2, 33, c1)
        h2 = ((rotate(h2, 31) + h1) * 5 + 0x38495AB5) % WORD
    k1, k2 = struct.unpack("<QQ", data[whole:].ljust(16, b"\0"))
    h1 ^= mix_in(k1, c1, 31, c2) ^ len(data)
    h2 ^= mix_in(k2, c2, 33, c1) ^ len(data)
    h1 = (h1 + h2) % WORD
    h2 = (h2 + h1) % WORD
    h1, h2 = finish(h1), finish(h2)
    h1 = (h1 + h2) % WORD
    return h1, (h2 + h1) % WORD


@dataclass
class ReferenceLayer:
    """The numbers of the bits that are set, and the number of items that set them."""

    size: Size
    bits: set[int] = field(default_factory=set)
    count: int = 0

    def positions(self, item: str | int | bytes) -> set[int]:
        text = item if isinstance(item, bytes) else str(item).encode()
        x, y = murmur3(text)
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
        self.layers = [ReferenceLayer(self.config.first())]

    def __contains__(self, item: str | int | bytes) -> bool:
        return any(layer.positions(item) <= layer.bits for layer in self.layers)

    def add(self, item: str | int | bytes) -> bool:
        if item in self:
            return False
        if self.layers[-1].count == self.layers[-1].size.capacity:
            self.layers.append(ReferenceLayer(self.config.after(self.layers[-1].size.capacity, len(self.layers))))
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
