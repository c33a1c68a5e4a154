"""The documents of a corpus, and all pairs of similar documents, found without any approximation."""

from __future__ import annotations

import json
import lzma
import random
from math import ceil

import numpy as np
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist
from tqdm import tqdm

from es_simhash.fingerprinting.normalisation import normalise
from es_simhash.similarity.measures import shingles


def read(path, longer_than, sample, seed):
    with lzma.open(path, "rt", encoding="utf-8") if path.suffix == ".xz" else path.open(encoding="utf-8") as lines:
        documents = [document for document in map(json.loads, lines) if len(document["text"]) > longer_than]
    return documents if sample is None else random.Random(seed).sample(documents, min(sample, len(documents)))


def distinct(texts):
    """Return the normalised texts, each once, without the empty text."""
    return [text for text in dict.fromkeys(map(normalise, texts)) if text]


def join(texts, threshold):
    """Return every pair of texts with a Jaccard similarity of ``threshold`` or more, as (earlier, later, similarity).

    The shingles are sorted by rarity, and only prefixes are compared, as in AllPairs (Bayardo, Ma and Srikant, "Scaling
    up all pairs similarity search", WWW 2007). The indexed prefix is shorter, as in PPJoin (Xiao, Wang, Lin and Yu,
    "Efficient similarity joins for near duplicate detection", WWW 2008).

    Sets of x and y shingles with a similarity of t have at least t (x + y) / (1 + t) shingles in common. So, in one
    order of all shingles, one of the first x - t x + 1 of the larger set is among the first y - 2 t y / (1 + t) + 1 of
    the smaller set. If rare shingles come first, few other sets share such a prefix.
    """
    sets, shared, count = numbered(texts)
    mine = np.zeros(count, dtype=np.bool_)
    sizes = [len(numbers) for numbers in sets]
    index, found = {}, []
    for position in tqdm(sorted(range(len(sets)), key=sizes.__getitem__), desc="join", disable=None):
        numbers, size = sets[position], sizes[position]
        # Shingles of one text only are the rarest. They match no other text.
        probe, kept = (
            numbers[: size - at_least(part * size) + 1] for part in (threshold, 2 * threshold / (1 + threshold))
        )
        least = at_least(threshold * size)
        met = {
            other
            for number in probe[probe >= shared].tolist()
            for other in index.get(number, ())
            if sizes[other] >= least
        }
        mine[numbers] = True
        for other in met:
            both = int(np.count_nonzero(mine[sets[other]]))
            similarity = both / (size + sizes[other] - both)
            if similarity >= threshold:
                found.append((min(position, other), max(position, other), similarity))
        mine[numbers] = False
        for number in kept[kept >= shared].tolist():
            index.setdefault(number, []).append(position)
    return sorted(found)


def at_least(share):
    return ceil(share - 1e-9)  # 0.8 * 10 may be a little more than 8. A prefix that is too short would lose pairs


def numbered(texts):
    """Return each text's shingles as ascending numbers by rarity, the first number in two texts, and their count."""
    numbers = {}
    sets = [
        np.fromiter((numbers.setdefault(shingle, len(numbers)) for shingle in shingles(text)), dtype=np.int64)
        for text in texts
    ]
    counts = np.bincount(np.concatenate(sets), minlength=len(numbers))
    rarity = np.empty(len(counts), dtype=np.int64)
    rarity[np.argsort(counts, kind="stable")] = np.arange(len(counts))
    return [np.sort(rarity[each]) for each in sets], int((counts == 1).sum()), len(counts)


def codes(pairs, count):
    """Return pairs (earlier, later) as single numbers, sorted, each once."""
    pairs = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return np.unique(pairs[:, 0] * count + pairs[:, 1])


def edit_pairs(texts, threshold):
    """Return the codes of all pairs with a Levenshtein similarity of ``threshold`` or more, and their similarities."""
    scorer = Levenshtein.normalized_similarity
    order = np.array(sorted(range(len(texts)), key=lambda position: len(texts[position])))
    by_length = [texts[position] for position in order]
    lengths = np.array([len(text) for text in by_length])
    found = {}
    for start in tqdm(range(0, len(texts), 256), desc="Levenshtein", disable=None):
        rows = by_length[start : start + 256]
        # The distance is at least the difference of the lengths.
        end = int(np.searchsorted(lengths, len(rows[-1]) / threshold + 1, side="right"))
        columns = by_length[start:end]
        # With the threshold itself as cutoff, some pairs at exactly the threshold are lost.
        similar = cdist(rows, columns, scorer=scorer, score_cutoff=threshold - 0.001, dtype=np.float64)
        for row, column in np.argwhere(np.triu(similar >= threshold, k=1)).tolist():
            a, b = sorted((int(order[start + row]), int(order[start + column])))
            found[a * len(texts) + b] = float(similar[row, column])
    ordered = sorted(found)
    return np.array(ordered, dtype=np.int64), [found[code] for code in ordered]
