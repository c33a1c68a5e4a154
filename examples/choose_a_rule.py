"""Draw pairs from a store, label them, and see which rule agrees with the labels.

    python examples/choose_a_rule.py sqlite:///news.db

Here the label comes from a function, to keep the program short: put your own judgement, or labels of a file, in its
place. `es-simhash evaluate` does the same with a file that a person has labelled.
"""

from __future__ import annotations

import argparse
import sys

from rapidfuzz.fuzz import ratio

from es_simhash import Documents, SimhashError
from es_simhash.tools.evaluation import LabelledPair, evaluate, sample_pairs


def is_copy(a: str, b: str) -> bool:
    """Stand for a person who looks at two texts."""
    return ratio(a, b) >= 85


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", help="URL of a store with documents")
    parser.add_argument("--pairs", type=int, default=200, help="default: %(default)s")
    arguments = parser.parse_args()
    with Documents(arguments.store) as documents:
        pairs = [
            LabelledPair(pair.a, pair.b, is_copy(pair.a, pair.b)) for pair in sample_pairs(documents, arguments.pairs)
        ]
    figures = evaluate(pairs)
    for rule, made in figures.items():
        print(f"{rule}: recall {made.recall:.2f}, F1 {made.f1:.2f}")
    best = max(figures, key=lambda rule: figures[rule].f1)
    print(f"{len(pairs)} pairs: {best} is best")


if __name__ == "__main__":
    try:
        main()
    except SimhashError as error:
        sys.exit(f"{sys.argv[0]}: {error}")
