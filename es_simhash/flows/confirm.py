"""Confirm near-duplicates by their texts: those of stored documents are brought from the store, a few at a time."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from es_simhash.errors import InputError
from es_simhash.ops import FetchFields, ask

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from es_simhash.core.confirm import Confirm, Features
    from es_simhash.ops import Flow

BATCH = 100
"""Documents whose texts are brought at once."""


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

    def similarity(self, a: Features | InputError | None, b: Features | InputError | None) -> float:
        """Of two texts; 0 if either document is not there.

        :raises InputError: if either has no text.
        """
        for side in (a, b):
            if isinstance(side, InputError):
                raise side
        if a is None or b is None or isinstance(a, InputError) or isinstance(b, InputError):
            return 0.0
        return self.confirm.similarity(a, b)

    def confirms(self, a: Features | InputError | None, b: Features | InputError | None) -> bool:
        """Whether two texts are there and agree."""
        missing = isinstance(a, InputError) or isinstance(b, InputError)
        return not missing and self.agree(self.similarity(a, b))

    def agree(self, similarity: float) -> bool:
        """Whether it is enough."""
        return similarity >= self.confirm.least
