"""The rows of tables in memory and of Parquet files are documents: of every type of Arrow, and of data frames."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from uuid import UUID

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from es_simhash import Documents, InputError, distinct, read_file
from es_simhash.input import rows_of
from tests.cli import HARVEST, STORM

if TYPE_CHECKING:
    from pathlib import Path

COLUMNS = {"id": [1, 2], "text": [STORM, HARVEST], "day": pd.to_datetime(["2024-05-01", "NaT"]), "score": [0.5, np.nan]}
ROWS = [
    {"id": 1, "text": STORM, "day": "2024-05-01T00:00:00", "score": 0.5},
    {"id": 2, "text": HARVEST, "day": None, "score": None},
]
MOMENT = datetime(2024, 5, 1, 8, 30)
ID = UUID("12345678-1234-5678-1234-567812345678")


class Refused:
    """In the place of a JSON value: the row is rejected."""


# An array of one value of each type of Arrow, and the JSON value that a person expects.
CASES: list[tuple[pa.Array, Any]] = [
    (pa.nulls(1), None),
    (pa.array([True]), True),
    *((pa.array([7], kind), 7) for kind in (pa.int8(), pa.int16(), pa.int32(), pa.int64())),
    *((pa.array([7], kind), 7) for kind in (pa.uint8(), pa.uint16(), pa.uint32())),
    (pa.array([2**64 - 1], pa.uint64()), 2**64 - 1),
    *((pa.array([1.5], kind), 1.5) for kind in (pa.float16(), pa.float32(), pa.float64())),
    (pa.array([float("nan")]), None),
    (pa.array([float("inf")]), Refused),
    (pa.array([Decimal("12.50")], pa.decimal128(10, 2)), 12.5),
    (pa.array([Decimal("5.00")], pa.decimal32(9, 2)), 5.0),
    (pa.array([Decimal(3)], pa.decimal64(18, 0)), 3),
    (pa.array([Decimal("12345678901234567890.123456789")], pa.decimal128(38, 9)), "12345678901234567890.123456789"),
    (pa.array([Decimal(10**60)], pa.decimal256(70, 0)), 10**60),
    *((pa.array(["雨"], kind), "雨") for kind in (pa.string(), pa.large_string(), pa.string_view())),
    *(
        (pa.array(["雨".encode()], kind), "雨")
        for kind in (pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(3))
    ),
    (pa.array([b"\xff\xd8"]), Refused),
    (pa.array([date(2024, 5, 1)], pa.date32()), "2024-05-01"),
    (pa.array([date(2024, 5, 1)], pa.date64()), "2024-05-01"),
    (pa.array([2**30], pa.date32()), Refused),
    (pa.array([2**62], pa.date64()), Refused),
    (pa.array([time(8, 30)], pa.time32("s")), "08:30:00"),
    (pa.array([time(8, 30, 0, 5)], pa.time64("us")), "08:30:00.000005"),
    (pa.array([123_456_789], pa.time64("ns")), "00:00:00.123456789"),
    (pa.array([MOMENT], pa.timestamp("s")), "2024-05-01T08:30:00"),
    (pa.array([MOMENT], pa.timestamp("ms", "Asia/Shanghai")), "2024-05-01T16:30:00+08:00"),
    (pa.array([MOMENT], pa.timestamp("ns")), "2024-05-01T08:30:00"),
    (pa.array([1], pa.timestamp("ns", "-03:00")), "1969-12-31T21:00:00.000000001-03:00"),
    (pa.array([-1], pa.timestamp("ns")), "1969-12-31T23:59:59.999999999"),
    (pa.array([10**15], pa.timestamp("s")), Refused),
    (pa.array([1], pa.timestamp("us", "Mars/Base")), Refused),
    (pa.array([timedelta(minutes=1)], pa.duration("ms")), 60.0),
    (pa.array([1_000_000_001], pa.duration("ns")), 1.000000001),
    (pa.array([2**62], pa.duration("s")), Refused),
    (pa.array([(1, 2, 3)], pa.month_day_nano_interval()), [1, 2, 3]),
    (pa.array([[1], [2]][:1], pa.list_(pa.int8())), [1]),
    *((pa.array([[1, None]], kind), [1, None]) for kind in (pa.large_list(pa.int8()), pa.list_(pa.int8(), 2))),
    *((pa.array([[1]], kind), [1]) for kind in (pa.list_view(pa.int8()), pa.large_list_view(pa.int8()))),
    (pa.array([{"a": Decimal("0.1"), "b": None}]), {"a": 0.1, "b": None}),
    (pa.array([[("a", 1), ("b", None)]], pa.map_(pa.string(), pa.int8())), {"a": 1, "b": None}),
    (pa.array([[("a", 1), ("a", 2)]], pa.map_(pa.string(), pa.int8())), Refused),
    (pa.StructArray.from_arrays([pa.array([1]), pa.array([2])], ["a", "a"]), Refused),
    (pa.array(["雨"]).dictionary_encode(), "雨"),
    (pa.RunEndEncodedArray.from_arrays([1], pa.array([1], pa.duration("ns"))), 1e-9),
    (pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([5])]), 5),
    (pa.UnionArray.from_dense(pa.array([0], pa.int8()), pa.array([0], pa.int32()), [pa.array(["x"])]), "x"),
    (pa.array([ID.bytes], pa.uuid()), str(ID)),
    (pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1], pa.int8())), True),
]


def nested(array: pa.Array) -> list[tuple[pa.Array, Any]]:
    """Return the array in a list, in a struct, and as the values of a map, each with what stands around its value."""
    offsets = pa.array([0, 1], pa.int32())
    if pa.types.is_run_end_encoded(array.type):
        return []  # pyarrow makes no nulls of them
    return [
        (pa.ListArray.from_arrays(offsets, array), lambda value: [value]),
        (pa.StructArray.from_arrays([array], ["a"]), lambda value: {"a": value}),
        (pa.MapArray.from_arrays(offsets, pa.array(["k"]), array), lambda value: {"k": value}),
    ]


def outcomes(documents: Any) -> list[Any]:
    """Return the fields ``x`` of documents as they are stored, or Refused."""
    with Documents("memory://") as store:
        found = {outcome.id: outcome.outcome for outcome in store.ingest(documents)}
        stored = store.fetch(["1", "2"], fields="*")
    assert found["2"] == "new", "the row beside it"
    refused = [outcome for id, outcome in found.items() if id != "2"] == ["rejected"]
    return [Refused if refused else stored["1"]["x"], stored["2"].get("x")]


@pytest.mark.parametrize(
    ("array", "expected"), CASES, ids=[f"{number} {case[0].type}" for number, case in enumerate(CASES)]
)
def test_a_value_of_each_type_of_arrow_is_what_a_person_expects_or_its_row_alone_is_rejected(
    array: pa.Array, expected: Any, tmp_path: Path
) -> None:
    for column, around in [(array, lambda value: value), *nested(array)]:
        table = pa.table({"id": [1], "text": [STORM], "x": column})
        beside = pa.table({"id": [2], "text": [HARVEST], "x": pa.nulls(1, column.type)}, table.schema)
        both = pa.concat_tables([table, beside])
        wanted = [expected if expected is Refused else around(expected), None]
        assert outcomes(both) == wanted
        assert outcomes(both.combine_chunks().to_batches()[0]) == wanted
        try:
            pq.write_table(both, tmp_path / "x.parquet")
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            continue  # a type that Parquet lacks
        assert outcomes(read_file(tmp_path / "x.parquet"))[1] is None
        if pq.read_schema(tmp_path / "x.parquet").field("x").type == column.type:
            assert outcomes(read_file(tmp_path / "x.parquet")) == wanted


def test_each_type_of_arrow_has_a_case() -> None:
    known = {getattr(pa.lib, name): name for name in dir(pa.lib) if name.startswith("Type_")}
    missing = {name for id, name in known.items() if id not in {array.type.id for array, _ in CASES}}
    # pyarrow makes no arrays of the two older kinds of intervals.
    assert missing <= {"Type_INTERVAL_MONTHS", "Type_INTERVAL_DAY_TIME", "Type_EXTENSION"}


def test_a_row_that_cannot_be_read_is_rejected_with_its_place_its_column_and_the_next_step() -> None:
    table = pa.table({"id": [1, 2], "text": [STORM, HARVEST], "at": pa.array([0, 10**15], pa.timestamp("s"))})
    with Documents("memory://") as documents:
        first, second = documents.ingest(table)
    assert (first.outcome, second.outcome) == ("new", "rejected")
    assert str(second.reason).startswith("row 2: the column 'at' holds a timestamp[s] that cannot be read (")
    assert str(second.reason).endswith("): leave it out, or give it as text")
    with pytest.raises(InputError, match="item 1: the column 'at' holds"):
        list(distinct(table))


def test_nanoseconds_are_read_without_pandas(tmp_path: Path) -> None:
    columns = {
        "id": [1],
        "text": [STORM],
        "at": pa.array([1], pa.timestamp("ns")),
        "took": pa.array([1], pa.duration("ns")),
    }
    pq.write_table(pa.table(columns), tmp_path / "x.parquet")
    program = """
import json, sys
from importlib.abc import MetaPathFinder
class NoPandas(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "pandas":
            raise ImportError(name)
sys.meta_path.insert(0, NoPandas())
from es_simhash import read_file
print(json.dumps([line.document for line in read_file("x.parquet")][0]))
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) | {"text": ""} == {
        "id": 1,
        "text": "",
        "at": "1970-01-01T00:00:00.000000001",
        "took": 1e-9,
    }


def test_the_rows_of_a_table_have_values_that_json_has() -> None:
    frame = pd.DataFrame(COLUMNS)
    assert list(rows_of(frame)) == ROWS
    assert list(rows_of(pa.Table.from_pandas(frame))) == ROWS
    vectors = pd.DataFrame({"id": np.array([1, 2]), "vector": [np.array([0.5, 1.5]), None], "n": pd.array([1, None])})
    assert list(rows_of(vectors)) == [{"id": 1, "vector": [0.5, 1.5], "n": 1}, {"id": 2, "vector": None, "n": None}]


of_arrow: Any = pd.array  # the stubs do not know the types of pyarrow
FRAMES: list[tuple[Any, Any]] = [
    ([Decimal("12.50")], 12.5),
    ([Decimal("NaN")], None),
    ([Decimal("sNaN")], None),
    ([Decimal("Infinity")], Refused),
    ([Decimal("1E+999999999")], "1E+999999999"),
    (pd.to_timedelta([1_000_000_001], unit="ns"), 1.000000001),
    (pd.to_datetime([1], unit="ns"), "1970-01-01T00:00:00.000000001"),
    (pd.to_datetime([1], unit="ns", utc=True), "1970-01-01T00:00:00.000000001+00:00"),
    ([date(2024, 5, 1)], "2024-05-01"),
    ([ID], str(ID)),
    (["雨".encode()], "雨"),
    ([b"\xff"], Refused),
    ([{1, 2}], Refused),
    ([(1, 2)], [1, 2]),
    (pd.Series([np.longdouble(1)], dtype=object), 1.0),
    ([np.array([[1.5, np.nan]])], [[1.5, None]]),
    (pd.Categorical(["x"]), "x"),
    (of_arrow([Decimal("0.10")], pd.ArrowDtype(pa.decimal128(5, 2))), 0.1),
    (of_arrow([[Decimal("0.10")]], pd.ArrowDtype(pa.list_(pa.decimal128(5, 2)))), [0.1]),
    (pd.period_range("2024-05", periods=1, freq="M"), Refused),
    (pd.Series([1j], dtype=object), Refused),
]


@pytest.mark.parametrize(("column", "expected"), FRAMES, ids=range(len(FRAMES)))
def test_a_value_of_a_data_frame_is_what_a_person_expects_or_its_row_alone_is_rejected(
    column: Any, expected: Any
) -> None:
    frame = pd.DataFrame({"id": [1], "text": [STORM], "x": column})
    both = pd.concat([frame, pd.DataFrame({"id": [2], "text": [HARVEST]})], ignore_index=True)
    assert outcomes(both) == [expected, None]


NANOSECONDS = ["2024-05-01T08:30:00.000001", "2024-05-01T08:30:00.123456789", None]
DICTS: list[tuple[Any, Any]] = [
    (date(2024, 5, 1), "2024-05-01"),
    (MOMENT.replace(tzinfo=timezone.utc), "2024-05-01T08:30:00+00:00"),
    (timedelta(minutes=1), 60.0),
    (Decimal("12.50"), 12.5),
    (ID, str(ID)),
    (np.int64(7), 7),
    (np.array([1, 2]), [1, 2]),
    (np.datetime64("2024-05-01T08:30", "ns"), "2024-05-01T08:30:00"),
    (np.array(["2024-05-01T08:30:00.000001", "2024-05-01T08:30:00.123456789", "NaT"], "datetime64[ns]"), NANOSECONDS),
    (np.array("2024-05-01", "datetime64[ns]"), "2024-05-01T00:00:00"),
    (np.array([[1_500_000_000, 1]], "timedelta64[ns]"), [[1.5, 1e-09]]),
    (pd.NaT, None),
]


@pytest.mark.parametrize(("value", "expected"), DICTS, ids=range(len(DICTS)))
def test_a_dict_may_have_values_that_have_one_obvious_form_in_json(value: Any, expected: Any) -> None:
    assert outcomes([{"id": 1, "text": STORM, "x": value}, {"id": 2, "text": HARVEST}]) == [expected, None]


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    table = pa.Table.from_arrays([pa.array([1]), pa.array(["x"]), pa.array(["y"])], ["id", "text", "text"])
    pq.write_table(table, tmp_path / "x.parquet")
    frame = pd.DataFrame([[1, "x", "y"]], columns=["id", "text", "text"])
    for documents in (table, table.to_batches()[0], frame):
        with pytest.raises(InputError, match="the column 'text' is there twice: give each column its own name"):
            rows_of(documents)
    with pytest.raises(InputError, match=r"x.parquet: the column 'text' is there twice"):
        list(read_file(tmp_path / "x.parquet"))
