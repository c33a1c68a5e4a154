"""Short texts: a few policies, each with a Scheme, a k and perhaps a measure that confirms."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from tqdm import tqdm

from es_simhash import Fingerprinter, Scheme
from es_simhash.fingerprinting.scheme import CONFIRMED, DEFAULT
from es_simhash.similarity.measures import jaccard, levenshtein
from near import within
from peers import minhash_pairs, missing
from scores import rates
from titles import short_texts
from truth import codes, edit_pairs

if TYPE_CHECKING:
    from collections.abc import Callable

CONFIRM = 0.8
BANDS = (10, 15, 20, 30, 40, 61)
CLOSENESS = (1, 0.95, 0.9, 0.85)


@dataclass(frozen=True)
class Policy:
    """A rule for near-duplicates. Without a Scheme the candidates are those of MinHashLSH."""

    title: str
    scheme: Scheme | None
    k: int = 7
    confirm: Callable[[str, str], float] | None = levenshtein

    def __str__(self) -> str:
        if self.scheme is None:
            near = "2 characters, threshold 0.5"
        else:
            near = f"{self.scheme.tokens}, {self.scheme.bits} bits, k = {self.k}"
        return near if self.confirm is None else f"{near}, {self.confirm.__name__} ≥ {CONFIRM}"


POLICIES = (
    Policy("as articles", DEFAULT, k=3, confirm=None),
    Policy("as articles, confirmed", DEFAULT, confirm=jaccard),
    Policy("characters, confirmed", Scheme(tokens="characters")),
    Policy("Han characters, not confirmed", replace(CONFIRMED, bits=64), confirm=None),
    Policy("Han characters, confirmed", replace(CONFIRMED, bits=64)),
    Policy("CONFIRMED, confirmed", CONFIRMED, k=15),
    Policy("datasketch MinHashLSH, confirmed", None),
)


def short(corpora, arguments):
    own = arguments.no_peers or missing("datasketch")
    policies = [policy for policy in POLICIES if policy.scheme or not own]
    rows, hits = [], {policy: Counter() for policy in policies}
    every, steps = Counter(), [*(step for step in CLOSENESS if step > arguments.threshold), arguments.threshold]
    for name, documents in corpora.items():
        texts = short_texts(documents, arguments.seed)
        print(f"{name}: {len(texts)} texts", file=sys.stderr)
        truth, similarities = edit_pairs(texts, arguments.threshold)
        kinds = [
            (
                length_of(min(len(texts[position]) for position in divmod(pair, len(texts)))),
                closeness_of(similarity, steps),
            )
            for pair, similarity in zip(truth.tolist(), similarities, strict=True)
        ]
        every.update(kind for both in kinds for kind in both)
        print(f"\n### {name}: {len(texts):,} texts, {len(truth):,} true pairs\n")
        print("| | policy | precision | recall | F1 | pairs to confirm a text |\n|---|---|---|---|---|---|")
        for policy in policies:
            near = candidates(texts, policy)
            found = confirmed(texts, near, policy)
            hit = np.isin(truth, found)
            hits[policy].update(kind for position in np.flatnonzero(hit).tolist() for kind in kinds[position])
            row = {**rates(len(found), int(hit.sum()), len(truth)), "to_confirm": len(near) / len(texts)}
            rows.append({"corpus": name, "title": policy.title, "policy": str(policy), "pairs": len(found), **row})
            print(f"| {policy.title} | {policy} | " + " | ".join(f"{value:.3f}" for value in row.values()) + " |")
        sys.stdout.flush()
    all_of_them(rows, policies)
    by_kind(hits, every, steps)
    return rows


def candidates(texts, policy):
    """Return the codes of the pairs within the policy's k, or of the candidates of MinHashLSH."""
    if policy.scheme is None:
        return codes(minhash_pairs(texts, 0.5, 2)[0], len(texts))
    maker = Fingerprinter(policy.scheme)
    values = [maker.fingerprint(text).value for text in tqdm(texts, desc=policy.title, disable=None)]
    code, distance = within(values, policy.scheme.bits)
    return code[distance <= policy.k]


def confirmed(texts, near, policy):
    """Return the codes of the candidates that the policy keeps."""
    if policy.confirm is None:
        return near
    pairs = zip(*(positions.tolist() for positions in np.divmod(near, len(texts))), strict=True)
    alike = np.fromiter((policy.confirm(texts[a], texts[b]) for a, b in pairs), dtype=np.float64, count=len(near))
    return near[alike >= CONFIRM]


def all_of_them(rows, policies):
    print("\n### All of them\n\n| | policy | mean F1 | lowest F1 | mean recall | lowest recall ", end="")
    print("| most pairs to confirm a text |\n|---|---|---|---|---|---|---|")
    for policy in policies:
        f1, recall, near = (
            [row[name] for row in rows if row["title"] == policy.title] for name in ("f1", "recall", "to_confirm")
        )
        cells = (sum(f1) / len(f1), min(f1), sum(recall) / len(recall), min(recall), max(near))
        print(f"| {policy.title} | {policy} | " + " | ".join(f"{cell:.3f}" for cell in cells) + " |")


def length_of(shorter):
    return next(f"{low}–{high - 1}" for low, high in pairwise(BANDS) if shorter < high)


def closeness_of(similarity, steps):
    return next(f"{low}–{high}" for high, low in pairwise(steps) if similarity >= low)


def by_kind(hits, every, steps):
    columns = [length_of(low) for low in BANDS[:-1]] + [closeness_of(low, steps) for low in steps[1:]]
    print("\n### Recall by length of the shorter text, and by similarity, all corpora together\n")
    print("| | " + " | ".join(columns) + " |\n|---" + "|---" * len(columns) + "|")
    print("| true pairs | " + " | ".join(f"{every[column]:,}" for column in columns) + " |")
    for policy, hit in hits.items():
        cells = [f"{hit[column] / every[column]:.3f}" if every[column] else "" for column in columns]
        print(f"| {policy.title} | " + " | ".join(cells) + " |")
