"""The text of a document, from one field or several."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from es_simhash.errors import InputError, shown
from es_simhash.filters import field_values
from es_simhash.text.ids import kind_of
from es_simhash.text.normalisation import check_surrogates

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def field_names(text_field: str | Sequence[str]) -> tuple[str, ...]:
    """Return one field name or several as a tuple.

    >>> field_names("title, body"), field_names(["title", "body"])
    (('title', 'body'), ('title', 'body'))

    :param text_field: names, also several in one string with commas between them. So a field with a comma in its name
        cannot be used.
    :raises InputError: if there is no name, or an empty one.
    """
    given = tuple(text_field) if isinstance(text_field, list | tuple) else (text_field,)
    strings = all(isinstance(each, str) for each in given)
    fields = tuple(name.strip() for each in given for name in each.split(",")) if strings else ()
    if not fields or not all(fields):
        raise InputError(f"text_field is {shown(text_field)}: name the field that holds the text")
    for field in fields:
        check_field_name(field)
    return fields


def check_id_field(id_field: object) -> None:
    """Check the name of the field with the id; None for that of the store.

    :raises InputError: if it is no name.
    """
    if id_field is None:
        return
    if not isinstance(id_field, str) or not id_field:
        raise InputError(f"id_field is {shown(id_field)}: name the field that holds the id")
    check_field_name(id_field)


def check_field_name(field: str) -> None:
    """Check that a store can be asked for a field.

    :raises InputError: if the name has a lone surrogate or a zero character.
    """
    check_surrogates(field, f"the field name {field!r}")
    if "\0" in field:
        raise InputError(f"the field name {field!r} has a zero character: remove it")


def text_of(document: Mapping[str, Any], fields: tuple[str, ...]) -> str:
    """Return the text of a document: the texts of its text fields, joined by line breaks.

    :param fields: names of the fields; a dot leads into an object, and into each object of an array. Fields that the
        document lacks are left out.
    :raises InputError: if no field has a text, or a field holds something else.
    """
    texts = [(field, value) for field in fields for value in field_values(document, field)]
    if not texts:
        names = ", ".join(map(repr, fields))
        raise InputError(
            f"no text in field {names}: name the field that holds the text (--text-field; text_field in Python)"
            f"{fields_of(document)}"
        )
    for field, text in texts:
        if not isinstance(text, str):
            raise InputError(f"the text in field {field!r} is {kind_of(text)}: use a string")
        check_surrogates(text, f"the text in field {field!r}")
    return "\n".join(text for _, text in texts)


def fields_of(document: Mapping[str, Any]) -> str:
    """Return the names of the fields that there are, for a message about one that is missing."""
    names = [str(name) for name in document if name != "_id"]
    return f"; the document has {', '.join(names[:8])}" if names else ""


def text_or_none(document: Mapping[str, Any], fields: tuple[str, ...]) -> str | None:
    """Return :func:`text_of`, or None for a document without a text."""
    try:
        return text_of(document, fields)
    except InputError:
        return None


def field_value(document: Mapping[str, Any], field: str) -> Any:
    """Return the value of a field, or None. A dot may be part of the name, or lead into an object."""
    if field in document:
        return document[field]
    head, dot, rest = field.partition(".")
    inner = document.get(head) if dot else None
    return field_value(inner, rest) if isinstance(inner, dict) else None


def id_field_of(document: Mapping[str, Any], name: str) -> str:
    """Return the field with the id of a document: ``_id`` if the named field is empty, as in a document that was saved.

    :param name: of the field that the store keeps for ids.
    """
    return name if "_id" not in document or field_value(document, name) is not None else "_id"
