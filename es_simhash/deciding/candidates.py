"""Look up a batch: ask the store for its stored versions, and for all candidates at once.

Search may find a former state of a document that the run has written or will write. So the run says which ids that
holds for, and the candidates are those that remain without these states.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from es_simhash.contract import Candidates, Probe, Row
from es_simhash.deciding.content import content_of
from es_simhash.deciding.memory import candidates_without_stale
from es_simhash.deciding.outcome import Document, Outcome, failed
from es_simhash.errors import TooLarge

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from es_simhash.contract import Store
    from es_simhash.deciding.memory import Memory
    from es_simhash.deciding.rule import ResolvedRule
    from es_simhash.deciding.stored_fingerprints import StoredFingerprints


@dataclass(frozen=True)
class LookedUp:
    """A batch, and what the store knew when the batch was looked up.

    :param items: Documents, and the Outcomes of those that were rejected before.
    :param stored: by id, the Rows that the batch may replace.
    :param candidates: the Rows that may be near a document of the batch.
    :param memory: of the run at that time. The run goes on to fill it.
    :param left_out: by id, how many documents the store did not return, because too many share keys or a fingerprint.
    :param replaced: by id, the state that search may find after this batch has replaced it.
    """

    items: Sequence[Document | Outcome]
    stored: Mapping[str, Row]
    candidates: Sequence[Row]
    memory: Memory
    left_out: Mapping[str, int]
    replaced: dict[str, Row]

    @cached_property
    def documents(self) -> list[Document]:
        return [item for item in self.items if isinstance(item, Document)]


@dataclass(frozen=True)
class _Candidates:
    """The candidates for documents.

    :param left_out: by id, how many were left out.
    :param problems: by id, the reason why a document has no complete answer.
    """

    rows: Sequence[Row]
    left_out: Mapping[str, int]
    problems: Mapping[str, str]


@dataclass(frozen=True)
class BatchLookUp:
    """Looks up batches under one rule and one filter.

    :param filter: only documents that match it become originals.
    :param fingerprints: of the store. Documents that are near none of them have no candidates. None looks up all.
    """

    store: Store
    rule: ResolvedRule
    filter: Mapping[str, Any] | None
    fingerprints: StoredFingerprints | None

    def look_up(self, items: Sequence[Document | Outcome], memory: Memory, hidden: Mapping[str, Row]) -> LookedUp:
        """Ask the store about a batch. A document has failed if the store has no complete answer for it alone.

        :param items: Documents, and the Outcomes of those that were rejected before.
        :param memory: of the run.
        :param hidden: by id, the former state that search may still find.
        """
        documents = [item for item in items if isinstance(item, Document)]
        stored = self._with_contents(
            self.store.fetch(tuple(document.id for document in documents), self.rule.time_field), documents
        )
        changed = [d for d in documents if d.id not in stored or differs(d, stored[d.id])]
        # Search results for these ids become stale during this batch. Both states are known here.
        replaced = {d.id: stored[d.id] for d in documents if d.id in stored and self._replaces(d, stored[d.id])}
        asked = changed if self.fingerprints is None else self.fingerprints.to_look_up(changed)
        hidden = {**hidden, **replaced}
        unknown = [document for document in asked if document.id not in stored]
        named, unknown = self._named(unknown, hidden)
        new = self._candidates(unknown, hidden, new=True)
        changes = self._candidates([document for document in asked if document.id in stored], hidden, new=False)
        rows, problems = [*named, *new.rows, *changes.rows], {**new.problems, **changes.problems}
        if self.filter is None:
            rows = [*rows, *replaced.values()]  # with a filter only the store knows whether they match it
        if problems:
            items = [failed(item, problems[item.id or ""]) if item.id in problems else item for item in items]
        return LookedUp(items, stored, rows, memory, {**new.left_out, **changes.left_out}, replaced)

    def _replaces(self, document: Document, stored: Row) -> bool:
        """Return whether a document makes search results for its id stale."""
        if differs(document, stored):
            return True
        # With the same text, the document may no longer match the filter.
        return self.filter is not None and document.content not in (None, stored.content)

    def _with_contents(self, stored: Mapping[str, Row], documents: Sequence[Document]) -> Mapping[str, Row]:
        """Return Rows with the contents that documents with the same text are compared with.

        A store does not know the content of a document that only a backfill has fingerprinted. It is read then.
        """
        unknown = [
            document.id
            for document in documents
            if document.content is not None
            and (row := stored.get(document.id)) is not None
            and row.content is None
            and not differs(document, row)
        ]
        if not unknown:
            return stored
        sources = self.store.fetch_fields(tuple(unknown), None)
        contents = {id: content_of(json.dumps(source)) for id, source in sources.items()}
        return {**stored, **{id: replace(stored[id], content=content) for id, content in contents.items()}}

    def _named(self, documents: Sequence[Document], hidden: Mapping[str, Row]) -> tuple[list[Row], list[Document]]:
        """Look up the nearest fingerprints by name, where memory knows them and only the nearest matter.

        Among near-equal documents a search by segments finds most of the store.

        :param documents: that are not stored.
        :returns: Rows, and the documents that must be looked up by segments all the same.
        """
        values = [each.fingerprint.value for each in documents if each.fingerprint.value is not None]
        if not values or self.fingerprints is None or self.rule.nearest(new=True) != 1:
            return [], list(documents)
        nearest = self.fingerprints.nearest(values)
        if nearest is None:
            return [], list(documents)
        names = iter(nearest)
        of_document = [() if each.fingerprint.value is None else next(names) for each in documents]
        digests = [each.fingerprint.copy_digest for each in documents if each.fingerprint.copy_digest]
        probes = [Probe(value, None) for value in dict.fromkeys(value for some in of_document for value in some)]
        probes += [Probe(None, digest) for digest in dict.fromkeys(digests)]
        query = candidates_query((), self.rule, self.filter, new=True)
        query = replace(query, probes=tuple(probes), max_distance=0, nearest=None)
        try:
            rows = candidates_without_stale(self.store, query, hidden, keep_stale=self.filter is not None).rows
        except TooLarge:
            return [], list(documents)
        there = {row.fingerprint for row in rows if row.id not in hidden}
        copies = {row.digest for row in rows if row.id not in hidden}
        # What memory knows may have been removed, changed, or excluded by the filter. Then the next ones are needed.
        missing = [
            each
            for each, some in zip(documents, of_document, strict=True)
            if some and each.fingerprint.copy_digest not in copies and there.isdisjoint(some)
        ]
        return rows, missing

    def _candidates(self, documents: Sequence[Document], hidden: Mapping[str, Row], *, new: bool) -> _Candidates:
        """Return the candidates for documents. If there are too many for one request, each half is asked for alone."""
        if not documents:
            return _Candidates([], {}, {})
        query = candidates_query(documents, self.rule, self.filter, new=new)
        # With a filter, Rows with a known newer state are needed too: if they are found, they match the filter.
        keep_stale = self.filter is not None
        try:
            found = candidates_without_stale(self.store, query, hidden, keep_stale=keep_stale)
            left_out = {documents[index].id: n for index, n in found.left_out.items()}
            return _Candidates(found.rows, left_out if query.counted else {}, {})
        except TooLarge as error:
            if len(documents) == 1:
                return _Candidates([], {}, {documents[0].id: str(error)})
        # One document without an answer must not stop the others.
        middle = len(documents) // 2
        one = self._candidates(documents[:middle], hidden, new=new)
        two = self._candidates(documents[middle:], hidden, new=new)
        return _Candidates([*one.rows, *two.rows], {**one.left_out, **two.left_out}, {**one.problems, **two.problems})


def candidates_query(
    documents: Sequence[Document], rule: ResolvedRule, filter: Mapping[str, Any] | None, *, new: bool
) -> Candidates:
    """Return the query for what may be near documents.

    :param new: they are not stored.
    """
    probes = tuple(
        rule.probe(each.fingerprint.value, each.fingerprint.copy_digest, each.keys, each.time) for each in documents
    )
    return Candidates(
        probes,
        rule.search_distance,
        rule.bits,
        filter,
        one_per_digest=True,
        per_fingerprint=rule.per_fingerprint,
        nearest=rule.nearest(new=new),
        counted=rule.texts is not None,  # else the nearest is the original, so nothing is lost with the others
        time_field=rule.time_field,
    )


def differs(document: Document, stored: Row) -> bool:
    """Return whether a document must be decided: its text or its time changed, or the stored one lacks its keys."""
    lacks_keys = document.keys is not None and stored.length is None
    moved = document.content is not None and document.time != stored.time
    return stored.digest != document.fingerprint.digest or lacks_keys or moved
