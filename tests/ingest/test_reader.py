"""What a document must be to be taken, and what is said of those that are not."""

from __future__ import annotations

import json
from collections import ChainMap, UserDict
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from uuid import UUID

import numpy as np
import pytest

from es_simhash import Documents, Fingerprinter
from es_simhash.decide.outcome import Document, Outcome
from es_simhash.lines import Line
from tests.cli import STORM
from tests.ingest import reader

if TYPE_CHECKING:
    from collections.abc import Callable


def line(document: Any) -> Line:
    return Line("document 1", document)


def refusal(document: Any, *fields: str) -> str:
    [item] = reader(*fields).read_all([line(document)])
    assert isinstance(item, Outcome)
    assert item.reason is not None
    return item.reason.removeprefix(f"{item.place}: ")


def read(document: dict[Any, Any], *fields: str) -> Document:
    [item] = reader(*fields).read_all([line(document)])
    assert isinstance(item, Document)
    return item


@pytest.mark.parametrize("id", ["n1", 7, 0, -1, 2**70, " ", "x" * 512, "号" * 170, UUID(int=7), np.int64(7)])
def test_an_id_is_a_string_or_a_whole_number_of_at_most_512_bytes(id: Any) -> None:
    assert read({"id": id, "text": "x"}).row.id == str(id)


REFUSED: list[tuple[Any, str]] = [
    *(
        ({"id": id, "text": "x"}, f"the id in 'id' is {kind}: use a string or a whole number")
        for id, kind in (
            *((None, "null"), (True, "true or false"), (1.0, "a number")),
            *(({}, "an object"), ([], "a list"), (b"", "a bytes")),
        )
    ),
    *(
        ({"id": id, "text": "x"}, f"the id in 'id' has {size} bytes: use from 1 to 512")
        for id, size in (("", 0), ("x" * 513, 513), ("号" * 171, 513), (10**512, 513))
    ),
    ({"id": 10**5_000, "text": "x"}, "the id in 'id' is an integer with too many digits: use a string"),
    ({"id": 1, "text": "x", "n": 10**5_000}, "write a string; in field 'n': leave it out, or give it as text"),
    ({"id": "1.23457E+17", "text": "x"}, "a number that a spreadsheet has rounded"),
    ({"id": "a\0b", "text": "x"}, "the id in 'id' has a zero byte"),
    *((document, "no text in field 'text': name the field") for document in ({"id": 1}, {"id": 1, "text": None})),
    *(({"id": 1, "text": text}, "use a string") for text in (5, ["x", 5], {"zh": "x"}, True, b"x")),
    ({"id": 1, "text": "雨" * 10_000_001}, "the text has 10,000,001 characters, the limit is"),
    ({"id": 1, "text": "x", "side": "x" * 30_000_000}, "the document has 30,000,"),
    ({"id": "\ud83d", "text": "x"}, "the id in 'id' has a lone surrogate (\\ud"),
    ({"id": 1, "text": "x\udc00"}, "the text in field 'text' has a lone surrogate (\\ud"),
    ({"id": 1, "text": "x", "tags": ["\ud83d"]}, "the document, as JSON, has a lone surrogate (\\ud"),
    ({"id": 1, "text": "x", "\ud83d": 1}, "the document, as JSON, has a lone surrogate (\\ud"),
    *(
        ({"id": 1, "text": "x", "n": value}, "the document cannot be written as JSON: ")
        for value in (float("nan"), float("-inf"), {1, 2}, b"x")
    ),
    *(
        (document, "a document must be a JSON object or a mapping, this is ")
        for document in (None, 5, "id", ["id", "text"], [("id", 1)], {1, 2})
    ),
    *(
        ({"id": 1, "text": "x", "simhash": theirs}, "the field 'simhash' is used for the fingerprint: rename yours")
        for theirs in (7, "x", {"mine": 1}, [])
    ),
    *(({"id": 1, "text": "x", field: "x"}, field) for field in ("simhash.digest", "simhash.s0")),
]


@pytest.mark.parametrize(("document", "says"), REFUSED, ids=range(len(REFUSED)))
def test_a_document_that_cannot_be_used_is_refused_with_the_reason(document: Any, says: str) -> None:
    assert says in refusal(document)


def test_numbers_of_a_document_keep_their_values_and_another_form_of_one_is_no_change() -> None:
    one = '{"id": 1, "text": "x", "price": 0.10, "list": [1E3, 1.0, 12345678901234567890123]}'
    other = '{"id": 1, "text": "x", "price": 0.1, "list": [1000.0, 1e0, 12345678901234567890123]}'
    stored, again = reader().read_all([Line("a:1", raw=one.encode()), Line("a:2", raw=other.encode())])
    assert isinstance(stored, Document)
    assert isinstance(again, Document)
    assert json.loads(stored.source or "") == json.loads(one)
    assert stored.row.content == again.row.content


def test_names_of_fields_may_be_numbers_as_in_a_data_frame() -> None:
    """JSON has strings as names alone, so a document that was read from a file has the same content."""
    document = read({"id": 1, "text": "x", 0: {7: "y", "z": None}})
    assert json.loads(document.source or "") == {"id": 1, "text": "x", "0": {"7": "y", "z": None}}
    assert document.row.content == read({"text": "x", "id": 1, "0": {"z": None, "7": "y"}}).row.content


@pytest.mark.parametrize("ours", [None, {}, {"fp": 1, "digest": "d", "group": "1"}], ids=repr)
def test_our_own_field_is_left_out_of_the_source_and_the_document_is_not_changed(ours: Any) -> None:
    document: dict[str, Any] = {"id": 1, "text": "x", "simhash": ours}
    assert json.loads(read(document).source or "") == {"id": 1, "text": "x"}
    assert document == {"id": 1, "text": "x", "simhash": ours}


def test_several_text_fields_are_named_where_none_has_a_text_or_one_has_no_string() -> None:
    assert refusal({"id": 1}, "id", "text", "body").startswith("no text in field 'text', 'body': name the field")
    assert refusal({"id": 1, "title": "x", "text": 5}, "id", "title", "text").endswith(": use a string")


def test_texts_of_several_fields_are_joined_and_missing_ones_left_out() -> None:
    document = {"id": 1, "title": "暴雨", "lead": None, "body": "橙色预警"}
    found = read(document, "id", "title", "lead", "summary", "body")
    expected = Fingerprinter().fingerprint("暴雨\n橙色预警")
    assert (found.row.fingerprint, found.row.digest) == (expected.value, expected.digest)


def test_a_text_may_stand_in_an_array_or_in_the_objects_of_one() -> None:
    """As Elasticsearch reads a field."""
    parts = [{"kind": "lead", "text": "暴雨"}, {"kind": "image"}, {"text": ["橙色", "预警"]}]
    found = read({"id": 1, "parts": parts}, "id", "parts.text")
    assert found.row.digest == read({"id": 1, "text": "暴雨\n橙色\n预警"}).row.digest


def test_the_reason_names_the_field_that_cannot_be_written() -> None:
    assert refusal({"id": 1, "text": "x", "a": 1, "image": b"x"}).endswith(
        "a value of the type bytes, which JSON does not have; in field 'image': leave it out, or give it as text"
    )
    assert "the name '1' is there twice" in refusal({"id": 1, "text": "x", "n": {1: "a", "1": "b"}})


def test_an_empty_text_is_a_text() -> None:
    assert read({"id": 1, "text": ""}).text == ""


@pytest.mark.parametrize("as_mapping", [MappingProxyType, ChainMap, UserDict])
def test_every_mapping_is_a_document(as_mapping: Callable[[dict[str, Any]], Any]) -> None:
    def page(id: int) -> Any:
        return as_mapping({"id": id, "text": STORM})

    with Documents("memory://") as documents:
        outcomes = [*documents.ingest([page(1)]), *documents.add_many([page(2)])]
    with Documents("memory://") as documents:
        documents.setup()
        outcomes.append(documents.add(page(3)))
    assert [(each.id, each.stored, each.reason) for each in outcomes] == [(str(id), True, None) for id in (1, 2, 3)]
