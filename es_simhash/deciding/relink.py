"""Change links: when a document's text changes or is removed, the documents that are linked to it get other links.

A link holds while its original exists, was written earlier, and is a duplicate by the rule. A document whose link does
not hold is decided again, as an ingest would at its place in the write order. If its group changes, the documents that
are linked to it change their group too. The result is what an ingest without the lost text would have left of these
links. A group that only the lost text connected is split.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from es_simhash.contract import Link
from es_simhash.deciding.candidates import candidates_query
from es_simhash.deciding.limits import LIMITS
from es_simhash.deciding.memory import Memory, candidates_without_stale
from es_simhash.deciding.original import Neighbours
from es_simhash.similarity.confirm import TextFeatures

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from es_simhash.contract import Row, Store
    from es_simhash.deciding.rule import ResolvedRule
    from es_simhash.search.keys import TextKeys

K = TypeVar("K")

REPAIRED = 1_000
"""Documents that a repair looks at together."""


def relink(
    store: Store,
    changed: Collection[str],
    memory: Memory,
    rule: ResolvedRule,
    gone: Collection[str] = (),
    heads: Collection[str] | None = None,
    filter: Mapping[str, Any] | None = None,
    batch: int = LIMITS.links,
) -> int:
    """Change the links to these documents, and the links to documents whose group changes as a consequence.

    :param changed: ids of documents whose text changed or was removed.
    :param memory: of the run. Changed links are remembered there.
    :param rule: the rule by which links hold, and originals are found.
    :param gone: ids that are nobody's original any more.
    :param heads: those of ``changed`` whose group may need another head; all of them by default.
    :param filter: only documents that match it become originals.
    :param batch: documents whose links are written together.
    :returns: how many documents were changed.
    """
    plan = _Plan(store, memory, rule, frozenset(gone), filter)
    planned, levels = plan.make(set(changed), set(changed if heads is None else heads))
    # The farthest first. If this is interrupted, the nearer links still lead to those that are not changed yet.
    order = sorted(planned, key=lambda id: (-levels[id], id))
    count = 0
    for start in range(0, len(order), batch):
        rows = {id: planned[id] for id in order[start : start + batch]}
        links = {id: Link(row.group, row.duplicate_of, row.version) for id, row in rows.items()}
        conflicts = store.relink(links)
        for id, row in rows.items():
            if id not in conflicts:  # a conflict: another writer wrote the document, and decided its links
                count += 1
                memory.relink(row)
    return count


@dataclass(frozen=True)
class _Plan:
    """Finds the documents whose links must change, and decides the new links.

    :param gone: ids that are nobody's original any more.
    :param filter: only documents that match it become originals.
    """

    store: Store
    memory: Memory
    rule: ResolvedRule
    gone: frozenset[str]
    filter: Mapping[str, Any] | None

    def make(self, originals: set[str], heads: set[str]) -> tuple[dict[str, Row], dict[str, int]]:
        """Return the Rows with their new links, and how many links each is away from a changed document; by id.

        :param originals: documents to which a ``duplicate_of`` may not hold any more.
        :param heads: documents that may not be the head of their group any more.
        """
        planned: dict[str, Row] = {}
        levels: dict[str, int] = {}
        level = 0
        while originals:
            level += 1
            found = self.store.dependents(tuple(sorted(originals)), tuple(sorted(heads)))
            known = [*self.memory.known.values(), *planned.values()]
            found |= {row.id for row in known if _depends(row, originals, heads)}
            ids = sorted(found - self.gone)
            regrouped: set[str] = set()
            for start in range(0, len(ids), LIMITS.links):
                rows = self.store.fetch(tuple(ids[start : start + LIMITS.links]), self.rule.time_field)
                rows = {id: planned.get(id, row) for id, row in rows.items()}
                dependent = [row for row in rows.values() if _depends(row, originals, heads)]
                decided = self._decide(dependent, planned)
                for id, row in decided.items():
                    planned[id], levels[id] = row, level
                    if row.group != rows[id].group:
                        regrouped.add(id)
            originals, heads = regrouped, regrouped  # links lead to earlier documents, so this ends
        return planned, levels

    def _decide(self, dependent: list[Row], planned: Mapping[str, Row]) -> dict[str, Row]:
        """Return those of the Rows whose links change, with their new links."""
        if not dependent:
            return {}
        named = tuple(sorted({row.duplicate_of for row in dependent if row.duplicate_of is not None} - self.gone))
        originals = self.store.fetch(named, self.rule.time_field)
        held = self._held(dependent, originals)
        undecided = [row for row in dependent if row.id not in held]
        neighbours = self._neighbours(undecided)
        undecided_ids = {row.id for row in undecided}
        rows = {**originals, **planned, **{row.id: row for row in dependent}}
        decided: dict[str, Row] = {}
        for row in sorted(dependent, key=lambda row: (row.written, row.id)):
            original = rows.get(row.duplicate_of or "")
            if row.id in undecided_ids:
                found = neighbours.original_of(self.store, row.id, {}, before=row.written, strict=False)
                original = None if found is None else rows.get(found.row.id, found.row)
            linked = replace(
                row,
                group=row.id if original is None else original.group,
                duplicate_of=None if original is None else original.id,
            )
            rows[row.id] = linked
            if (linked.group, linked.duplicate_of) != (row.group, row.duplicate_of):
                decided[row.id] = linked
        return decided

    def _neighbours(self, rows: list[Row]) -> Neighbours:
        rule = self.rule
        batch = [replace(row, digest="") if row.digest == rule.blank_digest else row for row in rows]
        keys = self._keys(rows)
        queries = [rule.queries(some) for some in keys]
        probes = tuple(
            rule.probe(row.fingerprint, row.digest, some, row.time) for row, some in zip(batch, keys, strict=True)
        )
        candidates: list[Row] = []
        if probes:
            gone = tuple(sorted(self.gone))
            request = replace(candidates_query((), rule, self.filter, new=False), probes=probes, without=gone)
            candidates = candidates_without_stale(self.store, request, self.memory.hidden).rows
        stored = self.memory.over({row.id: row for row in candidates}, batch, rule, queries)
        neighbours = Neighbours(batch, [row for id, row in stored.items() if id not in self.gone], rule, queries)
        if rule.texts is not None:
            neighbours.confirm_stored(self.store, rule.texts)
        return neighbours

    def _keys(self, rows: list[Row]) -> list[TextKeys | None]:
        """Return the keys of each Row's text, which is fetched; None if keys find no candidates."""
        texts = self.rule.texts
        if not self.rule.keys or texts is None:
            return [None for _ in rows]
        stored = texts.stored(self.store, (row.id for row in rows))
        found = [stored.get(row.id) for row in rows]
        return [text.keys if isinstance(text, TextFeatures) else None for text in found]

    def _held(self, dependent: list[Row], originals: Mapping[str, Row]) -> set[str]:
        """Return the ids of the Rows whose links hold."""
        named = [(row, originals.get(row.duplicate_of or "")) for row in dependent]
        linked = [(row, original) for row, original in named if original is not None]
        earlier = [(row, original) for row, original in linked if original.written < row.written]
        held = self.rule.duplicates(self.store, earlier)
        return {row.id for row, _ in held}


def _depends(row: Row, originals: Collection[str], heads: Collection[str]) -> bool:
    return row.duplicate_of in originals or (row.group in heads and row.group != row.id)


def repair(
    store: Store,
    linked_to: Iterable[tuple[str, K]],
    has_digest: Callable[[K, str], bool],
    rule: ResolvedRule,
    filter: Mapping[str, Any] | None,
) -> None:
    """Change the links to documents that do not exist any more, or have another text than before.

    :param linked_to: the id of each document to which links were written, and what the caller knows it by.
    :param has_digest: takes what the caller knows a document by, and a digest. Returns whether it had this digest.
    :param rule: the rule by which links hold.
    :param filter: only documents that match it become originals.
    """
    rest = iter(linked_to)
    while some := dict(islice(rest, REPAIRED)):
        ids = list(some)
        digests = {id: row.digest for id, row in store.fetch(tuple(ids)).items()}
        gone = [id for id in ids if id not in digests]
        changed = [id for id in ids if id not in digests or not has_digest(some[id], digests[id])]
        if changed and relink(store, changed, Memory(), rule, gone=gone, filter=filter):
            store.refresh()
