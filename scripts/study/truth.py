"""The documents of a corpus, and every pair of them that is alike: none is missing, however it is found later."""

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
    """Normalised texts, each once."""
    return [text for text in dict.fromkeys(map(normalise, texts)) if text]


def join(texts, threshold):
    """Every pair of texts with a Jaccard similarity of shingles of ``threshold`` or more: (earlier, later, similarity).

    The order of rarity and the prefixes are those of AllPairs (Bayardo, Ma and Srikant, "Scaling up all pairs
    similarity search", WWW 2007), the shorter prefix of what is indexed that of PPJoin (Xiao, Wang, Lin and Yu,
    "Efficient similarity joins for near duplicate detection", WWW 2008). Sets of x and y shingles with a similarity of
    t have t (x + y) / (1 + t) in common. So, in any order that both follow, one of the first x - t x + 1 of the larger
    set is among the first y - 2 t y / (1 + t) + 1 of the smaller one; and in the order of rarity of few others.
    """
    sets, shared, count = numbered(texts)
    mine = np.zeros(count, dtype=np.bool_)
    sizes = [len(numbers) for numbers in sets]
    index, found = {}, []
    for place in tqdm(sorted(range(len(sets)), key=sizes.__getitem__), desc="join", disable=None):
        numbers, size = sets[place], sizes[place]
        # What stands in one text alone is the rarest, and meets nobody.
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
                found.append((min(place, other), max(place, other), similarity))
        mine[numbers] = False
        for number in kept[kept >= shared].tolist():
            index.setdefault(number, []).append(place)
    return sorted(found)


def at_least(share):
    return ceil(share - 1e-9)  # 0.8 * 10 may be a little more than 8; a prefix too long costs time, one too short pairs


def numbered(texts):
    """Each text's shingles as ascending numbers, the rarest is 0; the first that two texts have; how many there are."""
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
    """Pairs (earlier, later) as single numbers, sorted, each once."""
    pairs = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return np.unique(pairs[:, 0] * count + pairs[:, 1])


def edit_pairs(texts, threshold):
    """Codes of all pairs with a Levenshtein similarity of ``threshold`` or more, ascending; the similarity of each."""
    scorer = Levenshtein.normalized_similarity
    order = np.array(sorted(range(len(texts)), key=lambda place: len(texts[place])))
    by_length = [texts[place] for place in order]
    lengths = np.array([len(text) for text in by_length])
    found = {}
    for start in tqdm(range(0, len(texts), 256), desc="Levenshtein", disable=None):
        rows = by_length[start : start + 256]
        # The distance is the difference of lengths at least.
        end = int(np.searchsorted(lengths, len(rows[-1]) / threshold + 1, side="right"))
        columns = by_length[start:end]
        # At the cutoff itself some are lost, of 10 characters and of 50.
        similar = cdist(rows, columns, scorer=scorer, score_cutoff=threshold - 0.001, dtype=np.float64)
        for row, column in np.argwhere(np.triu(similar >= threshold, k=1)).tolist():
            a, b = sorted((int(order[start + row]), int(order[start + column])))
            found[a * len(texts) + b] = float(similar[row, column])
    ordered = sorted(found)
    return np.array(ordered, dtype=np.int64), [found[code] for code in ordered]
