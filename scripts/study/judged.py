"""How many pairs are judged wrong? A table with a row for each kind, and one for each setting.

    pip install --group bench
    python scripts/study/judged.py [FILE] > judged.md

Each line of the file (judged.jsonl beside this script by default) is a JSON object: ``a``, ``b``, ``kind``, and whether
they are copies, ``copy``. Its texts were written for it, after public reports of people who look for copies.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path

from es_simhash import compare
from peers import peers
from provenance import words_of

PAIRS = Path(__file__).with_name("judged.jsonl")
RULES = ("copy", "contained", "fingerprint")


def judgements(pairs):
    """Return for each setting, for each pair, whether it takes the two for copies."""
    found = {rule: [compare(pair["a"], pair["b"], rule=rule).is_duplicate for pair in pairs] for rule in RULES}
    for find in peers():
        titles = defaultdict(list)
        for pair in pairs:
            words = [words_of(pair["a"]), words_of(pair["b"])]
            for title, hits in find(words):
                titles[title].append(words[0] == words[1] or len(hits) > 0)
        found |= titles
    return found


def wrong(pairs, found):
    """Return for each kind: its pairs, the copies that are missed, and the others that are taken for copies."""
    rows = defaultdict(lambda: [0, 0, 0])
    for pair, copy in zip(pairs, found, strict=True):
        row = rows[pair["kind"]]
        row[0] += 1
        row[1] += pair["copy"] and not copy
        row[2] += copy and not pair["copy"]
    return dict(rows)


def main():
    file = Path(sys.argv[1]) if len(sys.argv) > 1 else PAIRS
    pairs = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    found = judgements(pairs)
    print("# How many pairs are judged wrong?\n\n`python scripts/study/judged.py`.\n\n## By setting\n")
    print("| | pairs | copies that are missed | others that are taken for copies |\n|---|---|---|---|")
    for name, some in found.items():
        sums = [sum(column) for column in zip(*wrong(pairs, some).values(), strict=True)]
        print(f"| {name} | {' | '.join(map(str, sums))} |")
    print("\n## By kind, by the rule `copy`\n\n| kind | pairs | missed | taken for copies |\n|---|---|---|---|")
    for kind, row in wrong(pairs, found["copy"]).items():
        print(f"| {kind} | {' | '.join(map(str, row))} |")


if __name__ == "__main__":
    main()
