"""No row of a table is swallowed in silence, and each row says what is wrong with it."""

from __future__ import annotations

import re

import pytest

from es_simhash import InputError
from es_simhash.input.csv_rows import MAX_LINES
from tests.input import documents_of, read


def test_the_place_of_a_row_is_the_line_where_it_begins() -> None:
    lines = read(b'\nid,text\n1,"two\nlines"\n\n,,\n2,x\n', "news.csv")
    assert [line.place for line in lines] == ["news.csv:3", "news.csv:7"]


def test_a_row_that_does_not_fit_is_rejected_with_its_lines_and_the_others_are_read() -> None:
    data = b'id,text\n1,a\n2\n3,"a"b\n4,\xb1\xa9\xd3\xea\n5,a\rb\n6,"a\nb",\n7,"e"\n'
    lines = read(data, "news.csv")
    assert [line.problem and line.problem.split(":")[0] for line in lines] == [
        None,
        "the row has 1 cell, the header has 2",
        "not CSV",
        "not in the encoding of the file (by default UTF-8) at character 3",
        "not CSV",
        "the row has 3 cells, the header has 2",
        None,
    ]
    assert b"".join(line.raw for line in lines if line.raw) == data.partition(b"1,a\n")[2].rpartition(b"7,")[0]


@pytest.mark.parametrize(
    ("data", "texts"),
    [
        (b'id,text\n1,a\n2,"b\n3,c\n4,d"\n5,e\n', ["a", None, "e"]),
        (b'id,text\nnews-1,a\nnews-2,"b\nnews-3,c\nnews-4,d"\nnews-5,e\n', ["a", None, "e"]),
        (b'id,text\n3f2a-b1,a\nc9de-07,"b, or c\ne4-a7bb,c\nd00d-ff,d"\n5ee-1a,e\n', ["a", None, "e"]),
        (b'text,at\n"a,2024-01-01\nb,2024-01-02\nc",2024-01-03\nd,2024-01-04\n', [None, "d"]),
        (b'text,id\n"a,1\nb",2\nd,3\n', [None, "d"]),
        (b'id,text\nn-1,a\n"n-2,b\nn-3,c\nn-4",d\n', ["a", None]),
        (b'text,id\na,n-1\nb,"n-2\nc,n-3\nd,n-4"\n', ["a", None]),
    ],
)
def test_a_quote_that_takes_in_other_rows_is_said_and_takes_none_of_them_into_a_cell(
    data: bytes, texts: list[str | None]
) -> None:
    lines = read(data, "news.csv")
    assert [None if line.problem else line.document["text"] for line in lines] == texts
    [problem] = [line.problem for line in lines if line.problem]
    assert re.fullmatch(
        r"the row goes to line \d, and its lines look like rows of their own: check if a quote is not closed", problem
    )


def test_a_text_of_several_paragraphs_with_commas_is_one_row() -> None:
    text = "Rain, at last.\nThe town, which waited, is glad.\nMore, tomorrow."
    assert documents_of(read(f'id,text\n1,"{text}"\n'.encode(), "news.csv")) == [{"id": "1", "text": text}]
    assert documents_of(read(f'text,id\n"{text}",1\n'.encode(), "news.csv")) == [{"id": "1", "text": text}]
    address = "12 Main Street\nSpringfield, IL 62704"
    assert documents_of(read(f'id,text\n1,"{address}"\n'.encode(), "news.csv")) == [{"id": "1", "text": address}]


def test_a_row_of_very_many_lines_is_said() -> None:
    inside = b"\n" * MAX_LINES
    assert "more than 500 lines" in str(read(b'id,text\n1,"a' + inside + b'"\n', "news.csv")[0].problem)
    assert read(b'id,text\n1,"a\n2,b\n', "news.csv")[-1].problem == "not CSV: unexpected end of data: check its quotes"


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (b"id,text,text\n", "the column 'text' is there twice"),
        (b"id,text\r1,a\r", "a carriage return"),
        ("id,text\n".encode("utf-16"), r"not in the encoding .* utf-16 \(--encoding;"),
    ],
)
def test_a_header_that_cannot_be_used_ends_the_file(header: bytes, message: str) -> None:
    with pytest.raises(InputError, match=f"^news.csv:1: .*{message}"):
        read(header, "news.csv")


@pytest.mark.parametrize(
    "data",
    [
        b"sep=,\nid,text\n1,a\n",
        b"sep=;\r\nid;text\r\n1;a\r\n",
        b'\xef\xbb\xbf"id","text"\n1,a\n',
        b'id, text\n1, "a"\n',
        b"id,text,\n1,a,\n",
    ],
)
def test_what_spreadsheets_write_around_the_cells_is_no_part_of_them(data: bytes) -> None:
    assert documents_of(read(data, "news.csv")) == [{"id": "1", "text": "a"}]


def test_a_cell_below_no_name_is_said() -> None:
    [line] = read(b",id,text\n0,1,a\n", "news.csv")
    assert line.problem == "cell 1 is '0', and its column has no name: name it in the header"


def test_tsv_has_quotes_only_around_a_whole_cell() -> None:
    lines = read(b'id\ttext\n1\t"a ""b"""\n2\t5" disk\n3\t"a" b\n4\t\\N\n5\ta\tb\n', "news.tsv")
    texts = [line.document["text"] for line in lines[:4]]
    assert texts == ['a "b"', '5" disk', '"a" b', None]
    assert lines[4].problem == "the row has 3 cells, the header has 2: check its quotes and separators"
