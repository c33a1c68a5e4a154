"""The write order is by the clock of the server, whatever the clocks of the machines say."""

from __future__ import annotations

import itertools
import logging
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import Documents
from es_simhash.deciding import ingest
from es_simhash.stores.elasticsearch import clock
from tests.recording import PRODUCTS, Wire

if TYPE_CHECKING:
    from tests.recording import Sent

HOUR = 3_600
TEXT = "市气象台今晨发布暴雨橙色预警，城区部分路段已经出现积水，交警提醒市民提前规划路线，注意出行安全。"
products = pytest.mark.parametrize("product", PRODUCTS)


def set_clock(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Set the clock of the machine so many seconds ahead."""
    shifted = SimpleNamespace(time=lambda: time.time() + seconds, time_ns=lambda: time.time_ns() + int(seconds * 10**9))
    monkeypatch.setattr(ingest, "time", shifted)
    monkeypatch.setattr(clock, "time", shifted)


def add(wire: Wire, *, times: int = 1) -> list[int]:
    """Add documents, and return their write orders."""
    with Documents(wire.client(), index="news") as documents:
        for number in range(times):
            documents.add({"id": str(number), "text": TEXT}, rule="fingerprint")
    return [document["_source"]["simhash"]["written"] for document in wire.documents.values()]


def asked(wire: Wire) -> int:
    return sum(sent.path == "/_cat/health" for sent in wire.sent)


@products
@pytest.mark.parametrize("hours", [1, -1])
def test_a_difference_is_said_once_and_corrected(
    product: str, hours: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    set_clock(monkeypatch, hours * HOUR)
    began = time.time()
    orders = add(Wire(product), times=2)
    assert all(began - 1 < order / 1e6 < time.time() + 1 for order in orders)
    [said] = [record.getMessage() for record in caplog.records if "clock" in record.getMessage()]
    side = "ahead of" if hours > 0 else "behind"
    assert f"the clock of this machine is 3,600 s {side} that of the server" in said


@products
@pytest.mark.parametrize("seconds", [-0.9, 0, 0.9])
def test_a_small_difference_is_measured_by_one_request_and_not_said(
    product: str, seconds: float, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    set_clock(monkeypatch, seconds)
    wire = Wire(product)
    add(wire, times=3)
    assert asked(wire) == 1
    assert caplog.records == []


REFUSED = {"error": {"type": "security_exception", "reason": "action [cluster:monitor/health] is unauthorized"}}


@products
@pytest.mark.parametrize("answer", [(403, REFUSED), (200, []), (200, [{}]), (200, {})])
def test_if_the_server_does_not_say_its_time_a_warning_says_so_once(
    product: str, answer: Any, caplog: pytest.LogCaptureFixture
) -> None:
    def answered(sent: Sent) -> Any:
        return answer if sent.path == "/_cat/health" else None

    wire = Wire(product, answered)
    with caplog.at_level(logging.WARNING, "es_simhash"):
        assert len(add(wire, times=3)) == 3
    [record] = caplog.records
    assert "the clock of this machine cannot be compared with that of the server" in record.getMessage()
    assert "permit GET _cat/health" in record.getMessage()
    assert asked(wire) == 1


@pytest.mark.elasticsearch
def test_documents_of_writers_whose_clocks_differ_by_hours_are_in_their_true_order(
    elasticsearch_url: str, index_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"{elasticsearch_url}/{index_name}"
    writers: list[tuple[float, Documents]] = [(hours * HOUR, Documents(address)) for hours in (1, -1, 0)]
    writers[0][1].setup(keys=False)
    ids = [f"{n:02}" for n in range(6)]
    for id, (seconds, documents) in zip(ids, itertools.cycle(writers), strict=False):
        set_clock(monkeypatch, seconds)
        outcome = documents.add({"id": id, "text": TEXT}, rule="fingerprint", refresh=True)
        assert outcome.duplicate_of == (None if id == ids[0] else ids[0])
        time.sleep(0.3)  # longer than the error of the correction
    rows = sorted(writers[0][1].export(), key=lambda row: row.written)
    assert [row.id for row in rows] == ids
    assert abs(rows[-1].written / 1e6 - time.time()) < 2
    for _, documents in writers:
        documents.close()
