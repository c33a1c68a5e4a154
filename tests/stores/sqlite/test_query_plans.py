"""SQLite looks documents up by an index, and never reads all of them for it."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import Documents, DuplicateRule, Scheme

if TYPE_CHECKING:
    from pathlib import Path

PAGES = [f"暴雨致城区第{number}条路段积水，{number % 7}个路口临时封闭，请绕行。" * 3 for number in range(60)]
ALIKE = [
    {"id": f"{number}-{marks}", "text": page + "！" * marks} for number, page in enumerate(PAGES) for marks in (0, 1)
]
"""Each page twice, with one fingerprint and two digests."""


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """The plan of each statement that reads documents."""
    seen: dict[str, list[str]] = {}

    class Explaining(sqlite3.Connection):
        def execute(self, sql: str, parameters: Any = ()) -> sqlite3.Cursor:  # type: ignore[override]
            if sql.lstrip().startswith("SELECT") and "FROM documents" in sql and sql not in seen:
                seen[sql] = [row[3] for row in super().execute(f"EXPLAIN QUERY PLAN {sql}", parameters)]
            return super().execute(sql, parameters)

    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *args, **options: connect(*args, **options, factory=Explaining))
    return seen


@pytest.mark.parametrize("bits", [64, 128])
@pytest.mark.parametrize("keys", [False, True])
def test_a_search_never_reads_all_documents(plans: dict[str, list[str]], tmp_path: Path, keys: bool, bits: int) -> None:
    confirm = 0.8 if keys else None
    with Documents(f"sqlite:///{tmp_path}/pages.db", scheme=Scheme(bits=bits)) as documents:
        documents.setup(keys=keys)
        list(documents.ingest(ALIKE, rule=DuplicateRule(confirm=confirm), on_duplicate="index"))
        plans.clear()
        for max_distance in (3, 7):
            assert len(documents.similar(PAGES[0], rule=DuplicateRule(confirm=confirm, max_distance=max_distance))) >= 2
        assert documents.similar_to("1-0", rule=DuplicateRule(confirm=confirm))
        list(
            documents.ingest(
                [{"id": "more", "text": PAGES[5]}, {"id": "2-0", "text": PAGES[9]}], rule=DuplicateRule(confirm=confirm)
            )
        )
        documents.remove(["3-0"], rule=DuplicateRule(confirm=confirm))
    assert len(plans) > 3
    plans.pop("SELECT count(*) FROM documents", None)  # how rare a key is
    whole = {sql: plan for sql, plan in plans.items() if any(step.startswith("SCAN documents") for step in plan)}
    assert not whole
