"""What one user has seen: Bloom filters by generation, and the items that were forgotten.

How an item leaves a Bloom filter: bits are shared, so none can be cleared for one item. Three answers, each with its
price:

**Generations.** A filter for each period, the newest added to, the oldest dropped: with n of them an item is remembered
for at least n-1 periods after it was last added, and for at most n. Price: n filters, each with an n-th of the error
rate, so that all together keep to it.

**Forgotten items**, an exact list beside the filters: every read takes an item on it for not seen, adding the item
again takes it off, and it goes when the last generation that may hold the item goes. Price: 16 bytes of hash (some 45
as it is stored) an item, so the list is bounded.

**Rebuild** from a log of (user, item): fresh filters. Price: the log.

Counting and cuckoo filters can delete, and are not used: a counter a slot is four times the size; an add that is
repeated after a lost answer counts twice, and a delete that is repeated deletes somebody else's; a delete of an item
that was never added breaks the promise that what was added is found.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from es_simhash.bloom import BloomFilter
from es_simhash.bloom.items import hash_item
from es_simhash.bloom.sizing import MIN_ERROR_RATE, Config
from es_simhash.errors import FilterMismatch, InputError
from es_simhash.fingerprinting.normalisation import check_surrogates

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from es_simhash.bloom import Item

MAX_FORGOTTEN = 1_000
"""Forgotten items of one user."""
MAX_USER = 512
"""Bytes of a user's id, as Elasticsearch has it."""


def user_id(user: object) -> str:
    """The id of a user's document: a string, or the digits of an integer, so that 1 and "1" are the same user.

    :raises InputError: for what can't be one.
    """
    if isinstance(user, bool) or not isinstance(user, str | int):
        raise InputError(f"the user {user!r} is a {type(user).__name__}: use a string or an integer")
    user = str(user)
    check_surrogates(user, "the user")
    size = len(user.encode())
    if not 1 <= size <= MAX_USER or "\0" in user:
        what = "a zero byte" if "\0" in user else f"{size} bytes"
        raise InputError(f"the user {user[:40]!r} has {what}: use from 1 to {MAX_USER} bytes, none of them zero")
    return user


@dataclass(frozen=True)
class SeenConfig:
    """How the filters of a store's users are made; kept in the store.

    :param capacity: items that a filter is first made for; it grows beyond.
    :param error_rate: the share of unseen items that may be taken for seen, over all generations together.
    :param generations: how many filters are kept for a user.
    :param period: seconds after which an add begins a new generation by itself; 0 for only when ``rotate`` is called.
    :raises InputError: for a number out of range.
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
            raise InputError("with a period, one generation would forget everything at each turn: keep 2 or more")
        whole = Config(self.capacity, self.error_rate)  # checks both; numpy's numbers become Python's
        object.__setattr__(self, "capacity", whole.capacity)
        object.__setattr__(self, "error_rate", whole.error_rate)
        if self.error_rate < MIN_ERROR_RATE * self.generations:
            raise InputError(
                f"error_rate is {self.error_rate:g}, of which each of {self.generations} generations has its share: "
                f"use {MIN_ERROR_RATE * self.generations:g} or more"
            )
        Config(self.capacity, self.error_rate / self.generations)

    def filter(self, generation: int) -> BloomFilter:
        """An empty filter of this configuration."""
        return BloomFilter(self.capacity, self.error_rate / self.generations, generation=generation)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> SeenConfig:
        """The configuration that :meth:`to_dict` wrote.

        :raises FilterMismatch: if it was written by a release that knows more, or isn't one.
        """
        if not isinstance(values, Mapping):
            raise FilterMismatch(f"{values!r} is no configuration of seen items")
        if unknown := values.keys() - {field.name for field in fields(cls)}:
            raise FilterMismatch(f"a configuration of seen items with unknown {sorted(unknown)}: upgrade es_simhash")
        try:
            return cls(**values)
        except InputError as error:
            raise FilterMismatch(f"a configuration of seen items that can't be used: {error}") from error


@dataclass(frozen=True)
class Generation:
    """One filter, for statistics.

    :param started: when it was begun, in seconds since 1970.
    :param count: items that changed it.
    :param layers: how often it has grown, plus one.
    :param bytes: its size.
    :param false_positive_rate: as it is now, from its bits.
    """

    started: int
    count: int
    layers: int
    bytes: int
    false_positive_rate: float


class Seen:
    """What one user has seen. It is changed in place, and ``changed`` says whether it was.

    :param filters: from the oldest to the newest; none for a user who has seen nothing.
    :param forgotten: hash of each forgotten item, and the newest generation when it was forgotten.
    """

    def __init__(
        self, config: SeenConfig, filters: Sequence[BloomFilter] = (), forgotten: Mapping[str, int] | None = None
    ):
        self._config = config
        self._filters = list(filters)
        self._forgotten = dict(forgotten or {})
        self.changed = False

    @classmethod
    def read(cls, config: SeenConfig, values: Sequence[bytes], forgotten: Mapping[str, int]) -> Seen:
        """What :meth:`values` and ``forgotten`` hold.

        :raises FilterFormatError: if a value is no whole filter.
        """
        return cls(config, [BloomFilter.from_bytes(value) for value in values], forgotten)

    @property
    def forgotten(self) -> Mapping[str, int]:
        """The forgotten items, as they are stored."""
        return self._forgotten

    @property
    def newest(self) -> int:
        """When the newest generation was begun; 0 if there is none."""
        return self._filters[-1].generation if self._filters else 0

    def values(self) -> tuple[bytes, ...]:
        """The filters, as they are stored."""
        return tuple(each.to_bytes() for each in self._filters)

    def might_contain(self, items: Sequence[Item]) -> NDArray[np.bool_]:
        """Whether each item might have been seen, shape (n,); False is certain.

        :raises InputError: for what is no item, whether or not there is a filter to look into.
        """
        if not self._filters:
            for item in items:
                hash_item(item, 0)
        found = _found(self._filters, items)
        if self._forgotten and found.any():
            found &= [_key(item) not in self._forgotten for item in items]
        return found

    def add(self, items: Sequence[Item], now: int) -> int:
        """Add items to the newest generation, beginning one if it is time.

        :param now: seconds since 1970.
        :returns: how many of them were not seen before.
        :raises FilterMismatch: if the user's filter was made with another configuration.
        """
        if not items:
            return 0
        if not self._filters or (self._config.period and now - self.newest >= self._config.period):
            self.rotate(now)
        newest = self._same_configuration(self._filters[-1])
        new = newest.update(items)
        unseen = new & ~_found(self._filters[:-1], items)
        if self._forgotten:
            unseen |= [self._forgotten.pop(_key(item), None) is not None for item in items]
            new |= unseen
        self.changed |= bool(new.any())
        return int(unseen.sum())

    def forget(self, items: Sequence[Item]) -> int:
        """Take items for not seen, until they are added again.

        :returns: how many of them might have been seen.
        :raises InputError: if the list of forgotten items would grow too long; nothing is changed then.
        """
        keys = {_key(item) for item, found in zip(items, self.might_contain(items), strict=True) if found}
        if len(self._forgotten) + len(keys) > MAX_FORGOTTEN:
            raise InputError(
                f"{len(self._forgotten) + len(keys):,} forgotten items would be too many, {MAX_FORGOTTEN:,} are kept "
                "for a user: rebuild the user's filter from a log, or rotate"
            )
        self._forgotten |= dict.fromkeys(keys, self.newest)
        self.changed |= bool(keys)
        return len(keys)

    def rotate(self, now: int) -> None:
        """Begin a generation, and drop those that are too old."""
        begun = max(now, self.newest + 1)
        self._filters = [*self._filters, self._config.filter(begun)][-self._config.generations :]
        oldest = self._filters[0].generation
        self._forgotten = {key: generation for key, generation in self._forgotten.items() if generation >= oldest}
        self.changed = True

    def clear(self) -> None:
        """Forget everything."""
        self.changed |= bool(self._filters or self._forgotten)
        self._filters, self._forgotten = [], {}

    def generations(self) -> tuple[Generation, ...]:
        """Figures of each filter, from the oldest to the newest."""
        return tuple(
            Generation(each.generation, each.count, len(each.layers), each.size_in_bytes, each.false_positive_rate)
            for each in self._filters
        )

    def _same_configuration(self, theirs: BloomFilter) -> BloomFilter:
        ours = self._config.filter(0)
        if (theirs.capacity, theirs.error_rate, theirs.seed) != (ours.capacity, ours.error_rate, ours.seed):
            raise FilterMismatch(
                f"the stored filter was made for {theirs.capacity:,} items at {theirs.error_rate:g}, this store's are "
                f"for {ours.capacity:,} at {ours.error_rate:g}: rotate to begin one of this kind, or rebuild"
            )
        return theirs


def _found(filters: Sequence[BloomFilter], items: Sequence[Item]) -> NDArray[np.bool_]:
    found = np.zeros(len(items), dtype=np.bool_)
    for each in filters:
        found |= each.contains_many(items)
    return found


def _key(item: Item) -> str:
    return f"{hash_item(item, 0):032x}"
