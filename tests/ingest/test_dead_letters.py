"""Dead letters: whatever was not taken is one line of JSON, which says the same when it is ingested again."""

from __future__ import annotations

import json
import math
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from es_simhash import Documents, Outcome
from es_simhash.deciding.outcome import Document
from es_simhash.ingest.dead_letters import dead_letter
from es_simhash.lines import Line
from tests.ingest import VALUES, Item, reader

VECTORS = Path(__file__).parents[1] / "vectors"
GOLDEN = [json.loads(each) for each in (VECTORS / "dead-letters-1.jsonl").read_text(encoding="ascii").splitlines()]

HALVES = st.text(st.characters(min_codepoint=0xD800, max_codepoint=0xDFFF, categories=["Cs"]), min_size=1)
# Without a text field: whatever they are, they are rejected.
TEXTLESS = VALUES | st.dictionaries(st.text() | HALVES, VALUES | HALVES, max_size=4).map(lambda d: d | {"text": 5})
LINES = st.binary(min_size=1) | VALUES.map(lambda value: json.dumps(value).encode()[:-1] + b"\n")


def read(line: Line) -> Item:
    [item] = reader().read_all([line])
    return item


def rejected(line: Line) -> Outcome:
    item = read(line)
    assert isinstance(item, Outcome)
    return item


def again(outcome: Outcome) -> Item:
    """What becomes of the dead letter of an outcome."""
    return read(Line("again:1", raw=dead_letter(outcome)))


def problem(item: Item) -> str:
    assert isinstance(item, Outcome)
    return (item.reason or "").removeprefix(f"{item.place}: ")


def failed(document: Any) -> Outcome:
    return Outcome("a", "failed", reason="stdin:1: the server is away", place="stdin:1", document=document)


@given(TEXTLESS)
def test_a_rejected_document_is_rejected_for_the_same_problem(value: Any) -> None:
    outcome = rejected(Line("stdin:1", value))
    assert problem(again(outcome)) == problem(outcome)
    letter = json.loads(dead_letter(outcome))
    assert letter["document"] == json.loads(json.dumps(value))


@given(LINES)
def test_a_rejected_line_is_rejected_for_the_same_problem(raw: bytes) -> None:
    outcome = rejected(Line("stdin:1", raw=raw))
    assert problem(again(outcome)) == problem(outcome)


@given(LINES)
def test_a_line_that_is_no_json_is_carried_byte_for_byte(raw: bytes) -> None:
    outcome = rejected(Line("stdin:1", raw=raw))
    letter = json.loads(dead_letter(outcome))
    if "document" in letter:
        assert letter["document"] == json.loads(raw.decode("utf-8-sig"))
    else:
        assert (letter["line"].encode() if "line" in letter else b64decode(letter["line_base64"])) == raw


@given(st.dictionaries(st.text(), VALUES, max_size=3))
def test_what_the_store_refused_comes_back_as_the_same_document(more: dict[str, Any]) -> None:
    document = {key: value for key, value in more.items() if not key.startswith("simhash")} | {"id": "a", "text": "x"}
    item = again(failed(document))
    assert isinstance(item, Document)
    assert item == read(Line("again:1", document))
    assert item.place == "again:1"


@given(TEXTLESS | LINES | st.sampled_from([math.nan, {"n": math.inf}, {1, 2}, {"s": {3}}, {(1, 2): 3}, object()]))
def test_a_dead_letter_is_one_line_of_ascii_json(document: Any) -> None:
    line = dead_letter(failed(document))
    assert line.isascii()
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    letter = json.loads(line, parse_constant=pytest.fail)
    assert list(letter)[:4] == ["dead_letter", "outcome", "reason", "place"]
    assert len(letter) == 5


def test_a_document_without_a_json_form_is_described(tmp_path: Path) -> None:
    outcome = rejected(Line("document 1", {"id": 1, "text": "x", "n": math.nan}))
    assert json.loads(dead_letter(outcome))["line"] == "{'id': 1, 'text': 'x', 'n': nan}"
    assert problem(again(outcome)).startswith("not JSON: ")


@pytest.mark.parametrize(
    "raw",
    [
        b'{"id":"n","text":"abc","price":1e400}\r\n',
        b'\xef\xbb\xbf{"id": 1, "text": "x", "more": [{"n": -1E+999}]}',
        b'{"price": 1e400}\n',
        b"[1e400]\n",
    ],
)
def test_a_line_with_a_number_that_can_t_be_written_is_carried_byte_for_byte(raw: bytes) -> None:
    outcome = rejected(Line("stdin:1", raw=raw))
    assert json.loads(dead_letter(outcome))["line"].encode() == raw
    assert problem(again(outcome)) == problem(outcome)


def test_a_document_too_deep_to_be_described_is_a_dead_letter_too() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    outcome = rejected(Line("document 1", {"id": 1, "text": "x", "deep": deep}))
    assert "nested too deeply" in json.loads(dead_letter(outcome))["line"]


def test_a_line_too_long_to_be_held_is_named_by_its_place() -> None:
    letter = json.loads(dead_letter(rejected(Line("a.jsonl:7", problem="the line is longer than …"))))
    assert (letter["document"], letter["place"], letter["reason"]) == (
        None,
        "a.jsonl:7",
        "a.jsonl:7: the line is longer than …",
    )


@given(TEXTLESS | LINES)
def test_a_dead_letter_that_is_rejected_again_is_not_nested(document: Any) -> None:
    letter = dead_letter(rejected(Line("a:1", raw=document) if isinstance(document, bytes) else Line("a:1", document)))
    for _ in range(2):
        once, letter = letter, dead_letter(rejected(Line("a:1", raw=letter)))
        assert letter == once


def test_a_mended_dead_letter_is_ingested() -> None:
    letter = json.loads(dead_letter(rejected(Line("a:1", {"id": 7, "text": None, "n": 1}))))
    letter["document"]["text"] = "暴雨橙色预警"
    with Documents("sqlite:///:memory:") as documents:
        [outcome] = documents.ingest([letter], rule="fingerprint")
    assert (outcome.id, outcome.outcome) == ("7", "new")


def test_a_mended_line_is_ingested() -> None:
    letter = json.loads(dead_letter(rejected(Line("a:1", raw='{"id": 7, "text": "暴雨"\n'.encode()))))
    letter["line"] = letter["line"].rstrip() + "}"
    item = read(Line("b:1", raw=json.dumps(letter).encode()))
    assert isinstance(item, Document)
    assert json.loads(item.source) == {"id": 7, "text": "暴雨"}


LETTER = {"dead_letter": 1, "outcome": "failed", "reason": "…", "place": "a:1", "document": {"id": 2, "text": "y"}}
THEIRS = {"id": 1, "text": "x"}


def test_a_dead_letter_is_known() -> None:
    assert read(Line("a:1", LETTER)).id == "2"


@pytest.mark.parametrize(
    "document",
    [
        {**THEIRS, "dead_letter": 1},
        {**THEIRS, "dead_letter": 1, "document": {"id": 2, "text": "y"}},
        {**THEIRS, **LETTER},
        {**LETTER, **THEIRS, "document": "a report"},
        {**THEIRS, "dead_letter": 1, "line": '{"id": 2, "text": "y"}'},
    ],
)
def test_a_user_s_document_with_such_fields_is_not_mistaken(document: dict[str, Any]) -> None:
    item = read(Line("a:1", document))
    assert isinstance(item, Document)
    assert json.loads(item.source) == document


@pytest.mark.parametrize("version", [2, "1", True, 1.0, None])
def test_another_version_is_not_mistaken(version: Any) -> None:
    assert problem(read(Line("a:1", {**LETTER, "dead_letter": version}))).startswith("no field 'id'")


@pytest.mark.parametrize("carried", [{"line": 5}, {"line": "\ud800"}, {"line_base64": "*"}, {"line_base64": None}])
def test_a_damaged_dead_letter_is_rejected(carried: dict[str, Any]) -> None:
    letter = {key: value for key, value in LETTER.items() if key != "document"} | carried
    assert problem(read(Line("a:1", letter))).startswith("no field 'id'")


# --- the format, for ever ----------------------------------------------------------------------------------
#
# A line of the golden file is {"letter", "read"}: a dead letter that was written once, and what an ingest has to make
# of it: the document, or how the problem begins. Lines are added, never edited.


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda golden: golden["why"])
def test_what_was_written_once_is_read_for_ever(golden: dict[str, Any]) -> None:
    item = read(Line("again:1", raw=json.dumps(golden["letter"]).encode()))
    if "document" in golden["read"]:
        assert isinstance(item, Document)
        assert json.loads(item.source) == golden["read"]["document"]
    else:
        assert problem(item).startswith(golden["read"]["problem"])


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda golden: golden["why"])
def test_this_release_writes_the_same(golden: dict[str, Any]) -> None:
    letter = golden["letter"]
    if golden["read"].get("problem") is None:
        outcome = Outcome(None, "failed", reason=letter["reason"], place=letter["place"], document=letter["document"])
        assert json.loads(dead_letter(outcome)) == letter
        return
    item = read(Line(letter["place"], raw=json.dumps(letter).encode()))
    assert isinstance(item, Outcome)
    assert json.loads(dead_letter(item)) == letter
