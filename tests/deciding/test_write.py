"""Documents for which the store is too busy are sent again, and only these. Those that it refuses have failed."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import Documents
from es_simhash.contract import Written
from es_simhash.deciding.write import REFUSED_ALIKE
from es_simhash.errors import StoreError, StoreUnavailable
from tests.contract import LinearStore
from tests.limited import in_batches

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

IDS = ("a", "b", "c")
DOCUMENTS = [{"id": id, "text": "暴雨预警今天下午发布，请注意安全"} for id in IDS]


class Busy(LinearStore):
    """A store that is too busy for all but the first document of a request.

    :param times: for how many requests.
    """

    def __init__(self, times: int) -> None:
        super().__init__()
        self.times = times
        self.sent: list[list[str]] = []

    def write(self, entries: tuple[Any, ...], bits: int, pipeline: str | None = None) -> Written:
        ids = self._ids_now([entry.row.id for entry in entries])
        written = super().write(tuple(entry for entry in entries if entry.row.id in ids), bits, pipeline)
        return self._reply(written, {entry.row.id for entry in entries} - ids)

    def restore(self, whole: Mapping[str, str]) -> Written:
        ids = self._ids_now(list(whole))
        written = super().restore({id: text for id, text in whole.items() if id in ids})
        return self._reply(written, whole.keys() - ids)

    def _ids_now(self, ids: list[str]) -> set[str]:
        self.sent.append(ids)
        self.times -= 1
        return set(ids if self.times < 0 else ids[:1])

    def _reply(self, written: Written, busy: set[str]) -> Written:
        return Written(written.refused, written.searchable, frozenset(busy), written.conflicts)


def test_only_the_documents_that_were_not_written_are_sent_again() -> None:
    store = Busy(2)
    with Documents(store, deadline=30) as documents:
        outcomes = list(documents.ingest(DOCUMENTS))
        assert [outcome.outcome for outcome in outcomes] == ["new", "exact_duplicate", "exact_duplicate"]
        assert store.sent == [["a", "b", "c"], ["b", "c"], ["c"]]
        assert {row.id for row in documents.export()} == set(IDS)


def test_at_the_deadline_they_have_failed_with_the_reason() -> None:
    with Documents(Busy(1), deadline=0) as documents:
        first, *others = documents.ingest(DOCUMENTS)
        assert first.outcome == "new"
        assert [outcome.outcome for outcome in others] == ["failed"] * 2
        assert all("the server was too busy for 0 s: ingest it again" in (each.reason or "") for each in others)
        assert {row.id for row in documents.export()} == {"a"}


class Refusing(LinearStore):
    """A store that takes no document.

    :param reasons: of the documents, in turn.
    """

    def __init__(self, *reasons: str) -> None:
        super().__init__()
        self.reasons = cycle(reasons)

    def write(self, entries: tuple[Any, ...], bits: int, pipeline: str | None = None) -> Written:
        return Written({entry.row.id: next(self.reasons) for entry in entries}, searchable=True)


def test_a_run_whose_first_documents_are_all_refused_for_one_reason_ends() -> None:
    many = [{"id": n, "text": f"第{n}条"} for n in range(100)]
    with Documents(Refusing("no field x")) as documents, pytest.raises(StoreError) as ended:
        list(in_batches(documents, 10).ingest(many, rule="fingerprint"))
    assert f"the first {REFUSED_ALIKE} documents were refused for the same reason" in str(ended.value)
    assert "no field x: change the index or the documents" in str(ended.value)
    with Documents(Refusing("no field x", "no field y")) as documents:
        outcomes = list(in_batches(documents, 10).ingest(many, rule="fingerprint"))
    assert [outcome.outcome for outcome in outcomes] == ["failed"] * 100


@pytest.mark.parametrize("deadline", [30, 0])
def test_a_restore_sends_them_again_until_the_deadline(tmp_path: Path, deadline: float) -> None:
    store, path = Busy(0), str(tmp_path / "removed")
    with Documents(store, deadline=deadline) as documents:
        list(documents.ingest(DOCUMENTS))
        documents.remove_duplicates(list(documents.duplicates()), save=path)
        store.times, store.sent = 1, []
        if deadline:
            assert documents.restore(path).restored == 2
            assert store.sent == [["c", "b"], ["b"]]
        else:
            with pytest.raises(StoreUnavailable, match="too busy for 1 documents; 1 documents are stored again"):
                documents.restore(path)
