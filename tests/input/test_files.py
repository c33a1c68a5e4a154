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
import tarfile
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from es_simhash import InputError, read_file
from es_simhash.input import lines_of
from es_simhash.lines import MAX_LINE, parsed
from tests.input import documents_of, read, stream

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

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
DOCUMENTS = st.lists(
    st.builds(lambda id, text: {"id": id, "text": text}, st.text("abc", min_size=1), TEXTS), min_size=1, max_size=9
)
ONE_LINE_CELLS = DOCUMENTS.map(
    lambda documents: [{**each, "text": each["text"].translate({9: " ", 10: " "})} for each in documents]
)
FILES = st.sampled_from(["jsonl", "json", "csv", "tsv"]).flatmap(
    lambda format: st.tuples(ONE_LINE_CELLS if format == "tsv" else DOCUMENTS, st.just(format))
)


def as_jsonl(documents: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in documents)


def as_table(documents: list[dict[str, Any]], **dialect: Any) -> str:
    rows = io.StringIO(newline="")
    writer = csv.DictWriter(rows, ["id", "text"], quoting=csv.QUOTE_ALL, **dialect)
    writer.writeheader()
    writer.writerows(documents)
    return rows.getvalue()


FORMATS: dict[str, Callable[[list[dict[str, Any]]], str]] = {
    "jsonl": as_jsonl,
    "json": lambda documents: json.dumps(documents, ensure_ascii=False),
    "csv": as_table,
    "tsv": lambda documents: as_table(documents, delimiter="\t", lineterminator="\n"),
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


@given(FILES, st.sampled_from(["utf-8", "gb18030", "utf-16", "utf-8-sig"]))
def test_every_format_gives_the_documents_in_every_encoding(file: tuple[Any, str], encoding: str) -> None:
    documents, format = file
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
    # Python's readers take a damaged second file of bzip2 or xz for the end.
    several = compression in (".gz", ".zst")
    lines = lines_of(stream(good + bad if several else bad), "f")
    if several:
        assert parsed(next(lines)).document == {"id": 1}
    with pytest.raises(InputError, match=r"^cannot read f to its end: its compressed data "):
        list(lines)


def test_a_file_that_cannot_be_read_from_its_first_byte_is_named() -> None:
    with (
        open("/proc/self/mem", "rb") as file,
        pytest.raises(InputError, match=r"^cannot read f to its end: Input/output error$"),
    ):
        list(lines_of(file, "f"))


def test_a_compressed_line_without_end_is_rejected_in_little_memory() -> None:
    data = gzip.compress(b'{"id": 1}\n' + bytes(2 * MAX_LINE) + b'\n{"id": 2}\n', 1, mtime=0)
    good, bad, last = read(data, "f")
    assert (good.document, last.document) == ({"id": 1}, {"id": 2})
    assert "longer than" in str(bad.problem)


@given(FILES, st.integers(1, 9))
def test_a_pipe_that_delivers_a_few_bytes_gives_the_same(file: tuple[Any, str], size: int) -> None:
    documents, format = file
    pipe = io.BufferedReader(Chunks(FORMATS[format](documents).encode(), size), 16)
    assert documents_of(list(map(parsed, lines_of(pipe, "pipe", format)))) == documents


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'[{"id": 1}, {"id": 2', r"cannot read f: not JSON in utf-8 \(.* line 1 column 21 .* truncated"),
        (b'[{"id": 1}] x', r"cannot read f: not JSON in utf-8 \(Extra data"),
        (b'[{"id": NaN}]', r"cannot read f: not JSON in utf-8 \(NaN is not a finite number"),
        (b"[" * 100_000, "cannot read f: not JSON "),
        (b'["\xff"]', r"cannot read f: not JSON in utf-8 \(.*\): correct it, .* or name its encoding"),
        (b"[" + b" " * MAX_LINE, r"f is a JSON array of more than 67,108,864 bytes: .* jq -c '.\[\]'"),
    ],
)
def test_an_array_is_read_whole_or_not_at_all(data: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(data, "f")


def test_the_items_of_an_array_have_places() -> None:
    assert [line.place for line in read(b'\n [{"id": 1}, 2]', "f")] == ["f item 1", "f item 2"]


@pytest.mark.parametrize(
    ("data", "more"),
    [
        (b'{"id": 1}\n', {}),
        (gzip.compress(b'{"id": 1}\n', mtime=0), {}),
        (b'{"id": 1}\n', {"encoding": "gbk"}),
        (b"[1]", {}),
    ],
)
def test_the_stream_of_the_caller_stays_open(data: bytes, more: dict[str, str]) -> None:
    opened = stream(data)
    assert len(list(lines_of(opened, "f", **more))) == 1
    gc.collect()
    assert not opened.closed


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_a_file_that_is_left_early_is_closed(tmp_path: Path) -> None:
    (tmp_path / "news.jsonl").write_bytes('{"id": "雨"}\n{"id": 2}\n'.encode("gbk"))
    lines = read_file(tmp_path / "news.jsonl", encoding="gbk")
    assert next(lines).document == {"id": "雨"}
    del lines
    gc.collect()


def test_a_wrong_byte_in_another_encoding_rejects_its_line_only() -> None:
    data = '{"id": "雨"}\n'.encode("gb18030")
    good, bad, last = read(data + b'{"id": "\xff"}\n' + data, "f", encoding="gb18030")
    assert good.document == last.document == {"id": "雨"}
    assert str(bad.problem).startswith("not in the encoding of the file (by default UTF-8) at character 9: correct the")


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
    (tmp_path / "cut.parquet").write_bytes((tmp_path / "news.parquet").read_bytes()[:-9])
    with pytest.raises(InputError, match=r"cut.parquet to its end, after row 0 \(.*\): copy it again"):
        list(read_file(tmp_path / "cut.parquet"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"path": "none.csv"}, "cannot read none.csv: No such file"),
        ({"path": __file__, "format": "xml"}, "the format is 'xml': use one of jsonl, json, csv, tsv, parquet"),
        ({"path": __file__, "format": np.array([1, 2])}, "the format is array"),
        ({"path": "\ud800"}, "is no path of a file: use a string or a Path"),
        ({"path": __file__, "encoding": "base64"}, "there is no encoding 'base64': use utf-8, gb18030"),
        ({"path": __file__, "encoding": "idna"}, "there is no encoding 'idna': use utf-8, gb18030"),
    ],
)
def test_invalid_arguments_of_read_file_raise_at_once(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_file(**arguments)


def test_an_archive_is_refused_with_the_next_step() -> None:
    with pytest.raises(InputError, match=r"is a ZIP archive .*: unpack it, or save the table as CSV"):
        read(b"PK\x03\x04 and more", "table.xlsx")
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        tar.addfile(tarfile.TarInfo("news.jsonl"))
    for data in (archive.getvalue(), gzip.compress(archive.getvalue())):
        with pytest.raises(InputError, match=r"news\.tar is a tar archive: unpack it, and name the files"):
            read(data, "news.tar")
