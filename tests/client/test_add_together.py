"""Concurrent calls of ``add``: a document that depends on one that is being written waits for it.

The bulk request of the first document is held back until the second one has come as far as it can.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from es_simhash import Documents
from tests.recording import INDEX, PRODUCTS, Sent, Wire, hit, simhash_of

STORM = "市气象台今晨发布暴雨橙色预警，城区部分路段已经出现积水，交警提醒市民提前规划路线，注意出行安全。"
METRO = "地铁三号线今日开通试运营，线路全长三十一公里，设车站二十四座，全程运行时间约四十六分钟。"
HARVEST = "今年夏粮再获丰收，全国小麦单产创下新高，农业部门表示将继续落实补贴政策，稳定农民种粮收益。"
HOLD = 0.5
"""Seconds for which a bulk request is held back if no other one comes. A right program never fails, however slow."""


class Held(Wire):
    """A wire on which the bulk request of one document is answered only after another bulk request, or after HOLD.

    :param held: id of the document.
    """

    def __init__(self, product: str, held: str) -> None:
        super().__init__(product, self._respond)
        self.held = held
        self.writing, self.searched, self.overtaken = (threading.Event() for _ in range(3))
        self.written: list[str] = []
        """Ids in the order of the responses to bulk requests."""

    def _respond(self, sent: Sent) -> Any:
        if sent.action == "POST _msearch" and self.writing.is_set():
            self.searched.set()
        if sent.action != "POST _bulk":
            return None
        ids = [target["_id"] for line in sent.json for kind, target in line.items() if kind in ("index", "create")]
        if self.held in ids:
            self.writing.set()
            self.searched.wait(60)
            self.overtaken.wait(HOLD)
        elif self.writing.is_set():
            self.overtaken.set()
        self.written += ids
        return None

    def add(self, first: dict[str, Any], second: dict[str, Any], *, keys: bool = False) -> tuple[Any, Any]:
        """Add a document, and another one while the first is being written. Return both Outcomes.

        :param keys: the index has keys.
        """
        with self.client() as client, Documents(client, index=INDEX) as documents, ThreadPoolExecutor(2) as threads:
            if keys:
                self.mapping["_meta"]["es_simhash"]["keys"] = "complete"
            documents.add({"id": "first of all", "text": HARVEST})
            one = threads.submit(documents.add, first)
            assert self.writing.wait(60)
            other = threads.submit(documents.add, second)
            return one.result(), other.result()


products = pytest.mark.parametrize("product", PRODUCTS)


@products
def test_a_near_duplicate_of_a_document_that_is_being_written_waits_for_it(product: str) -> None:
    wire = Held(product, "a")
    one, other = wire.add({"id": "a", "text": STORM}, {"id": "b", "text": STORM.replace("部分", "多处")})
    assert (one.outcome, other.outcome, other.duplicate_of) == ("new", "near_duplicate", "a")
    assert wire.written == ["first of all", "a", "b"]


@products
def test_an_update_waits_for_each_document_that_is_being_written(product: str) -> None:
    wire = Held(product, "b")
    wire.put("a", {"simhash": simhash_of("a", HARVEST), "text": HARVEST})
    wire.hits = [hit("a", HARVEST, seq_no=0)]
    one, other = wire.add({"id": "b", "text": METRO}, {"id": "a", "text": STORM})
    assert (one.outcome, other.outcome) == ("new", "updated")
    assert wire.written == ["first of all", "b", "a"]


@products
def test_a_document_waits_while_an_update_is_written_although_it_resembles_only_the_former_text(product: str) -> None:
    wire = Held(product, "a")
    wire.hits = [hit("a", STORM, seq_no=0)]
    wire.put("a", {"simhash": simhash_of("a", STORM), "text": STORM})
    one, other = wire.add({"id": "a", "text": METRO}, {"id": "b", "text": STORM})
    assert one.outcome == "updated"
    assert (other.outcome, other.duplicate_of) == ("new", None), "no stored document has this text any more"
    assert wire.written == ["first of all", "a", "b"]


@products
def test_with_keys_a_document_overtakes_one_that_shares_too_few_of_them(product: str) -> None:
    wire = Held(product, "a")
    one, other = wire.add({"id": "a", "text": STORM}, {"id": "b", "text": METRO}, keys=True)
    assert (one.outcome, other.outcome) == ("new", "new")
    assert wire.written == ["first of all", "b", "a"]


@products
def test_with_keys_a_copy_waits_that_has_no_near_fingerprint(product: str) -> None:
    wire = Held(product, "a")
    one, other = wire.add({"id": "a", "text": STORM}, {"id": "b", "text": "快讯" + STORM[:-6]}, keys=True)
    assert (one.outcome, other.outcome, other.duplicate_of) == ("new", "near_duplicate", "a")
    assert other.distance > 3
    assert wire.written == ["first of all", "a", "b"]
