"""The store of Documents, as a tool uses it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import Documents, StoreUnavailable
from es_simhash.contract import Count, Scan
from tests.contract import LinearStore

if TYPE_CHECKING:
    from es_simhash.contract import Request


class Busy(LinearStore):
    """Answers every third request only."""

    requests = 0

    def perform(self, op: Request[Any]) -> Any:
        self.requests += 1
        if self.requests % 3:
            raise StoreUnavailable("the store is busy")
        return super().perform(op)


def test_a_request_is_retried_until_the_deadline_as_those_of_a_method() -> None:
    with Documents(Busy()) as documents:
        documents.setup()
        documents.add({"id": "a", "text": "市气象台今晨发布暴雨橙色预警，部分路段已经出现积水"})
        assert documents.store.perform(Count(Scan())) == 1
    with Documents(Busy(), deadline=0) as documents, pytest.raises(StoreUnavailable):
        documents.store.perform(Count(Scan()))


def test_it_has_the_name_of_the_store_and_the_client_closes_it() -> None:
    with Documents("sqlite:///:memory:") as documents:
        documents.setup()
        store = documents.store
        assert (store.name, store.embedded) == (documents.name, True)
        store.close()
        assert store.perform(Count(Scan())) == 0
