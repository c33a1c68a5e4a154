"""What a document must be to be taken, and what is said of those that are not."""

from __future__ import annotations

import json
from collections import ChainMap, UserDict
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

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


def read(document: dict[str, Any], *fields: str) -> Document:
    [item] = reader(*fields).read_all([line(document)])
    assert isinstance(item, Document)
    return item


@pytest.mark.parametrize(
    ("id", "as_string"), [("n1", "n1"), (7, "7"), (0, "0"), (-1, "-1"), (2**70, str(2**70)), (" ", " ")]
)
def test_an_id_is_a_string_or_a_whole_number(id: Any, as_string: str) -> None:
    assert read({"id": id, "text": "x"}).id == as_string


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
        assert read({"id": id[:-1], "text": "x"}).id == id[:-1]


def test_an_id_that_a_spreadsheet_has_rounded_is_refused() -> None:
    assert "a number that a spreadsheet has rounded: export it as text" in refusal({"id": "1.23457E+17", "text": "x"})


def test_numbers_of_a_document_are_stored_as_they_are_written() -> None:
    raw = '{"id": 1, "text": "x", "price": 0.10, "list": [1E3, 1.0, 12345678901234567890123]}'
    [item] = reader().read_all([Line("a:1", raw=raw.encode())])
    assert isinstance(item, Document)
    assert item.source.replace(" ", "") == raw.replace(" ", "")


def test_an_id_that_is_a_huge_integer_is_refused() -> None:
    assert refusal({"id": 10**5_000, "text": "x"}) == "the id in 'id' is an integer of 16,610 bits: use a string"
    assert refusal({"id": 10**512, "text": "x"}).startswith("the id in 'id' has 513 bytes")


@pytest.mark.parametrize("ours", [None, {}, {"fp": 1, "digest": "d"}], ids=repr)
def test_our_own_field_is_left_out_of_the_source_also_if_it_is_null(ours: Any) -> None:
    assert json.loads(read({"id": 1, "text": "x", "simhash": ours}).source) == {"id": 1, "text": "x"}


def test_texts_of_several_fields_are_joined_and_missing_ones_left_out() -> None:
    document = {"id": 1, "title": "暴雨", "lead": None, "body": "橙色预警"}
    found = read(document, "id", "title", "lead", "summary", "body")
    assert found.fingerprint == Fingerprinter().fingerprint("暴雨\n橙色预警")


@pytest.mark.parametrize("document", [{"id": 1}, {"id": 1, "text": None}])
def test_a_document_has_a_text(document: dict[str, Any]) -> None:
    assert refusal(document, "id", "text", "body").startswith("no text in field 'text', 'body': name the field")


@pytest.mark.parametrize("text", [5, ["x"], {"zh": "x"}, True, b"x"])
def test_a_text_is_a_string(text: Any) -> None:
    assert refusal({"id": 1, "title": "x", "text": text}, "id", "title", "text").endswith(": use a string")


def test_an_empty_text_is_a_text() -> None:
    assert read({"id": 1, "text": ""}).fingerprint.blank


def test_a_text_and_a_document_that_are_too_long_are_refused() -> None:
    assert refusal({"id": 1, "text": "雨" * 10_000_001}).startswith("the text has 10,000,001 characters, the limit is")
    side = {"id": 1, "text": "x", "side": "x" * 30_000_000}
    assert refusal(side).startswith("the document has 30,000,")


@pytest.mark.parametrize(
    ("document", "where"),
    [
        ({"id": "\ud83d", "text": "x"}, "the id in 'id'"),
        ({"id": 1, "text": "x\udc00"}, "the text in field 'text'"),
        ({"id": 1, "text": "x", "tags": ["\ud83d"]}, "the document, as JSON,"),
        ({"id": 1, "text": "x", "\ud83d": 1}, "the document, as JSON,"),
    ],
    ids=["id", "text", "value", "key"],
)
def test_half_a_character_is_refused_wherever_it_is(document: dict[str, Any], where: str) -> None:
    assert refusal(document).startswith(f"{where} has a lone surrogate (\\ud")


@pytest.mark.parametrize("value", [float("nan"), float("-inf"), {1, 2}, b"x"], ids=repr)
def test_what_has_no_json_form_is_refused(value: Any) -> None:
    assert refusal({"id": 1, "text": "x", "n": value}).startswith("the document cannot be written as JSON: ")


@pytest.mark.parametrize("document", [None, 5, "id", ["id", "text"], [("id", 1)], {1, 2}])
def test_a_document_is_an_object(document: Any) -> None:
    assert refusal(document).startswith("a document must be a JSON object or a mapping, this is ")


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


def test_what_is_stored_is_the_document_with_every_field() -> None:
    document = {"id": 7, "text": "暴雨", "n": 1.5, "tags": ["a", None], "geo": {"lat": 1}}
    assert json.loads(read(document).source) == document


def test_a_fingerprint_that_was_read_back_is_left_out_and_nothing_is_changed() -> None:
    document = {"id": 1, "text": "x", "simhash": {"fp": 1, "digest": "d", "group": "1"}}
    before = json.dumps(document)
    assert json.loads(read(document).source) == {"id": 1, "text": "x"}
    assert json.dumps(document) == before


@pytest.mark.parametrize("theirs", [7, "x", {"mine": 1}, []])
def test_a_field_simhash_of_the_user_s_own_is_refused(theirs: Any) -> None:
    said = "the field 'simhash' is used for the fingerprint: rename yours"
    assert refusal({"id": 1, "text": "x", "simhash": theirs}) == said


def test_a_zero_byte_in_an_id_is_refused() -> None:
    with Documents("memory://") as documents:
        (outcome,) = documents.ingest([{"id": "a\0b", "text": "…"}], rule="fingerprint")
    assert (outcome.outcome, outcome.stored) == ("rejected", False)
    assert "zero byte" in (outcome.reason or "")


@pytest.mark.parametrize("field", ["simhash.digest", "simhash.s0"])
def test_a_field_that_would_become_part_of_ours_is_refused(field: str) -> None:
    with Documents("memory://") as documents:
        (outcome,) = documents.ingest([{"id": "a", "text": "…", field: "x"}], rule="fingerprint")
    assert outcome.outcome == "rejected"
    assert field in (outcome.reason or "")
