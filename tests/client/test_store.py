"""The store of Documents, as a tool uses it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from es_simhash.contract import Scan

from es_simhash import Documents, StoreUnavailable
from tests.contract import LinearStore
from tests.contract.watched import StoreCall, WatchedStore

if TYPE_CHECKING:
    from pathlib import Path


class Busy(WatchedStore):
    """Answers every third request only."""

    def __init__(self) -> None:
        super().__init__(LinearStore())
        self.requests = 0

    def perform(self, call: StoreCall) -> Any:
        self.requests += 1
        if self.requests % 3:
            raise StoreUnavailable("the store is busy")
        return super().perform(call)


def test_a_request_is_retried_until_the_deadline_as_those_of_a_method() -> None:
    with Documents(Busy()) as documents:
        documents.setup(keys=False)
        documents.add({"id": "a", "text": "市气象台今晨发布暴雨橙色预警，部分路段已经出现积水"})
        assert documents.store.count(Scan()) == 1
    with Documents(Busy(), deadline=0) as documents, pytest.raises(StoreUnavailable):
        documents.store.count(Scan())


def test_it_has_the_name_of_the_store_and_documents_go_on_after_it_was_closed(tmp_path: Path) -> None:
    with Documents(f"sqlite:///{tmp_path / 'news.db'}") as documents:
        documents.setup(keys=False)
        store = documents.store
        assert (store.name, store.embedded) == (documents.name, True)
        store.close()
        assert store.count(Scan()) == 0
        assert documents.add({"id": "a", "text": "市气象台今晨发布暴雨橙色预警"}).stored
