"""How large a filter is: capacity and error rate give the bits and hashes of each layer.

One layer. For n items at error rate p the fewest bits are m = -n · ln p / (ln 2)², with k = m/n · ln 2 = -log2 p
hashes (Bloom 1970; Broder and Mitzenmacher 2004, "Network applications of Bloom filters: a survey"). But k is whole,
and with a rounded k those bits miss p by some per cent: so m is solved from p = (1 - e^(-k·n/m))^k for the k that is
taken. That m hardly depends on k near the best one, while each hash costs time: so k is the least that costs
SPARE more bits at most. And m² is n/p at least: items have some m² different sequences of positions, and one that has
the sequence of another is taken for it, whatever k is; that matters for small capacities at small rates only (at 10
items and a rate of 1e-6 it would be three times the rate). m is rounded up to whole bytes, and to an odd number of them (layer.py says why).

More layers. A filter that outgrows its capacity gets a further layer, GROWTH times as large, whose error rate is
TIGHTENING times that of the one before (Almeida, Baquero, Preguiça and Hutchison 2007, "Scalable Bloom filters").
Layer i has error_rate · (1 - TIGHTENING) · TIGHTENING^i, and the sum over all layers, which bounds the compound
rate, is error_rate however many there are.
"""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from typing import SupportsIndex

from es_simhash.errors import InputError

# Chosen by bytes and speed from capacity to 1,000 times the capacity: scripts/bench-bloom --growth shows both. A larger
# growth leaves the last layer emptier, a smaller one makes more layers to look into. A larger tightening ratio makes
# the first layer larger, which every filter pays; a smaller one the later layers, which only those pay that grow.
GROWTH = 2
TIGHTENING = 0.3
SPARE = 0.02

MAX_BITS = 1 << 32
"""The most bits that one layer may have: 512 MiB."""
MAX_HASHES = 64
"""The most hashes that one layer may have."""
MIN_ERROR_RATE = 1e-9
MAX_SEED = (1 << 32) - 1


@dataclass(frozen=True)
class Size:
    """The size of one layer: it takes ``capacity`` items, in ``m`` bits, with ``k`` hashes an item."""

    capacity: int
    m: int
    k: int

    @classmethod
    def of(cls, capacity: int, error_rate: float) -> Size:
        """Return the size of a layer of this capacity (items) and error rate (0 < p < 1)."""
        k = min(MAX_HASHES, max(1, round(-math.log2(error_rate))))
        most = _bits(capacity, error_rate, k) * (1 + SPARE)
        while k > 1 and _bits(capacity, error_rate, k - 1) <= most:
            k -= 1
        bits = max(_bits(capacity, error_rate, k), math.sqrt(capacity / error_rate))
        return cls(capacity, 8 * (math.ceil(bits / 8) | 1), k)


@dataclass(frozen=True)
class Config:
    """What two filters must have in common to be united: capacity, error rate and seed.

    Raises InputError, naming the allowed range, for a value that is out of it.
    """

    capacity: int
    error_rate: float
    seed: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "capacity", whole_number("capacity", self.capacity, 1, MAX_BITS))
        object.__setattr__(self, "error_rate", _rate(self.error_rate))
        object.__setattr__(self, "seed", whole_number("seed", self.seed, 0, MAX_SEED))
        if (m := self._size(self.capacity, 0).m) > MAX_BITS:
            most = self.capacity * MAX_BITS // m
            raise InputError(
                f"capacity {self.capacity} at error_rate {self.error_rate} needs {m} bits, and a layer has at most "
                f"{MAX_BITS}: a capacity from 1 to about {most} fits at this rate"
            )

    def __str__(self) -> str:
        return f"capacity {self.capacity}, error_rate {self.error_rate}, seed {self.seed}"

    def first(self) -> Size:
        """Return the size of the first layer."""
        return self._size(self.capacity, 0)

    def after(self, capacity: int, index: int) -> Size:
        """Return the size of layer ``index`` (from 1), where the layer before it has this capacity.

        A layer never exceeds MAX_BITS: a filter that is as large as that grows by equal layers.
        """
        size = self._size(capacity * GROWTH, index)
        while size.m > MAX_BITS:
            size = self._size(size.capacity * MAX_BITS // (size.m + 8), index)
        return size

    def _size(self, capacity: int, index: int) -> Size:
        return Size.of(capacity, self.error_rate * (1 - TIGHTENING) * TIGHTENING**index)


def whole_number(name: str, value: SupportsIndex, least: int, most: int) -> int:
    """Return a whole number as an int, or raise InputError with its name and the allowed range."""
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool) or not least <= number <= most:
        raise InputError(f"{name} must be a whole number from {least} to {most}, and is {value!r}")
    return number


def _bits(capacity: int, error_rate: float, k: int) -> float:
    """Return m for which p = (1 - e^(-k·n/m))^k."""
    bits: float = -k * capacity / math.log1p(-(error_rate ** (1 / k)))
    return bits


def _rate(value: float) -> float:
    """Return an error rate as a float, or raise InputError with the allowed range."""
    try:
        rate = math.nan if isinstance(value, (bool, str)) else float(value)
    except (TypeError, ValueError, OverflowError):
        rate = math.nan
    if not MIN_ERROR_RATE <= rate < 1:
        raise InputError(f"error_rate must be a number from {MIN_ERROR_RATE} to below 1, and is {value!r}")
    return rate
