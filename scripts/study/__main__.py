"""Which Scheme finds the most, and is wrong the least? Measured on real documents, all pairs of them.

    pip install --group bench
    scripts/corpus peoples-daily --revise > news.jsonl      and so on; scripts/corpus says where they come from
    python scripts/study news=news.jsonl reviews=reviews.jsonl poems=poems.jsonl --json study.json > study.md
    python scripts/study --short news=peoples-daily.jsonl reviews=plain.jsonl

A corpus is a file of JSON lines (.xz too) with `id` and `text`, and `title` if there is one. Exact copies are dropped
first, and counted. *Truth* is every pair of the rest that is alike by --threshold, found by an exact join: no pair is
missing, and none is there because some method found it.

Articles: alike is a Jaccard similarity of 5-character shingles of the normalised texts; with --edits a Levenshtein
similarity, which favours no kind of tokens, and is slow on long texts. Each kind of tokens with each kind of weights is
measured at each k of 64 and of 128 bits:

- precision, recall, F1 of the pairs within k, as they come;
- recall and F1 if the texts of those pairs are compared, and a pair is kept only if it is true (its precision is 1);
- related: how many of the pairs have a similarity of 0.5 at least, so that people might call them duplicates, too;
- near: how many others are within k of a document on average. Half as many pairs a document are left to confirm.

Beside them, on the same pairs: datasketch's MinHashLSH and 1e0ng's simhash, where they are installed. Last, how many of
--unrelated documents that have nothing in common are within k of each other. The whole matrix goes to --json.

Short texts (--short), of 10 to 60 characters: the titles of a corpus that has titles; of another one its texts, and the
first sentences of longer ones. Give it without revised copies: for every third there is a copy as an aggregator makes
it. Alike is a Levenshtein similarity (1 - distance / length of the longer). A few policies are measured, among them
CONFIRMED; each is a Scheme, a k, and what the pairs within k are confirmed by, if anything. Where that is the truth's
own measure the precision is 1 by construction (at the default --threshold), so that recall is what to compare.
"Pairs to confirm" are those within k, of each text; a policy that takes them as they come compares none.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from articles import articles
from short import short
from truth import read


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python scripts/study", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpora", nargs="+", metavar="NAME=FILE", help="JSON lines, may end in .xz")
    parser.add_argument("--short", action="store_true", help="measure titles and posts, not articles")
    parser.add_argument("--threshold", type=float, default=0.8, help="from which a pair is true; default: %(default)s")
    parser.add_argument("--edits", action="store_true", help="truth is a Levenshtein similarity, of articles too")
    parser.add_argument("--longer-than", type=int, default=0, metavar="N", help="only texts of more than N characters")
    parser.add_argument("--sample", type=int, help="so many documents of each corpus at most, drawn at random")
    parser.add_argument("--unrelated", type=int, default=10_000, help="default: %(default)s")
    parser.add_argument("--json", type=Path, metavar="FILE", help="all that was measured")
    parser.add_argument("--no-peers", action="store_true", help="measure no other library")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    if wrong := [corpus for corpus in arguments.corpora if "=" not in corpus]:
        parser.error(f"{wrong[0]}: write NAME=FILE")
    named = dict(corpus.split("=", 1) for corpus in arguments.corpora)
    corpora = {
        name: read(Path(path), arguments.longer_than, arguments.sample, arguments.seed) for name, path in named.items()
    }
    rows = (short if arguments.short else articles)(corpora, arguments)
    if arguments.json:
        arguments.json.write_text("\n".join(map(json.dumps, rows)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
