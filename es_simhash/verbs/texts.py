"""Confirm near-duplicates by their texts: those of stored documents are brought from the store, a few at a time.

What a run wrote last it has at hand: near-duplicates mostly come close together, and a store has most trouble with what
it was just given.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from es_simhash.contract import FetchFields, ask
from es_simhash.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from es_simhash.contract import Flow, Row
    from es_simhash.similarity.confirm import Confirm, Features

BATCH = 100
"""Documents whose texts are brought at once."""
RECENT = 32_000_000
"""Characters of documents that a run keeps at hand: 64 MB at most of Chinese ones."""


class Recent:
    """The documents that a run wrote last, as JSON; beyond ``RECENT`` characters the oldest go."""

    def __init__(self) -> None:
        self._documents: dict[str, tuple[str, str]] = {}
        self._characters = 0

    def keep(self, id: str, digest: str, source: str) -> None:
        """Remember a document that was written."""
        self._drop(id)
        self._documents[id] = digest, source
        self._characters += len(source)
        while self._characters > RECENT:
            self._drop(next(iter(self._documents)))

    def get(self, row: Row) -> str | None:
        """The document that a Row is of, if it is at hand."""
        digest, source = self._documents.get(row.id, ("", None))
        return source if digest == row.digest else None

    def _drop(self, id: str) -> None:
        _, source = self._documents.pop(id, ("", ""))
        self._characters -= len(source)


@dataclass(frozen=True)
class Texts:
    """Confirms by the texts of documents.

    :param fields: where the text is.
    :param text: makes it of what these fields hold; an InputError if there is none.
    """

    confirm: Confirm
    fields: tuple[str, ...]
    text: Callable[[Mapping[str, Any]], str]

    def given(self, source: str) -> Features:
        """Of a document on its way in."""
        return self.confirm.features(self.text(json.loads(source)))

    def stored(self, ids: Iterable[str]) -> Flow[dict[str, Features | InputError]]:
        """Of stored documents, as last written; what there is to say where there is no text.

        Documents that are not there (any more) are left out.
        """
        wanted = sorted(set(ids))
        found: dict[str, Features | InputError] = {}
        for start in range(0, len(wanted), BATCH):
            sources = yield from ask(FetchFields(tuple(wanted[start : start + BATCH]), self.fields))
            found |= {id: self._features(id, source) for id, source in sources.items()}
        return found

    def _features(self, id: str, source: Mapping[str, Any]) -> Features | InputError:
        try:
            return self.confirm.features(self.text(source))
        except InputError as error:
            return InputError(f"to confirm by its text, document {id!r} in the store is wanted with it: {error}")

    def similarity(self, a: Features | InputError | None, b: Features | InputError | None) -> float | None:
        """Of two texts; None if either document is not there.

        :raises InputError: if either has no text.
        """
        if isinstance(a, InputError):
            raise a
        if isinstance(b, InputError):
            raise b
        if a is None or b is None:
            return None
        return self.confirm.similarity(a, b)

    def confirms(self, a: Features | InputError | None, b: Features | InputError | None) -> bool:
        """Whether two texts are there and agree."""
        missing = isinstance(a, InputError) or isinstance(b, InputError)
        return not missing and self.agree(self.similarity(a, b))

    def agree(self, similarity: float | None) -> bool:
        """Whether it is enough."""
        return similarity is not None and similarity >= self.confirm.least
