"""A run that resumes writes the pending batch as it was decided, if the store is still the one it was decided for."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import Documents, InputError, StoreError, fingerprint
from tests.recording import INDEX, PRODUCTS, Sent, Wire
from tests.rules import keywords_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from es_simhash import Outcome

STORM = "市气象台今晨发布暴雨橙色预警，城区部分路段已经出现积水，交警提醒市民提前规划路线，注意出行安全。"
METRO = "地铁三号线今日开通试运营，线路全长三十一公里，设车站二十四座，全程运行时间约四十六分钟。"
TOO_LARGE = {"error": {"type": "content_too_large", "reason": "the request is too large"}, "status": 413}
LOST = {"error": {"type": "unknown", "reason": "the answer got lost"}, "status": 500}


class Interrupted(Wire):
    """The first run: no search for METRO is answered. The batch is written, and the answer to that gets lost."""

    def __init__(self, product: str) -> None:
        super().__init__(product, self._respond)

    def _respond(self, sent: Sent) -> Any:
        if sent.action == "POST _msearch" and fingerprint(METRO).digest.encode() in sent.body:
            return 413, TOO_LARGE
        if sent.action == "POST _bulk":
            self.answer = None
            self.respond(sent)
            self.answer = self._respond
            return 500, LOST
        return None


@pytest.mark.parametrize("product", PRODUCTS)
def test_decisions_that_were_recorded_stay_and_only_the_other_documents_are_decided(
    product: str, tmp_path: Path
) -> None:
    wire = Interrupted(product)

    def ingest() -> list[Outcome]:
        documents = [{"id": "a", "text": STORM}, {"id": "b", "text": METRO}]
        with wire.client() as client, Documents(client, index=INDEX, deadline=0) as opened:
            return list(opened.ingest(documents, checkpoint=str(tmp_path / "x.checkpoint"), rule="fingerprint"))

    with pytest.raises(StoreError, match="the answer got lost"):
        ingest()
    assert wire.documents.keys() == {"a"}
    before = wire.documents["a"]["_source"]
    wire.answer = None
    resumed = ingest()
    assert [(outcome.id, outcome.outcome) for outcome in resumed] == [("a", "new"), ("b", "new")]
    assert wire.documents.keys() == {"a", "b"}
    assert wire.documents["a"]["_source"] == before, "it is written again with the same links and write order"


def in_two_runs(path: Path, between: Callable[[Documents], object]) -> list[Outcome]:
    """Ingest until one batch is done and another written, then again. Return the outcomes of the second run."""
    texts = [STORM, METRO, STORM[:40], METRO[:40]]
    given = [{"id": str(number), "text": text} for number, text in enumerate(texts)]
    options: Any = {"checkpoint": str(path / "x.checkpoint"), "rule": "exact", "batch_size": 2}
    with Documents(f"sqlite:///{path / 'store.db'}") as documents:
        outcomes = documents.ingest(given, **keywords_of(options))
        assert len(list(islice(outcomes, 3))) == 3
        outcomes.close()
        between(documents)
        return list(documents.ingest(given, **keywords_of(options)))


def test_a_store_that_was_emptied_is_not_resumed_into(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"store.db has no documents, and the checkpoint .* has some as done"):
        in_two_runs(tmp_path, lambda documents: documents.remove(["0", "1", "2", "3"]))


def test_a_store_without_the_last_documents_is_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    outcomes = in_two_runs(tmp_path, lambda documents: documents.remove(["0", "1"]))
    assert [outcome.id for outcome in outcomes] == ["2", "3"]
    assert "has none of the last 2 documents that the checkpoint" in caplog.text


def test_a_document_that_was_removed_since_is_no_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    in_two_runs(tmp_path, lambda documents: documents.remove(["1"]))
    assert "none of the last" not in caplog.text
