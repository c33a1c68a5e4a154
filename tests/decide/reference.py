"""The rule as slow, obvious code: one document after the other, each compared with all heads before it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from es_simhash.decide.outcome import Document
from es_simhash.decide.rule import ResolvedRule
from es_simhash.ingest.reader import content_of
from es_simhash.rows import Row
from es_simhash.similarity.confirm import TextFeatures, similar_among
from es_simhash.similarity.rule import DuplicateRule
from es_simhash.similarity.text_fields import text_of
from es_simhash.text.fingerprinter import Fingerprinter
from es_simhash.text.keys import keys_of_texts

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
    import json

    from es_simhash.similarity.times import time_of

    texts = [rule.fingerprinter.scheme.normalise(text_of(source, rule.text_fields)) for source in sources]
    keys = keys_of_texts(texts) if rule.keys else [None] * len(texts)
    made = []
    for source, text, key in zip(sources, texts, keys, strict=True):
        line = json.dumps(source, ensure_ascii=False)
        [fingerprint] = rule.fingerprinter.fingerprints_normalised([text])
        time = None if rule.window is None else time_of(source, rule.window.field)
        made.append(
            Document(
                source["id"], fingerprint, text, line, "here", key, time, content_of(json.dumps(source, sort_keys=True))
            )
        )
    return made


@dataclass
class Plain:
    """The documents in the order in which they count, each with its text, and the head that it is a copy of."""

    rule: ResolvedRule
    known: dict[str, tuple[Document, int, str | None]] = field(default_factory=dict)
    clock: int = 0

    def ingest(self, document: Document) -> tuple[str, str | None]:
        """Return the outcome of a document, and what it duplicates."""
        former = self.known.get(document.id)
        same_text = former is not None and former[0].fingerprint.digest == document.fingerprint.digest
        if former is not None and same_text and (self.rule.window is None or former[0].time == document.time):
            unchanged = former[0].content == document.content
            self.known[document.id] = (document, *former[1:])
            return ("unchanged" if unchanged else "updated"), former[2]
        self.clock += 1
        order, kept = self.clock, False
        if former is not None and (same_text or self.rule.is_near(self._row(former[0]), self._row(document))):
            order, kept = former[1], True
        head, exact = self._head(document, order if kept else None)
        self.known[document.id] = (document, order, head)
        if former is not None:
            self._decide_linked(document.id)
            return "updated", self.known[document.id][2]
        return ("new" if head is None else "exact_duplicate" if exact else "near_duplicate"), head

    def remove(self, ids: Sequence[str]) -> None:
        """Remove documents."""
        gone = [id for id in ids if self.known.pop(id, None) is not None]
        linked = {id for id, (_, _, head) in self.known.items() if head in gone}
        self._decide(linked)

    def group(self) -> None:
        """Decide all documents again."""
        self._decide(set(self.known))

    def links(self) -> dict[str, str | None]:
        """Return what each document is a copy of."""
        return {id: head for id, (_, _, head) in self.known.items()}

    def _decide_linked(self, id: str) -> None:
        self._decide({other for other, (_, _, head) in self.known.items() if head == id})

    def _decide(self, ids: set[str]) -> None:
        """Decide documents again, as if those that follow were no heads yet."""
        for id in ids:
            document, order, _ = self.known[id]
            self.known[id] = (document, order, "undecided")
        for id in sorted(ids, key=lambda id: self.known[id][1]):
            document, order, _ = self.known[id]
            head, _ = self._head(document, order)
            self.known[id] = (document, order, head)

    def _head(self, document: Document, before: int | None) -> tuple[str | None, bool]:
        others = [
            (order, other, head)
            for other, order, head in self.known.values()
            if other.id != document.id and head != "undecided" and (before is None or order < before)
        ]
        window = self.rule.window
        if window is not None:
            others = [one for one in others if window.holds(one[1].time, document.time)]
        for _, other, head in sorted(others, key=lambda one: one[0]):
            if other.fingerprint.copy_digest == document.fingerprint.copy_digest is not None and (
                head is None or (head != document.id and self.known[head][2] is None)
            ):
                return head or other.id, True
        near = [(self._distance(document, other), order, other) for order, other, head in others if head is None]
        for _, _, other in sorted(near, key=lambda one: (*one[:2], one[2].id)):
            if self.is_copy(document, other):
                return other.id, False
        return None, False

    def is_copy(self, document: Document, other: Document) -> bool:
        """Return whether one document is found as a near copy of another."""
        rule = self.rule
        probe = rule.probe(self._row(document), document.keys)
        if rule.by == "digest" or not rule.allows(self._row(document), self._row(other)):
            return False
        if rule.by == "keys":
            keys = other.keys.values if other.keys else ()
            length = other.keys.length if other.keys else None
            if not any(query.is_fulfilled_by(keys, length) for query in probe.queries):
                return False
        if rule.min_similarity is None:
            return True
        one, two = (TextFeatures(each.text, rule.fingerprinter, is_normalised=True) for each in (document, other))
        return any(similar_among(one, [two], rule.chosen))

    @staticmethod
    def _row(document: Document) -> Row:
        return Row(document.id, document.fingerprint.value, document.fingerprint.digest, time=document.time)

    @staticmethod
    def _distance(document: Document, other: Document) -> int:
        if document.fingerprint.value is None or other.fingerprint.value is None:
            return 65
        return (document.fingerprint.value ^ other.fingerprint.value).bit_count()
