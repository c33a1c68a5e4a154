"""Backfill: give fingerprints to documents that are stored already, and decide what they duplicate.

It decides as an ingest does, but writes only our fields into documents that still have the version that was read. A
document that another writer changed in the meantime is a conflict: it is read again later.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from es_simhash.verbs.ingest import Decision, Ingest
from es_simhash.verbs.outcome import Document, StoredDocument

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from es_simhash.contract import Row, Store, Written
    from es_simhash.verbs.rule import ResolvedRule


class Backfill(Ingest):
    """One run over StoredDocuments; see :class:`~es_simhash.verbs.ingest.Ingest`."""

    _repairs = True

    def __init__(self, store: Store, rule: ResolvedRule, filter: Mapping[str, Any] | None, deadline: float) -> None:
        super().__init__(store, rule, "index", filter, deadline, partial(_annotate, store, rule.bits))

    def _is_update(self, before: Row) -> bool:
        return bool(before.digest)  # a document without a fingerprint gets its first outcome

    def _matches_filter(self, document: Document) -> bool:
        return True  # the filter selected the documents

    def _row(self, document: Document, decision: Decision) -> Row:
        assert isinstance(document, StoredDocument)
        return replace(super()._row(document, decision), version=document.version)

    def _with_new_versions(self, rows: dict[str, Row], sent: Mapping[str, Row]) -> dict[str, Row]:
        again = tuple(sorted(rows.keys() & sent.keys()))
        if not again:
            return rows
        stored = self._store.fetch(again)
        # A store may move the write order of a Row, so it is not compared.
        ours = {id: row.version for id, row in stored.items() if replace(row, written=sent[id].written) == sent[id]}
        return {id: replace(row, version=ours.get(id, row.version)) for id, row in rows.items()}


def _annotate(store: Store, bits: int, rows: Sequence[Row], documents: Mapping[str, Document]) -> Written:
    """Write our fields into stored documents.

    :param bits: width of the fingerprints.
    """
    return store.annotate(tuple(rows), bits)
