"""What a person recognises a document by: its title, or the beginning of its text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from es_simhash.errors import InputError
from es_simhash.similarity.text_fields import field_value, text_of

if TYPE_CHECKING:
    from collections.abc import Mapping

LENGTH = 80
"""Characters of a title."""


def title_of(
    source: Mapping[str, Any], title_field: str | None, text_fields: tuple[str, ...], length: int = LENGTH
) -> str:
    """Return the title of a document, or the beginning of its text, on one line. Empty if it has neither.

    :param source: the document; its title and text fields are enough.
    :param title_field: name of the field with the title; None if there is none.
    :param length: characters of the title at most.
    """
    title = None if title_field is None else field_value(source, title_field)
    if not isinstance(title, str) or not title.strip():
        title = text_or_empty(source, text_fields)
    # The beginning is enough: a text may have a million characters.
    line = " ".join(title[: 4 * length].split())
    return line if len(line) <= length else line[:length] + "…"


def text_or_empty(source: Mapping[str, Any], text_fields: tuple[str, ...]) -> str:
    """Return the text of a document; empty if it has none that can be used."""
    try:
        return text_of(source, text_fields)
    except InputError:
        return ""
