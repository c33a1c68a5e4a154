"""Stored documents without a time, where times decide which documents are duplicates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from es_simhash.contract import FetchFields, ask
from es_simhash.errors import InputError
from es_simhash.search.times import time_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_simhash.contract import Flow, Row


def check_times(rows: Sequence[Row], field: str) -> Flow[None]:
    """Check that stored documents have a time.

    :param rows: with the times of the documents.
    :param field: name of the field with the time.
    :raises InputError: naming the first document without one, and what its field holds.
    """
    first = next((row for row in rows if row.time is None), None)
    if first is None:
        return
    reason = f"the store finds no time in field {field!r}"
    source = (yield from ask(FetchFields((first.id,), (field,)))).get(first.id, {})
    try:
        time_of(source, field)
    except InputError as error:
        reason = str(error)
    raise InputError(f"document {first.id!r}: {reason}; or leave such documents out (--filter)")
