"""The texts that confirm near-duplicates. Texts of stored documents come from the store, some at a time."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from es_simhash.deciding.limits import LIMITS
from es_simhash.errors import InputError
from es_simhash.similarity.confirm import TextFeatures
from es_simhash.similarity.text_fields import text_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import TypeAlias

    from es_simhash.contract import Store
    from es_simhash.similarity.confirm import Confirm

    StoredText: TypeAlias = "TextFeatures | InputError | None"
    """The features of a stored text; the error if the document has no text; None if there is no such document."""


@dataclass(frozen=True)
class Texts:
    """Compares the texts of documents.

    :param confirm: the measure and the smallest similarity.
    :param fields: names of the fields with the text.
    """

    confirm: Confirm
    fields: tuple[str, ...]

    def of_source(self, source: str) -> TextFeatures:
        """Return the features of a document's text.

        :param source: the document as JSON.
        """
        return self.confirm.features(text_of(json.loads(source), self.fields))

    def stored(self, store: Store, ids: Iterable[str]) -> dict[str, TextFeatures | InputError]:
        """Return the features of stored texts as last written, or the error where a document has no text.

        Documents that do not exist (any more) are left out.
        """
        every = sorted(set(ids))
        found: dict[str, TextFeatures | InputError] = {}
        for start in range(0, len(every), LIMITS.texts):
            sources = store.fetch_fields(tuple(every[start : start + LIMITS.texts]), self.fields)
            found |= {id: self.of_hit(id, source) for id, source in sources.items()}
        return found

    def of_hit(self, id: str, source: Mapping[str, Any]) -> TextFeatures | InputError:
        """Return the features of a stored document's text; the error if it has none."""
        try:
            return self.confirm.features(text_of(source, self.fields))
        except InputError as error:
            return InputError(
                f"cannot compare with stored document {id!r}: {error}; or use the rule 'fingerprint', "
                "which reads no text"
            )

    def similarity(self, a: StoredText, b: StoredText) -> float | None:
        """Return the similarity of two texts; None if either document does not exist.

        :raises InputError: if either document has no text.
        """
        if isinstance(a, InputError):
            raise a
        if isinstance(b, InputError):
            raise b
        if a is None or b is None:
            return None
        return self.confirm.similarity(a, b)

    def similar_among(
        self, own: StoredText, others: Sequence[StoredText], *, strict: bool = True
    ) -> Iterator[tuple[int, float]]:
        """Yield the index and the similarity of each text that is similar enough, in their order.

        :param strict: a document without a text raises in its turn; else it does not count.
        :raises InputError: if ``strict``, naming that document.
        """
        if isinstance(own, InputError) and strict:
            raise own
        if own is None or isinstance(own, InputError):
            return
        error = next((each for each in others if isinstance(each, InputError)), None) if strict else None
        before = others if error is None else others[: others.index(error)]
        texts = [(index, each) for index, each in enumerate(before) if isinstance(each, TextFeatures)]
        for number, similarity in self.confirm.similar_among(own, [text for _, text in texts]):
            yield texts[number][0], similarity
        if error is not None:
            raise error

    def confirms(self, a: StoredText, b: StoredText) -> bool:
        """Return whether both texts exist and are similar enough."""
        missing = isinstance(a, InputError) or isinstance(b, InputError)
        return not missing and self.is_enough(self.similarity(a, b))

    def is_enough(self, similarity: float | None) -> bool:
        """Return whether two texts with this similarity are duplicates."""
        return similarity is not None and similarity >= self.confirm.least
