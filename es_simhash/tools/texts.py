"""The texts of stored documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from es_simhash.similarity.text_fields import text_or_none

if TYPE_CHECKING:
    from collections.abc import Iterable

    from es_simhash import Documents


def texts_of(documents: Documents, ids: Iterable[str]) -> dict[str, str]:
    """Return the texts of documents by id. One that was removed, or has no text, is left out."""
    fields = documents.info().rule.text_fields
    sources = documents.fetch(ids, fields=fields)
    return {id: text for id, source in sources.items() if (text := text_or_none(source, fields))}
