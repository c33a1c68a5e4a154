"""How often are two documents candidates for each other by chance? The constants of es_simhash/tools/sizing/chances.py.

    python scripts/study/decisions.py --folder DIR --fetch
    python scripts/study/alike.py --folder DIR

For each corpus: of all pairs of different documents whose fingerprints differ in more than FAR bits, so that neither is
a copy of the other, the share that has a given segment in common, that the plain OR and the query plan return as
candidates for max_distance 3, and that shares a MinHash band. For lines of poems the share that has a q-gram in common,
and that passes the count filter at a similarity of 0.8.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np

import corpora
from es_simhash import Fingerprinter
from es_simhash.fingerprinting.normalisation import compared_characters, normalise, word_characters
from es_simhash.search import minhash
from es_simhash.search.keys import SHORT, key_queries, text_keys
from truth import distinct

FAR = 7
ROWS = 500
SHORT_TEXTS = 100_000
QUERIES = 1_000


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path("study-corpora"), help="default: %(default)s")
    folder = parser.parse_args().folder
    print("| corpus | documents | a segment | plain OR | plan | a band | bands |")
    print("|---|---|---|---|---|---|---|")
    print(row("random numbers", random_documents(20_000)), flush=True)
    for name, texts in {
        "People's Daily": corpora.articles,
        "reviews": corpora.reviews,
        "newswire": corpora.wire,
        "pages of one release": lambda folder: list(corpora.templated(folder))[::2],
    }.items():
        print(row(name, documents_of(texts(folder))), flush=True)
    print("\n| lines of poems | entries of q-grams a look-up | candidates a look-up |\n|---|---|---|")
    print(grams(corpora.verses(folder)))


def random_documents(count):
    generator = np.random.default_rng(1)
    return generator.integers(0, 1 << 64, count, dtype=np.uint64), [[f"{n}"] for n in range(count)]


def documents_of(texts):
    """Return the fingerprints and the bands of the distinct long texts."""
    fingerprinter = Fingerprinter()
    long = [text for text in distinct(texts) if len(word_characters(text)) > SHORT]
    made = [(fingerprinter.fingerprint(text).value, text) for text in long]
    made = [(value, text) for value, text in made if value is not None]
    return np.array([value for value, _ in made], dtype=np.uint64), [
        minhash.bands(compared_characters(text), minhash.LONGER) for _, text in made
    ]


def row(name, documents):
    values, bands = documents
    segments = values[:, None] >> np.arange(48, -1, -16, dtype=np.uint64) & np.uint64(0xFFFF)
    counts = defaultdict(float)
    for start in range(0, len(values), ROWS):
        some = slice(start, start + ROWS)
        differing = [np.bitwise_count(s[some, None] ^ s[None, :]) for s in segments.T]
        far = sum(each.astype(np.int64) for each in differing) > FAR
        equal = [(each == 0) & far for each in differing]
        counts["pairs"] += far.sum()
        counts["segment"] += sum(each.sum() for each in equal) / 4
        counts["plain"] += np.logical_or.reduce(equal).sum()
        two = sum(each.astype(np.int64) for each in equal) >= 2
        one = [each == 1 for each in differing]
        clauses = (one[0] & (equal[1] | equal[2] | equal[3])) | (one[1] & equal[0])
        counts["plan"] += (two | clauses & far).sum()
    holders = defaultdict(list)
    for number, of in enumerate(bands):
        for band in of:
            holders[band].append(number)
    sharing = Counter()
    for together in holders.values():
        for position, first in enumerate(together):
            sharing.update((first, second) for second in together[position + 1 :])
    sharing = {pair: n for pair, n in sharing.items() if int(values[pair[0]] ^ values[pair[1]]).bit_count() > FAR}
    counts["band"], counts["bands"] = 2 * sum(sharing.values()) / minhash.BANDS, 2 * len(sharing)
    names = ("segment", "plain", "plan", "band", "bands")
    return f"| {name} | {len(values):,} | " + " | ".join(f"{counts[n] / counts['pairs']:.2e}" for n in names) + " |"


def grams(lines):
    """Return the entries and the candidates of the count filter, each by the number of texts."""
    texts = [text for text in map(word_characters, map(normalise, lines)) if 5 <= len(text) <= SHORT]
    texts = random.Random(1).sample(texts, SHORT_TEXTS)
    keys = [text_keys(text) for text in texts]
    holders = defaultdict(list)
    for number, each in enumerate(keys):
        for key in each.values:
            holders[key].append(number)
    entries = candidates = asked = 0
    for number in range(QUERIES):
        shared = Counter()
        (query,) = key_queries(keys[number], 0.8)
        asked += len(query.keys)
        for key in query.keys:
            entries += len(holders[key])
            shared.update(holders[key])
        shortest, longest = query.lengths
        candidates += sum(
            n >= query.minimum and shortest <= keys[other].length <= longest
            for other, n in shared.items()
            if other != number
        )
    mean = sum(map(len, texts)) / len(texts)
    whole = QUERIES * len(texts)
    return (
        f"| {len(texts):,}, {mean:.1f} characters, {asked / QUERIES:.1f} keys | {entries / whole:.2e} of all texts | "
        f"{candidates / whole:.2e} of all texts |"
    )


if __name__ == "__main__":
    main()
