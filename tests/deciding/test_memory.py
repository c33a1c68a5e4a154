"""Laws of the memory of what was written and search does not find yet."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import Documents
from es_simhash.errors import StoreError
from tests.contract import LinearStore
from tests.contract.watched import StoreCall, WatchedStore
from tests.rules import keywords_of

if TYPE_CHECKING:
    from es_simhash.contract import Candidates

STORM = "市气象台今晨发布暴雨橙色预警，城区部分路段已经出现积水，交警提醒市民提前规划路线，注意出行安全。"
METRO = "地铁三号线今日开通试运营，线路全长三十一公里，设车站二十四座，全程运行时间约四十六分钟。"


class Ignoring(WatchedStore):
    """A store whose searches also find the documents that a query excludes, as behind a proxy that changes queries."""

    def perform(self, call: StoreCall) -> Any:
        if call.method == "candidates":
            query: Candidates = call.arguments["query"]
            return self.watched.candidates(replace(query, without=()))
        return super().perform(call)


@pytest.mark.parametrize("keys", [False, True], ids=["fingerprints", "keys"])
def test_a_store_that_finds_what_a_query_excludes_is_an_error(keys: bool) -> None:
    rule: Any = {"rule": "copy" if keys else "fingerprint"}
    with Documents(Ignoring(LinearStore(lagging=True))) as documents:
        documents.setup(keys=keys, **keywords_of(rule))
        documents.add({"id": "a", "text": STORM}, refresh=True)
        documents.add({"id": "other", "text": "…"})
        documents.add({"id": "a", "text": METRO})
        with pytest.raises(StoreError, match=r"search finds document 'a', which the query excludes: .* proxy"):
            documents.add({"id": "b", "text": STORM})
