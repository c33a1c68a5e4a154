"""An SQLite file in which another program changed ids and users."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Literal

import pytest

from es_simhash import Documents, SeenItems

if TYPE_CHECKING:
    from pathlib import Path

TEXT = "市气象台今晨发布暴雨橙色预警，城区部分路段已经出现积水，交警提醒市民提前规划路线，注意出行安全。"


def change(path: Path, sql: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(sql)


@pytest.mark.parametrize("user", ["X'fffe'", "CAST(X'610062' AS TEXT)"])
def test_a_damaged_user_is_not_rotated_and_keeps_no_other_user_from_it(tmp_path: Path, user: str) -> None:
    with SeenItems(f"sqlite:///{tmp_path / 'x.db'}") as seen:
        seen.add_many({"ann": ["a"], "bob": ["b"]})
        change(tmp_path / "x.db", f"UPDATE users SET user = {user}, newest = 5 WHERE user = 'ann'")
        change(tmp_path / "x.db", "UPDATE users SET newest = 5 WHERE user = 'bob'")
        assert seen.rotate().results.keys() <= {"bob"}


def test_a_removal_leaves_a_document_whose_id_is_damaged(tmp_path: Path) -> None:
    with Documents(f"sqlite:///{tmp_path / 'x.db'}") as documents:
        texts = [TEXT, TEXT, TEXT]
        list(documents.ingest([{"id": f"d{n}", "text": text} for n, text in enumerate(texts)], rule="fingerprint"))
        change(tmp_path / "x.db", "UPDATE documents SET id = X'fffe' WHERE id = 'd2'")
        assert documents.remove(["d0"], rule="fingerprint") == {"d0"}
        assert [(row.id, row.duplicate_of) for row in documents.export()] == [("d1", None)]


@pytest.mark.parametrize("rule", ["copy", "fingerprint", "exact"])
def test_a_document_whose_id_is_no_string_keeps_no_search_from_its_end(
    tmp_path: Path, rule: Literal["copy", "fingerprint", "exact"]
) -> None:
    with Documents(f"sqlite:///{tmp_path / 'x.db'}") as documents:
        documents.setup(rule=rule)
        assert all(outcome.stored for outcome in documents.ingest([{"id": "a", "text": TEXT}]))
        change(tmp_path / "x.db", "UPDATE documents SET id = X'fffe'")
        [outcome] = documents.ingest([{"id": "b", "text": TEXT}])
        assert outcome.outcome == "new"
        assert [match.id for match in documents.similar(TEXT)] == ["b"]
