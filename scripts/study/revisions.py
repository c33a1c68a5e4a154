"""Which setting finds the revisions of a text, and what else does it take for one? Truth by provenance.

    pip install --group bench
    python scripts/study/decisions.py --folder DIR --fetch
    python scripts/study/revisions.py --folder DIR [--laws FILE] [--broadcasts DIR] > revisions.md

A *revision* is another version of the same text, known by its place and not by its similarity: the documentation of one
operation or member in two releases of botocore, paragraphs at one place in two versions of one law (--laws: JSON lines
with `group` and `text`, may be .xz). They are grouped by the share of edits (Levenshtein, of word characters) and by
the length in word characters; --sample pairs a cell. Pairs that differ in numbers alone are a group of their own: the
same sentence about another article of a law, or another limit. One text is stored, among all others; the other one is
looked up.

*Other digits*: a text of the corpus with each digit replaced. *Cleaned*: an article with one change that a reader would
not call one. *News*: articles of People's Daily that get a match among the others, each match printed with --show.
*Broadcasts*: titles of broadcast items (--broadcasts: a folder of Markdown files, an item a heading `###`).
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
import re
import tempfile
import time
import unicodedata
import zipfile
from collections import defaultdict
from difflib import SequenceMatcher
from itertools import pairwise
from pathlib import Path

from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist

import corpora
from cases import Copies, broken
from es_simhash import Documents
from es_simhash.fingerprinting.normalisation import normalise, word_characters

LENGTHS = {"to 60": (5, 60), "61-150": (61, 150), "151-400": (151, 400), "over 400": (401, 50_000)}
EDITS = {"< 5 %": (0, 0.05), "5-10 %": (0.05, 0.1), "10-20 %": (0.1, 0.2), "20-40 %": (0.2, 0.4)}
NUMERAL = re.compile("[0-9零一二三四五六七八九十百千两]")
SETTINGS = json.loads("""{
    "copy": {},
    "contained": {"rule": "contained"},
    "fingerprint": {"rule": "fingerprint"},
    "copy, Jaccard alone": {"measure": "jaccard", "numbers_agree": false},
    "copy, any numbers": {"numbers_agree": false}
}""")


def words_of(text):
    return word_characters(normalise(text))


def of_laws(path):
    """Pairs of paragraphs, or of runs of them, that stand between equal paragraphs in two versions of one law.

    The number of an article is left out: an amendment counts the articles again.
    """
    versions = defaultdict(list)
    with lzma.open(path, "rt", encoding="utf-8") if path.suffix == ".xz" else path.open(encoding="utf-8") as lines:
        for line in map(json.loads, lines):
            parts = (
                re.sub("^第[^条]{1,9}条(之[一二三四五])?", "", part.strip()).strip()
                for part in line["text"].split("\n")
            )
            versions[line["group"]].append(list(filter(None, parts)))
    for some in versions.values():
        for one, other in pairwise(some):
            blocks = SequenceMatcher(None, one, other, autojunk=False).get_opcodes()
            for tag, a, b, c, d in blocks:
                if tag == "replace" and b - a == d - c:
                    yield from zip(one[a:b], other[c:d], strict=True)
                    yield "\n".join(one[max(a - 3, 0) : b + 3]), "\n".join(other[max(c - 3, 0) : d + 3])


def of_releases(folder):
    """Pairs of documentation of one name in two releases."""
    releases = []
    for release in corpora.RELEASES:
        texts = {}
        with zipfile.ZipFile(next(folder.glob(f"botocore-{release}-*.whl"))) as wheel:
            for name in wheel.namelist():
                if re.search(r"/service-2\.json(\.gz)?$", name):
                    data = wheel.read(name)
                    service = json.loads(corpora.gzip.decompress(data) if name.endswith(".gz") else data)
                    texts.update(documentation(name.split("/")[2], service))
        releases.append(texts)
    for name in releases[0].keys() & releases[1].keys():
        yield releases[0][name], releases[1][name]


def documentation(name, service):
    def plain(text):
        return corpora.html.unescape(re.sub("<[^>]+>", " ", text))

    for operation, value in service["operations"].items():
        yield (name, operation), plain(value.get("documentation", ""))
    for shape, value in service["shapes"].items():
        yield (name, shape, ""), plain(value.get("documentation", ""))
        for member, inner in value.get("members", {}).items():
            yield (name, shape, member), plain(inner.get("documentation", ""))


def cells(pairs, sample, seed):
    """The different pairs by length and share of edits."""
    found = defaultdict(list)
    for one, other in dict.fromkeys(pairs):
        a, b = words_of(one), words_of(other)
        if not a or not b or a == b or max(len(a), len(b)) > 50_000:
            continue
        if NUMERAL.sub("", a) == NUMERAL.sub("", b):
            found["", "other numbers"].append((one, other))
            continue
        edits = 1 - Levenshtein.normalized_similarity(a, b, score_cutoff=0.55)
        for length, (low, high) in LENGTHS.items():
            for share, (least, most) in EDITS.items():
                if low <= max(len(a), len(b)) <= high and least < edits <= most:
                    found[length, share].append((one, other))
    drawn = random.Random(seed)
    return {cell: drawn.sample(some, min(sample, len(some))) for cell, some in found.items()}


def other_digits(text, drawn):
    return re.sub("[0-9]", lambda digit: drawn.choice([d for d in "0123456789" if d != digit[0]]), text)


class Store:
    """An SQLite file with these texts."""

    def __init__(self, folder, texts, **setup):
        self.ids = {text: str(number) for number, text in enumerate(dict.fromkeys(texts))}
        self.documents = Documents(f"sqlite:///{folder}/{random.random()}.db")
        self.documents.setup(**setup)
        for _ in self.documents.ingest({"id": id, "text": text} for text, id in self.ids.items()):
            pass

    def look_up(self, texts, rule):
        for start in range(0, len(texts), 50):
            yield from self.documents.similar_many(texts[start : start + 50], **rule)

    def found(self, pairs, rule):
        """The share of the pairs whose first text is found by the second one."""
        answers = self.look_up([other for _, other in pairs], rule)
        found = [self.ids[one] in {match.id for match in some} for (one, _), some in zip(pairs, answers, strict=True)]
        return f"{sum(found) / len(found):.2f}" if found else "-"


def cleaned(texts, seed):
    copies = Copies(texts, seed)
    return {
        "line breaks": lambda text: broken(text, 20),
        "spaces": " ".join,
        "widths": lambda text: unicodedata.normalize("NFKC", text),
        "no punctuation": lambda text: re.sub(r"[^\w\s]", "", text),
        "emoji": lambda text: re.sub("。", "。🎉", text),
        "a link": copies.with_link,
    }


def broadcasts(folder):
    """Titles of items, the first with each text."""
    files = sorted(folder.rglob("*.md"))
    titles = (
        line[4:].strip()
        for path in files
        for line in path.read_text(encoding="utf-8").split("\n")
        if line.startswith("### ")
    )
    return list({words_of(title): title for title in titles if words_of(title)}.values())


def titles_table(store, rule):
    """Recall of every pair with a Levenshtein similarity of 0.8 or more, by an exact join, and the flagged answers."""
    titles = list(store.ids)
    words = [words_of(title) for title in titles]
    true = set()
    for start in range(0, len(words), 500):
        scores = cdist(words[start : start + 500], words, scorer=Levenshtein.normalized_similarity, score_cutoff=0.8)
        true |= {(start + int(i), int(j)) for i, j in zip(*scores.nonzero(), strict=True) if start + i != j}
    begin = time.process_time()
    answers = list(store.look_up(titles, rule))
    spent = (time.process_time() - begin) / len(titles) * 1e6
    found = {(int(i), int(match.id)) for i, some in enumerate(answers) for match in some}
    flagged = sum(not some.complete for some in answers) / len(titles)
    recall = len(true & found) / max(1, len(true))
    return f"{len(titles):,} titles, {len(true):,} pairs: recall {recall:.4f}, flagged {flagged:.4f}, {spent:,.0f} µs"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path("study-corpora"), help="default: %(default)s")
    parser.add_argument("--laws", type=Path, metavar="FILE")
    parser.add_argument("--broadcasts", type=Path, metavar="DIR")
    parser.add_argument("--settings", type=json.loads, default=SETTINGS, metavar="JSON", help="keywords by name")
    parser.add_argument("--setup", type=json.loads, default={}, metavar="JSON", help="keywords of setup()")
    parser.add_argument("--sample", type=int, default=150, help="default: %(default)s")
    parser.add_argument("--only", choices=["revisions", "cleaned", "news", "broadcasts"], action="append")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for part, measure in (("revisions", revisions), ("cleaned", copies), ("news", news), ("broadcasts", titled)):
            if part in (arguments.only or (part,)):
                measure(arguments, folder)


def revisions(arguments, folder):
    pairs = list(of_releases(arguments.folder))
    if arguments.laws:
        pairs += of_laws(arguments.laws)
    found = cells(pairs, arguments.sample, arguments.seed)
    stored = [one for some in found.values() for one, _ in some]
    store, drawn = Store(folder, stored, **arguments.setup), random.Random(arguments.seed)
    print(f"| setting | {' | '.join(LENGTHS)} | other digits, by length; other numbers |")
    print(f"|---|{'---|' * len(LENGTHS)}---|")
    print(f"| pairs | {' | '.join(' '.join(str(len(found.get((n, e), ()))) for e in EDITS) for n in LENGTHS)} | |")
    for name, rule in arguments.settings.items():
        row = [" ".join(store.found(found.get((n, e), []), rule) for e in EDITS) for n in LENGTHS]
        digits = []
        for low, high in LENGTHS.values():
            some = [text for text in store.ids if low <= len(words_of(text)) <= high and re.search("[0-9]", text)]
            digits.append(store.found([(text, other_digits(text, drawn)) for text in some[:300]], rule))
        digits.append(store.found(found["", "other numbers"], rule))
        print(f"| {name} | {' | '.join(row)} | {' '.join(digits)} |", flush=True)


def copies(arguments, folder):
    texts = list(dict.fromkeys(corpora.articles(arguments.folder)))
    store, drawn = Store(folder, texts, **arguments.setup), random.Random(arguments.seed)
    for name, rule in arguments.settings.items():
        row = []
        for kind, change in cleaned(texts, arguments.seed).items():
            pairs = [(text, change(text)) for text in drawn.sample(texts, arguments.sample)]
            row.append(f"{kind} {store.found([pair for pair in pairs if pair[0] != pair[1]], rule)}")
        print(f"| {name} | {' | '.join(row)} |", flush=True)


def news(arguments, folder):
    texts = list(dict.fromkeys(corpora.articles(arguments.folder)))
    store = Store(folder, texts, **arguments.setup)
    for name, rule in arguments.settings.items():
        matched = [
            (text, texts[int(match.id)])
            for text, some in zip(texts, store.look_up(texts, rule), strict=True)
            for match in some
            if store.ids[text] != match.id
        ]
        print(f"| {name} | {len({one for one, _ in matched}) / len(texts):.4f} of {len(texts):,} have a match |")
        for one, other in matched if arguments.show else ():
            print(f"    {len(one)} {one[:70]!r}\n    {len(other)} {other[:70]!r}\n")


def titled(arguments, folder):
    if arguments.broadcasts:
        store = Store(folder, broadcasts(arguments.broadcasts), **arguments.setup)
        for name, rule in arguments.settings.items():
            print(f"{name}: {titles_table(store, rule)}", flush=True)


if __name__ == "__main__":
    main()
