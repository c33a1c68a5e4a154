"""A file whose newest document lies in the future: the clock of the machine was changed."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import TYPE_CHECKING

from es_simhash import Documents
from es_simhash.deciding import ingest

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

TEXT = "市气象台今晨发布暴雨橙色预警，城区部分路段已经出现积水，交警提醒市民提前规划路线，注意出行安全。"


def test_a_file_whose_newest_document_lies_in_the_future_is_said_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    address = f"sqlite:///{tmp_path}/x.db"
    with monkeypatch.context() as patch, Documents(address) as documents:
        patch.setattr(ingest, "time", SimpleNamespace(time_ns=lambda: time.time_ns() + 3_600 * 10**9))
        documents.add({"id": "a", "text": TEXT})
    assert caplog.records == []
    with Documents(address) as documents:
        documents.add({"id": "b", "text": TEXT})
        list(documents.ingest([{"id": "c", "text": TEXT}]))
    [record] = caplog.records
    assert "its newest document was written 3,600 s after the present time of this machine" in record.getMessage()
