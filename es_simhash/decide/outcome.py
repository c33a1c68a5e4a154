"""The input and the output of an ingest or a backfill: Document and Outcome."""

from __future__ import annotations

import json
from dataclasses import field, fields
from typing import TYPE_CHECKING, Any, Literal, get_args

from es_simhash.rows import Entry
from es_simhash.values import value

if TYPE_CHECKING:
    from es_simhash.decide.judge import Contradiction
    from es_simhash.rows import Row
    from es_simhash.similarity.confirm import TextFeatures
    from es_simhash.text.keys import TextKeys

OutcomeName = Literal["new", "updated", "unchanged", "kept", "exact_duplicate", "near_duplicate", "rejected", "failed"]
OUTCOMES: tuple[OutcomeName, ...] = get_args(OutcomeName)


@value
class Document:
    """A document that was checked and fingerprinted.

    :param row: as an original; its place in the order is known when it is decided.
    :param text: its normalised text.
    :param place: where it came from, for messages: ``news.jsonl:12``.
    :param source: the document as JSON; None if it is stored already, so only our fields are written.
    :param keys: of the text; None if the store has no keys.
    :param stored: the row as it was read, of a stored document that is decided again; else None.
    :param features: of the text, where texts decide; None as long as the document is not decided.
    :param keeps_order: it stays where it is in the order of documents, so only earlier ones can be its original.
        Otherwise it comes behind its original.
    :param may_lead: it matches the filter, so others can be copies of it.
    """

    row: Row
    text: str
    place: str = ""
    source: str | None = None
    keys: TextKeys | None = None
    stored: Row | None = None
    features: TextFeatures | None = None
    keeps_order: bool = False
    may_lead: bool = True

    def entry(self, row: Row) -> Entry:
        """Return what is written for this row of the document."""
        return Entry(row, () if self.keys is None else self.keys.values, self.source)


@value
class Outcome:
    """What happened to one document.

    :param id: None if it could not be read.
    :param outcome: ``new``, ``updated`` (the id was stored with another text or other fields), ``unchanged`` (the same
        document; nothing was written), ``kept`` (the id was stored with a text that this one is a copy of, and
        ``on_update`` is ``keep``; nothing was written), ``exact_duplicate``, ``near_duplicate``, ``rejected`` (the
        document is at fault) or ``failed`` (the store did not take it).
    :param duplicate_of: id of the original that it duplicates; also for an updated document.
    :param distance: Hamming distance from the original in bits; of ``kept``, from the stored text. None if the text is
        equal to that of another copy of the original: the two are not compared then.
    :param similarity: to the same, where texts decide; else None.
    :param stored: the store holds this document now.
    :param fingerprinted: False if its text is too short for a fingerprint: only keys find near-duplicates of it.
    :param reason: of ``rejected`` and ``failed``: what is wrong, where, and how to correct it.
    :param place: where the document came from.
    :param left_out: at least so many documents were not compared with it, because too many may be near.
    :param contradicts: up to five stored originals that are similar enough and contradict it, the most similar first:
        the same news with another figure. They are those that were compared on the way to its original, if it has one;
        an exact duplicate is compared with none.
    :param blank: it has no text, such as a page of scripts alone where HTML is read: it is a copy of nothing.
    :param pin_lifted: it had been pinned, and has another text now.
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
    contradicts: tuple[Contradiction, ...] = ()
    blank: bool = False
    pin_lifted: bool = False
    document: Any = field(default=None, repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields for JSON, without ``document``. Empty ones that a document seldom has are omitted."""
        values = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "document"}
        values["contradicts"] = [as_json(each) for each in self.contradicts]
        seldom = ("reason", "similarity", "left_out", "contradicts", "blank", "pin_lifted")
        return {name: value for name, value in values.items() if value or name not in seldom}


def as_json(contradiction: Contradiction) -> dict[str, Any]:
    """Return a contradiction for JSON."""
    differences = [difference._asdict() for difference in contradiction.differences]
    return {"id": contradiction.id, "similarity": contradiction.similarity, "differences": differences}


def failed(document: Document, reason: str) -> Outcome:
    """Return the Outcome of a document that the store did not take."""
    return Outcome(
        document.row.id,
        "failed",
        fingerprinted=document.row.fingerprint is not None,
        reason=f"{document.place}: {reason}",
        place=document.place,
        document=None if document.source is None else json.loads(document.source),
    )
