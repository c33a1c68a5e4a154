"""The documents of a batch are decided one after the other. Each may be the original of those behind it."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from es_simhash.decide.choose import Chosen, Original, choose
from es_simhash.decide.judge import Judged, Side, judge
from es_simhash.near.fingerprint_index import pairs_within
from es_simhash.near.key_index import KeyIndex
from es_simhash.parts import in_turn
from es_simhash.values import value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from es_simhash.decide.eligible import Eligible
    from es_simhash.decide.outcome import Document
    from es_simhash.decide.rule import ResolvedRule
    from es_simhash.rows import Row, StoreQuery


@value
class Found:
    """What the store has for a document.

    :param equal: documents with an equal text, the smallest order first.
    :param originals: by id, the originals of those of them that are copies; where a filter or a window limits them.
    :param candidates: originals that may be near, with their texts where texts decide.
    :param left_out: at least so many more candidates there may be.
    """

    equal: Sequence[Row]
    originals: Mapping[str, Row]
    candidates: Sequence[Side]
    left_out: int


@value
class Decision:
    """What was decided for a document.

    :param document: with its row as it was decided.
    :param original: None if it is an original itself.
    :param contradicting: as in ``Chosen``.
    :param left_out: at least so many documents that may be near were not compared.
    """

    document: Document
    original: Original | None
    contradicting: tuple[Judged, ...] = ()
    left_out: int = 0

    @property
    def row(self) -> Row:
        """The document as it was decided."""
        return self.document.row


class Batch:
    """The documents of a batch, and what was decided for those in front.

    :param queries: of the documents: what is looked for in the store is looked for among them, too.
    """

    def __init__(self, documents: Sequence[Document], queries: Sequence[StoreQuery], eligible: Eligible) -> None:
        self._eligible = eligible
        self._near = _near_within(documents, queries, eligible.rule)
        self._decided: dict[str, Document] = {}
        self._equal: dict[str, list[str]] = {}
        """By digest, the ids of the decided documents that may be originals."""
        self._originals: dict[str, Row] = {}
        """By id, the stored originals of decided documents."""

    def decide(self, document: Document, found: Found) -> Decision:
        """Decide the next document. One that is pinned stays what a person has said."""
        if document.row.pinned:
            original = self._decided.get(document.row.duplicate_of or "")
            if original is not None:
                document = replace(document, row=following(document.row, original.row))
            self._enter(document)
            return Decision(document, None)
        exact = self._exact(document, found)
        candidates, left_out = ([Side(exact, None)], 0) if exact is not None else self._candidates(document, found)
        chosen = choose(judge(Side(document.row, document.features), candidates, self._eligible.rule))
        row = _linked(document, chosen)
        self._originals |= {side.row.id: side.row for side in candidates if side.row.id == row.duplicate_of}
        decided = document if row is document.row else replace(document, row=row)
        self._enter(decided)
        return Decision(decided, chosen.original, chosen.contradicting, left_out)

    def _enter(self, document: Document) -> None:
        """Let others find a decided document."""
        self._decided[document.row.id] = document
        if document.may_lead:
            self._equal.setdefault(document.row.digest, []).append(document.row.id)

    def leave_out(self, id: str) -> None:
        """Forget a decided document: it is not stored, or stays as it is stored."""
        document = self._decided.pop(id)
        if document.may_lead:
            self._equal[document.row.digest].remove(id)

    def has_copies(self, id: str) -> bool:
        """Return whether a decided document is a copy of this one."""
        return any(document.row.duplicate_of == id for document in self._decided.values())

    def _exact(self, document: Document, found: Found) -> Row | None:
        """Return the first document with an equal text whose original can be that of a document."""
        own = [self._decided[id].row for id in self._equal.get(document.row.digest, ())]
        equal = [*own, *(row for row in found.equal if row.id not in self._decided)]
        equal.sort(key=lambda row: row.order)
        if not self._eligible.rule.is_digest_of_text(document.row.digest):
            return None
        return next((row for row in equal if self._may_lead(row, document, found)), None)

    def _may_lead(self, row: Row, document: Document, found: Found) -> bool:
        """Return whether the original of an equal document can be that of a document."""
        if not self._eligible.is_before(row, document):
            return False
        if row.duplicate_of is None:
            return True
        if row.duplicate_of == document.row.id or row.duplicate_of in self._eligible.without:
            return False
        original = found.originals.get(row.duplicate_of) or self._originals.get(row.duplicate_of)
        if (decided := self._decided.get(row.duplicate_of)) is not None:
            original = decided.row if decided.may_lead else None
        elif not self._eligible.limits_originals:
            return True
        return original is not None and original.duplicate_of is None and self._eligible.is_before(original, document)

    def _candidates(self, document: Document, found: Found) -> tuple[list[Side], int]:
        """Return the originals that a document is compared with: those of the store, and those in front of it; and how
        many are left out.
        """
        stored = [side for side in found.candidates if side.row.id not in self._decided]
        most = self._eligible.rule.most(document.keys)
        in_front = (
            other.row
            for other in map(self._decided.get, self._near.get(document.row.id, ()))
            if other is not None
            and other.may_lead
            and other.row.duplicate_of is None
            and self._eligible.is_before(other.row, document)
        )
        worth_reading = self._eligible.rule.worth_reading(document.row, islice(in_front, most + 1))
        candidates = in_turn([Side(row, self._decided[row.id].features) for row in worth_reading], stored)
        return candidates[:most], max(found.left_out, len(candidates) - most)


def _linked(document: Document, chosen: Chosen) -> Row:
    """Return the row of a document with its link. A copy comes behind its original in the order."""
    row, original = document.row, chosen.original
    if original is None:
        return row
    order = row.order if document.keeps_order else max(row.order, original.order + 1)
    return row._replace(duplicate_of=original.id, order=order, named=None).in_group(original.group)


def following(row: Row, original: Row) -> Row:
    """Return a pinned copy behind its original in the order; or as a copy of what its original became a copy of."""
    row = row._replace(order=max(row.order, original.order + 1))
    if original.duplicate_of is None:
        return row
    return row._replace(duplicate_of=original.duplicate_of, named=None).in_group(original.group)


def _near_within(
    documents: Sequence[Document], queries: Sequence[StoreQuery], rule: ResolvedRule
) -> dict[str, list[str]]:
    """Return for each document, by id, the ids of those in front of it that may be near, the likeliest first."""
    if len(documents) < 2 or rule.by == "digest":
        return {}
    rows = [one.row for one in documents]
    if rule.by == "keys":
        index = KeyIndex()
        keys = [one.keys.values if one.keys is not None else () for one in documents]
        index.add(range(len(rows)), keys, [row.length for row in rows])
        near = index.near([query.keys for query in queries])
    else:
        near = pairs_within([row.fingerprint for row in rows], rule.distance)
    is_in_front = near.positions < near.askers
    askers, positions, scores = near.askers[is_in_front], near.positions[is_in_front], near.scores[is_in_front]
    ids = [rows[place].id for place in positions[np.lexsort((-scores, askers))].tolist()]
    ends = np.searchsorted(askers, np.arange(len(rows) + 1)).tolist()
    return {row.id: ids[start:end] for row, start, end in zip(rows, ends, ends[1:], strict=False) if start < end}
