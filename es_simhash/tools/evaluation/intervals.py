"""How far a share of a sample may be from the share of everything: the interval of Wilson.

E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22 (1927). It is right for
small samples too, and for shares of 0 and 1.
"""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist

CONFIDENCE = 0.95
_Z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)


def wilson(successes: int, count: int) -> tuple[float, float]:
    """Return the lowest and the highest share that the sample makes likely: 95 of 100 such intervals hold the true one.

    :param successes: how many of the sample have the property.
    :param count: the size of the sample. Of none nothing is known: from 0 to 1.
    """
    if not count:
        return 0.0, 1.0
    share, z = successes / count, _Z * _Z / count
    middle = (share + z / 2) / (1 + z)
    half = _Z * sqrt(share * (1 - share) / count + z / count / 4) / (1 + z)
    return max(0.0, middle - half), min(1.0, middle + half)
