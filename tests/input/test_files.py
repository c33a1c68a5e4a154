"""Files of documents give the same documents, in whatever format, compression and encoding they are."""

from __future__ import annotations

import bz2
import csv
import gc
import gzip
import io
import json
import lzma
import sys
import time
from typing import TYPE_CHECKING, Any

import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from es_simhash import InputError, read_file
from es_simhash.input import lines_of
from es_simhash.lines import MAX_LINE, parsed

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from es_simhash.lines import Line

COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstd.compress,
}
# Characters that formats treat specially are frequent, and all characters are possible.
TEXTS = st.text(
    st.sampled_from("\"'\\,;\t\n\r []{}:雨é😀") | st.characters(exclude_categories=["Cs"], exclude_characters="\0")
)
DOCUMENTS = st.lists(st.fixed_dictionaries({"id": TEXTS, "text": TEXTS}), min_size=1, max_size=9)


def as_jsonl(documents: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in documents)


def as_csv(documents: list[dict[str, Any]], dialect: str = "excel") -> str:
    rows = io.StringIO(newline="")
    writer = csv.DictWriter(rows, ["id", "text"], dialect=dialect, quoting=csv.QUOTE_ALL)
    writer.writeheader()
    writer.writerows(documents)
    return rows.getvalue()


FORMATS: dict[str, Callable[[list[dict[str, Any]]], str]] = {
    "jsonl": as_jsonl,
    "json": lambda documents: json.dumps(documents, ensure_ascii=False),
    "csv": as_csv,
    "tsv": lambda documents: as_csv(documents, "excel-tab"),
}


class Chunks(io.RawIOBase):
    """A pipe that delivers a few bytes at a time."""

    def __init__(self, data: bytes, size: int) -> None:
        self._data = io.BytesIO(data)
        self._size = size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._data.read(min(self._size, len(buffer)))
        buffer[: len(data)] = data
        return len(data)


def read(data: bytes, name: str, **more: Any) -> list[Line]:
    return list(map(parsed, lines_of(io.BytesIO(data), name, **more)))


def documents_of(lines: list[Line]) -> list[Any]:
    assert [line.problem for line in lines if line.problem] == []
    return [line.document for line in lines]


@given(DOCUMENTS, st.sampled_from(list(FORMATS)), st.sampled_from(["utf-8", "gb18030", "utf-16", "utf-8-sig"]))
def test_every_format_gives_the_documents_in_every_encoding(documents: Any, format: str, encoding: str) -> None:
    data = FORMATS[format](documents).encode(encoding)
    lines = read(data, f"news.{format}", encoding="utf-8" if encoding == "utf-8-sig" else encoding)
    assert documents_of(lines) == documents


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_a_compressed_file_is_recognised_by_its_content(compression: str, format: str) -> None:
    documents = [{"id": str(number), "text": "暴雨"} for number in range(1_000)]
    data = COMPRESSIONS[compression](FORMATS[format](documents).encode())
    more = {"format": format} if format in ("csv", "tsv") else {}
    assert documents_of(read(data, "no suffix", **more)) == documents
    assert documents_of(read(data, f"news.{format.upper()}{compression}")) == documents


@pytest.mark.parametrize("compression", [".gz", ".bz2", ".xz", ".zst"])
def test_compressed_files_one_behind_the_other_are_one_input(compression: str) -> None:
    parts = [COMPRESSIONS[compression](b'{"id": %d}\n' % number) for number in range(3)]
    assert documents_of(read(b"".join(parts), "f")) == [{"id": 0}, {"id": 1}, {"id": 2}]


@pytest.mark.parametrize("compression", [".gz", ".bz2", ".xz", ".zst"])
@pytest.mark.parametrize("damage", ["truncated", "damaged"])
def test_everything_before_the_damage_of_a_compressed_file_is_read(compression: str, damage: str) -> None:
    compress = COMPRESSIONS[compression]
    good, bad = compress(b'{"id": 1}\n'), compress(b'{"id": 2}\n' * 9)
    bad = bad[:-6] if damage == "truncated" else bad[:8] + bytes(255 - byte for byte in bad[8:])
    lines = lines_of(io.BytesIO(good + bad), "f")
    assert parsed(next(lines)).document == {"id": 1}
    with pytest.raises(InputError, match=r"^cannot read f to its end: its \w+ data "):
        list(lines)


def test_a_compressed_line_without_end_is_rejected_in_little_memory() -> None:
    data = gzip.compress(b'{"id": 1}\n' + bytes(2 * MAX_LINE) + b'\n{"id": 2}\n', 1)
    good, bad, last = read(data, "f")
    assert (good.document, last.document) == ({"id": 1}, {"id": 2})
    assert "longer than" in str(bad.problem)


@given(DOCUMENTS, st.sampled_from(list(FORMATS)), st.integers(1, 9))
def test_a_pipe_that_delivers_a_few_bytes_gives_the_same(documents: Any, format: str, size: int) -> None:
    stream = io.BufferedReader(Chunks(FORMATS[format](documents).encode(), size), 16)
    assert documents_of(list(map(parsed, lines_of(stream, "pipe", format)))) == documents


@pytest.mark.parametrize("data", [b'{"id": 1}\n', gzip.compress(b'{"id": 1}\n', mtime=0), b"id\n1\n"])
def test_the_stream_of_the_caller_stays_open(data: bytes) -> None:
    for stream in (io.BytesIO(data), io.BufferedReader(Chunks(data, 9))):
        assert len(list(lines_of(stream, "f"))) >= 1
        gc.collect()
        assert not stream.closed


def test_the_place_of_a_row_is_the_line_where_it_begins() -> None:
    lines = read(b'id,text\n1,"two\nlines"\n\n2,x\n', "news.csv")
    assert [line.place for line in lines] == ["news.csv:2", "news.csv:5"]


def test_a_row_that_does_not_fit_is_rejected_and_the_others_are_read() -> None:
    data = b'id,text\n1,a\n2\n3,"a"b\n4,\xb1\xa9\xd3\xea\n5,e\n'
    lines = read(data, "news.csv")
    assert [line.problem for line in lines] == [
        None,
        "the row has 1 cells, the header has 2: check its quotes",
        "not CSV: ',' expected after '\"': check its quotes",
        "not UTF-8 at byte 3, but it looks like GB18030, an encoding of Chinese: name it (encoding='gb18030')",
        None,
    ]


@pytest.mark.parametrize("twice", ["", ",7,3,7"])
def test_a_header_of_many_columns_is_checked_in_linear_time(twice: str) -> None:
    header = ",".join(map(str, range(200_000)))
    started = time.process_time()
    lines = lines_of(io.BytesIO(f"{header}{twice}\n{header}\n".encode()), "wide.csv")
    if twice:
        with pytest.raises(InputError, match=r"the header has the column '[37]' twice"):
            next(lines)
    else:
        assert len(next(lines).document) == 200_000
    assert time.process_time() - started < 5


def test_a_quote_that_is_not_closed_is_a_problem_and_its_row_is_not_read_as_one() -> None:
    assert read(b'id,text\n1,"a\n2,b\n', "news.csv")[-1].problem == "not CSV: unexpected end of data: check its quotes"
    with pytest.raises(InputError, match=r"^news.csv:2: the row is longer than .* a quote that is not closed"):
        read(b'id,text\n1,"a\n' + (b"b" * 9_999_999 + b"\n") * (MAX_LINE // 10_000_000 + 1), "news.csv")


@pytest.mark.parametrize(
    ("data", "read_first", "problem"),
    [
        (b'[{"id": 1}, {"id": 2', 1, "f item 2: the input ends inside it: check if the file is truncated"),
        (b'[{"id": 1}', 1, "f ends behind f item 1 without ']': check if the file is truncated"),
        (b'[{"id": 1} {"id": 2}]', 1, "f: no JSON array, '{' behind f item 1 in place of ',': correct the file"),
        (b'[{"id": 1}] x', 1, "f: 'x' after the end of the array: keep one array in a file"),
        (b'[{"id": 1}, {id: 2}]', 1, "f item 2: not JSON: "),
        (b'[{"id": 1}, ' + b"[" * 100_000, 1, "f item 2: nested too deeply: flatten it"),
    ],
)
def test_what_stands_before_the_damage_of_an_array_is_read(data: bytes, read_first: int, problem: str) -> None:
    lines = lines_of(io.BytesIO(data), "f")
    assert [parsed(next(lines)).document for _ in range(read_first)] == [{"id": 1}]
    with pytest.raises(InputError) as error:
        list(lines)
    assert str(error.value).startswith(problem)


def test_an_item_that_json_does_not_have_is_rejected_alone() -> None:
    lines = read(b'[{"id": 1}, {"id": NaN}, 1' + b"0" * 5_000 + b', {"id": 4}]', "f")
    assert [line.problem is None for line in lines] == [True, False, False, True]
    assert lines[1].place == "f item 2"


def test_a_wrong_byte_in_another_encoding_rejects_its_line_only() -> None:
    data = '{"id": "雨"}\n'.encode("gb18030")
    good, bad, last = read(data + b'{"id": "\xff"}\n' + data, "f", encoding="gb18030")
    assert good.document == last.document == {"id": "雨"}
    assert bad.problem == "not gb18030 at character 9: correct the line, or check if the file has another encoding"


@pytest.mark.parametrize("encoding", ["gbk", "GB18030", "big5"])
def test_the_problem_with_a_line_names_the_encoding_that_was_given(encoding: str) -> None:
    bad = "雨".encode(encoding) + b"\xff"
    for name, data in (("f", '{"id": "'.encode(encoding) + bad), ("f.csv", "id\n雨".encode(encoding) + bad)):
        [line] = read(data + "\n".encode(encoding), name, encoding=encoding)
        assert str(line.problem).startswith(f"not {encoding} at character ")
    with pytest.raises(InputError, match=f"^f: not {encoding}: correct the file"):
        read('["'.encode(encoding) + bad, "f", encoding=encoding)


def test_utf_8_has_one_name_in_messages() -> None:
    [line] = read(b"\xff\n", "f", encoding="UTF8")
    assert line.problem == "not UTF-8 at byte 1: convert the file to UTF-8, or name its encoding (encoding)"


@pytest.mark.parametrize("empty", ["\n", "\r\n"])
def test_empty_rows_are_skipped_fast_and_counted(empty: str) -> None:
    count = 5_000_000 // len(empty)
    data = f"{empty * count}id,text{empty * count}1,{empty}{empty * count}2, {empty}".encode()
    started = time.process_time()
    lines = read(data, "news.csv")
    assert time.process_time() - started < 1
    assert documents_of(lines) == [{"id": "1", "text": ""}, {"id": "2", "text": " "}]
    assert [line.place for line in lines] == [f"news.csv:{2 * count + 1}", f"news.csv:{3 * count + 2}"]


def test_the_rows_of_a_parquet_file_are_documents(tmp_path: Path) -> None:
    import datetime

    columns = {
        "id": [1, 2],
        "day": [datetime.date(2024, 5, 1), None],
        "score": [0.5, float("nan")],
        "tags": [["a"], []],
    }
    pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / "news.parquet")
    first, second = read_file(tmp_path / "news.parquet")
    assert first.document == {"id": 1, "day": "2024-05-01", "score": 0.5, "tags": ["a"]}
    assert second.document == {"id": 2, "day": None, "score": None, "tags": []}
    assert second.place.endswith("news.parquet row 2")
    with pytest.raises(InputError, match="cannot be read from a pipe"):
        list(lines_of(io.BufferedReader(Chunks((tmp_path / "news.parquet").read_bytes(), 99)), "stdin"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"path": "none.csv"}, "cannot read none.csv: No such file"),
        ({"path": __file__, "format": "xml"}, "there is no format 'xml': use one of jsonl, json, csv, tsv, parquet"),
        ({"path": __file__, "encoding": "base64"}, "there is no encoding 'base64': use utf-8, gb18030"),
    ],
)
def test_invalid_arguments_of_read_file_raise_at_once(arguments: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_file(**arguments)


def test_an_archive_is_refused_with_the_next_step() -> None:
    with pytest.raises(InputError, match=r"is a ZIP archive .*: unpack it, or save the table as CSV"):
        read(b"PK\x03\x04 and more", "table.xlsx")
