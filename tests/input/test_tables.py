"""The rows of tables in memory are documents. What is no sequence of documents raises at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pyarrow

from es_simhash import Documents
from es_simhash.input import rows_of
from tests.cli import HARVEST, STORM

if TYPE_CHECKING:
    from pathlib import Path

COLUMNS = {"id": [1, 2], "text": [STORM, HARVEST], "day": pd.to_datetime(["2024-05-01", "NaT"]), "score": [0.5, np.nan]}
ROWS = [
    {"id": 1, "text": STORM, "day": "2024-05-01T00:00:00", "score": 0.5},
    {"id": 2, "text": HARVEST, "day": None, "score": None},
]


def test_the_rows_of_a_table_have_values_that_json_has() -> None:
    frame = pd.DataFrame(COLUMNS)
    assert list(rows_of(frame)) == ROWS
    assert list(rows_of(pyarrow.Table.from_pandas(frame))) == ROWS
    vectors = pd.DataFrame({"id": np.array([1, 2]), "vector": [np.array([0.5, 1.5]), None], "n": pd.array([1, None])})
    assert list(rows_of(vectors)) == [{"id": 1, "vector": [0.5, 1.5], "n": 1}, {"id": 2, "vector": None, "n": None}]


def test_a_data_frame_can_be_ingested(tmp_path: Path) -> None:
    with Documents(f"sqlite:///{tmp_path / 'news.db'}") as documents:
        outcomes = list(documents.ingest(pd.DataFrame(COLUMNS)))
    assert [(outcome.id, outcome.outcome) for outcome in outcomes] == [("1", "new"), ("2", "new")]
