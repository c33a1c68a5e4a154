"""What becomes of a document: what is written, and what the caller is told. Values in, values out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from es_simhash.decide.judge import Side, contradiction
from es_simhash.decide.outcome import Outcome, failed
from es_simhash.values import value

if TYPE_CHECKING:
    from es_simhash.decide.batch import Decision
    from es_simhash.decide.choose import Original
    from es_simhash.decide.judge import Contradiction
    from es_simhash.decide.outcome import Document, OutcomeName
    from es_simhash.decide.rule import ResolvedRule
    from es_simhash.rows import Entry, Row

MOVED = "another program changed or removed it meanwhile: run the backfill again"


@value
class Result:
    """What becomes of a document.

    :param entry: what is written; None if nothing is.
    :param original: what it was found to be a copy of.
    :param left: the name of its former group, if it has copies there: it has another text, or another time where
        times count, or is an original no more.
    """

    document: Document
    outcome: Outcome
    entry: Entry | None = None
    original: Original | None = None
    left: str | None = None


def is_same(document: Document, former: Row, rule: ResolvedRule) -> bool:
    """Return whether the text of a document is stored under its id, and its time, where times count."""
    return former.digest == document.row.digest and (rule.window is None or former.time == document.row.time)


def without_decision(document: Document, former: Row | None, rule: ResolvedRule) -> Result | None:
    """Return what becomes of a document whose text is stored already, or that cannot be written; None for others.

    :param former: what is stored under its id.
    """
    if document.stored is not None:
        has_moved = former is None or former.digest != document.stored.digest
        return Result(document, failed(document, MOVED)) if has_moved else None
    if former is None or not is_same(document, former, rule):
        return None
    row = former._replace(content=document.row.content, time=document.row.time)
    if row == former:
        return Result(document, outcome_of(document, "unchanged", former.duplicate_of))
    return Result(document, outcome_of(document, "updated", former.duplicate_of), document.entry(row))


def of_decision(decision: Decision, former: Row | None, rule: ResolvedRule, *, skip: bool, has_copies: bool) -> Result:
    """Return what becomes of a document that was decided.

    :param former: what is stored under its id.
    :param skip: a new duplicate is not written.
    :param has_copies: others are its copies.
    """
    document, original, row = decision.document, decision.original, decision.row
    if former is not None and not former.digest:
        former = None  # it has no text yet
    name = _name(original)
    if former is not None:
        same = document.stored is not None and former.digest == row.digest
        name = "unchanged" if same and former.duplicate_of == row.duplicate_of else "updated"
    own = Side(document.row, document.features)
    is_skipped = skip and former is None and original is not None and document.stored is None
    outcome = outcome_of(
        document,
        name,
        row.duplicate_of,
        original,
        stored=not is_skipped,
        left_out=decision.left_out,
        contradicts=tuple(contradiction(own, one) for one in decision.contradicting),
        pin_lifted=former is not None and former.pinned and not row.pinned,
    )
    if former is None:
        return Result(document, outcome, None if is_skipped else document.entry(row), original)
    if former == row._replace(written=former.written, content=former.content):
        return Result(document, outcome, original=original)
    is_left = has_copies and (original is not None or not is_same(document, former, rule))
    return Result(document, outcome, document.entry(row), original, former.group if is_left else None)


def outcome_of(
    document: Document,
    name: OutcomeName,
    duplicate_of: str | None,
    original: Original | None = None,
    *,
    stored: bool = True,
    left_out: int = 0,
    contradicts: tuple[Contradiction, ...] = (),
    pin_lifted: bool = False,
) -> Outcome:
    """Return the Outcome of a document that was decided, or is stored already.

    :param original: what it is a copy of, if that was looked for.
    """
    return Outcome(
        document.row.id,
        name,
        duplicate_of=duplicate_of,
        distance=None if original is None else original.distance,
        similarity=None if original is None else original.similarity,
        stored=stored,
        fingerprinted=document.row.fingerprint is not None,
        place=document.place,
        left_out=left_out,
        contradicts=contradicts,
        blank=not document.text,
        pin_lifted=pin_lifted,
    )


def with_original(outcome: Outcome, original: Original | None) -> Outcome:
    """Return the Outcome of a duplicate whose original is not as it was compared."""
    return replace(
        outcome,
        outcome="updated" if outcome.outcome == "updated" else _name(original),
        duplicate_of=None if original is None else original.id,
        distance=None if original is None else original.distance,
        similarity=None if original is None else original.similarity,
    )


def _name(original: Original | None) -> OutcomeName:
    """Return the outcome of a document that is not stored yet."""
    if original is None:
        return "new"
    return "exact_duplicate" if original.exact else "near_duplicate"
