"""How large a filter is: capacity and error rate give the bits and hashes of each layer.

One layer. For n items at error rate p the fewest bits are m = -n · ln p / (ln 2)², with k = m/n · ln 2 = -log2 p
hashes (Bloom 1970; Broder and Mitzenmacher 2004, "Network applications of Bloom filters: a survey"). But k is whole,
and with a rounded k those bits miss p by some per cent: so m is solved from p = (1 - e^(-k·n/m))^k for the k that is
taken. That m hardly depends on k near the best one, while each hash costs time: so k is the least that costs
SPARE more bits at most. m is rounded up to whole bytes, and to an odd number of them (layer.py says why).

More layers. A filter that outgrows its capacity gets a further layer, GROWTH times as large and with a tightened error
rate (Almeida, Baquero, Preguiça and Hutchison 2007, "Scalable Bloom filters"). Of the rate E that all of them may have
together, the first has E · FIRST, and layer i = 1, 2, … has E · (1 - FIRST) · (1 - TIGHTENING) · TIGHTENING^(i-1). The
sum, which bounds the compound rate, is E however many there are. Every filter pays for its first layer and many have
no other, so that one gets most of the rate, and costs little more than a filter that can't grow.

E is less than error_rate, for chance: of two filters with as many items, one has more bits set. The standard deviation
of the rate was measured as a third of sqrt(log2(1/error_rate) / capacity) of it, 1,000 times beyond capacity too. Three
of them are kept back, and KEPT_BACK of E at least.

Few items at a small rate need more. An item is also taken for another one that has the same sequence of positions,
and there are only some m² sequences: that was measured to happen at a rate of n/(57·m²), which is 2e-6 for 10 items
in the 296 bits that should do for 1e-6. So m² is n/error_rate at least.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from es_simhash.bloom.arguments import rate, whole_number

# Chosen by bytes and speed, from the capacity to 1,000 times as many items: scripts/bench-bloom growth shows both.
# More growth leaves the last layer emptier, less makes more layers to look into; a smaller ratio makes large filters
# larger, a larger one the second layer, and so those that outgrew their capacity a little.
GROWTH = 2
FIRST = 0.75
TIGHTENING = 0.7
KEPT_BACK = 0.1
SPARE = 0.05

MAX_BITS = 1 << 32
"""The most bits that one layer may have: 512 MiB."""
MAX_HASHES = 64
"""The most hashes that one layer may have."""
MIN_ERROR_RATE = 1e-9
MAX_SEED = (1 << 32) - 1
_LAST_TIGHTENED = 100  # layers that no filter has, but a forged one might, would be tightened to 0


@dataclass(frozen=True)
class Size:
    """The size of one layer: it takes ``capacity`` items, in ``m`` bits, with ``k`` hashes an item."""

    capacity: int
    m: int
    k: int

    @classmethod
    def of(cls, capacity: int, error_rate: float, compound_rate: float) -> Size:
        """Return the size of a layer of this capacity (items) and error rate, in a filter of this compound rate."""
        k = _hashes(error_rate)
        bits = max(capacity * _bits_an_item(error_rate, k), math.sqrt(capacity / compound_rate))
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
        object.__setattr__(self, "error_rate", rate("error_rate", self.error_rate, MIN_ERROR_RATE))
        object.__setattr__(self, "seed", whole_number("seed", self.seed, 0, MAX_SEED))
        most = _most_items(self.error_rate / (1 + KEPT_BACK) * FIRST)
        name = f"capacity, at error_rate {self.error_rate},"
        object.__setattr__(self, "capacity", whole_number(name, self.capacity, 1, most))

    def __str__(self) -> str:
        return f"capacity {self.capacity}, error_rate {self.error_rate}, seed {self.seed}"

    def first(self) -> Size:
        """Return the size of the first layer."""
        return Size.of(self.capacity, self._rate_of(0), self.error_rate)

    def after(self, capacity: int, index: int) -> Size:
        """Return the size of layer ``index`` (from 1), where the layer before it has this capacity.

        A layer never exceeds MAX_BITS: a filter that is as large as that grows by layers of that size.
        """
        error_rate = self._rate_of(index)
        return Size.of(min(capacity * GROWTH, _most_items(error_rate)), error_rate, self.error_rate)

    def _rate_of(self, index: int) -> float:
        chance = max(KEPT_BACK, math.sqrt(-math.log2(self.error_rate) / self.capacity))
        share = FIRST if index == 0 else (1 - FIRST) * (1 - TIGHTENING) * TIGHTENING ** min(index - 1, _LAST_TIGHTENED)
        return self.error_rate / (1 + chance) * share


def _hashes(error_rate: float) -> int:
    """Return k: the least that costs SPARE more bits at most than the best."""
    k = min(MAX_HASHES, max(1, math.ceil(-math.log2(error_rate))))
    best = min(_bits_an_item(error_rate, k), _bits_an_item(error_rate, max(1, k - 1)))
    while k > 1 and _bits_an_item(error_rate, k - 1) <= best * (1 + SPARE):
        k -= 1
    return k


def _bits_an_item(error_rate: float, k: int) -> float:
    """Return m/n for which p = (1 - e^(-k·n/m))^k."""
    bits: float = -k / math.log1p(-(error_rate ** (1 / k)))
    return bits


def _most_items(error_rate: float) -> int:
    """Return how many items a layer of MAX_BITS takes."""
    return int((MAX_BITS - 16) / _bits_an_item(error_rate, _hashes(error_rate)))  # 16: m is rounded up by less
