"""Parquet: the rows are those of pyarrow, and a small file does not become large objects."""

from __future__ import annotations

import datetime
import decimal
import tracemalloc
from typing import TYPE_CHECKING, Any

import pyarrow
import pytest
from pyarrow import parquet

from es_simhash import read_file
from es_simhash.input import parquet as reading_parquet
from es_simhash.input.parquet import LIMITS, Limits, parquet_rows
from es_simhash.input.tables import plain

if TYPE_CHECKING:
    from pathlib import Path

LONG = "雨" * 1_000_000
NO_VECTOR = [5.0, 6.0] if pyarrow.__version__.startswith("17.") else None
"""A null. pyarrow 17 cannot read one in lists of a fixed size from Parquet."""
ALL_KINDS = {
    "id": [1, 2, 3],
    "category": pyarrow.array(["a", "b", "a"]).dictionary_encode(),
    "number": pyarrow.array([1, 2, 1]).dictionary_encode(),
    "large": pyarrow.array(["x", None, "y"], pyarrow.large_string()),
    "bytes": [b"a", b"b", None],
    "map": pyarrow.array([[("k", "v")], [], None], pyarrow.map_(pyarrow.string(), pyarrow.string())),
    "vector": pyarrow.array([[1.0, 2.0], [3.0, 4.0], NO_VECTOR], pyarrow.list_(pyarrow.float32(), 2)),
    "list": [["a", None], [], None],
    "struct": [{"q": "a", "n": [{"z": "w"}]}, None, {"q": None, "n": []}],
    "decimal": [decimal.Decimal("1.5"), None, decimal.Decimal("2.5")],
    "day": [datetime.date(2024, 5, 1)] * 3,
    "null": pyarrow.nulls(3),
    "dotted.name": ["p", "q", "r"],
    "bool": [True, None, False],
}


def write(path: Path, columns: dict[str, Any], **more: Any) -> str:
    parquet.write_table(pyarrow.table(columns), path, **more)
    return str(path)


@pytest.mark.parametrize("limit", [0, 1, 1 << 30])
def test_the_rows_are_those_of_pyarrow_whatever_is_read_at_a_time(tmp_path: Path, limit: int) -> None:
    path = write(tmp_path / "a.parquet", ALL_KINDS, row_group_size=2)
    with open(path, "rb") as stream:
        lines = list(parquet_rows(stream, path, Limits(limit, limit, limit)))
    assert [line.document for line in lines] == [plain(row) for row in parquet.read_table(path).to_pylist()]
    assert [line.place for line in lines] == [f"{path} row {number}" for number in (1, 2, 3)]


def peak_of(path: str) -> tuple[int, int]:
    """Return the bytes of Python's objects at their peak, and the most bytes of pyarrow while there is a row."""
    pool, before = pyarrow.default_memory_pool(), pyarrow.total_allocated_bytes()
    tracemalloc.start()
    try:
        columns = max(pool.bytes_allocated() - before for _ in read_file(path))
        return tracemalloc.get_traced_memory()[1], columns
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "more",
    [{}, {"use_dictionary": False, "column_encoding": {"text": "DELTA_BYTE_ARRAY"}}],
    ids=["dictionary", "delta"],
)
def test_a_value_that_stands_once_for_many_rows_does_not_fill_the_memory(tmp_path: Path, more: Any) -> None:
    path = write(tmp_path / "bomb.parquet", {"text": [LONG] * 200}, compression="zstd", **more)
    objects, columns = peak_of(path)
    assert objects < 40_000_000  # all of them have 400 MB
    assert columns < 300_000_000  # all of them have 600 MB


def test_long_values_that_compress_well_do_not_become_objects_at_once(tmp_path: Path) -> None:
    texts = [f"{LONG}{number}" for number in range(100)]
    path = write(tmp_path / "a.parquet", {"text": texts}, compression="zstd", use_dictionary=False)
    assert peak_of(path)[0] < 40_000_000
    assert [line.document["text"] for line in read_file(path)] == texts


def test_a_row_beyond_the_limit_is_rejected_with_its_size_and_the_others_are_read(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", {"id": [1, 2, 3], "tags": [["x"], [LONG] * 30, ["y"]]}, compression="zstd")
    first, bad, last = read_file(path)
    assert (first.document, last.document) == ({"id": 1, "tags": ["x"]}, {"id": 3, "tags": ["y"]})
    assert bad.problem == "the row has 90,001,609 bytes, the limit is 67,108,864: split the document"
    assert (bad.place, bad.document) == (f"{path} row 2", None)
    assert peak_of(path)[0] < 10_000_000


@pytest.mark.parametrize("length", [1, 50, 5_000, 3_000_000])
def test_the_size_of_a_dictionary_is_read_from_its_page(tmp_path: Path, length: int) -> None:
    path = write(tmp_path / "a.parquet", {"text": ["x" * length] * 9})
    with open(path, "rb") as stream:
        column = parquet.ParquetFile(stream).metadata.row_group(0).column(0)
        assert reading_parquet._dictionary_size(stream, column) == length + 4


def test_ordinary_rows_are_read_many_at_a_time(tmp_path: Path) -> None:
    columns = {"id": range(20_000), "text": [f"{number} {LONG[:300]}" for number in range(20_000)]}
    path = write(tmp_path / "a.parquet", {name: list(values) for name, values in columns.items()})
    with open(path, "rb") as stream:
        assert max(batch.num_rows for batch, _ in reading_parquet._batches(stream, LIMITS)) > 50
