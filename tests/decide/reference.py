"""The rule as slow, obvious code: one document after the other, each compared with all originals before it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from es_simhash.decide.outcome import Document
from es_simhash.decide.rule import ResolvedRule
from es_simhash.ingest.reader import IdField, Reader
from es_simhash.lines import Line
from es_simhash.similarity.confirm import TextFeatures
from es_simhash.similarity.differences import contradict
from es_simhash.similarity.rule import DuplicateRule
from es_simhash.text.fingerprinter import Fingerprinter
from es_simhash.text.keys import key_queries
from tests.similarity.reference import similarity

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from es_simhash.similarity.rule import Rule

FINGERPRINTER = Fingerprinter()


def resolved(rule: Rule | DuplicateRule = "copy", *, keys: bool = True) -> ResolvedRule:
    """Return a rule of the default Scheme."""
    chosen = DuplicateRule(rule=rule) if isinstance(rule, str) else rule
    return ResolvedRule(replace(chosen, text_field=chosen.text_field or "text"), FINGERPRINTER, keys)


def documents(sources: Sequence[Mapping[str, Any]], rule: ResolvedRule) -> list[Document]:
    """Return documents as an ingest reads them."""
    lines = [Line("here", dict(source)) for source in sources]
    read = Reader(rule, IdField("id", is_stored=True)).read_all(lines)
    return [one for one in read if isinstance(one, Document)]


@dataclass
class Known:
    """A document as the reference knows it."""

    document: Document
    order: int
    original: str | None
    group: str


@dataclass
class Plain:
    """The documents in the order in which they count, each with its text, its original and the name of its group."""

    rule: ResolvedRule
    known: dict[str, Known] = field(default_factory=dict)
    clock: int = 0

    def ingest(self, document: Document) -> tuple[str, str | None]:
        """Return the outcome of a document, and what it duplicates."""
        id, former = document.row.id, self.known.get(document.row.id)
        same_text = former is not None and former.document.row.digest == document.row.digest
        if former is not None and same_text and (self.rule.window is None or self._time(former) == document.row.time):
            unchanged = former.document.row.content == document.row.content
            former.document = document
            return ("unchanged" if unchanged else "updated"), former.original
        self.clock += 1_000
        order = self.clock
        if former is not None and (same_text or self.rule.is_near(former.document.row, document.row)):
            order = former.order
        original, exact, before = self._original(document, None)
        order = max(order, before + 1)
        if original is not None:
            group = self.known[original].group
        elif former is not None and former.original is None:
            group = former.group
        else:
            group = self._own_name(document)
        self.known[id] = Known(document, order, original, group)
        if former is not None:
            copies = {other for other, one in self.known.items() if one.original == id}
            self._decide(copies, {id})
            if any(self.known[other].original is None for other in copies):
                self._decide({id}, set())
            return "updated", self.known[id].original
        return ("new" if original is None else "exact_duplicate" if exact else "near_duplicate"), original

    def remove(self, ids: Sequence[str]) -> None:
        """Remove documents."""
        gone = {id for id in ids if self.known.pop(id, None) is not None}
        self._decide({id for id, one in self.known.items() if one.original in gone}, gone)

    def group(self) -> None:
        """Decide all documents again."""
        self._decide(set(self.known), set())

    def links(self) -> dict[str, str | None]:
        """Return what each document is a copy of."""
        return {id: one.original for id, one in self.known.items()}

    def groups(self) -> dict[str, str]:
        """Return the name of the group of each document."""
        return {id: one.group for id, one in self.known.items()}

    def _decide(self, ids: set[str], left: set[str]) -> None:
        """Decide documents again, as if those that follow were no originals yet. Then a group keeps its name.

        :param left: documents that may lose the name of their group.
        """
        former = {id: self.known[id] for id in ids}
        in_order = sorted(ids, key=lambda id: former[id].order)
        self.known |= {id: replace(one, original="undecided") for id, one in former.items()}
        for id in in_order:
            original, *_ = self._original(former[id].document, former[id].order)
            self.known[id] = replace(former[id], original=original)
        for id in in_order:
            one = self.known[id]
            if one.original is None and former[id].original is not None:
                others = [other for other in self.known if other != id and self._leads(other, one.group)]
                others = [
                    other
                    for other in others
                    if other not in ids or former[other].original is None or other in in_order[: in_order.index(id)]
                ]
                followed = {self.known[other].original for other in ids}
                if any(other not in left or other in followed for other in others):
                    one.group = self._own_name(one.document)
                for other in others:
                    if other in left and other not in followed:
                        self.known[other].group = _made_up(self.known[other].document)
            elif one.original is not None:
                one.group = self.known[one.original].group

    def _leads(self, id: str, group: str) -> bool:
        return self.known[id].original is None and self.known[id].group == group

    def _own_name(self, document: Document) -> str:
        id = document.row.id
        return _made_up(document) if any(self._leads(other, id) for other in self.known if other != id) else id

    def _time(self, one: Known) -> int | None:
        return one.document.row.time

    def _in_window(self, one: Known, document: Document) -> bool:
        within, one_time, time = self.rule.chosen.within, self._time(one), document.row.time
        if within is None:
            return True
        return one_time is not None and time is not None and timedelta(milliseconds=abs(one_time - time)) <= within

    def _original(self, document: Document, before: int | None) -> tuple[str | None, bool, int]:
        """Return the original of a document, whether the texts are equal, and the order of the one that was found."""
        others = [
            one
            for one in self.known.values()
            if one.document.row.id != document.row.id
            and one.original != "undecided"
            and (before is None or one.order < before)
        ]
        others = [one for one in others if self._in_window(one, document)]
        others.sort(key=lambda one: one.order)
        for one in others:
            if document.text and one.document.text == document.text:
                original = one if one.original is None else self.known[one.original]
                own_id, id = document.row.id, original.document.row.id
                if original.original is None and id != own_id and self._in_window(original, document):
                    return id, True, one.order
        near = [(self.likeness(document, one.document), one) for one in others if one.original is None]
        near = [(likeness, one) for likeness, one in near if likeness is not None]
        near.sort(key=lambda pair: (-(pair[0] or 0), pair[1].order))
        return (near[0][1].document.row.id, False, near[0][1].order) if near else (None, False, 0)

    def likeness(self, document: Document, other: Document) -> float | None:
        """Return how like two documents are: the similarity, or the bits that are equal; None if they are no copies."""
        rule, chosen = self.rule, self.rule.chosen
        one, two = document.row.fingerprint, other.row.fingerprint
        distance = None if one is None or two is None else (one ^ two).bit_count()
        if chosen.rule == "exact":
            return None
        if chosen.rule == "fingerprint":
            return None if distance is None or distance > (chosen.max_distance or 0) else 64.0 - distance
        assert chosen.min_similarity is not None
        assert document.keys is not None
        assert other.keys is not None
        queries = key_queries(document.keys, chosen.min_similarity)
        if not any(query.is_fulfilled_by(other.keys.values, other.keys.length) for query in queries):
            return None
        is_long = min(document.keys.length, other.keys.length) > 60
        if is_long and distance is not None and distance > 24:
            return None
        value = similarity(document.text, other.text, chosen.rule, chosen.min_similarity, rule.fingerprinter)
        if value < chosen.min_similarity:
            return None
        texts = [TextFeatures(each.text, rule.fingerprinter, is_normalised=True) for each in (document, other)]
        return None if chosen.contradictions == "refuse" and contradict(*texts) else value


def _made_up(document: Document) -> str:
    return f"{document.row.id}~{document.row.digest[:8]}"
