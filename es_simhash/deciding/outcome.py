"""The input and the output of an ingest or a backfill: Document, Outcome, and the Counts of outcomes."""

from __future__ import annotations

from collections import Counter
from dataclasses import field, fields
from typing import TYPE_CHECKING, Any, Literal, get_args

from es_simhash.exact_json import loads
from es_simhash.values import value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from es_simhash.fingerprinting.fingerprinter import Fingerprint
    from es_simhash.search.keys import TextKeys

OutcomeName = Literal["new", "updated", "unchanged", "exact_duplicate", "near_duplicate", "rejected", "failed"]
OUTCOMES: tuple[OutcomeName, ...] = get_args(OutcomeName)


@value
class Document:
    """A document that was checked and fingerprinted.

    :param source: the document as JSON; in a backfill only the fields with the text.
    :param place: where it came from, for messages: ``news.jsonl:12``.
    :param keys: of the text; None if the store has no keys.
    :param time: of the document, in milliseconds since 1970; None if the rule has no window.
    :param content: all its fields (:mod:`es_simhash.deciding.content`); None if a stored document with the same text
        stays as it is.
    :param version: of the stored document when a backfill read it; else None.
    """

    id: str
    fingerprint: Fingerprint
    source: str
    place: str
    keys: TextKeys | None = None
    time: int | None = None
    content: int | None = None
    version: Any = None


@value
class Outcome:
    """What happened to one document.

    :param id: None if it could not be read.
    :param outcome: ``new``, ``updated`` (the id was stored with another text or other fields), ``unchanged`` (the same
        document; nothing was written), ``exact_duplicate``, ``near_duplicate``, ``rejected`` (the document is at fault)
        or ``failed`` (the store did not take it).
    :param duplicate_of: id of the original that it duplicates; also for an updated document.
    :param distance: Hamming distance from the original in bits.
    :param similarity: to the original, where texts confirm; else None.
    :param stored: the store holds this document now.
    :param fingerprinted: False if its text is too short for a fingerprint: only keys find near-duplicates of it.
    :param reason: of ``rejected`` and ``failed``: what is wrong, where, and how to correct it.
    :param place: where the document came from.
    :param left_out: about how many documents were not compared with it, because too many share its keys or are near.
    :param document: of ``rejected`` and ``failed``: the document itself, or the bytes of a line that is no document.
    """

    id: str | None
    outcome: OutcomeName
    duplicate_of: str | None = None
    distance: int | None = None
    stored: bool = False
    fingerprinted: bool = False
    reason: str | None = None
    place: str | None = None
    similarity: float | None = None
    left_out: int = 0
    document: Any = field(default=None, repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields for JSON. ``document``, and empty ``reason``, ``similarity``, ``left_out`` are omitted."""
        values = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "document"}
        for name in ("reason", "similarity"):
            if values[name] is None:
                del values[name]
        if not self.left_out:
            del values["left_out"]
        return values


def failed(item: Document | Outcome, reason: str) -> Outcome:
    """Return the Outcome of an item that the run could not finish. An item with an Outcome keeps it."""
    if isinstance(item, Outcome):
        return item
    outcome = Outcome(item.id, "failed", fingerprinted=item.fingerprint.value is not None, place=item.place)
    return as_failed(outcome, item, reason)


def as_failed(outcome: Outcome, document: Document, reason: str) -> Outcome:
    """Return the Outcome of a document that was decided and has failed since.

    :param outcome: as it was decided.
    """
    return Outcome(
        outcome.id,
        "failed",
        fingerprinted=outcome.fingerprinted,
        reason=f"{outcome.place}: {reason}",
        place=outcome.place,
        document=loads(document.source),
    )


class Counts:
    """The number of documents with each outcome.

    :param counts: counts to continue from, as :meth:`to_dict` returns them.
    """

    def __init__(self, counts: Mapping[str, int] | None = None) -> None:
        counts = counts or {}
        self.outcomes: Counter[str] = Counter({name: counts[name] for name in OUTCOMES if name in counts})
        self.without_fingerprint = counts.get("without_fingerprint", 0)

    def add(self, outcome: Outcome) -> None:
        """Count one outcome."""
        self.outcomes[outcome.outcome] += 1
        self.without_fingerprint += outcome.stored and not outcome.fingerprinted

    @property
    def total(self) -> int:
        """The number of all documents."""
        return self.outcomes.total()

    @property
    def not_taken(self) -> int:
        """The number of rejected and failed documents."""
        return self.outcomes["rejected"] + self.outcomes["failed"]

    def to_dict(self) -> dict[str, int]:
        """Return ``total``, a count for each of OUTCOMES, and ``without_fingerprint`` (stored, but text too short)."""
        counts: dict[str, int] = {name: self.outcomes[name] for name in OUTCOMES}
        return {"total": self.total, **counts, "without_fingerprint": self.without_fingerprint}
