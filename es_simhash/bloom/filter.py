"""A Bloom filter that grows, and its bytes.

The rules:

- An item that was added is always found.
- An item that was never added is found by mistake with a probability of at most ``error_rate``, at any size. A filter
  that is full gets another layer (sizing.py).
- An item that the filter finds already is not added again. Adding it changes nothing.
- No item can be removed.

**The bytes.** One value holds a whole filter. A version of the format, once released, never changes, and every later
release can read it. A new layout is a new version with its own golden files. All numbers are little-endian. The
checksum (CRC-32) covers every byte before it. Version 1 is the only one so far. The letters are those of Python's
``struct``:

    4s magic "ESBF" · B version · B number of layers · Q capacity · d error rate · q generation
    for each layer:   H k · Q m · Q capacity · Q count
    for each layer:   its m/8 bytes of bits
    I checksum

Which bits an item sets is the rule of layer.py.

The reader trusts no input: a right checksum proves no honest writer. It checks lengths before it allocates memory, so a
hostile header costs none. Bytes that are inconsistent in any way raise an error; they never become a filter.
"""

from __future__ import annotations

import math
import zlib
from functools import lru_cache
from struct import Struct
from typing import TYPE_CHECKING

import numpy as np

from es_simhash.bloom.layer import Layer, hash_items
from es_simhash.bloom.sizing import MAX_HASHES, MAX_LAYERS, Config, Size
from es_simhash.errors import FilterFormatError, InputError, whole_number

if TYPE_CHECKING:
    from collections.abc import Iterable

    from es_simhash.bloom.layer import Hashes, Item, Mask

MAGIC = b"ESBF"
VERSION = 1

_HEADER = Struct("<4sBBQdq")
_LAYER = Struct("<HQQQ")
_CHECKSUM = Struct("<I")
_LAST_SECOND = (1 << 63) - 1
_CHUNK = 5_000
"""Items of a batch that are added at once: their arrays stay in the processor's cache."""

_config_of = lru_cache(100)(Config)  # most filters of a store have one configuration


class BloomFilter:
    """A set of items that may find an item that was never added, and always finds an item that was.

    An item is a str, an int or bytes; 1 and "1" are the same item.

    :param capacity: the number of items that the filter is first made for. It grows beyond.
    :param error_rate: the share of items, among those that were never added, that the filter may find; above 0 and
        below 1. It holds before and after the filter has grown.
    :param generation: a number for the caller: when the filter was started, in whole seconds since 1970, or 0.
    :ivar config: has the ``capacity`` and the ``error_rate``.
    :ivar layers: the bits, one layer more each time that the filter has grown.
    :raises InputError: if a number is out of range. The message says the range.
    """

    def __init__(self, capacity: int, error_rate: float, *, generation: int = 0) -> None:
        """Make an empty filter."""
        self.config = Config(capacity, error_rate)
        self.generation = whole_number("generation", generation, 0, _LAST_SECOND)
        self.layers: list[Layer] = []
        self._grow()

    def _grow(self) -> None:
        """Add a layer."""
        if len(self.layers) >= MAX_LAYERS:
            raise InputError(f"this Bloom filter is full: it has {MAX_LAYERS} layers; start a new one")
        before = self.layers[-1].size.capacity if self.layers else 0
        size = self.config.size(len(self.layers), before)
        self.layers.append(Layer(size, 0, np.zeros(size.m // 8, dtype=np.uint8)))

    @property
    def count(self) -> int:
        """The number of items that changed the filter when they were added."""
        return sum(layer.count for layer in self.layers)

    @property
    def false_positive_rate(self) -> float:
        """The share of items, among those that were never added, that the filter finds now; from its set bits."""
        return 1 - math.prod(1 - layer.false_positive_rate for layer in self.layers)

    # --- items -----------------------------------------------------------------------------------------------

    def __contains__(self, item: Item) -> bool:
        """Return whether the filter might contain an item; False is certain.

        :raises InputError: if the item is no str, int or bytes, or has no UTF-8.
        """
        return bool(self.contains_many([item])[0])

    def add(self, item: Item) -> bool:
        """Add an item.

        :returns: True if this changed the filter; False if the filter might have contained the item already.
        :raises InputError: if the item is no str, int or bytes, or has no UTF-8. The message shows the item.
        """
        return bool(self.update([item])[0])

    def contains_many(self, items: Iterable[Item]) -> Mask:
        """Return for each item of a batch whether the filter might contain it; False is certain. Shape (n,).

        :raises InputError: if an item is no str, int or bytes, or has no UTF-8. The message shows the item.
        """
        return self.has_hashes(hash_items(items))

    def has_hashes(self, hashes: Hashes) -> Mask:
        """Return what :meth:`contains_many` returns for the items with these hashes."""
        found = np.zeros(len(hashes), dtype=np.bool_)
        for layer in reversed(self.layers):  # the newest has the most items
            rest = np.flatnonzero(~found)
            found[rest] = layer.has(hashes[rest])
        return found

    def update(self, items: Iterable[Item]) -> Mask:
        """Add the items of a batch, in order.

        The result is the same as that of ``add`` for one item after the other. So among equal items of a batch only the
        first can change the filter.

        :returns: for each item, whether it changed the filter; shape (n,). If none did, there is nothing to store.
        :raises InputError: if an item is no str, int or bytes, or has no UTF-8. The message shows the item. Nothing is
            added then.
        """
        hashes = hash_items(items)
        parts = [self.add_hashes(hashes[start : start + _CHUNK]) for start in range(0, len(hashes), _CHUNK)]
        return np.concatenate([np.zeros(0, dtype=np.bool_), *parts])

    def add_hashes(self, hashes: Hashes) -> Mask:
        """Do and return what :meth:`update` does for the items with these hashes."""
        new = np.zeros(len(hashes), dtype=np.bool_)
        rest = np.arange(len(hashes))
        for layer in self.layers[:-1]:
            rest = rest[~layer.has(hashes[rest])]
        while True:
            newest = self.layers[-1]
            changed = newest.add(hashes[rest])
            new[rest[: len(changed)]] = changed
            rest = rest[len(changed) :]
            if not len(rest):
                return new
            rest = rest[~newest.has(hashes[rest])]  # the layer is full, and does not find the first of them
            self._grow()

    # --- bytes -----------------------------------------------------------------------------------------------

    def to_bytes(self) -> bytes:
        """Return the whole filter as bytes."""
        capacity, error_rate = self.config.capacity, self.config.error_rate
        header = _HEADER.pack(MAGIC, VERSION, len(self.layers), capacity, error_rate, self.generation)
        table = [_LAYER.pack(each.size.k, each.size.m, each.size.capacity, each.count) for each in self.layers]
        body = b"".join([header, *table, *(each.bits.tobytes() for each in self.layers)])
        return body + _CHECKSUM.pack(zlib.crc32(body))

    @classmethod
    def from_bytes(cls, data: bytes | bytearray | memoryview) -> BloomFilter:
        """Return the filter that ``to_bytes`` wrote.

        :raises FilterFormatError: if the bytes are cut, damaged, of a later version, or not a Bloom filter. The message
            says what is wrong.
        :raises InputError: if ``data`` is not bytes.
        """
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise InputError(f"a Bloom filter is read from bytes, not from a {type(data).__name__}: decode it first")
        data = bytes(data)
        body, checksum = data[: -_CHECKSUM.size], data[-_CHECKSUM.size :]
        if data[: len(MAGIC)] != MAGIC:
            raise FilterFormatError(
                f"these bytes are not a Bloom filter: they begin with {data[:4]!r}, and not with {MAGIC!r}"
            )
        if len(data) > len(MAGIC) and data[len(MAGIC)] != VERSION:  # at this place in every version
            raise FilterFormatError(
                f"this Bloom filter has format version {data[len(MAGIC)]}, and this release reads version {VERSION}: "
                "upgrade es_simhash if a later release wrote it; otherwise it is damaged"
            )
        if len(body) < _HEADER.size or checksum != _CHECKSUM.pack(zlib.crc32(body)):
            raise FilterFormatError(
                f"this Bloom filter of {len(data):,} bytes is cut or damaged: its checksum is wrong"
            )
        _, _, number, capacity, error_rate, generation = _HEADER.unpack_from(body)
        start = _HEADER.size + number * _LAYER.size
        table = list(_LAYER.iter_unpack(body[_HEADER.size : start])) if len(body) >= start else []
        size = start + sum(-(-m // 8) for _, m, _, _ in table)
        if not 1 <= len(table) <= MAX_LAYERS or table[0][2] != capacity or generation < 0 or len(body) != size:
            raise FilterFormatError(
                f"this Bloom filter of {len(data):,} bytes does not fit its header: {number} layers, {MAX_LAYERS} at "
                f"most, generation {generation}"
            )
        new = cls.__new__(cls)
        try:
            new.config, new.generation, new.layers = _config_of(capacity, error_rate), generation, []
        except InputError as error:
            raise FilterFormatError(f"this Bloom filter has an impossible header: {error}") from error
        for k, m, capacity, count in table:
            # No error rate allows a capacity of more than two items a bit. The size of the next layer follows from the
            # capacity, so it stays in proportion to the bytes that were read.
            if not (1 <= k <= MAX_HASHES and m % 8 == 0 and 1 <= capacity <= 2 * m and count <= m):
                found = f"k={k}, m={m}, capacity={capacity}, count={count}"
                raise FilterFormatError(f"this Bloom filter has an impossible layer: {found}")
            bits = np.frombuffer(body, dtype=np.uint8, count=m // 8, offset=start).copy()
            new.layers.append(Layer(Size(capacity, m, k), count, bits))
            start += m // 8
        return new
