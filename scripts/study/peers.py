"""Other libraries on the same texts: datasketch's MinHashLSH and 1e0ng's simhash."""

from __future__ import annotations

import sys
from importlib.util import find_spec

import numpy as np
from tqdm import tqdm

from es_simhash.fingerprinting.shingles import SHINGLE
from es_simhash.similarity.measures import shingles
from near import within
from scores import scores
from truth import codes


def peers(texts, truth, related, threshold):
    """Yield the rows of the other libraries: candidates of MinHashLSH, those that it estimates as true, and simhash."""
    if missing("datasketch", "simhash"):
        return
    from simhash import Simhash

    def row(library, pairs):
        found = codes(pairs, len(texts))
        true, alike = (np.isin(found, those).sum() for those in (truth, related))
        return {"library": library, **scores(len(found), true, alike, len(truth), len(texts))}

    pairs, hashes = minhash_pairs(texts, threshold, SHINGLE)
    yield row("datasketch MinHashLSH", pairs)
    yield row("… and its own estimate", [(a, b) for a, b in pairs if hashes[a].jaccard(hashes[b]) >= threshold])
    values = []
    for text in tqdm(texts, desc="1e0ng/simhash", disable=None):
        try:
            values.append(Simhash(text).value)
        except OverflowError:  # 2.1.2 with numpy 2 fails if a feature occurs more than 255 times
            values.append(None)
    code, distance = within(values, 64)
    failed = f" ({values.count(None)} texts failed)" if None in values else ""
    yield row(f"1e0ng/simhash, k = 3{failed}", np.stack(np.divmod(code[distance <= 3], len(texts)), axis=1))


def missing(*libraries):
    """Return whether a library is not installed, and print it."""
    absent = [library for library in libraries if find_spec(library) is None]
    if absent:
        print(
            f"no other library is measured: {absent[0]} is not installed (pip install --group bench)", file=sys.stderr
        )
    return bool(absent)


def minhash_pairs(texts, threshold, width):
    """Return the candidates of datasketch's MinHashLSH, and the MinHash of each text."""
    from datasketch import MinHash, MinHashLSH

    lsh, hashes, pairs = MinHashLSH(threshold=threshold, num_perm=128), [], []
    for position, text in enumerate(tqdm(texts, desc="datasketch", disable=None)):
        hashed = MinHash(num_perm=128)
        hashed.update_batch([shingle.encode() for shingle in shingles(text, width)])
        pairs += [(other, position) for other in lsh.query(hashed)]
        lsh.insert(position, hashed)
        hashes.append(hashed)
    return pairs, hashes
