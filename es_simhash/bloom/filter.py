"""A Bloom filter: what might have been seen, and what certainly has not.

The rules. An added item is always found. An item that was never added is found, wrongly, at error_rate at most, at
any size: a filter that is full gets a further layer (sizing.py). An item that some layer already answers yes to is not
added again, and changes nothing. Nothing can be taken out.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from es_simhash.bloom import format as layout
from es_simhash.bloom.arguments import whole_number
from es_simhash.bloom.items import WORD, as_batch, hash_item, hash_items
from es_simhash.bloom.layer import Layer
from es_simhash.bloom.sizing import Config
from es_simhash.errors import FilterMismatch, InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from es_simhash.bloom.items import Item, Words
    from es_simhash.bloom.layer import LayerInfo, Mask

_SMALL = 24  # a batch of fewer items costs less one by one than in numpy
_CHUNK = 5000  # items of a batch at a time: what is known of them stays in the cache
_LAST_SECOND = (1 << 63) - 1


class BloomFilter:
    """A set of items (str, int or bytes; 1 and "1" are the same item) that may err on the side of yes.

    ``capacity`` is the number of items that it is first made for, ``error_rate`` the share of items never added that
    it may take for added, before and after it has grown. ``seed`` chooses the hash: filters compare only under
    one. ``generation`` is the caller's: when the filter was begun, in whole seconds since 1970, or 0.

    Raises InputError, which says the allowed range, for a number out of it.
    """

    __slots__ = ("_config", "_generation", "_newest", "_older", "_seed")

    def __init__(self, capacity: int, error_rate: float, *, seed: int = 0, generation: int = 0) -> None:
        """Make an empty filter."""
        config = Config(capacity, error_rate, seed)
        self._fill(config, generation, [Layer(config.first())])

    @classmethod
    def _of(cls, config: Config, generation: int, layers: Iterable[Layer]) -> BloomFilter:
        made = cls.__new__(cls)
        made._fill(config, generation, layers)
        return made

    def _fill(self, config: Config, generation: int, layers: Iterable[Layer]) -> None:
        self._config = config
        self._seed = config.seed  # at hand: a single add is a few such look-ups long
        self.generation = generation
        *older, self._newest = layers
        self._older = tuple(older)

    # --- what it is ------------------------------------------------------------------------------------------

    @property
    def capacity(self) -> int:
        """The number of items that the filter was first made for."""
        return self._config.capacity

    @property
    def error_rate(self) -> float:
        """The false-positive rate that the filter keeps to; ``false_positive_rate`` is the one it has now."""
        return self._config.error_rate

    @property
    def seed(self) -> int:
        """The seed of the hash."""
        return self._seed

    @property
    def generation(self) -> int:
        """When the filter was begun, as the caller has it: whole seconds since 1970, or 0."""
        return self._generation

    @generation.setter
    def generation(self, seconds: int) -> None:
        self._generation = whole_number("generation", seconds, 0, _LAST_SECOND)

    @property
    def layers(self) -> tuple[LayerInfo, ...]:
        """What can be told of each layer, the oldest first: capacity, m, k, count, set_bits."""
        return tuple(layer.info() for layer in self._layers)

    @property
    def _layers(self) -> tuple[Layer, ...]:
        return (*self._older, self._newest)

    @property
    def count(self) -> int:
        """How many items changed the filter when they were added (of a union: an estimate)."""
        return sum(layer.count for layer in self._layers)

    @property
    def estimated_count(self) -> int:
        """How many distinct items the bits speak of, give or take a per cent or so: the sum over the layers."""
        return sum(layer.estimated_count for layer in self.layers)

    @property
    def false_positive_rate(self) -> float:
        """The share of items never added that the filter takes for added as it is now, from its set bits."""
        return 1 - math.prod(1 - layer.false_positive_rate for layer in self.layers)

    @property
    def size_in_bytes(self) -> int:
        """The length of ``to_bytes()``."""
        return layout.size_in_bytes(self._layers)

    def __repr__(self) -> str:
        return f"<BloomFilter of {self.count} items: {self._config}, {len(self._layers)} layers>"

    # --- one item --------------------------------------------------------------------------------------------

    def __contains__(self, item: Item) -> bool:
        """Return whether the filter might contain an item; False is certain. Raises InputError as ``add`` does."""
        hashed = hash_item(item, self._seed)
        x, y = hashed & WORD, hashed >> 64
        if self._newest.has(x, y):
            return True
        for layer in self._older:  # noqa: SIM110  # any() would make a generator, at a fifth of the time of a look-up
            if layer.has(x, y):
                return True
        return False

    def add(self, item: Item) -> bool:
        """Add an item; return True when that changed the filter, False when it might contain the item already.

        Raises InputError, naming the item, when it is no str, int or bytes, or has no UTF-8.
        """
        return self._add(hash_item(item, self._seed))

    def _add(self, hashed: int) -> bool:
        x, y = hashed & WORD, hashed >> 64
        for layer in self._older:
            if layer.has(x, y):
                return False
        newest = self._newest
        if newest.count < newest.size.capacity:
            return newest.add(x, y)
        if newest.has(x, y):
            return False
        self._grow()
        return self._newest.add(x, y)

    def _grow(self) -> None:
        self._older = self._layers
        self._newest = Layer(self._config.after(self._newest.size.capacity, len(self._older)))

    # --- a batch ---------------------------------------------------------------------------------------------

    def contains_many(self, items: Iterable[Item]) -> Mask:
        """Return for each item of a batch whether the filter might contain it; False is certain. Shape (n,).

        Raises InputError as ``update`` does.
        """
        batch = as_batch(items)
        if len(batch) < _SMALL:
            return np.fromiter((item in self for item in batch), dtype=np.bool_, count=len(batch))
        x, y = hash_items(batch, self._seed)
        chunks = range(0, len(batch), _CHUNK)
        return np.concatenate([self._has_chunk(x[at : at + _CHUNK], y[at : at + _CHUNK]) for at in chunks])

    def update(self, items: Iterable[Item]) -> Mask:
        """Add the items of a batch, in order; return for each whether it changed the filter, shape (n,).

        The filter, and the answers, are those of ``add`` of one item after the other: of equal items in a batch the
        first is the one that changes something. ``update(...).any()`` tells whether there is anything to store.

        Raises InputError, naming the item, when one is no str, int or bytes, or has no UTF-8; nothing is added then.
        """
        batch = as_batch(items)
        if len(batch) < _SMALL:
            hashes = [hash_item(item, self._seed) for item in batch]  # all of them first: one that is refused adds none
            return np.array([self._add(hashed) for hashed in hashes], dtype=np.bool_)
        x, y = hash_items(batch, self._seed)
        chunks = range(0, len(batch), _CHUNK)
        return np.concatenate([self._add_chunk(x[at : at + _CHUNK], y[at : at + _CHUNK]) for at in chunks])

    def _has_chunk(self, x: Words, y: Words) -> Mask:
        found = self._newest.has_many(x, y)
        for layer in self._older:
            (rest,) = np.nonzero(~found)
            found[rest] = layer.has_many(x[rest], y[rest])
        return found

    def _add_chunk(self, x: Words, y: Words) -> Mask:
        new = np.zeros(len(x), dtype=np.bool_)
        rest = np.arange(len(x))
        for layer in self._older:
            rest = rest[~layer.has_many(x[rest], y[rest])]
        while len(rest):
            changed = self._newest.add_many(x[rest], y[rest])
            new[rest[: len(changed)]] = changed
            rest = rest[len(changed) :]  # the layer was full before these had their turn
            if len(rest):
                rest = rest[~self._newest.has_many(x[rest], y[rest])]
            if len(rest):
                self._grow()
        return new

    # --- two filters -----------------------------------------------------------------------------------------

    def union(self, other: BloomFilter) -> BloomFilter:
        """Return a new filter that finds what either of the two finds, of the later of their generations.

        Layer is laid upon layer, so the union of two filters that share most of their items keeps the error rate;
        where two that share little have more items together than their layers are made for, ``false_positive_rate``
        tells how far it rises. The counts of a union are estimates.

        Raises FilterMismatch, naming both, when capacity, error rate, seed or the size of a layer differ.
        """
        if self._config != other._config:
            raise FilterMismatch(
                f"only filters of one configuration can be united: one has {self._config}, the other {other._config}"
            )
        mine, theirs = self._layers, other._layers
        shared = min(len(mine), len(theirs))
        both = [one.union(another) for one, another in zip(mine, theirs, strict=False)]
        alone = [layer.copy() for layer in (*mine[shared:], *theirs[shared:])]
        return self._of(self._config, max(self.generation, other.generation), both + alone)

    def __or__(self, other: BloomFilter) -> BloomFilter:
        if not isinstance(other, BloomFilter):
            return NotImplemented
        return self.union(other)

    def copy(self) -> BloomFilter:
        """Return a filter of its own with the same items."""
        return self._of(self._config, self._generation, [layer.copy() for layer in self._layers])

    __copy__ = copy

    def __eq__(self, other: object) -> bool:
        """Return whether two filters are the same to the last bit: configuration, generation and layers."""
        if not isinstance(other, BloomFilter):
            return NotImplemented
        return (self._config, self._generation, self._layers) == (other._config, other._generation, other._layers)

    __hash__ = None  # type: ignore[assignment]  # it changes

    # --- bytes -----------------------------------------------------------------------------------------------

    def to_bytes(self) -> bytes:
        """Return the whole filter as one value: header, bits of all layers, checksum (the layout is in format.py)."""
        return layout.dump(self._config, self._generation, self._layers)

    @classmethod
    def from_bytes(cls, data: bytes | bytearray | memoryview) -> BloomFilter:
        """Return the filter that ``to_bytes`` wrote, in this version or an earlier one.

        Raises FilterFormatError, which says what is wrong, for bytes that are cut, damaged, foreign or of a later
        version; InputError for what isn't bytes at all.
        """
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise InputError(f"a Bloom filter is read from bytes, not from a {type(data).__name__}: decode it first")
        return cls._of(*layout.load(bytes(data)))
