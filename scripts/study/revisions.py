"""Which setting finds the revisions of a text, and what else does it take for one? Truth by provenance.

    pip install --group bench
    python scripts/study/corpora.py DIR
    python scripts/study/revisions.py --folder DIR [--laws FILE] > revisions.md

A *revision* is another version of the same text, known by its name or its place and not by its similarity
(``provenance.py``): documentation in two releases of a package, a poem in two editions, paragraphs at one place in two
versions of one page, a sentence and its correction. With --laws (JSON lines with `group`, `date` and `text`, may be
.xz) the versions of a law too. They are grouped by the share of edits (Levenshtein, of word characters) and by the
length in word characters; --sample pairs of each source in a cell. Pairs that differ in numbers alone are a group of
their own: the same sentence about another article of a law, or another limit. One text is stored, among all others;
the other one is looked up. --half takes half of the documents.

*No copies*: a text of the corpus with each digit replaced, or one; a text with another day of the month; notices of
other days; stories of the newswire that are alike and a month apart; the documentation of two operations. *News*:
articles of People's Daily that get a match among the others, and stories of the newswire that get one among stories a
month older or younger.

*Keys*: of the revisions whose texts are copies by the rule, the share that a look-up by keys finds. *Texts*: of texts
of 61 to 150 characters of all sources every pair that the rule ``copy`` calls copies, by an exact join, against the
answers to every text.

A cell has the share that is found, and the interval of Wilson in which the true share is with a chance of 95 %.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import tempfile
from collections import defaultdict
from importlib.metadata import version
from pathlib import Path

import numpy as np
from rapidfuzz.distance import Levenshtein

import corpora
from es_simhash import Documents, DuplicateRule, compare
from peers import peers
from provenance import APART, HALVES, day_of, others, revisions, words_of
from truth import codes, copies, share

LENGTHS = {"to 60": (5, 60), "61-150": (61, 150), "151-400": (151, 400), "over 400": (401, 50_000)}
EDITS = {"< 5 %": (0, 0.05), "5-10 %": (0.05, 0.1), "10-20 %": (0.1, 0.2), "20-40 %": (0.2, 0.4)}
FEW_EDITS = list(EDITS)[:3]
NUMERAL = re.compile("[0-9零一二三四五六七八九十百千两]")
NOT_COPIES = 300
RULES = {
    "copy": DuplicateRule(),
    "contained": DuplicateRule(rule="contained"),
    "fingerprint": DuplicateRule(rule="fingerprint"),
    "copy, contradictions allowed": DuplicateRule(contradictions="allow"),
}
API = "SDK documentation, English"


def cells(pairs, sample, drawn):
    """Some of the different pairs, by length and share of edits."""
    found = defaultdict(list)
    for one, other in pairs:
        a, b = words_of(one), words_of(other)
        if not a or not b or a == b or max(len(a), len(b)) > 50_000:
            continue
        if NUMERAL.sub("", a) == NUMERAL.sub("", b):
            found["", "other numbers"].append((one, other))
            continue
        edits = 1 - Levenshtein.normalized_similarity(a, b, score_cutoff=0.55)
        for length, (low, high) in LENGTHS.items():
            for edited, (least, most) in EDITS.items():
                if low <= max(len(a), len(b)) <= high and least < edits <= most:
                    found[length, edited].append((one, other))
    return {cell: drawn.sample(some, min(sample, len(some))) for cell, some in found.items()}


def other_digits(text, drawn):
    return re.sub("[0-9]", lambda digit: drawn.choice([d for d in "0123456789" if d != digit[0]]), text)


def one_other_digit(text, drawn):
    place = drawn.choice([match.start() for match in re.finditer("[0-9]", text)])
    return text[:place] + other_digits(text[place], drawn) + text[place + 1 :]


class Store:
    """An SQLite file with these texts."""

    def __init__(self, folder, texts):
        self.ids = {text: str(number) for number, text in enumerate(dict.fromkeys(texts))}
        self.documents = Documents(f"sqlite:///{folder}/{random.random()}.db")
        self.documents.setup()
        for _ in self.documents.ingest({"id": id, "text": text} for text, id in self.ids.items()):
            pass

    def look_up(self, texts, rule):
        for start in range(0, len(texts), 50):
            yield from self.documents.similar_many(texts[start : start + 50], rule=rule)

    def found(self, pairs, rule):
        """For each pair, whether its first text is found by the second one."""
        answers = self.look_up([other for _, other in pairs], rule)
        return [self.ids[one] in {match.id for match in some} for (one, _), some in zip(pairs, answers, strict=True)]


def found_by_peers(pairs):
    """For each other library, for each pair, whether it finds it among the texts of all pairs."""
    words = [(words_of(one), words_of(other)) for one, other in pairs]
    places = {text: place for place, text in enumerate(dict.fromkeys(text for pair in words for text in pair))}
    for find in peers():
        for title, some in find(list(places)):
            found = {(int(min(pair)), int(max(pair))) for pair in some}
            each = [tuple(sorted((places[one], places[other]))) for one, other in words]
            yield title, [a == b or (a, b) in found for a, b in each]


def table(title, groups, found):
    """Print a row for each group of pairs, a column for each setting."""
    print(f"\n## {title}\n\n| | pairs | {' | '.join(found)} |\n|---|---|{'---|' * len(found)}")
    for name, places in groups.items():
        if places:
            cells = [share(sum(hits[place] for place in places), len(places)) for hits in found.values()]
            print(f"| {name} | {len(places):,} | {' | '.join(cells)} |", flush=True)


def of_medium_length(pairs, most, drawn):
    """About ``most`` texts of 61 to 150 word characters, among them both of a pair."""
    low, high = LENGTHS["61-150"]
    some = [pair for pair in pairs if all(low <= len(words_of(text)) <= high for text in pair)]
    drawn.shuffle(some)
    texts = {words_of(text): text for pair in some[: most // 2] for text in pair}
    return list(texts.values())


def row_of_join(texts, folder):
    """Precision and recall of the answers to every text against an exact join, and the share of flagged answers."""
    store = Store(folder, texts)
    answers = list(store.look_up(texts, RULES["copy"]))
    matched = [(place, int(match.id)) for place, some in enumerate(answers) for match in some]
    found = codes([sorted(pair) for pair in matched if pair[0] != pair[1]], len(texts))
    true, others = copies(texts)
    both = len(np.intersect1d(found, true))
    rates = f"{both / max(1, len(true)):.4f} | {both / max(1, len(found)):.4f}"
    flagged = sum(not some.complete for some in answers) / len(texts)
    return f"{len(texts):,} | {len(true):,} | {len(others):,} | {rates} | {flagged:.4f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path("study-corpora"), help="default: %(default)s")
    parser.add_argument("--laws", type=Path, metavar="FILE")
    parser.add_argument("--half", choices=HALVES, help="of the documents of the revisions; default: all")
    parser.add_argument("--texts", type=int, default=20_000, metavar="N", help="default: %(default)s")
    parser.add_argument("--sample", type=int, default=100, help="default: %(default)s")
    parser.add_argument("--only", choices=["revisions", "news", "texts"], action="append")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    given = (" --laws FILE" if arguments.laws else "") + (f" --half {arguments.half}" if arguments.half else "")
    libraries = ", ".join(f"{find.__name__} {version(find.__name__)}" for find in peers())
    print("# Which setting finds the revisions of a text?\n")
    print(f"`python scripts/study/revisions.py{given}`; {libraries}.", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for part, measure in (("revisions", of_pairs), ("news", news), ("texts", texts)):
            if part in (arguments.only or (part,)):
                measure(arguments, folder)


def of_pairs(arguments, folder):
    drawn = random.Random(arguments.seed)
    sampled = {
        source: cells(pairs, arguments.sample, drawn)
        for source, pairs in revisions(arguments.folder, arguments.laws, arguments.half).items()
    }
    pairs, places = [], defaultdict(list)

    def add(name, some):
        places[name] += range(len(pairs), len(pairs) + len(some))
        pairs.extend(some)

    for source, found in sampled.items():
        for cell, some in found.items():
            add((source, *cell), some)
    texts = list(dict.fromkeys(one for one, _ in pairs))
    for length, (low, high) in LENGTHS.items():
        some = [text for text in texts if low <= len(words_of(text)) <= high and re.search("[0-9]", text)]
        for kind, changed in (("other digits", other_digits), ("one other digit", one_other_digit)):
            chosen = drawn.sample(some, min(NOT_COPIES, len(some)))
            add((kind, length), [(text, changed(text, drawn)) for text in chosen])
    for kind, some in others(arguments.folder, arguments.seed).items():
        for length, (low, high) in LENGTHS.items():
            of = [pair for pair in some if low <= max(len(words_of(text)) for text in pair) <= high]
            add((kind, length), drawn.sample(of, min(NOT_COPIES, len(of))))
    hits = dict(everyone(pairs, arguments, folder))

    def pooled(wanted):
        return [place for name, some in places.items() if wanted(name) for place in some]

    table(
        "Revisions, by length and share of edits",
        {f"{n} characters, {e}": pooled(lambda name, n=n, e=e: name[1:] == (n, e)) for n in LENGTHS for e in EDITS},
        hits,
    )
    table(
        f"Revisions of one source: {API}",
        {f"{n} characters, {e}": places[API, n, e] for n in LENGTHS for e in FEW_EDITS},
        hits,
    )
    table(
        "Revisions with less than 20 % edits, by source",
        {source: pooled(lambda name, of=source: name[0] == of and name[-1] in FEW_EDITS) for source in sampled},
        hits,
    )
    table("Versions that differ in numbers alone", {"": pooled(lambda name: name[1:] == ("", "other numbers"))}, hits)
    table(
        "No copies: the share that is taken for one",
        {f"{name[0]}, {name[1]} characters": places[name] for name in sorted(places) if len(name) == 2},
        hits,
    )
    few = pooled(lambda name: name[-1] in FEW_EDITS)
    least = RULES["copy"].min_similarity or 1
    accepted = [place for place in few if (compare(*pairs[place]).similarity or 0) >= least]
    table(
        "Keys: revisions whose texts are similar enough",
        {"< 20 % edits": accepted},
        {"found": hits["copy, contradictions allowed"]},
    )


def everyone(pairs, arguments, folder):
    """Yield the name of each setting and of each other library, and for each pair whether it is found."""
    store = Store(folder, [one for one, _ in pairs])
    for name, rule in RULES.items():
        print(name, file=sys.stderr)
        yield name, store.found(pairs, rule)
    yield from found_by_peers(pairs)


def news(arguments, folder):
    articles = list(dict.fromkeys(corpora.articles(arguments.folder)))
    matches("News: articles with a match among the others", articles, folder)
    stories = {text: date for date, text in corpora.dated_wire(arguments.folder) if words_of(text)}
    matches("Newswire: stories with a match that is a month older or younger", list(stories), folder, stories)


def matches(title, texts, folder, dates=None):
    """Print which share of the texts has a match by each setting; with dates, one of another month."""
    store, found = Store(folder, texts), {}

    def counts(one, other):
        return one != other and (dates is None or abs(day_of(dates[one]) - day_of(dates[other])) >= APART)

    for name, rule in RULES.items():
        answers = zip(texts, store.look_up(texts, rule), strict=True)
        found[name] = {text for text, some in answers if any(counts(text, texts[int(match.id)]) for match in some)}
    for find in peers():
        for name, pairs in find([words_of(text) for text in texts]):
            both = [(texts[one], texts[other]) for one, other in pairs]
            found[name] = {text for pair in both if counts(*pair) for text in pair}
    hits = {name: [text in some for text in texts] for name, some in found.items()}
    table(title, {"texts": range(len(texts))}, hits)


def texts(arguments, folder):
    pairs = [pair for some in revisions(arguments.folder, arguments.laws).values() for pair in some]
    some = of_medium_length(pairs, arguments.texts, random.Random(arguments.seed))
    print("\n## Texts of 61 to 150 characters: every pair of copies by `copy`, against an exact join\n")
    print("| texts | pairs | alike, and contradict | recall | precision | flagged answers |")
    print(f"|---|---|---|---|---|---|\n| {row_of_join(some, folder)} |", flush=True)


if __name__ == "__main__":
    main()
