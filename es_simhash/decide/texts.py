"""The features of stored texts that are compared. Those used lately are kept."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from functools import lru_cache
from typing import TYPE_CHECKING

from es_simhash.errors import InputError
from es_simhash.parts import in_parts
from es_simhash.similarity.confirm import TextFeatures
from es_simhash.similarity.text_fields import text_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_simhash.decide.rule import ResolvedRule
    from es_simhash.rows import Row, Stored
    from es_simhash.store.protocol import Store

_log = logging.getLogger("es_simhash")

KEPT = 100_000_000
"""Bytes of the texts that are kept: 5 million characters of long texts, 38,000 titles."""
OF_TEXT, OF_CHARACTER = 2_000, 20
"""Bytes of the features of a text, and for each of its characters."""
READ_AT_ONCE = 100
"""Documents whose texts are read in one request."""


class Texts:
    """The texts of a store, by digest."""

    def __init__(self, store: Store, rule: ResolvedRule) -> None:
        self._store, self._rule = store, rule
        self._kept: OrderedDict[str, TextFeatures] = OrderedDict()
        self._bytes = 0
        self.warn_once = lru_cache(10_000)(_log.warning)
        self._lock = threading.Lock()

    def of_rows(self, rows: Sequence[Row]) -> list[TextFeatures | None]:
        """Return the features of texts. None for a document that is gone, has another text now, or has none."""
        known = {row.id: self._kept.get(row.digest) for row in rows}
        missing = {row.id: row for row in rows if known[row.id] is None}
        for ids in in_parts(sorted(missing), READ_AT_ONCE):
            stored = self._store.read(ids, self._rule.text_fields)
            for id, document in stored.items():
                if document.row.digest == missing[id].digest and (features := self.of_stored(document)) is not None:
                    known[id] = features
                    self.keep(features.digest, features)
        return [known[row.id] for row in rows]

    def keep(self, digest: str, features: TextFeatures) -> None:
        """Keep the features of a text.

        :param digest: of this text itself. The digest that a store has may be that of a former text.
        """
        with self._lock:
            if digest in self._kept:
                self._kept.move_to_end(digest)
                return
            self._kept[digest] = features
            self._bytes += _bytes_of(features)
            while self._bytes > KEPT and len(self._kept) > 1:
                _, oldest = self._kept.popitem(last=False)
                self._bytes -= _bytes_of(oldest)

    def of_stored(self, stored: Stored) -> TextFeatures | None:
        """Return the features of a document that was read with its text; None, with a warning, if it has none."""
        try:
            return TextFeatures(text_of(stored.source or {}, self._rule.text_fields), self._rule.fingerprinter)
        except InputError as error:
            self.warn_once("stored document %r is left out of comparisons: %s", stored.row.id, str(error))
            return None


def _bytes_of(features: TextFeatures) -> int:
    return OF_TEXT + OF_CHARACTER * len(features.normalised)
