"""The size of a Bloom filter: from capacity and error rate to the bits and hashes of each layer.

**One layer.** For n items at error rate p, the smallest number of bits is m = -n · ln p / (ln 2)², with
k = m/n · ln 2 = -log2 p hashes (Bloom 1970; Broder and Mitzenmacher 2004, "Network applications of Bloom filters: a
survey"). But k must be a whole number, and with a rounded k these bits miss p by some per cent. So m is computed from
p = (1 - e^(-k·n/m))^k for the chosen k. Near the best k, this m hardly depends on k, while each hash costs time. So k
is the smallest that costs at most SPARE more bits. m is rounded up to an odd number of bytes; layer.py says why.

**More layers.** A filter that outgrows its capacity gets another layer. It is GROWTH times as large and has a smaller
error rate (Almeida, Baquero, Preguiça and Hutchison 2007, "Scalable Bloom filters"). All layers together may have the
rate E. The first layer has E · FIRST. Layer i = 1, 2, … has E · (1 - FIRST) · (1 - TIGHTENING) · TIGHTENING^(i-1). The
sum of these rates is at most E for any number of layers, and it bounds the rate of the filter. Every filter has a first
layer, and many have no other. So the first layer gets most of the rate, and costs little more than a filter that can't
grow.

**Chance.** Filters with equally many items have different numbers of set bits, so their actual rates differ. The
standard deviation of the rate was measured, up to 1,000 times the capacity. Relative to the rate, it is a third of
sqrt(log2(1/error_rate) / capacity). So E is error_rate / (1 + c), where c is three standard deviations, and at least
KEPT_BACK.

**Small filters.** An item is also found if another item has the same sequence of positions. There are only about m²
sequences. This error was measured: a rate of n/(57·m²), which is 2e-6 for 10 items in the 296 bits that would be enough
for 1e-6. So m² is at least n/error_rate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real

from es_simhash.errors import InputError, shown, whole_number

# These were chosen by size and speed, from the capacity to 1,000 times as many items. A larger GROWTH leaves the last
# layer emptier; a smaller one makes more layers to look into. A smaller TIGHTENING makes large filters larger; a larger
# one makes the second layer larger, and so filters just above capacity.
GROWTH = 2
FIRST = 0.75
TIGHTENING = 0.7
KEPT_BACK = 0.1
SPARE = 0.05

MAX_BITS = 1 << 32
"""The largest number of bits of a layer: 512 MiB."""
MAX_HASHES = 64
"""The largest number of hashes of a layer."""
MIN_ERROR_RATE = 1e-9
MAX_LAYERS = 100
"""The largest number of layers. A filter that grew this far would take more than 32 GB; only a forged one has more."""


@dataclass(frozen=True)
class Size:
    """The size of a layer: it is made for ``capacity`` items, with ``m`` bits and ``k`` hashes an item."""

    capacity: int
    m: int
    k: int


@dataclass(frozen=True)
class Config:
    """The configuration of a filter.

    :param capacity: in items.
    :param error_rate: above 0 and below 1.
    :raises InputError: if a value is out of range. The message says the range.
    """

    capacity: int
    error_rate: float

    def __post_init__(self) -> None:
        if not (isinstance(self.error_rate, Real) and MIN_ERROR_RATE <= self.error_rate < 1):
            raise InputError(
                f"error_rate must be a number from {MIN_ERROR_RATE} to below 1, and is {shown(self.error_rate)}"
            )
        object.__setattr__(self, "error_rate", float(self.error_rate))
        most = _most_items(self.error_rate / (1 + KEPT_BACK) * FIRST)
        name = f"capacity, at error_rate {self.error_rate},"
        object.__setattr__(self, "capacity", whole_number(name, self.capacity, 1, most))

    def size(self, index: int, before: int = 0) -> Size:
        """Return the size of a layer.

        A layer never exceeds MAX_BITS. A filter that has reached this size grows by layers of this size.

        :param index: of the layer; 0 is the first one.
        :param before: capacity of the layer before it, in items.
        """
        chance = max(KEPT_BACK, math.sqrt(-math.log2(self.error_rate) / self.capacity))
        share = FIRST if index == 0 else (1 - FIRST) * (1 - TIGHTENING) * TIGHTENING ** (index - 1)
        error_rate = self.error_rate / (1 + chance) * share
        capacity = self.capacity if index == 0 else min(before * GROWTH, _most_items(error_rate))
        k = _hashes(error_rate)
        bits = max(capacity * _bits_an_item(error_rate, k), math.sqrt(capacity / self.error_rate))
        return Size(capacity, 8 * (math.ceil(bits / 8) | 1), k)


def _hashes(error_rate: float) -> int:
    """Return k: the smallest that costs at most SPARE more bits than the best k."""
    k = min(MAX_HASHES, max(1, math.ceil(-math.log2(error_rate))))
    best = min(_bits_an_item(error_rate, k), _bits_an_item(error_rate, max(1, k - 1)))
    while k > 1 and _bits_an_item(error_rate, k - 1) <= best * (1 + SPARE):
        k -= 1
    return k


def _bits_an_item(error_rate: float, k: int) -> float:
    """Return the bits an item, m/n, that solve p = (1 - e^(-k·n/m))^k."""
    bits: float = -k / math.log1p(-(error_rate ** (1 / k)))
    return bits


def _most_items(error_rate: float) -> int:
    """Return how many items fit into a layer of MAX_BITS."""
    return int((MAX_BITS - 16) / _bits_an_item(error_rate, _hashes(error_rate)))  # rounding m up adds less than 16 bits
