"""Measure which Scheme finds the most duplicates with the fewest errors, on all pairs of real documents.

    pip install --group bench
    scripts/corpus peoples-daily --revise > news.jsonl      for the others see scripts/corpus --help
    python scripts/study news=news.jsonl reviews=reviews.jsonl poems=poems.jsonl --json study.json > study.md

A corpus is a file of JSON lines (also .xz) with `id`, `text` and perhaps `title`. Exact copies are dropped first, and
counted. *Truth* is every pair of the other documents with a similarity of --threshold or more. An exact join finds
these pairs: none is missing, and no method of detection chooses them.

The similarity is Jaccard's of shingles of 5 word characters of the normalised texts. Each kind of tokens with each kind
of weights is measured at each k (max_distance) of 64 and of 128 bits:

- precision, recall, F1: of the pairs within k;
- F1 confirmed: the same if the texts are compared, and only true pairs are kept (the precision is 1 then);
- related: the share of the pairs with a similarity of 0.5 or more. People may call them duplicates too;
- near: the mean number of other documents within k of a document. There are half as many pairs to confirm.

At last, the number of pairs within k among --unrelated documents that have nothing in common.

Other studies in this folder: revisions.py (versions of one text by provenance, beside other libraries), cases.py (kinds
of copies), decisions.py (whether keys find every pair), million.py (short texts), keys.py (the choice of keys).
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from articles import articles
from truth import read


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python scripts/study", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpora", nargs="+", metavar="NAME=FILE", help="JSON lines, may end in .xz")
    parser.add_argument(
        "--threshold", type=float, default=0.8, help="similarity from which a pair is true; default: %(default)s"
    )
    parser.add_argument("--longer-than", type=int, default=0, metavar="N", help="only texts of more than N characters")
    parser.add_argument("--sample", type=int, metavar="N", help="at most N documents of each corpus, drawn at random")
    parser.add_argument(
        "--unrelated", type=int, default=10_000, metavar="N", help="number of unrelated documents; default: %(default)s"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all results to this file")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    if wrong := [corpus for corpus in arguments.corpora if "=" not in corpus]:
        parser.error(f"{wrong[0]}: write NAME=FILE")
    named = dict(corpus.split("=", 1) for corpus in arguments.corpora)
    corpora = {
        name: read(Path(path), arguments.longer_than, arguments.sample, arguments.seed) for name, path in named.items()
    }
    rows = articles(corpora, arguments)
    if arguments.json:
        arguments.json.write_text("\n".join(map(json.dumps, rows)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
