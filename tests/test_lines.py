"""Laws of JSON lines: every line is a document or a problem, with its place; a line that is too long is not held."""

from __future__ import annotations

import gzip
import io
import json
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from es_simhash.lines import Line, parsed, raw_lines
from tests.ingest import VALUES


def lines(data: bytes, **limit: int) -> list[Line]:
    return list(map(parsed, raw_lines(io.BytesIO(data), "news.jsonl", **limit)))


def problem(data: bytes) -> str:
    [line] = lines(data)
    assert line.document is None
    assert line.problem is not None
    return line.problem


@given(st.lists(VALUES | st.none()), st.sampled_from([b"\n", b"\r\n"]), st.booleans())
def test_every_value_is_read_back_with_the_number_of_its_line(values: list[Any], end: bytes, ascii_only: bool) -> None:
    written = [json.dumps(value, ensure_ascii=ascii_only).encode("utf-8", "replace") for value in values]
    read = lines(b"".join(each + end for each in written))
    assert [line.document for line in read] == [json.loads(each) for each in written]
    assert [line.place for line in read] == [f"news.jsonl:{number + 1}" for number in range(len(values))]


@given(st.lists(st.sampled_from([b'{"id": 1}', b"{bad", b"", b" \t", "{暴}".encode("gbk")])))
def test_a_place_is_the_number_of_the_line_in_the_file(written: list[bytes]) -> None:
    read = lines(b"\n".join(written))
    assert [line.place for line in read] == [
        f"news.jsonl:{number}" for number, each in enumerate(written, start=1) if each.strip()
    ]


@pytest.mark.parametrize("data", [b"", b"\xef\xbb\xbf", b"\xef\xbb\xbf\r\n\n"])
def test_a_file_without_characters_has_no_lines(data: bytes) -> None:
    assert lines(data) == []


def test_the_last_line_needs_no_line_break() -> None:
    assert [line.document for line in lines(b"1\n2")] == [1, 2]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b'{"id" 1}\n', "not JSON: Expecting ':' delimiter at character 7"),
        (b'{"id": "1\n', "not JSON: Invalid control character at character 10"),
        (
            b'{"id": "1',
            "not JSON: Unterminated string starting at character 8, and the input ends there without a line break: "
            "check if the file is truncated",
        ),
        (
            "{暴}\n".encode("gbk"),
            "not in the encoding of the file (by default UTF-8) at character 2: correct the line, or name another "
            "encoding, such as gb18030 or utf-16 (--encoding; encoding in Python)",
        ),
        ("1".encode("utf-16") + b"\n", "not in the encoding of the file (by default UTF-8) at character 1"),
        (b"[NaN]\n", "invalid JSON: NaN is not a finite number of 64 bits: write null, or a string"),
        (b"[1e400]\n", "invalid JSON: 1e400 is not a finite number of 64 bits: write null, or a string"),
        (b"[" * 100_000 + b"\n", "invalid JSON: nested too deeply: flatten it"),
        (
            b"1" * 5_000 + b"\n",
            "invalid JSON: Exceeds the limit (4300 digits) for integer string conversion: value has 5000 digits; write "
            "a string",
        ),
        *(
            (data + b"\n", f'not JSON: {where}; a line is one document, such as {{"id": "1", "text": "…"}}: `jq -c .`')
            for data, where in (
                (b"n1\tx", "Expecting value at character 1"),
                (b"{", "Expecting property name enclosed in double quotes at character 3"),
                (b'  "id": 1,', "Extra data at character 7"),
                (b'{"id": 1},', "Extra data at character 10"),
            )
        ),
    ],
)
def test_a_line_that_is_not_json_has_a_problem_that_says_where_and_why(data: bytes, says: str) -> None:
    assert problem(data).startswith(says)


@pytest.mark.parametrize("length", [99, 100])
def test_a_line_up_to_the_limit_is_read(length: int) -> None:
    text = "x" * (length - 3)
    assert [line.document for line in lines(json.dumps(text).encode() + b"\n2\n", max_line=100)] == [text, 2]


@pytest.mark.parametrize("length", [101, 200, 201, 1_000])
@pytest.mark.parametrize("end", [b"\n", b""])
def test_a_line_over_the_limit_is_skipped(length: int, end: bytes) -> None:
    long = b"x" * (length - len(end)) + end
    first, second, *rest = lines(b"1\n" + long + (b"3\n" if end else b""), max_line=100)
    assert first.document == 1
    assert second.problem == "the line is longer than 100 bytes: write one JSON object on each line"
    assert (second.place, second.size) == ("news.jsonl:2", length)
    assert [(line.place, line.document) for line in rest] == ([("news.jsonl:3", 3)] if end else [])


def test_a_line_over_the_limit_is_not_held_in_memory() -> None:
    size = 20_000_000
    packed = io.BytesIO(gzip.compress(bytes(size)))
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        with gzip.open(packed) as stream:
            [line] = raw_lines(stream, "endless", max_line=10_000)
        peak = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    assert line.size == size
    assert peak < size / 20
