"""Backfill without a server: of documents that another program has changed, or changes meanwhile."""

from __future__ import annotations

import json
import random
import sqlite3
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from es_simhash.contract import Entry, Row, Scan, Written
from es_simhash.stores.address import open_store

from es_simhash import Documents, DuplicateRule
from es_simhash.errors import NotSetUp
from es_simhash.fingerprinting.scheme import DEFAULT
from es_simhash.ingest.stored_documents import next_pass
from es_simhash.retries import Patience
from tests.client.test_backfill import article
from tests.contract import LinearStore
from tests.contract.documents import entry, put, write
from tests.contract.watched import StoreCall, WatchedStore
from tests.limited import in_batches

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from es_simhash.contract import Store

RNG = random.Random(2)


@pytest.fixture
def documents(tmp_path: Path) -> Iterator[Documents]:
    with Documents(f"sqlite:///{tmp_path}/a.db") as documents:
        list(documents.ingest([{"id": n, "text": "，".join(article(RNG))} for n in range(120)], rule="fingerprint"))
        yield documents


@pytest.fixture
def execute(tmp_path: Path, documents: Documents) -> Callable[..., None]:
    def execute(*statement: object) -> None:
        with closing(sqlite3.connect(tmp_path / "a.db")) as connection, connection:
            connection.execute(*statement)  # type: ignore[call-overload]

    return execute


def test_again_looks_at_each_document_once_though_changed_texts_move_to_the_end(
    documents: Documents, execute: Callable[..., None]
) -> None:
    for n in range(0, 120, 2):
        source = json.dumps({"id": n, "text": "，".join(article(RNG))})
        execute("UPDATE documents SET source = ? WHERE id = ?", [source, str(n)])
    outcomes = {
        outcome.id: outcome.outcome
        for outcome in in_batches(documents, 25).backfill(
            again=True, rule=DuplicateRule("fingerprint", text_field="text")
        )
    }
    assert outcomes == {str(n): "unchanged" if n % 2 else "updated" for n in range(120)}
    assert {
        o.outcome for o in documents.backfill(again=True, rule=DuplicateRule("fingerprint", text_field="text"))
    } == {"unchanged"}


def test_what_has_no_fingerprint_is_in_no_group_and_gets_one(
    documents: Documents, execute: Callable[..., None]
) -> None:
    before = [(row.id, row.fingerprint, row.digest) for row in documents.export()]
    execute("UPDATE documents SET fp = NULL, digest = '' WHERE id IN ('3', '4', '5')")
    assert documents.group(rule="fingerprint").documents == 117
    assert [outcome.id for outcome in documents.backfill(rule=DuplicateRule("fingerprint", text_field="text"))] == [
        "3",
        "4",
        "5",
    ]
    assert sorted((row.id, row.fingerprint, row.digest) for row in documents.export()) == sorted(before)


def test_a_file_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    with Documents(f"sqlite:///{tmp_path}/none.db") as documents, pytest.raises(NotSetUp, match="init"):
        list(documents.backfill(rule=DuplicateRule("fingerprint", text_field="text")))
    assert list(tmp_path.iterdir()) == []


STORM = "市气象台今晨发布暴雨橙色预警，城区部分路段已经出现积水，交警提醒市民提前规划路线，注意出行安全。"


class Racing(WatchedStore):
    """Another program is faster at the first write."""

    def __init__(self, race: Callable[[Store, StoreCall], Written | None]) -> None:
        super().__init__(LinearStore())
        self._race: Callable[[Store, StoreCall], Written | None] | None = race

    def perform(self, op: StoreCall) -> Any:
        if op.method == "annotate" and self._race is not None:
            race, self._race = self._race, None
            if (answer := race(self.watched, op)) is not None:
                return answer
        return super().perform(op)


def removed(store: Store, op: StoreCall) -> None:
    store.remove(("X",))


def edited(store: Store, op: StoreCall) -> None:
    write_without_fingerprint(store, "X", STORM)


def write_without_fingerprint(store: Store, id: str, text: str) -> None:
    row = Row(id, None, "", id, None, written=0)
    put(store, Entry(row, json.dumps({"id": id, "text": text})))


def refused(store: Store, op: StoreCall) -> Written:
    others = tuple(row for row in op.rows if row.id != "X")
    return replace(store.annotate(others, op.bits), refused={"X": "too long"})


@pytest.mark.parametrize("race", [removed, edited, refused])
def test_a_copy_of_what_is_not_written_after_all_has_an_outcome_and_no_link_to_it(race: Any) -> None:
    store = Racing(race)
    documents = Documents(store)
    documents.setup(keys=False)
    for id in "WXYZ":
        write_without_fingerprint(store, id, STORM if id != "W" else "，".join(article(RNG)))
    outcomes = {
        outcome.id: (outcome.outcome, outcome.duplicate_of)
        for outcome in documents.backfill(rule=DuplicateRule("fingerprint", text_field="text"))
    }
    rows = {row.id: row.duplicate_of for row in documents.export()}
    expected: dict[str, Any] = {"W": ("new", None), "Y": ("new", None), "Z": ("exact_duplicate", "Y")}
    if race is edited:  # it has its turn after the others
        expected["X"] = ("exact_duplicate", "Y")
    elif race is refused:
        expected["X"] = ("failed", None)
    assert outcomes == expected
    assert rows == {id: original for id, (outcome, original) in expected.items() if outcome != "failed"}


def test_told_to_stop_it_finishes_what_it_has_read(documents: Documents, execute: Callable[..., None]) -> None:
    execute("UPDATE documents SET fp = NULL, digest = ''")
    outcomes = []
    for outcome in in_batches(documents, 25).backfill(
        stop=lambda: len(outcomes) >= 30, rule=DuplicateRule("fingerprint", text_field="text")
    ):
        outcomes.append(outcome.id)  # noqa: PERF401  # it is counted meanwhile
    assert 50 <= len(outcomes) < 120
    assert list(documents.backfill(stop=lambda: True, rule=DuplicateRule("fingerprint", text_field="text"))) == []


@pytest.mark.parametrize("kind", ["linear", "sqlite", pytest.param("elasticsearch", marks=pytest.mark.elasticsearch)])
def test_of_very_many_documents_that_others_wrote_each_has_another_look(
    kind: str, request: pytest.FixtureRequest
) -> None:
    address: Any = LinearStore() if kind == "linear" else "sqlite:///:memory:"
    if kind == "elasticsearch":
        address = f"{request.getfixturevalue('elasticsearch_url')}/{request.getfixturevalue('make_index')()}"
    store = open_store(address, patience=Patience())
    store.set_up(DEFAULT)
    write(store, entry("id20007", 1), entry("other", 2))
    conflicts = [f"id{n}" for n in range(20_500)]
    scan = next_pass(Scan(fields=("text",)), None, conflicts)
    assert scan is not None
    assert [row.id for row in store.scan(scan).rows] == ["id20007"]
    store.close()
