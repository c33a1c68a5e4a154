"""Fingerprints, and all pairs of them within k."""

from __future__ import annotations

import numpy as np
from tqdm import tqdm

from es_simhash import Fingerprinter, Scheme
from es_simhash.fingerprinting.encoding import to_array
from es_simhash.fingerprinting.fingerprinter import aggregate
from es_simhash.fingerprinting.weights import WEIGHTS
from es_simhash.groups.near_pairs import near_pairs
from truth import codes

MAX_DISTANCE = {bits: Scheme(bits=bits).max_distance for bits in (64, 128)}


def fingerprints(texts, tokens):
    """128 bits of each text for each kind of weights, None where there are too few words."""
    makers = {name: Fingerprinter(Scheme(tokens=tokens, weights=name, bits=128)) for name in WEIGHTS}
    made = {name: [] for name in WEIGHTS}
    for text in tqdm(texts, desc=tokens, disable=None):
        words = makers["equal"].tokenize(text)
        for name, maker in makers.items():
            features = maker.weigh(words)
            made[name].append(aggregate(features, maker.scheme.hash, 128) if features else None)
    return made


def shortened(values, bits):
    """The first ``bits`` of fingerprints of 128: what a Scheme with so many would make."""
    return [None if value is None else value >> (128 - bits) for value in values]


def within(values, bits):
    """Codes of all pairs of fingerprints within the largest k, and their distances."""
    places = np.array([place for place, value in enumerate(values) if value is not None], dtype=np.int64)
    if not len(places):
        return places, places
    array = to_array((value for value in values if value is not None), bits)
    kinds, kind_of = np.unique(array, axis=0, return_inverse=True)
    order = np.argsort(kind_of.ravel(), kind="stable")
    members = np.split(places[order], np.cumsum(np.bincount(kind_of.ravel()))[:-1])
    single = np.array([len(each) == 1 for each in members])
    first = np.array([each[0] for each in members])
    found, waiting = [], []
    # A pair comes once for each choice of blocks that it meets under, and may be met a hundred times.
    for pairs in near_pairs(kinds, MAX_DISTANCE[bits]):
        waiting.append(codes(np.sort(pairs, axis=1), len(kinds)))
        if sum(map(len, waiting)) > 10_000_000:
            waiting = [np.unique(np.concatenate(waiting))]
    one, other = np.divmod(np.unique(np.concatenate(waiting)), len(kinds))
    plain = single[one] & single[other] & (one != other)
    found.append(np.stack([first[one[plain]], first[other[plain]]], axis=1))
    for a, b in zip(one[~plain].tolist(), other[~plain].tolist(), strict=True):
        # near_pairs takes equal fingerprints for one: here each of them counts.
        every = np.stack(np.meshgrid(members[a], members[b]), axis=-1).reshape(-1, 2)
        found.append(every[every[:, 0] < every[:, 1]] if a == b else every)
    pairs = np.sort(np.concatenate(found), axis=1)
    code = pairs[:, 0] * len(values) + pairs[:, 1]
    row_of = np.full(len(values), -1)
    row_of[places] = np.arange(len(places))
    apart = (array[row_of[pairs[:, 0]]] ^ array[row_of[pairs[:, 1]]]).reshape(len(pairs), bits // 64)
    return code, np.bitwise_count(apart).sum(axis=1).astype(np.int64)
