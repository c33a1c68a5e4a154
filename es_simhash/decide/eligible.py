"""Who may be the original of a document?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from es_simhash.rows import MOST_HITS
from es_simhash.values import value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_simhash.decide.outcome import Document
    from es_simhash.decide.rule import ResolvedRule
    from es_simhash.rows import Row, StoreQuery
    from es_simhash.store.protocol import Filter


@value
class Eligible:
    """Who may be the original of a document: who matches the filter, comes before it, and stands in its window.

    :param filter: only documents that match it are originals of others.
    :param without: ids of documents that are not, because they are to be removed.
    """

    rule: ResolvedRule
    filter: Filter | None = None
    without: frozenset[str] = frozenset()

    @property
    def limits_originals(self) -> bool:
        """An equal copy may be allowed, and its original not."""
        return self.filter is not None or self.rule.window is not None

    @property
    def fields(self) -> tuple[str, ...] | None:
        """The fields of a stored document that a decision needs; None for all of them, as a filter may ask for any."""
        if self.filter is not None:
            return None
        return self.rule.text_fields if self.rule.compares_texts else ()

    def queries(self, documents: Sequence[Document]) -> list[StoreQuery]:
        """Return what to look for, for each document."""
        most_equal = MOST_HITS if self.limits_originals else 1
        return [self.rule.query(one.row, one.keys, most_equal=most_equal) for one in documents]

    def is_before(self, row: Row, document: Document) -> bool:
        """Return whether a row is another document in the window, and no later one if the document keeps its order."""
        own = document.row
        if row.id == own.id or row.id in self.without or not self.rule.is_in_window(row, own):
            return False
        return row.order <= own.order or not document.keeps_order
