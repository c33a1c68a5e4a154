"""Dead letters: whatever was not taken is one line of JSON, which says the same when it is ingested again."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from es_simhash import Documents, Outcome
from es_simhash.decide.outcome import Document
from es_simhash.ingest.dead_letters import dead_letter
from es_simhash.lines import Line
from tests.ingest import VALUES, reader

HALVES = st.text(st.characters(min_codepoint=0xD800, max_codepoint=0xDBFF, categories=["Cs"]), min_size=1)
# Without a text field: whatever they are, they are rejected.
TEXTLESS = VALUES | st.dictionaries(st.text() | HALVES, VALUES | HALVES, max_size=4).map(lambda d: d | {"text": 5})
LINES = st.binary(min_size=1) | VALUES.map(lambda value: json.dumps(value).encode()[:-1] + b"\n")


def read(line: Line) -> Document | Outcome:
    [item] = reader().read_all([line])
    return item


def rejected(line: Line) -> Outcome:
    item = read(line)
    assert isinstance(item, Outcome)
    return item


def line_of(letter: dict[str, Any]) -> Line:
    return Line("letters:1", raw=json.dumps(letter).encode())


def problem(outcome: Outcome) -> str:
    return (outcome.reason or "").removeprefix(f"{outcome.place}: ")


def assert_same_again(outcome: Outcome) -> None:
    """A dead letter is rejected again for the same problem. Its dead letter is the same, and not nested."""
    once = rejected(Line("again:1", raw=dead_letter(outcome)))
    assert problem(once) == problem(outcome)
    assert dead_letter(rejected(Line("again:1", raw=dead_letter(once)))) == dead_letter(once)


def failed(document: Any, id: str | None = "a") -> Outcome:
    return Outcome(id, "failed", reason="stdin:1: the server is away", place="stdin:1", document=document)


@given(TEXTLESS)
def test_a_rejected_document_is_rejected_for_the_same_problem(value: Any) -> None:
    outcome = rejected(Line("stdin:1", value))
    assert json.loads(dead_letter(outcome))["document"] == json.loads(json.dumps(value))
    assert_same_again(outcome)


@given(LINES)
def test_a_rejected_line_is_carried_byte_for_byte(raw: bytes) -> None:
    outcome = rejected(Line("stdin:1", raw=raw))
    letter = json.loads(dead_letter(outcome))
    if "line" in letter:
        assert letter["line"].encode("utf-8", "surrogateescape") == raw
    assert_same_again(outcome)


@given(TEXTLESS | LINES | st.sampled_from([math.nan, {"n": math.inf}, {1, 2}, {"s": {3}}, {(1, 2): 3}, object()]))
def test_a_dead_letter_is_one_line_of_json(document: Any) -> None:
    line = dead_letter(failed(document))
    assert (line.count(b"\n"), line[-1:]) == (1, b"\n")
    letter = json.loads(line.decode(), parse_constant=pytest.fail)
    assert list(letter)[:5] == ["dead_letter", "outcome", "reason", "place", "id"]
    assert len(letter) == 6


@pytest.mark.parametrize(
    "raw",
    [b'{"id": "a", "text": "\xe6\x9a\xb4\xe9\x9b\xa8", "price": 0.1, "n": 12345678901234567890123}', b'{"text": 5}'],
)
def test_a_letter_can_be_read_by_people_and_keeps_numbers_and_the_id(raw: bytes) -> None:
    outcome = rejected(Line("a:1", raw=raw.replace(b"text", b"body")))
    assert b'"document": ' + raw.replace(b"text", b"body") in dead_letter(outcome)


def test_an_id_from_outside_of_the_document_is_kept() -> None:
    [line] = [Line("http://es/news document 'n7'", {"body": "暴雨"}, id="n7")]
    letter = json.loads(dead_letter(rejected(line)))
    letter["document"]["text"] = "暴雨橙色预警"
    [outcome] = Documents("memory://").ingest([line_of(letter)])
    assert (outcome.id, outcome.outcome) == ("n7", "new")


def test_a_corrected_letter_or_line_is_ingested() -> None:
    by_document = json.loads(dead_letter(rejected(Line("a:1", {"id": 7, "text": None, "n": 1}))))
    by_document["document"]["text"] = "暴雨橙色预警"
    by_line = json.loads(dead_letter(rejected(Line("a:1", raw='{"id": 8, "text": "暴雨"\n'.encode()))))
    by_line["line"] = by_line["line"].rstrip() + "}"
    with Documents("memory://") as documents:
        outcomes = list(documents.ingest(map(line_of, [by_document, by_line])))
        assert documents.fetch(["8"], fields="*") == {"8": {"id": 8, "text": "暴雨"}}
    assert [(outcome.id, outcome.outcome) for outcome in outcomes] == [("7", "new"), ("8", "new")]


def test_a_document_too_deep_to_be_described_is_a_dead_letter_too() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    outcome = rejected(Line("document 1", {"id": 1, "text": "x", "deep": deep}))
    assert "nested too deeply" in json.loads(dead_letter(outcome))["line"]


LETTER = {"dead_letter": 1, "outcome": "failed", "reason": "…", "place": "a:1", "id": None, "document": "a report"}
THEIRS = {"id": 1, "text": "x"}


@pytest.mark.parametrize(
    "document",
    [
        {**THEIRS, "dead_letter": 1},
        {**LETTER, **THEIRS},
        {**LETTER, **THEIRS, "dead_letter": 2},
        {**LETTER, **THEIRS, "dead_letter": True},
        {**THEIRS, "dead_letter": 1, "line": '{"id": 2, "text": "y"}'},
    ],
)
def test_a_user_s_document_with_such_fields_is_not_mistaken(document: dict[str, Any]) -> None:
    item = read(line_of(document))
    assert isinstance(item, Document)
    assert json.loads(item.source) == document


@pytest.mark.parametrize("carried", [{"line": 5}, {"line": "\ud800"}, {"document": None}])
def test_a_damaged_dead_letter_is_rejected(carried: dict[str, Any]) -> None:
    letter = {key: value for key, value in LETTER.items() if key != "document"} | carried
    assert rejected(line_of(letter)).outcome == "rejected"


def test_a_dict_of_the_caller_is_no_dead_letter() -> None:
    letter = {**LETTER, "document": {"id": "a", "text": "x"}}
    assert "no text" in str(rejected(Line("document 1", letter | {"id": "b"})).reason)
