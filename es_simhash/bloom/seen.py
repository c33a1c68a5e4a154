"""The items that one user has seen: Bloom filters by generation, and a list of forgotten items.

An item can't be removed from a Bloom filter, because it shares its bits with other items. There are three ways to
forget items, each with its price:

**Generations.** There is one filter for each period. Items are added to the newest filter, and the oldest filter is
dropped. With n generations, an item is remembered for at least n-1 periods after it was last added, and for at most n.
The price is n filters, each with an n-th of the error rate, so that all together keep to it.

**Forgotten items.** An exact list beside the filters. Every read treats an item on the list as not seen. Adding the
item again removes it from the list. It also leaves the list when the last generation that may hold it is dropped. The
price is 16 bytes of hash an item, some 45 bytes as stored, so the list has a maximum length.

**Rebuild** from a log of (user, item): new filters. The price is the log.

Counting filters and cuckoo filters can delete items, but they are not used. With a counter for each slot, the size is
four times as large. An add that is repeated after a lost answer counts twice. A delete that is repeated may delete
another item. If an item is deleted that was never added, another item that was added may no longer be found.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from es_simhash.bloom import BloomFilter
from es_simhash.bloom.items import hash_item, hash_items
from es_simhash.bloom.sizing import MIN_ERROR_RATE, Config
from es_simhash.errors import InputError, SchemeMismatch
from es_simhash.fingerprinting.normalisation import check_surrogates

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from es_simhash.bloom import Item

MAX_FORGOTTEN = 1_000
"""The largest number of forgotten items of a user."""
MAX_USER = 512
"""The largest number of bytes of a user's id; Elasticsearch allows no more for an id."""


def user_id(user: object) -> str:
    """Return the id of a user's document: a string, or the digits of an integer. So 1 and "1" are the same user.

    :raises InputError: if the value can't be an id.
    """
    if isinstance(user, bool) or not isinstance(user, str | int):
        raise InputError(f"the user {user!r} is a {type(user).__name__}: use a string or an integer")
    try:
        user = str(user)
    except ValueError as error:
        raise InputError(f"the user is an integer with too many digits ({error}): use a string") from error
    check_surrogates(user, "the user")
    size = len(user.encode())
    if not 1 <= size <= MAX_USER or "\0" in user:
        what = "a zero byte" if "\0" in user else f"{size} bytes"
        raise InputError(f"the user {user[:40]!r} has {what}: use from 1 to {MAX_USER} bytes, and no zero byte")
    return user


@dataclass(frozen=True)
class SeenConfig:
    """The configuration of the filters of all users of a store. The store keeps it.

    :param capacity: the number of items that a filter is first made for. It grows beyond.
    :param error_rate: the share of unseen items that may be reported as seen, by all generations together.
    :param generations: how many filters are kept for a user.
    :param period: seconds after which an add starts a new generation; 0 if only ``rotate`` starts one.
    :raises InputError: if a number is out of range.
    """

    capacity: int = 1_000
    error_rate: float = 0.01
    generations: int = 1
    period: int = 0

    def __post_init__(self) -> None:
        for name, least, most in (("generations", 1, 100), ("period", 0, 1 << 40)):
            value = getattr(self, name)
            if type(value) is not int or not least <= value <= most:
                raise InputError(f"{name} is {value!r}: use a whole number from {least} to {most}")
        if self.period and self.generations == 1:
            raise InputError(
                "with a period, one generation would forget everything at its end: use 2 generations or more"
            )
        whole = Config(self.capacity, self.error_rate)  # it checks both, and converts numpy's numbers to Python's
        object.__setattr__(self, "capacity", whole.capacity)
        object.__setattr__(self, "error_rate", whole.error_rate)
        if self.error_rate < MIN_ERROR_RATE * self.generations:
            raise InputError(
                f"error_rate is {self.error_rate:g}, and {self.generations} generations share it: "
                f"use {MIN_ERROR_RATE * self.generations:g} or more"
            )
        Config(self.capacity, self.error_rate / self.generations)

    def __str__(self) -> str:
        return ", ".join(f"{name} {value}" for name, value in self.to_dict().items())

    def to_dict(self) -> dict[str, Any]:
        """Return the configuration as plain values, for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> SeenConfig:
        """Return the configuration that :meth:`to_dict` wrote.

        :raises SchemeMismatch: if the values are no configuration, or have a field that this release doesn't know.
        """
        if not isinstance(values, Mapping):
            raise SchemeMismatch(f"{values!r} is not a configuration of seen items")
        if unknown := values.keys() - {field.name for field in fields(cls)}:
            raise SchemeMismatch(
                f"the configuration of seen items has unknown fields {sorted(unknown)}: upgrade es_simhash"
            )
        try:
            return cls(**values)
        except InputError as error:
            raise SchemeMismatch(f"the configuration of seen items is invalid: {error}") from error


@dataclass(frozen=True)
class Generation:
    """Figures of the filter of one generation.

    :param started: when it was started, in seconds since 1970.
    :param count: the number of items that changed it.
    :param layers: the number of its layers; it has grown once less.
    :param bytes: its size.
    :param false_positive_rate: its current rate, from its set bits.
    """

    started: int
    count: int
    layers: int
    bytes: int
    false_positive_rate: float


class Seen:
    """The items that one user has seen. Its methods change it in place; ``changed`` says whether one did.

    :param values: the filters as they are stored, from the oldest generation to the newest; none for a user who has
        seen nothing.
    :param forgotten: for the hash of each forgotten item, the start of the newest generation when it was forgotten.
    :raises FilterFormatError: if a value is not a whole filter.
    """

    def __init__(
        self, config: SeenConfig, values: Sequence[bytes] = (), forgotten: Mapping[str, int] | None = None
    ) -> None:
        self._config = config
        self._filters = [BloomFilter.from_bytes(value) for value in values]
        self.forgotten = dict(forgotten or {})
        self.changed = False

    @property
    def newest(self) -> int:
        """When the newest generation was started, in seconds since 1970; 0 if there is none."""
        return self._filters[-1].generation if self._filters else 0

    def values(self) -> tuple[bytes, ...]:
        """Return the filters as bytes, as they are stored; the oldest generation first."""
        return tuple(each.to_bytes() for each in self._filters)

    def might_contain(self, items: Sequence[Item]) -> NDArray[np.bool_]:
        """Return for each item whether it might have been seen; False is certain. Shape (n,).

        :raises InputError: if an item is no str, int or bytes, or has no UTF-8.
        """
        if not self._filters:
            hash_items(items)  # a bad item raises also if there is no filter
        found = _found(self._filters, items)
        if self.forgotten and found.any():
            found &= [_key(item) not in self.forgotten for item in items]
        return found

    def add(self, items: Sequence[Item], now: int) -> int:
        """Add items to the newest generation. Start a generation first if there is none or its period is over.

        :param now: seconds since 1970.
        :returns: how many of the items were not seen before.
        :raises SchemeMismatch: if the newest filter was made with another configuration.
        """
        if not items:
            return 0
        if not self._filters or (self._config.period and now - self.newest >= self._config.period):
            self.rotate(now)
        newest, ours = self._filters[-1], self._config
        error_rate = ours.error_rate / ours.generations
        if (newest.capacity, newest.error_rate) != (ours.capacity, error_rate):
            raise SchemeMismatch(
                f"the stored filter was made for {newest.capacity:,} items at error rate {newest.error_rate:g} and the "
                f"store is set up for {ours.capacity:,} at {error_rate:g}: rotate or rebuild this user"
            )
        new = newest.update(items)
        unseen = new & ~_found(self._filters[:-1], items)
        if self.forgotten:
            unseen |= [self.forgotten.pop(_key(item), None) is not None for item in items]
            new |= unseen
        self.changed |= bool(new.any())
        return int(unseen.sum())

    def forget(self, items: Sequence[Item]) -> int:
        """Treat items as not seen, until they are added again.

        :returns: how many of the items might have been seen.
        :raises InputError: if the list of forgotten items would become too long. Nothing is changed then.
        """
        keys = {_key(item) for item, found in zip(items, self.might_contain(items), strict=True) if found}
        if len(self.forgotten) + len(keys) > MAX_FORGOTTEN:
            raise InputError(
                f"{len(self.forgotten) + len(keys):,} forgotten items are too many for a user, {MAX_FORGOTTEN:,} are "
                "allowed: rebuild the user's filters from a log, or rotate"
            )
        self.forgotten |= dict.fromkeys(keys, self.newest)
        self.changed |= bool(keys)
        return len(keys)

    def rotate(self, now: int) -> None:
        """Start a generation, and drop the oldest ones that are too many.

        :param now: seconds since 1970. If the newest generation started then or later, the new one starts 1 s after it.
        """
        started = max(now, self.newest + 1)
        config = self._config
        empty = BloomFilter(config.capacity, config.error_rate / config.generations, generation=started)
        self._filters = [*self._filters, empty][-config.generations :]
        oldest = self._filters[0].generation
        self.forgotten = {key: generation for key, generation in self.forgotten.items() if generation >= oldest}
        self.changed = True

    def clear(self) -> None:
        """Forget everything."""
        self.changed |= bool(self._filters or self.forgotten)
        self._filters, self.forgotten = [], {}

    def generations(self) -> tuple[Generation, ...]:
        """Return figures of each filter, the oldest generation first."""
        return tuple(
            Generation(each.generation, each.count, len(each.layers), each.size_in_bytes, each.false_positive_rate)
            for each in self._filters
        )


def _found(filters: Sequence[BloomFilter], items: Sequence[Item]) -> NDArray[np.bool_]:
    """Return for each item whether one of the filters might contain it; shape (n,)."""
    found = np.zeros(len(items), dtype=np.bool_)
    for each in filters:
        found |= each.contains_many(items)
    return found


def _key(item: Item) -> str:
    """Return the hash of an item, as the list of forgotten items has it."""
    return f"{hash_item(item):032x}"
