"""Backfill of an SQLite file, whose documents another program has changed."""

from __future__ import annotations

import json
import random
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from es_simhash import Documents
from es_simhash.errors import NotSetUp
from tests.client.test_backfill import article

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

RNG = random.Random(2)


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Documents]:
    with Documents(f"sqlite:///{tmp_path}/a.db") as door:
        list(door.ingest([{"id": n, "text": "，".join(article(RNG))} for n in range(120)]))
        yield door


@pytest.fixture
def execute(tmp_path: Path, door: Documents) -> Callable[..., None]:
    def execute(*statement: object) -> None:
        with closing(sqlite3.connect(tmp_path / "a.db")) as connection, connection:
            connection.execute(*statement)  # type: ignore[call-overload]

    return execute


def test_again_looks_at_each_document_once_though_changed_texts_move_to_the_end(
    door: Documents, execute: Callable[..., None]
) -> None:
    for n in range(0, 120, 2):
        source = json.dumps({"id": n, "text": "，".join(article(RNG))})
        execute("UPDATE documents SET source = ? WHERE id = ?", [source, str(n)])
    outcomes = {outcome.id: outcome.outcome for outcome in door.backfill("text", again=True, batch_size=25)}
    assert outcomes == {str(n): "unchanged" if n % 2 else "updated" for n in range(120)}
    assert {o.outcome for o in door.backfill("text", again=True)} == {"unchanged"}


def test_what_has_no_fingerprint_is_in_no_group_and_gets_one(door: Documents, execute: Callable[..., None]) -> None:
    before = [(row.id, row.fingerprint, row.digest) for row in door.export()]
    execute("UPDATE documents SET fp = NULL, digest = '' WHERE id IN ('3', '4', '5')")
    assert door.missing() == 3
    assert door.group().documents == 117
    assert [outcome.id for outcome in door.backfill("text")] == ["3", "4", "5"]
    assert sorted((row.id, row.fingerprint, row.digest) for row in door.export()) == sorted(before)


def test_a_file_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    with Documents(f"sqlite:///{tmp_path}/none.db") as door, pytest.raises(NotSetUp, match="init"):
        list(door.backfill("text"))
    assert list(tmp_path.iterdir()) == []
