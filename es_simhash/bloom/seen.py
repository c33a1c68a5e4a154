"""The items that one user has seen: Bloom filters by generation, and a list of forgotten items.

An item can't be removed from a Bloom filter, because it shares its bits with other items. There are three ways to
forget items, each with its price:

**Generations.** There is one filter for each period. Items are added to the newest filter, and the oldest filter is
dropped: also if nothing is added, when it is n periods old. With n generations, an item is remembered for at least n-1
periods after it was last added, and for at most n. The price is n filters, each with an n-th of the error rate, so that
all together keep to it.

**Forgotten items.** An exact list beside the filters. Every read treats an item on the list as not seen. Adding the
item again removes it from the list. It also leaves the list when the last generation that may hold it is dropped. The
price is 16 bytes of hash an item, some 45 bytes as stored, so the list has a maximum length.

**Rebuild** from a log of (user, item): new filters. The price is the log.

Counting filters and cuckoo filters can delete items, but they are not used. With a counter for each slot, the size is
four times as large. An add that is repeated after a lost answer counts twice. A delete that is repeated may delete
another item. If an item is deleted that was never added, another item that was added may no longer be found.
"""

from __future__ import annotations

import math
from base64 import b64decode, b64encode
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from es_simhash.bloom import BloomFilter
from es_simhash.bloom.layer import hash_items
from es_simhash.bloom.sizing import Config
from es_simhash.errors import FilterFormatError, InputError, shown, whole_number
from es_simhash.text.ids import checked_id

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_simhash.bloom import Item
    from es_simhash.bloom.layer import Hashes, Mask

MAX_FORGOTTEN = 1_000
"""The largest number of forgotten items of a user."""


def user_id(user: object) -> str:
    """Return the id of a user's document.

    :raises InputError: if the value can't be an id.
    """
    return checked_id(user, f"the user {shown(user)}")


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
        generations = whole_number("generations", self.generations, 1, 100)
        period = whole_number("period", self.period, 0, 1 << 40)
        whole = Config(self.capacity, self.error_rate)
        # In the place of numpy's numbers.
        self.__dict__.update(vars(whole), generations=generations, period=period)
        if period and generations == 1:
            raise InputError(
                "with a period, one generation would forget everything at its end: use 2 generations or more"
            )
        Config(self.capacity, self.error_rate / generations)  # a filter has an equal share of the error rate

    def __str__(self) -> str:
        return ", ".join(f"{name} {value}" for name, value in vars(self).items())


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


@dataclass
class Seen:
    """The items that one user has seen. Its methods change it in place.

    :param filters: from the oldest generation to the newest; none for a user who has seen nothing.
    :param forgotten: for the hash of each forgotten item, the start of the newest generation when it was forgotten.
    :param added: when an item that was not seen before was last added, in seconds since 1970; 0 for never.
    :param changed: there is something to store.
    """

    config: SeenConfig
    filters: Sequence[BloomFilter] = ()
    forgotten: dict[str, int] = field(default_factory=dict)
    added: int = 0
    changed: bool = False

    @classmethod
    def from_json(cls, config: SeenConfig, values: Any, user: str, now: int) -> Seen:
        """Return the items that :meth:`to_json` wrote, without the filters whose time is over.

        :param values: None for a user who has seen nothing.
        :param user: for messages.
        :param now: seconds since 1970.
        :raises FilterFormatError: naming the user, if ``to_json`` did not write the values.
        """
        if not values:
            return cls(config)
        try:
            filters = [BloomFilter.from_bytes(b64decode(value, validate=True)) for value in values["filters"]]
            forgotten = {item["item"]: int(item["generation"]) for item in values["forgotten"]}
            added = int(values["added"])
        except (TypeError, ValueError, KeyError, OverflowError) as error:
            its_form = "a part is missing, or is not as es_simhash writes it"
            what = error if isinstance(error, FilterFormatError) else its_form
            raise FilterFormatError(
                f"the seen items of user {user!r} are damaged ({what}): remove them (`es-simhash seen remove`), and "
                "add the items again from a log"
            ) from error
        seen = cls(config, filters, forgotten, added)
        if config.period:
            seen._keep([each for each in filters if now - each.generation < config.generations * config.period])
        return seen

    def to_json(self) -> dict[str, Any] | None:
        """Return the items as a JSON object, as a store keeps it; None if there are none."""
        if not self.filters:
            return None
        return {
            "filters": [b64encode(each.to_bytes()).decode() for each in self.filters],
            "newest": self.newest,
            "added": self.added,
            # A partial update replaces an array. It would merge an object, and keep the items that are no longer in it.
            "forgotten": [{"item": item, "generation": generation} for item, generation in self.forgotten.items()],
        }

    @property
    def newest(self) -> int:
        """When the newest generation was started, in seconds since 1970; 0 if there is none."""
        return self.filters[-1].generation if self.filters else 0

    def might_contain(self, items: Sequence[Item]) -> Mask:
        """Return for each item whether it might have been seen; False is certain. Shape (n,).

        :raises InputError: if an item is no str, int or bytes, or has no UTF-8.
        """
        hashes = hash_items(items)
        found = np.zeros(len(hashes), dtype=np.bool_)
        for each in self.filters:
            found |= each.has_hashes(hashes)
        if self.forgotten and found.any():
            found &= [key not in self.forgotten for key in _keys(hashes)]
        return found

    def add(self, items: Sequence[Item], now: int) -> int:
        """Add items to the newest generation. Start a generation first if there is none or its period is over.

        A filter that was made with another configuration keeps that one until the next rotation.

        :param now: seconds since 1970.
        :returns: how many of the items were not seen before.
        """
        if not items:
            return 0
        if not self.filters or (self.config.period and now - self.newest >= self.config.period):
            self.rotate(now)
        *older, newest = self.filters
        hashes = hash_items(items)
        new = newest.add_hashes(hashes)
        unseen = new.copy()
        for each in older:
            unseen &= ~each.has_hashes(hashes)
        if self.forgotten:
            unseen |= [self.forgotten.pop(key, None) is not None for key in _keys(hashes)]
            new |= unseen
        if new.any():
            self.added, self.changed = now, True
        return int(unseen.sum())

    def forget(self, items: Sequence[Item]) -> int:
        """Treat items as not seen, until they are added again.

        :returns: how many of the items might have been seen.
        :raises InputError: if the list of forgotten items would become too long. Nothing is changed then.
        """
        keys = set(_keys(hash_items(items)[self.might_contain(items)]))
        if len(self.forgotten) + len(keys) > MAX_FORGOTTEN:
            raise InputError(
                f"{len(self.forgotten) + len(keys):,} forgotten items are too many for a user, {MAX_FORGOTTEN:,} are "
                "allowed: rebuild the user's filters from a log, or rotate"
            )
        self.forgotten |= dict.fromkeys(keys, self.newest)
        self.changed |= bool(keys)
        return len(keys)

    def clear(self) -> None:
        """Forget everything."""
        self.filters, self.forgotten, self.changed = (), {}, True

    def rotate(self, now: int) -> None:
        """Start a generation, and drop the oldest ones that are too many.

        :param now: seconds since 1970. If the newest generation started then or later, the new one starts 1 s after it.
        """
        started = max(now, self.newest + 1)
        config = self.config
        empty = BloomFilter(config.capacity, config.error_rate / config.generations, generation=started)
        self._keep([*self.filters, empty][-config.generations :])
        self.changed = True

    def _keep(self, filters: Sequence[BloomFilter]) -> None:
        """Drop other filters, and the forgotten items that only they may hold."""
        self.filters = filters
        oldest = min((each.generation for each in filters), default=math.inf)
        self.forgotten = {key: generation for key, generation in self.forgotten.items() if generation >= oldest}

    def generations(self) -> tuple[Generation, ...]:
        """Return figures of each filter, the oldest generation first."""
        return tuple(
            Generation(each.generation, each.count, len(each.layers), len(each.to_bytes()), each.false_positive_rate)
            for each in self.filters
        )


def _keys(hashes: Hashes) -> list[str]:
    """Return the hashes of items as the list of forgotten items has them."""
    return [f"{y:016x}{x:016x}" for x, y in hashes.tolist()]
