"""The way in: every line is a document or a reason, in order; batches are bounded; memory does not grow."""

from __future__ import annotations

import asyncio
import gzip
import io
import json
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from es_simhash import Documents, Fingerprinter, Outcome
from es_simhash.errors import InputError
from es_simhash.flows.outcome import Document
from es_simhash.reading import documents as reading_documents
from es_simhash.reading import lines as reading_lines
from es_simhash.reading import source as reading_source
from es_simhash.reading.documents import Reader
from es_simhash.reading.ids import FirstPlaces, claim
from es_simhash.reading.lines import Line, json_lines
from es_simhash.reading.source import Source

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

Item = Document | Outcome

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def lines(data: bytes) -> list[Line]:
    return list(json_lines(io.BytesIO(data), "news.jsonl"))


def problem(data: bytes) -> str:
    [line] = lines(data)
    assert line.document is None
    assert line.problem is not None
    return line.problem


# --- JSON lines --------------------------------------------------------------------------------------------


@given(st.lists(VALUES | st.none()), st.sampled_from([b"\n", b"\r\n"]), st.booleans())
def test_every_value_comes_back_with_the_number_of_its_line(values: list[Any], end: bytes, ascii_only: bool) -> None:
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


def test_the_sizes_add_up_to_the_file() -> None:
    data = '{"id": 1}\r\n{bad\n"暴雨"'.encode()
    assert [line.size for line in lines(data)] == [11, 5, 8]


def test_the_last_line_needs_no_line_break() -> None:
    assert [line.document for line in lines(b"1\n2")] == [1, 2]


def test_a_byte_order_mark_is_left_out() -> None:
    assert [line.document for line in lines(b"\xef\xbb\xbf1\n2\n")] == [1, 2]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b'{"id" 1}\n', "not JSON: Expecting ':' delimiter at character 7"),
        (b'{"id": "1\n', "not JSON: Invalid control character at character 10"),
        (
            b'{"id": "1',
            "not JSON: Unterminated string starting at character 8, and the input ends there without a line",
        ),
        ("{暴".encode()[:-1], "not UTF-8 at byte 2, and the input ends there without a line break: was it cut?"),
        ("{暴}\n".encode("gbk"), "not UTF-8 at byte 2: convert the file to UTF-8"),
        ("1\n".encode("utf-16-be")[:3] + b"\n", "not UTF-8, it has zero bytes as UTF-16 has them: convert the file"),
        (b"[NaN]\n", "not usable JSON: NaN is not a JSON number; use null"),
        (b"[" * 100_000 + b"\n", "not usable JSON: nested too deeply; flatten it"),
        (b"1" * 5_000 + b"\n", "not usable JSON: Exceeds the limit (4300"),
    ],
)
def test_what_is_no_json_says_where_and_why(data: bytes, says: str) -> None:
    assert problem(data).startswith(says)


@pytest.mark.parametrize("length", [99, 100])
def test_a_line_up_to_the_limit_is_read(monkeypatch: pytest.MonkeyPatch, length: int) -> None:
    monkeypatch.setattr(reading_lines, "MAX_LINE", 100)
    text = "x" * (length - 3)
    assert [line.document for line in lines(json.dumps(text).encode() + b"\n2\n")] == [text, 2]


@pytest.mark.parametrize("length", [101, 200, 201, 1_000])
@pytest.mark.parametrize("end", [b"\n", b""])
def test_a_line_over_the_limit_is_passed_over(monkeypatch: pytest.MonkeyPatch, length: int, end: bytes) -> None:
    monkeypatch.setattr(reading_lines, "MAX_LINE", 100)
    long = b"x" * (length - len(end)) + end
    first, second, *rest = lines(b"1\n" + long + (b"3\n" if end else b""))
    assert first.document == 1
    assert second.problem == "the line is longer than 100 bytes: one JSON object a line is wanted"
    assert (second.place, second.size) == ("news.jsonl:2", length)
    assert [(line.place, line.document) for line in rest] == ([("news.jsonl:3", 3)] if end else [])


class Endless(io.RawIOBase):
    """So many bytes of one line, made as they are read."""

    def __init__(self, size: int) -> None:
        self.left = size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        size = min(len(buffer), self.left)
        buffer[:size] = b"x" * size
        self.left -= size
        return size


def test_a_line_over_the_limit_is_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading_lines, "MAX_LINE", 10_000)
    size = 20_000_000
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        [line] = json_lines(io.BufferedReader(Endless(size)), "endless")
        peak = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    assert line.size == size
    assert peak < size / 20


# --- documents ---------------------------------------------------------------------------------------------


def reader(id_field: str = "id", *text_fields: str, max_text: int = 100) -> Reader:
    return Reader(Fingerprinter(), id_field, text_fields or ("text",), max_text)


def refusal(document: Any, *fields: str, **options: Any) -> str:
    with pytest.raises(InputError) as raised:
        reader(*fields, **options).read(document)
    return str(raised.value)


@pytest.mark.parametrize(
    ("id", "read"), [("n1", "n1"), (7, "7"), (0, "0"), (-1, "-1"), (2**70, str(2**70)), (" ", " ")]
)
def test_an_id_is_a_string_or_a_whole_number(id: Any, read: str) -> None:
    assert reader().read({"id": id, "text": "x"}).id == read


@pytest.mark.parametrize(
    ("id", "kind"),
    [(None, "null"), (True, "true or false"), (1.0, "a number"), ({}, "an object"), ([], "a list"), (b"", "a bytes")],
)
def test_nothing_else_is_an_id(id: Any, kind: str) -> None:
    assert refusal({"id": id, "text": "x"}) == f"the id in 'id' is {kind}: use a string or a whole number"


@pytest.mark.parametrize(("id", "length"), [("", 0), ("x" * 513, 513), ("号" * 171, 513)])
def test_an_id_has_1_to_512_bytes(id: str, length: int) -> None:
    assert refusal({"id": id, "text": "x"}) == f"the id in 'id' has {length} bytes: use from 1 to 512"
    if id:
        assert reader().read({"id": id[:-1], "text": "x"}).id == id[:-1]


def test_texts_of_several_fields_are_joined_and_missing_ones_left_out() -> None:
    document = {"id": 1, "title": "暴雨", "lead": None, "body": "橙色预警"}
    read = reader("id", "title", "lead", "summary", "body").read(document)
    assert read.fingerprint == Fingerprinter().fingerprint("暴雨\n橙色预警")


@pytest.mark.parametrize("document", [{"id": 1}, {"id": 1, "text": None}])
def test_a_document_has_a_text(document: dict[str, Any]) -> None:
    assert refusal(document, "id", "text", "body").startswith("no text in the field 'text', 'body': name the field")


@pytest.mark.parametrize("text", [5, ["x"], {"zh": "x"}, True, b"x"])
def test_a_text_is_a_string(text: Any) -> None:
    assert refusal({"id": 1, "title": "x", "text": text}, "id", "title", "text").endswith(": use a string")


def test_an_empty_text_is_a_text() -> None:
    assert reader().read({"id": 1, "text": ""}).fingerprint.blank


def test_a_text_has_as_many_characters_as_allowed() -> None:
    assert reader(max_text=5).read({"id": 1, "text": "暴雨橙色预"}).id == "1"
    assert refusal({"id": 1, "text": "暴雨橙色预警"}, max_text=5).startswith(
        "the text has 6 characters, the limit is 5:"
    )


@pytest.mark.parametrize(
    ("document", "where"),
    [
        ({"id": "\ud83d", "text": "x"}, "the id in 'id'"),
        ({"id": 1, "text": "x\udc00"}, "the text in 'text'"),
        ({"id": 1, "text": "x", "tags": ["\ud83d"]}, "the document, as JSON,"),
        ({"id": 1, "text": "x", "\ud83d": 1}, "the document, as JSON,"),
    ],
    ids=["id", "text", "value", "key"],
)
def test_half_a_character_is_refused_wherever_it_is(document: dict[str, Any], where: str) -> None:
    assert refusal(document).startswith(f"{where} has a lone surrogate (\\ud")


@pytest.mark.parametrize("value", [float("nan"), float("-inf"), {1, 2}, b"x"], ids=repr)
def test_what_has_no_json_form_is_refused(value: Any) -> None:
    assert refusal({"id": 1, "text": "x", "n": value}).startswith("the document can't be written as JSON: ")


@pytest.mark.parametrize("document", [None, 5, "id", ["id", "text"], [("id", 1)]])
def test_a_document_is_an_object(document: Any) -> None:
    assert refusal(document).startswith("a document must be a JSON object, this is ")


def test_what_is_stored_is_the_document_with_every_field() -> None:
    document = {"id": 7, "text": "暴雨", "n": 1.5, "tags": ["a", None], "geo": {"lat": 1}}
    assert json.loads(reader().read(document).source) == document


def test_a_fingerprint_that_was_read_back_is_left_out_and_nothing_is_changed() -> None:
    document = {"id": 1, "text": "x", "simhash": {"fp": 1, "digest": "d", "group": "1"}}
    before = json.dumps(document)
    assert json.loads(reader().read(document).source) == {"id": 1, "text": "x"}
    assert json.dumps(document) == before


@pytest.mark.parametrize("theirs", [7, "x", {"mine": 1}, []])
def test_a_field_simhash_of_the_user_s_own_is_refused(theirs: Any) -> None:
    said = "the field 'simhash' is taken for the fingerprint: rename yours"
    assert refusal({"id": 1, "text": "x", "simhash": theirs}) == said


# --- batches -----------------------------------------------------------------------------------------------


def batches(documents: Any, size: int = 500) -> list[list[Item]]:
    source = Source(documents, size)
    with FirstPlaces() as ids:
        return [claim(reader().read_all(lines), ids) for lines in iter(source.take, [])]


def documents(count: int) -> list[dict[str, Any]]:
    return [{"id": number, "text": "x"} for number in range(count)]


@given(st.integers(0, 20), st.integers(1, 25))
def test_batches_have_the_size_asked_for_and_lose_nothing(count: int, size: int) -> None:
    made = batches(documents(count), size)
    assert [item.id for batch in made for item in batch] == [str(number) for number in range(count)]
    assert all(len(batch) == size for batch in made[:-1])
    assert all(0 < len(batch) <= size for batch in made)


def test_a_batch_ends_when_it_has_enough_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading_source, "BATCH_SIZE", 150)
    lengths = [10, 10, 90, 10, 90, 90, 10]
    made = batches([{"id": number, "text": "雨" * length} for number, length in enumerate(lengths)])
    sizes = [[lengths[int(item.id or "")] for item in batch] for batch in made]
    assert all(sum(batch) >= 150 > sum(batch[:-1]) for batch in sizes[:-1])
    assert [len(batch) for batch in sizes] == [5, 2]


def test_rejected_documents_stand_in_their_places() -> None:
    [batch] = batches([{"id": 1, "text": "x"}, {"id": 2}, 5, {"id": 3, "text": "x"}])
    assert [(type(item), item.id) for item in batch] == [
        (Document, "1"),
        (Outcome, "2"),
        (Outcome, None),
        (Document, "3"),
    ]


def test_a_dict_s_place_is_its_number_and_a_line_s_its_own() -> None:
    good = {"id": 1, "text": "x"}
    [batch] = batches([good, Line("a.jsonl:9", {"id": 2}), Line("a.jsonl:10", problem="not JSON"), {"id": 3}])
    assert [item.place for item in batch] == ["document 1", "a.jsonl:9", "a.jsonl:10", "document 4"]
    reasons = [item.reason for item in batch if isinstance(item, Outcome)]
    assert reasons[1] == "a.jsonl:10: not JSON"
    assert all(
        reason is not None and reason.startswith(f"{item.place}: ")
        for reason, item in zip(reasons, batch[1:], strict=True)
    )


@pytest.mark.parametrize("size", [1, 2, 10])
def test_an_id_that_comes_again_is_rejected_with_its_first_place(size: int) -> None:
    given = [{"id": 1, "text": "x"}, {"id": 2, "text": "y"}, {"id": "1", "text": "z"}, {"id": 2, "text": "y"}]
    items = [item for batch in batches(given, size) for item in batch]
    assert [type(item) for item in items] == [Document, Document, Outcome, Outcome]
    assert [item.id for item in items] == ["1", "2", "1", "2"]
    assert isinstance(items[2], Outcome)
    assert items[2].reason == (
        "document 3: the id '1' came before in this run, at document 1: that one counts; one id, one document"
    )


def test_an_id_that_was_rejected_may_come_again() -> None:
    [batch] = batches([{"id": 1}, {"id": 1, "text": "x"}])
    assert [type(item) for item in batch] == [Outcome, Document]


def test_each_run_has_ids_of_its_own() -> None:
    assert batches(documents(3)) == batches(documents(3))


@pytest.mark.parametrize("size", [0, -1])
def test_a_batch_has_at_least_one_document(size: int) -> None:
    with pytest.raises(InputError, match=f"a batch size of {size}: use a whole number from 1"):
        batches([], size)


def test_input_is_taken_no_further_than_the_batch_needs() -> None:
    taken = []

    def source() -> Iterator[dict[str, Any]]:
        for document in documents(10):
            taken.append(document)
            yield document

    Source(source(), 3).take()
    assert len(taken) == 3


@pytest.mark.parametrize("awaited", [False, True], ids=["iterable", "async iterable"])
def test_async_batches_are_those_of_sync_input(awaited: bool) -> None:
    given = [*documents(5), {"id": 1, "text": "x"}, {"id": 9}]

    async def source() -> AsyncIterator[dict[str, Any]]:
        for document in given:
            await asyncio.sleep(0)
            yield document

    async def collect() -> list[list[Item]]:
        made, taken = [], Source(source() if awaited else given, 3)
        with FirstPlaces() as ids:
            while lines := await taken.atake():
                made.append(claim(reader().read_all(lines), ids))
        return made

    assert asyncio.run(collect()) == batches(given, 3)


# --- memory ------------------------------------------------------------------------------------------------

GROWTH = """
import sqlite3
import sys
from pathlib import Path
from es_simhash.reading.documents import Reader
from es_simhash.reading.ids import FirstPlaces, claim
from es_simhash.reading.source import Source
from es_simhash.core.fingerprint import Fingerprint

class Same:
    def fingerprint(self, text):
        return Fingerprint(1, "d", 4)

if sys.argv[1] == "in memory":
    connect = sqlite3.connect
    sqlite3.connect = lambda path, **options: connect(":memory:", **options)

def peak_after(count):
    reader = Reader(Same(), "id", ("text",))
    documents = ({"id": f"https://news.example/2025/09/{number:0400}", "text": "x"} for number in range(count))
    source = Source(documents)
    with FirstPlaces() as ids:
        assert sum(len(claim(reader.read_all(lines), ids)) for lines in iter(source.take, [])) == count
    [peak] = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:")]
    return int(peak.split()[1]) * 1024

few = peak_after(5_000)
print(peak_after(50_000) - few)
"""


def growth(how: str) -> int:
    """By how many bytes the memory of a process grows from 5,000 long ids to 50,000."""
    done = subprocess.run(
        [sys.executable, "-c", GROWTH, how],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stdout)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux tells the peak of one process")
def test_memory_does_not_grow_with_the_number_of_ids() -> None:
    assert growth("in a file") < 8_000_000
    assert growth("in memory") > 16_000_000, "or this test could not fail"


def test_a_zero_byte_in_an_id_is_refused() -> None:
    with Documents("sqlite:///:memory:") as documents:
        (outcome,) = documents.ingest([{"id": "a\0b", "text": "…"}])
    assert (outcome.outcome, outcome.stored) == ("rejected", False)
    assert "zero byte" in (outcome.reason or "")


def test_a_gzip_file_is_told_how_to_be_read() -> None:
    (line, *_) = json_lines(io.BytesIO(gzip.compress(b'{"id": 1}\n')), "news.jsonl.gz")
    assert "zcat" in (line.problem or "")


@pytest.mark.parametrize("field", ["simhash.digest", "simhash.s0"])
def test_a_field_that_would_become_part_of_ours_is_refused(field: str) -> None:
    with Documents("sqlite:///:memory:") as documents:
        (outcome,) = documents.ingest([{"id": "a", "text": "…", field: "x"}])
    assert outcome.outcome == "rejected"
    assert field in (outcome.reason or "")


def test_a_document_that_no_server_would_take_is_refused_and_the_next_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading_documents, "MAX_SOURCE", 100)
    with Documents("sqlite:///:memory:") as documents:
        outcomes = list(documents.ingest([{"id": "a", "text": "…", "side": "x" * 100}, {"id": "b", "text": "…"}]))
    assert [outcome.outcome for outcome in outcomes] == ["rejected", "new"]
    assert "the limit is 100" in (outcomes[0].reason or "")
