"""Draw pairs from a store, label them, and see which rule agrees with the labels.

    python examples/choose_a_rule.py sqlite:///news.db

`es-simhash label` asks a person for each pair. Here the label comes from a function, to keep the program short: put
your own judgement, or labels of a file, in its place.
"""

from __future__ import annotations

import argparse
import sys

from rapidfuzz.fuzz import ratio

from es_simhash import Documents, SimhashError
from es_simhash.tools.evaluation import evaluate, labelled, sample_pairs


def is_duplicate(a: str, b: str) -> bool:
    """Stand for a person who looks at two texts."""
    return ratio(a, b) >= 85


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", help="URL of a store with documents")
    parser.add_argument("--pairs", type=int, default=200, help="default: %(default)s")
    arguments = parser.parse_args()
    with Documents(arguments.store) as documents:
        fingerprinter = documents.fingerprinter()
        sampled = list(sample_pairs(documents, arguments.pairs))
    pairs = [labelled(pair.a, pair.b, is_duplicate(pair.a, pair.b), fingerprinter) for pair in sampled]
    made = evaluate(pairs, fingerprinter.scheme)
    for rule, point in made.rules.items():
        print(f"{rule}: recall {point.recall:.2f}, F1 {point.f1:.2f}")
    others = ", ".join(other.rule for other in made.undecided)
    print(f"{len(pairs)} pairs: {made.best} is best" + (f", but too few pairs tell it from {others}" if others else ""))


if __name__ == "__main__":
    try:
        main()
    except SimhashError as error:
        sys.exit(f"{sys.argv[0]}: {error}")
