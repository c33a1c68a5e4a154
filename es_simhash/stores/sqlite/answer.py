"""Which function answers which request; documents.py and users.py register theirs."""

from __future__ import annotations

from functools import singledispatch
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from es_simhash.contract import Request
    from es_simhash.stores.sqlite.database import Database


@singledispatch
def answer(op: Request[Any], database: Database) -> Any:
    """The reply to a request."""
    raise NotImplementedError(type(op))
