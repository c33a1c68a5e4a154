"""A Bloom filter that grows.

The rules:

- An item that was added is always found.
- An item that was never added is found by mistake with a probability of at most ``error_rate``, at any size. A filter
  that is full gets another layer (sizing.py).
- An item that the filter finds already is not added again. Adding it changes nothing.
- No item can be removed.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from es_simhash.bloom import format as layout
from es_simhash.bloom.arguments import whole_number
from es_simhash.bloom.items import as_batch, hash_items
from es_simhash.bloom.layer import Layer
from es_simhash.bloom.sizing import MAX_LAYERS, Config
from es_simhash.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from es_simhash.bloom.items import Item, Words
    from es_simhash.bloom.layer import LayerInfo, Mask

_CHUNK = 5_000
"""Items of a batch that are added at once: their arrays stay in the processor's cache."""
_LAST_SECOND = (1 << 63) - 1


class BloomFilter:
    """A set of items that may find an item that was never added, and always finds an item that was.

    An item is a str, an int or bytes; 1 and "1" are the same item.

    :param capacity: the number of items that the filter is first made for. It grows beyond.
    :param error_rate: the share of items, among those that were never added, that the filter may find; above 0 and
        below 1. It holds before and after the filter has grown.
    :param generation: a number for the caller: when the filter was started, in whole seconds since 1970, or 0.
    :raises InputError: if a number is out of range. The message says the range.
    """

    def __init__(self, capacity: int, error_rate: float, *, generation: int = 0) -> None:
        """Make an empty filter."""
        config = Config(capacity, error_rate)
        self._fill(config, whole_number("generation", generation, 0, _LAST_SECOND), [Layer(config.first())])

    def _fill(self, config: Config, generation: int, layers: Sequence[Layer]) -> BloomFilter:
        self._config, self._generation, self._layers = config, generation, list(layers)
        return self

    # --- properties ------------------------------------------------------------------------------------------

    @property
    def capacity(self) -> int:
        """The number of items that the filter was first made for."""
        return self._config.capacity

    @property
    def error_rate(self) -> float:
        """The false-positive rate that the filter never exceeds; ``false_positive_rate`` is its current rate."""
        return self._config.error_rate

    @property
    def generation(self) -> int:
        """When the filter was started, as the caller set it: whole seconds since 1970, or 0."""
        return self._generation

    @property
    def layers(self) -> tuple[LayerInfo, ...]:
        """Figures of each layer, the oldest first."""
        return tuple(layer.info() for layer in self._layers)

    @property
    def count(self) -> int:
        """The number of items that changed the filter when they were added."""
        return sum(layer.count for layer in self._layers)

    @property
    def false_positive_rate(self) -> float:
        """The share of items, among those that were never added, that the filter finds now; from its set bits."""
        return 1 - math.prod(1 - layer.false_positive_rate for layer in self.layers)

    @property
    def size_in_bytes(self) -> int:
        """The length of ``to_bytes()``."""
        return layout.size_in_bytes(self._layers)

    def __repr__(self) -> str:
        return f"<BloomFilter of {self.count} items: {self._config}, {len(self._layers)} layers>"

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
        x, y = hash_items(as_batch(items))
        found = np.zeros(len(x), dtype=np.bool_)
        for layer in reversed(self._layers):  # the newest has the most items
            rest = np.flatnonzero(~found)
            found[rest] = layer.has(x[rest], y[rest])
        return found

    def update(self, items: Iterable[Item]) -> Mask:
        """Add the items of a batch, in order.

        The result is the same as that of ``add`` for one item after the other. So among equal items of a batch only the
        first can change the filter.

        :returns: for each item, whether it changed the filter; shape (n,). If none did, there is nothing to store.
        :raises InputError: if an item is no str, int or bytes, or has no UTF-8. The message shows the item. Nothing is
            added then.
        """
        x, y = hash_items(as_batch(items))
        starts = range(0, len(x), _CHUNK)
        parts = [self._add(x[start : start + _CHUNK], y[start : start + _CHUNK]) for start in starts]
        return np.concatenate([np.zeros(0, dtype=np.bool_), *parts])

    def _add(self, x: Words, y: Words) -> Mask:
        """Add items by their hashes."""
        new = np.zeros(len(x), dtype=np.bool_)
        rest = np.arange(len(x))
        for layer in self._layers[:-1]:
            rest = rest[~layer.has(x[rest], y[rest])]
        while len(rest):
            newest = self._layers[-1]
            changed = newest.add(x[rest], y[rest])
            new[rest[: len(changed)]] = changed
            rest = rest[len(changed) :]  # the layer was full before these items
            rest = rest[~newest.has(x[rest], y[rest])]
            if len(rest):
                self._grow()
        return new

    def _grow(self) -> None:
        if len(self._layers) >= MAX_LAYERS:
            raise InputError(f"this Bloom filter is full: it has {MAX_LAYERS} layers; start a new one")
        self._layers.append(Layer(self._config.after(self._layers[-1].size.capacity, len(self._layers))))

    def __eq__(self, other: object) -> bool:
        """Return whether two filters are equal in every bit: configuration, generation and layers."""
        if not isinstance(other, BloomFilter):
            return NotImplemented
        return (self._config, self._generation, self._layers) == (other._config, other._generation, other._layers)

    __hash__ = None  # type: ignore[assignment]  # it is mutable

    # --- bytes -----------------------------------------------------------------------------------------------

    def to_bytes(self) -> bytes:
        """Return the whole filter as bytes: header, bits of all layers, checksum. format.py has the layout."""
        return layout.dump(self._config, self._generation, self._layers)

    @classmethod
    def from_bytes(cls, data: bytes | bytearray | memoryview) -> BloomFilter:
        """Return the filter that ``to_bytes`` wrote.

        :raises FilterFormatError: if the bytes are cut, damaged, of a later version, or not a Bloom filter. The message
            says what is wrong.
        :raises InputError: if ``data`` is not bytes.
        """
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise InputError(f"a Bloom filter is read from bytes, not from a {type(data).__name__}: decode it first")
        return cls.__new__(cls)._fill(*layout.load(bytes(data)))
