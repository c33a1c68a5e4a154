"""Precision, recall and F1 of the pairs that were found."""

from __future__ import annotations


def rates(found, true, wanted):
    """Return precision, recall and F1.

    :param found: number of pairs that were found.
    :param true: number of true pairs among them.
    :param wanted: number of all true pairs.
    """
    precision, recall = true / found if found else 1.0, true / wanted if wanted else 1.0
    return {"precision": precision, "recall": recall, "f1": harmonic(precision, recall)}


def scores(found, true, related, wanted, documents):
    """Return the rates with and without confirmation, the share of related pairs, and the mean of near documents."""
    measured = rates(found, true, wanted)
    return {
        "pairs": int(found),
        "related": float(related / found) if found else 1.0,
        **measured,
        "f1_confirmed": harmonic(1.0, measured["recall"]),
        "near": 2 * float(found) / documents,
    }


def harmonic(precision, recall):
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0
