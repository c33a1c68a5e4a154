"""All pairs of similar texts, found without any approximation; and the share of hits with its interval."""

from __future__ import annotations

from functools import cache
from math import ceil, sqrt

import numpy as np
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist
from tqdm import tqdm

from es_simhash import Fingerprinter
from es_simhash.similarity.confirm import TextFeatures
from es_simhash.similarity.differences import contradict
from es_simhash.text.normalisation import compared_characters, normalise
from es_simhash.text.shingles import distinct as distinct_numbers
from es_simhash.text.shingles import shingles_of_texts


def shingles_of(words):
    """Return the numbers of the distinct shingles of some word characters, ascending."""
    return distinct_numbers(shingles_of_texts([words])[0])


def shingle_sets(texts):
    """Return :func:`shingles_of` each text."""
    return [shingles_of(compared_characters(normalise(text))) for text in texts]


def join(sets, threshold):
    """Return every pair of sets of numbers with a Jaccard similarity of ``threshold`` or more.

    :returns: positions, shape (n, 2), the earlier one first and ascending; similarities, shape (n,).

    The numbers are sorted by rarity, and only prefixes are compared, as in AllPairs (Bayardo, Ma and Srikant, "Scaling
    up all pairs similarity search", WWW 2007). The indexed prefix is shorter, as in PPJoin (Xiao, Wang, Lin and Yu,
    "Efficient similarity joins for near duplicate detection", WWW 2008).

    Sets of x and y numbers with a similarity of t have at least t (x + y) / (1 + t) numbers in common. So, in one order
    of all numbers, one of the first x - t x + 1 of the larger set is among the first y - 2 t y / (1 + t) + 1 of the
    smaller set. If rare numbers come first, few other sets share such a prefix.
    """
    _, ranks, counts = np.unique(np.concatenate(sets), return_inverse=True, return_counts=True)
    rarity = np.empty(len(counts), dtype=np.int64)
    rarity[np.argsort(counts, kind="stable")] = np.arange(len(counts))
    shared = int((counts == 1).sum())  # numbers of one set only are the rarest. They match no other set
    ranked = [np.sort(each) for each in np.split(rarity[ranks], np.cumsum([len(each) for each in sets])[:-1])]
    sizes, mine = [len(each) for each in sets], np.zeros(len(counts), dtype=np.bool_)
    index, found = {}, []
    for position in tqdm(sorted(range(len(sets)), key=sizes.__getitem__), desc="join", disable=None):
        numbers, size = ranked[position], sizes[position]
        least = at_least(threshold * size)
        probe, kept = (
            numbers[: size - at_least(part * size) + 1] for part in (threshold, 2 * threshold / (1 + threshold))
        )
        met = set()
        for number in probe[probe >= shared].tolist():
            met.update(index.get(number, ()))
        mine[numbers] = True
        for other in met:
            if sizes[other] >= least:
                both = int(np.count_nonzero(mine[ranked[other]]))
                similarity = both / (size + sizes[other] - both)
                if similarity >= threshold:
                    found.append((min(position, other), max(position, other), similarity))
        mine[numbers] = False
        for number in kept[kept >= shared].tolist():
            index.setdefault(number, []).append(position)
    found.sort()
    pairs = np.array([pair[:2] for pair in found], dtype=np.int64).reshape(-1, 2)
    return pairs, np.array([similarity for *_, similarity in found])


def at_least(share):
    return ceil(share - 1e-9)  # 0.8 * 10 may be a little more than 8. A prefix that is too short would lose pairs


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


def copies(texts, threshold=0.8):
    """Return the codes of all pairs that are copies by the rule ``copy``, and of those that contradict each other."""
    fingerprinter = Fingerprinter()
    words = [compared_characters(normalise(text)) for text in texts]
    pairs, _ = join([shingles_of(some) for some in words], threshold)
    similar = np.union1d(edit_pairs(words, threshold)[0], codes(pairs, len(texts)))

    @cache
    def features(position):
        return TextFeatures(texts[position], fingerprinter)

    def agree(code):
        return not contradict(*map(features, divmod(code, len(texts))))

    true = np.array([agree(code) for code in similar.tolist()], dtype=np.bool_)
    return similar[true], similar[~true]


def share(hits, count):
    """Return the share of hits, and the interval of Wilson in which the true share is with a chance of 95 %."""
    z = 1.96
    middle = (hits + z * z / 2) / (count + z * z)
    half = z / (count + z * z) * sqrt(hits * (count - hits) / count + z * z / 4)
    return f"{hits / count:.3f} ({max(0, middle - half):.3f}-{min(1, middle + half):.3f})"
