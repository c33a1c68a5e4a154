"""How many pairs are judged wrong? A table with a row for each kind, by the default rule.

python scripts/study/judged.py [FILE]

Each line of the file (judged.jsonl beside this script by default) is a JSON object: ``a``, ``b``, ``kind``, and whether
they are copies, ``copy``. Its texts were written for it.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path

from es_simhash import compare

PAIRS = Path(__file__).with_name("judged.jsonl")


def wrong(pairs):
    """Return for each kind: the pairs, the copies that are missed, and the others that are taken for copies."""
    rows = defaultdict(lambda: [0, [], []])
    for pair in pairs:
        row = rows[pair["kind"]]
        row[0] += 1
        copy = compare(pair["a"], pair["b"]).verdict != "different"
        if copy != pair["copy"]:
            row[2 if copy else 1].append(pair)
    return dict(rows)


def main():
    file = Path(sys.argv[1]) if len(sys.argv) > 1 else PAIRS
    pairs = map(json.loads, file.read_text(encoding="utf-8").splitlines())
    print("| kind | pairs | missed | taken for copies |\n|---|---|---|---|")
    for kind, (count, missed, false) in wrong(pairs).items():
        print(f"| {kind} | {count} | {len(missed)} | {len(false)} |")


if __name__ == "__main__":
    main()
