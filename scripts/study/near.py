"""Fingerprints, and all pairs of them within k."""

from __future__ import annotations

import numpy as np
from tqdm import tqdm

from es_simhash import Fingerprinter, Scheme
from es_simhash.fingerprinting.encoding import to_array
from es_simhash.fingerprinting.votes import aggregate
from es_simhash.fingerprinting.weights import WEIGHTS
from es_simhash.groups.near_pairs import NearPairs
from truth import codes

MAX_DISTANCE = {bits: Scheme(bits=bits).max_distance for bits in (64, 128)}


def fingerprints(texts, tokens):
    """Return by kind of weights the fingerprints of 128 bits of the texts; None for a text with too few words."""
    makers = {name: Fingerprinter(Scheme(tokens=tokens, weights=name, bits=128)) for name in WEIGHTS}
    made = {name: [] for name in WEIGHTS}
    for text in tqdm(texts, desc=tokens, disable=None):
        words = makers["equal"].tokenize(text)
        for name, maker in makers.items():
            features = maker.weigh(words)
            made[name].append(aggregate(features, maker.scheme.hash, 128) if features else None)
    return made


def shortened(values, bits):
    """Return the first ``bits`` of fingerprints of 128 bits: the fingerprints of a Scheme with this width."""
    return [None if value is None else value >> (128 - bits) for value in values]


def within(values, bits):
    """Return the codes of all pairs of fingerprints within the largest k, and their distances."""
    positions = np.array([position for position, value in enumerate(values) if value is not None], dtype=np.int64)
    if not len(positions):
        return positions, positions
    array = to_array((value for value in values if value is not None), bits)
    kinds, kind_of = np.unique(array, axis=0, return_inverse=True)
    order = np.argsort(kind_of.ravel(), kind="stable")
    members = np.split(positions[order], np.cumsum(np.bincount(kind_of.ravel()))[:-1])
    single = np.array([len(each) == 1 for each in members])
    first = np.array([each[0] for each in members])
    found, waiting = [], []
    # A pair comes once for each combination of blocks that it shares: up to a hundred times.
    near = NearPairs(kinds, MAX_DISTANCE[bits])
    for pairs in near.connecting():
        waiting.append(codes(np.sort(pairs, axis=1), len(kinds)))
        if sum(map(len, waiting)) > 10_000_000:
            waiting = [np.unique(np.concatenate(waiting))]
    assert not near.left_out, f"{near.left_out} pairs were not compared: use a smaller corpus"
    one, other = np.divmod(np.unique(np.concatenate(waiting)), len(kinds))
    plain = single[one] & single[other] & (one != other)
    found.append(np.stack([first[one[plain]], first[other[plain]]], axis=1))
    for a, b in zip(one[~plain].tolist(), other[~plain].tolist(), strict=True):
        # NearPairs treats equal fingerprints as one. Here each of them counts.
        every = np.stack(np.meshgrid(members[a], members[b]), axis=-1).reshape(-1, 2)
        found.append(every[every[:, 0] < every[:, 1]] if a == b else every)
    pairs = np.sort(np.concatenate(found), axis=1)
    code = pairs[:, 0] * len(values) + pairs[:, 1]
    row_of = np.full(len(values), -1)
    row_of[positions] = np.arange(len(positions))
    apart = (array[row_of[pairs[:, 0]]] ^ array[row_of[pairs[:, 1]]]).reshape(len(pairs), bits // 64)
    return code, np.bitwise_count(apart).sum(axis=1).astype(np.int64)
