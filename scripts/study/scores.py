"""How good the pairs are that were found."""

from __future__ import annotations


def rates(found, true, wanted):
    """Of ``found`` pairs ``true`` are true, of ``wanted`` that are to be found."""
    precision, recall = true / found if found else 1.0, true / wanted if wanted else 1.0
    return {"precision": precision, "recall": recall, "f1": harmonic(precision, recall)}


def scores(found, true, related, wanted, documents):
    """The rates, as they come and confirmed; how many pairs are related, and how many others are near a document."""
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
