"""Articles: every Scheme at every k, with and without confirmation by the texts."""

from __future__ import annotations

import sys
from itertools import product

import numpy as np

from es_simhash.fingerprinting.scheme import DEFAULT
from es_simhash.fingerprinting.tokens import TOKENS
from es_simhash.fingerprinting.weights import WEIGHTS
from es_simhash.groups.links import unite
from near import MAX_DISTANCE, fingerprints, shortened, within
from scores import scores
from truth import codes, distinct, join, shingle_sets
from unrelated import false_pairs, unrelated

RELATED = 0.5
DISTANCES = (3, 5, DEFAULT.max_distance)  # at which the default is shown


def articles(corpora, arguments):
    rows, made, kept, texts_of = [], {}, {}, {}
    for name, documents in corpora.items():
        texts = texts_of[name] = distinct(document["text"] for document in documents)
        print(f"{name}: {len(texts)} texts", file=sys.stderr)
        joined, similarity = join(shingle_sets(texts), min(RELATED, arguments.threshold))
        truth = codes(joined[similarity >= arguments.threshold], len(texts))
        related = codes(joined, len(texts))
        kept[name] = np.unique(unite(len(texts), iter([np.stack(np.divmod(related, len(texts)), axis=1)])))
        of_corpus = []
        for tokens in TOKENS:
            for weights, values in fingerprints(texts, tokens).items():
                made[name, tokens, weights] = values
                of_corpus += measured(values, truth, related, tokens=tokens, weights=weights)
        rows += [{"corpus": name, **row} for row in of_corpus]
        length = sum(map(len, texts)) / len(texts)
        print(f"\n### {name}: {len(texts):,} documents of {length:,.0f} characters, {len(truth):,} true pairs")
        print(f"\n{len(documents) - len(texts):,} exact copies dropped.\n")
        table(shown(of_corpus))
        sys.stdout.flush()
    worst_cases(rows, list(corpora))
    apart = unrelated(texts_of, kept, arguments.unrelated, arguments.seed)
    rows += false_pairs(made, apart)
    return rows


def measured(values, truth, related, **setting):
    for bits, largest in MAX_DISTANCE.items():
        code, distance = within(shortened(values, bits), bits)
        found, true, alike = (
            np.cumsum(np.bincount(distance[those], minlength=largest + 1))
            for those in (slice(None), np.isin(code, truth), np.isin(code, related))
        )
        for k in range(largest + 1):
            yield {**setting, "bits": bits, "k": k, **scores(found[k], true[k], alike[k], len(truth), len(values))}


def shown(rows):
    """Yield the rows of the table, with titles: the default, the best settings."""
    ours = [row for row in rows if "bits" in row]
    default = [row for row in ours if is_default(row)]
    yield from ((f"default, k = {row['k']}", row) for row in default if row["k"] in DISTANCES)
    for title, bits, measure in (
        ("best not confirmed, 64 bits", 64, "f1"),
        ("best not confirmed, 128 bits", 128, "f1"),
        ("best confirmed, 64 bits", 64, "f1_confirmed"),
        ("best confirmed, 128 bits", 128, "f1_confirmed"),
    ):
        yield title, max((row for row in ours if row["bits"] == bits), key=lambda row: (row[measure], -row["pairs"]))


def is_default(row):
    return (row["tokens"], row["weights"], row["bits"]) == (DEFAULT.tokens, DEFAULT.weights, DEFAULT.bits)


def setting(row):
    return f"{row['tokens']}, {row['weights']}, {row['bits']} bits, k = {row['k']}" if "bits" in row else ""


def table(titled):
    print("| | setting | precision | related | recall | F1 | F1 confirmed | near |")
    print("|---|---|---|---|---|---|---|---|")
    for title, row in titled:
        print(
            f"| {title} | {setting(row)} | {row['precision']:.3f} | {row['related']:.3f} | {row['recall']:.3f} "
            f"| {row['f1']:.3f} | {row['f1_confirmed']:.3f} | {row['near']:,.2f} |"
        )


def worst_cases(rows, names):
    """Print the worst corpus of each setting. For unknown documents rely on the setting that is best there."""
    worst = {}
    for row in rows:
        if "bits" in row:
            key = (row["tokens"], row["weights"], row["bits"], row["k"])
            kept = worst.setdefault(key, {"f1": 1.0, "f1_confirmed": 1.0, "near": 0.0, "of": {}})
            kept.update({name: min(kept[name], row[name]) for name in ("f1", "f1_confirmed")})
            kept["near"] = max(kept["near"], row["near"])
            kept["of"][row["corpus"]] = row
    print(f"\n### The worst of {', '.join(names)}\n")
    print("The lowest F1 and F1 confirmed of all corpora, and the largest number of documents near a document.\n")
    columns = [(64, 3, "f1"), (64, 5, "f1"), (64, 7, "f1_confirmed"), (128, 11, "f1"), (128, 15, "f1_confirmed")]
    print(
        "| tokens | weights | "
        + " | ".join(f"{bits} bits, k = {k}{', confirmed' * (name != 'f1')}: F1, near" for bits, k, name in columns)
        + " |"
    )
    print("|---" * (2 + len(columns)) + "|")
    for tokens, weights in product(TOKENS, WEIGHTS):
        cells = [(worst[tokens, weights, bits, k], name) for bits, k, name in columns]
        print(f"| {tokens} | {weights} | " + " | ".join(f"{r[name]:.3f}, {r['near']:,.2f}" for r, name in cells) + " |")
    print("\nThe best worst case:\n")
    for title, size, name in (
        ("64 bits, not confirmed", 64, "f1"),
        ("64 bits, confirmed", 64, "f1_confirmed"),
        ("128 bits, not confirmed", 128, "f1"),
        ("128 bits, confirmed", 128, "f1_confirmed"),
    ):
        (tokens, weights, bits, k), kept = max(
            ((key, kept) for key, kept in worst.items() if key[2] == size),
            key=lambda item: (round(item[1][name], 4), -item[1]["near"]),
        )
        each = ", ".join(f"{corpus} {row[name]:.3f}" for corpus, row in kept["of"].items())
        print(f"- {title}: {tokens}, {weights}, {bits} bits, k = {k}: F1 {kept[name]:.3f} ({each})")
