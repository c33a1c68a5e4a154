"""What goes into an ingest and what comes out of it: Document, Outcome, and the Counts of outcomes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_args

if TYPE_CHECKING:
    from collections.abc import Mapping

    from es_simhash.fingerprinting.fingerprinter import Fingerprint

OutcomeName = Literal["new", "updated", "unchanged", "exact_duplicate", "near_duplicate", "rejected", "failed"]
OUTCOMES: tuple[OutcomeName, ...] = get_args(OutcomeName)


@dataclass(frozen=True)
class Document:
    """A document on its way in: checked and fingerprinted.

    :param source: the whole document as JSON.
    :param place: where it came from, for messages: ``news.jsonl:12``.
    :param version: of the stored document that this was read from, if it is to get a fingerprint where it is.
    """

    id: str
    fingerprint: Fingerprint
    source: str
    place: str
    version: Any = None


@dataclass(frozen=True)
class Outcome:
    """What became of one document.

    :param id: None if it could not be read.
    :param outcome: ``new``, ``updated`` (the id was there, with another text), ``unchanged`` (the same text; nothing
        was written), ``exact_duplicate``, ``near_duplicate``, ``rejected`` (the document is at fault) or ``failed``
        (the store would not take it).
    :param duplicate_of: id of what it duplicates; also for an updated document.
    :param distance: Hamming distance from that in bits.
    :param similarity: to that, where the texts confirm; None where they don't.
    :param stored: the store holds this document now.
    :param fingerprinted: False if its text has too little to say: only exact copies of it can be found.
    :param reason: of ``rejected`` and ``failed``, with the place and the fix.
    :param place: where the document came from.
    :param document: of ``rejected`` and ``failed``: the document itself, or the bytes of a line that is none.
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
    document: Any = field(default=None, repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """For JSON; without the document, and without ``reason`` and ``similarity`` where there is none."""
        values = {**vars(self)}
        del values["document"]
        for name in ("reason", "similarity"):
            if values[name] is None:
                del values[name]
        return values


class Counts:
    """How many documents had which outcome.

    :param counts: what :meth:`to_dict` gave, to go on from.
    """

    def __init__(self, counts: Mapping[str, int] | None = None) -> None:
        counts = counts or {}
        self.outcomes: Counter[str] = Counter({name: counts[name] for name in OUTCOMES if name in counts})
        self.without_fingerprint = counts.get("without_fingerprint", 0)

    def add(self, outcome: Outcome) -> None:
        """Count one."""
        self.outcomes[outcome.outcome] += 1
        self.without_fingerprint += outcome.stored and not outcome.fingerprinted

    @property
    def total(self) -> int:
        """All of them."""
        return self.outcomes.total()

    @property
    def not_taken(self) -> int:
        """Rejected ones and failed ones."""
        return self.outcomes["rejected"] + self.outcomes["failed"]

    def to_dict(self) -> dict[str, int]:
        """``total``, each of OUTCOMES, and ``without_fingerprint``: stored, with too little to say for one."""
        counts: dict[str, int] = {name: self.outcomes[name] for name in OUTCOMES}
        return {"total": self.total, **counts, "without_fingerprint": self.without_fingerprint}
