"""Documents that have nothing in common, and the number of their pairs that are within k nevertheless."""

from __future__ import annotations

import random
from collections import Counter
from itertools import product
from math import ceil

import numpy as np

from es_simhash.fingerprinting.tokens import TOKENS
from es_simhash.fingerprinting.weights import WEIGHTS
from near import MAX_DISTANCE, shortened, within
from truth import join, shingle_sets

UNRELATED = 0.2


def unrelated(texts_of, kept, count, seed):
    """Return up to ``count`` (corpus, position), as many of each corpus. No two are as similar as ``UNRELATED``."""
    rng = random.Random(seed)
    drawn = []
    for name, positions in kept.items():  # more than needed, because some are related and dropped
        share = ceil(1.4 * count / len(kept))
        drawn += [(name, position) for position in rng.sample(positions.tolist(), min(len(positions), share))]
    related, _ = join(shingle_sets(texts_of[name][position] for name, position in drawn), UNRELATED)
    dropped = set()
    for a, b in related.tolist():
        if a not in dropped:
            dropped.add(b)
    left = [document for position, document in enumerate(drawn) if position not in dropped]
    return rng.sample(left, min(count, len(left)))


def false_pairs(made, apart):
    """Return, for every Scheme, how many pairs of documents that have nothing in common are within k."""
    pairs = len(apart) * (len(apart) - 1) // 2
    shares = ", ".join(f"{count:,} {name}" for name, count in Counter(name for name, _ in apart).items())
    print(f"\n### Pairs within k of {len(apart):,} documents that have nothing in common\n")
    print(f"No two of them have a similarity of {UNRELATED} ({shares}). All pairs are wrong, of {pairs:,} in total.\n")
    columns = [(64, 3), (64, 5), (64, 7), (128, 7), (128, 11), (128, 15)]
    print("| tokens | weights | " + " | ".join(f"{bits} bits, k = {k}" for bits, k in columns) + " |")
    print("|---" * (2 + len(columns)) + "|")
    rows = []
    for tokens, weights in product(TOKENS, WEIGHTS):
        values = [made[name, tokens, weights][position] for name, position in apart]
        wrong = {}
        for bits, largest in MAX_DISTANCE.items():
            found = np.cumsum(np.bincount(within(shortened(values, bits), bits)[1], minlength=largest + 1))
            wrong.update({(bits, k): int(found[k]) for k in range(largest + 1)})
        print(f"| {tokens} | {weights} | " + " | ".join(f"{wrong[column]:,}" for column in columns) + " |")
        setting = {"tokens": tokens, "weights": weights}
        rows += [{"corpus": "unrelated", **setting, "bits": bits, "k": k, "pairs": n} for (bits, k), n in wrong.items()]
    return rows
