"""The reference of the measures, slow and obvious: sets of strings."""

from __future__ import annotations

from rapidfuzz.distance import Levenshtein

from es_simhash.similarity.measures import SHORTEST
from es_simhash.text.fingerprinter import Fingerprinter
from es_simhash.text.normalisation import compared_characters, normalise
from es_simhash.text.scheme import DEFAULT, Scheme


def shingles(words: str, width: int = 5) -> set[str]:
    """Return every run of ``width`` of the characters; a text that is shorter is its only shingle."""
    cut = {words[start : start + width] for start in range(len(words) - width + 1)}
    return cut or ({words} if words else set())


def jaccard(a: str, b: str) -> float:
    """Return the Jaccard similarity of the shingles of two texts."""
    normalised = normalise(a), normalise(b)
    return _jaccard(*map(compared_characters, normalised)) if normalised[0] != normalised[1] else 1.0


def _jaccard(a: str, b: str) -> float:
    ours, theirs = shingles(a), shingles(b)
    return len(ours & theirs) / len(ours | theirs) if ours | theirs else 0.0


def containment(a: str, b: str) -> float:
    """Return the share of the shingles of the text that has fewer that the other has, too."""
    fewer, more = sorted(map(shingles, (a, b)), key=len)
    if not fewer or (len(fewer) < SHORTEST and fewer != more):
        return 0.0
    return len(fewer & more) / len(fewer)


def similarity(a: str, b: str, rule: str, least: float, scheme: Scheme | Fingerprinter = DEFAULT) -> float:
    """Return the similarity of two texts by a rule that compares texts, with its least similarity."""
    fingerprinter = scheme if isinstance(scheme, Fingerprinter) else Fingerprinter(scheme)
    normalised = [fingerprinter.scheme.normalise(text) for text in (a, b)]
    if normalised[0] == normalised[1]:
        return 1.0
    one, other = map(compared_characters, normalised)
    edits = 1 - Levenshtein.distance(one, other) / max(len(one), len(other)) if one and other else 0.0
    short, long = sorted(map(len, (one, other)))
    part = containment(one, other)
    in_common = max(_jaccard(one, other), part if part >= 0.9 and long > 150 and 2 * short >= long else 0.0)
    first, second = (part, edits) if rule == "contained" else (edits, in_common)
    return first if first >= least else max(first, second)
