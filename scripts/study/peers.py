"""Other libraries on the same texts. Each function yields the pairs that the library finds.

They get the word characters of the texts, so that the difference is not one of normalisation, and keep everything in
memory. MinHash of rensa has 32 bands of 4 rows: nearly every pair at 0.8 shares one. *Exact check* compares
the shingles of each pair that a library finds.
"""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np

from es_simhash.text.shingles import SHINGLE, in_common
from truth import shingles_of

THRESHOLD = 0.8
PERMUTATIONS, BANDS = 128, 32


def peers():
    """Return the functions whose libraries are installed. Each yields a title and the pairs, one or several times."""
    every = {"datasketch": datasketch, "rensa": rensa, "simhash": simhash}
    return [find for library, find in every.items() if find_spec(library)]


def checked(candidates, texts):
    """Return the candidates whose shingles have a Jaccard similarity of ``THRESHOLD`` or more."""
    sets = [shingles_of(text) for text in texts]
    return [(a, b) for a, b in candidates if jaccard(sets[a], sets[b]) >= THRESHOLD]


def jaccard(a, b):
    both = int(in_common(a, [b])[0])
    return both / max(1, a.size + b.size - both)


def shingles(text):
    return {text[start : start + SHINGLE] for start in range(max(1, len(text) - SHINGLE + 1))}


def datasketch(texts):
    from datasketch import MinHash, MinHashLSH

    lsh, hashes, pairs = MinHashLSH(threshold=THRESHOLD, num_perm=PERMUTATIONS), [], []
    for position, text in enumerate(texts):
        hashed = MinHash(num_perm=PERMUTATIONS)
        hashed.update_batch([shingle.encode() for shingle in shingles(text)])
        pairs += [(other, position) for other in lsh.query(hashed)]
        lsh.insert(position, hashed)
        hashes.append(hashed)
    yield "datasketch MinHashLSH, own estimate", [(a, b) for a, b in pairs if hashes[a].jaccard(hashes[b]) >= THRESHOLD]
    yield "datasketch MinHashLSH, exact check", checked(pairs, texts)


def rensa(texts):
    from rensa import RMinHash, RMinHashLSH

    index, pairs = RMinHashLSH(THRESHOLD, PERMUTATIONS, BANDS), []
    for position, text in enumerate(texts):
        hashed = RMinHash(PERMUTATIONS, 1)
        hashed.update(list(shingles(text)))
        pairs += [(other, position) for other in index.query(hashed)]
        index.insert(position, hashed)
    yield "rensa, exact check", checked(pairs, texts)


def simhash(texts):
    from simhash import Simhash

    values, pairs = [], []
    for text in texts:
        try:
            values.append(Simhash(text).value)
        except OverflowError:  # 2.1.2 with numpy 2 fails if a feature occurs more than 255 times
            values.append(None)
    array = np.array([0 if value is None else value for value in values], dtype=np.uint64)
    for position, value in enumerate(values):
        if value is not None:
            near = np.flatnonzero(np.bitwise_count(array[:position] ^ array[position]) <= 3)
            pairs += [(other, position) for other in near.tolist() if values[other] is not None]
    yield "1e0ng/simhash, k = 3", pairs
