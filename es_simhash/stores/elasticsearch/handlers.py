"""The function that answers each type of request."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from es_simhash.contract import handler_of
from es_simhash.stores.elasticsearch import (
    aliases,
    documents,
    examine,
    fingerprints,
    keys_state,
    scan,
    search,
    times,
    users,
)

if TYPE_CHECKING:
    from es_simhash.contract import Request
    from es_simhash.stores.elasticsearch.calls import Index, Steps

R = TypeVar("R")

HANDLERS = {
    **documents.HANDLERS,
    **keys_state.HANDLERS,
    **search.HANDLERS,
    **scan.HANDLERS,
    **fingerprints.HANDLERS,
    **times.HANDLERS,
    **users.HANDLERS,
    **examine.HANDLERS,
    **aliases.HANDLERS,
}


def steps(request: Request[R], index: Index) -> R:
    """Return the Steps of a request.

    :raises Unsupported: if no handler knows the request.
    """
    work: Steps[R] = handler_of(HANDLERS, request, index.name)(request, index)
    return work
