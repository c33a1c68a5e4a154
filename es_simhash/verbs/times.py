"""Stored documents without a time, where times decide which documents are duplicates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from es_simhash.errors import InputError
from es_simhash.search.times import time_of

if TYPE_CHECKING:
    from es_simhash.contract import Store


def check_time(store: Store, without: str | None, field: str) -> None:
    """Check that stored documents have a time.

    :param without: id of the first document without one; None if all have one.
    :param field: name of the field with the time.
    :raises InputError: naming the document, and what its field holds.
    """
    if without is None:
        return
    reason = f"the store finds no time in field {field!r}"
    source = (store.fetch_fields((without,), (field,))).get(without, {})
    try:
        time_of(source, field)
    except InputError as error:
        reason = str(error)
    raise InputError(f"document {without!r}: {reason}; or leave such documents out (--filter)")
