"""What a decision tells, and what a person says of a document, on each store."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import Documents, DuplicateRule, InputError, Pin
from es_simhash.similarity.differences import Difference
from tests.cli import es_simhash
from tests.client import links

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FLASH = "央行今日公告，自6月12日起下调金融机构存款准备金率0.25个百分点，释放长期资金约5000亿元，保持流动性合理充裕。"
OTHER_FIGURE = FLASH.replace("0.25", "0.5")
COPY = FLASH.replace("今日公告", "今日发布公告")
FAR = "城北新开三条公交线路，连接高铁站与大学城，市民出行更加方便，票价保持不变。"


def add(documents: Documents, **texts: str) -> dict[str, Any]:
    """Add documents, and return their outcomes by id."""
    given = [{"id": id, "text": text} for id, text in texts.items()]
    return {str(outcome.id): outcome for outcome in documents.add_many(given, refresh=True)}


# --- contradictions --------------------------------------------------------------------------------------------------


def test_the_same_flash_with_another_figure_is_told(documents: Documents) -> None:
    outcomes = add(documents, a=FLASH, b=OTHER_FIGURE, c=COPY, d=FAR)
    assert [outcome.outcome for outcome in outcomes.values()] == ["new", "new", "near_duplicate", "new"]
    [found] = outcomes["b"].contradicts
    assert (found.id, found.differences) == ("a", (Difference("0.25", "0.5"),))
    assert 0.9 < found.similarity < 1
    assert outcomes["a"].contradicts == outcomes["d"].contradicts == ()
    told = outcomes["b"].to_dict()["contradicts"]
    assert json.loads(json.dumps(told))[0]["differences"] == [{"a": "0.25", "b": "0.5"}]
    assert "contradicts" not in outcomes["a"].to_dict()


def test_similar_returns_what_contradicts_if_it_is_asked_to(documents: Documents) -> None:
    add(documents, a=FLASH, b=OTHER_FIGURE, c=COPY)
    plain = documents.similar(FLASH)
    assert [(match.id, match.relation) for match in plain] == [("a", "exact"), ("c", "copy")]
    for matches in (
        documents.similar(FLASH, contradicting=True),
        [*plain[:1], *documents.similar_to("a", contradicting=True)],
    ):
        found = {match.id: (match.relation, match.differences) for match in matches}
        assert found == {"a": ("exact", ()), "b": ("contradicts", (Difference("0.5", "0.25"),)), "c": ("copy", ())}


def test_the_lines_of_the_commands_name_both_documents(tmp_path: Path) -> None:
    texts = {"a": FLASH, "b": OTHER_FIGURE, "c": COPY, "d": COPY}
    lines = "".join(json.dumps({"id": id, "text": text}) + "\n" for id, text in texts.items())
    told = es_simhash("ingest --contradictions", cwd=tmp_path, stdin=lines.encode()).out.splitlines()
    assert [line.partition(", similarity 0.9")[0] for line in told[:3]] == [
        "b  contradicts a",
        "c  near-duplicate of a",
        "d  exact duplicate of a copy of a",
    ]
    assert told[0].endswith("; a: 0.25 | b: 0.5")
    found = es_simhash("similar --id a --contradictions", cwd=tmp_path).out
    assert "; b: 0.5 | a: 0.25" in found


# --- pins ------------------------------------------------------------------------------------------------------------


def keeps(documents: Documents, call: Callable[[], object]) -> None:
    """Check that a call changes no link and no pin."""
    before = links(documents), sorted(documents.pins(), key=lambda one: one.id)
    call()
    assert (links(documents), sorted(documents.pins(), key=lambda one: one.id)) == before


def test_a_pin_holds_through_each_verb_until_the_text_changes(documents: Documents) -> None:
    add(documents, a=FLASH, b=COPY, c=OTHER_FIGURE, d=FAR)
    documents.pin("b")
    documents.pin("c", duplicate_of="a")
    assert links(documents) == {"a": None, "b": None, "c": "a", "d": None}
    assert {one.id: one.duplicate_of for one in documents.pins()} == {"b": None, "c": "a"}
    again = [{"id": "b", "text": COPY}, {"id": "c", "text": OTHER_FIGURE}]
    keeps(documents, lambda: list(documents.ingest(again)))
    keeps(documents, lambda: list(documents.ingest([{**each, "views": 7} for each in again])))
    keeps(documents, documents.group)
    keeps(documents, lambda: [documents.add({"id": "e", "text": COPY}, refresh=True), documents.remove(["e"])])
    keeps(documents, lambda: list(documents.backfill(again=True)))
    keeps(documents, lambda: documents.add({"id": "a", "text": FLASH.replace("，", ",")}, refresh=True))
    assert [(each.id, each.original) for each in documents.duplicates()] == [("c", "a")]
    outcome = documents.add({"id": "b", "text": COPY.replace("保持", "维护")}, refresh=True)
    assert (outcome.outcome, outcome.duplicate_of, outcome.pin_lifted) == ("updated", "a", True)
    assert [one.id for one in documents.pins()] == ["c"]


def test_a_pinned_copy_whose_original_is_removed_is_decided_again(documents: Documents) -> None:
    add(documents, a=FLASH, b=FAR)
    documents.pin("b", duplicate_of="a")
    documents.remove(["a"])
    assert links(documents) == {"b": None}
    assert list(documents.pins()) == []


def test_a_pinned_copy_follows_an_original_that_becomes_a_copy(documents: Documents) -> None:
    add(documents, a=FLASH, b=FAR, c=OTHER_FIGURE)
    documents.pin("c", duplicate_of="b")
    add(documents, b=COPY)
    assert links(documents) == {"a": None, "b": "a", "c": "a"}
    assert documents.group().changed == 0


def test_a_pinned_copy_follows_an_original_that_becomes_a_copy_beside_it(documents: Documents) -> None:
    add(documents, a=FLASH, b=OTHER_FIGURE, c=FAR)
    documents.pin("c", duplicate_of="b")
    documents.setup(DuplicateRule(contradictions="allow"))
    documents.group()
    assert links(documents) == {"a": None, "b": "a", "c": "a"}
    assert {row.group for row in documents.export()} == {"a"}


def test_a_pinned_copy_stands_behind_an_original_with_another_text(documents: Documents) -> None:
    add(documents, a=FLASH, b=COPY)
    documents.pin("b", duplicate_of="a")
    add(documents, a=FAR)
    rows = {row.id: row for row in documents.export()}
    assert rows["b"].duplicate_of == "a"
    assert rows["b"].order > rows["a"].order


def test_copies_of_an_original_that_is_a_copy_without_its_pin_are_decided_again(documents: Documents) -> None:
    add(documents, a=FLASH, b=COPY)
    documents.pin("b")
    documents.add({"id": "c", "text": COPY.replace("流动性合理充裕", "流动性的合理充裕")}, refresh=True)
    assert links(documents) == {"a": None, "b": None, "c": "b"}
    documents.unpin("b")
    assert links(documents) == {"a": None, "b": "a", "c": "a"}


def test_an_original_that_is_pinned_to_another_leaves_no_chain(documents: Documents) -> None:
    add(documents, a=FAR, b=FLASH, c=COPY)
    documents.pin("b", duplicate_of="a")
    assert links(documents) == {"a": None, "b": "a", "c": None}
    documents.unpin("b")
    documents.group()
    assert links(documents) == {"a": None, "b": None, "c": "b"}


@pytest.mark.parametrize(
    "pins",
    [
        [Pin("b"), Pin("d", "b"), Pin("b", "a")],
        [Pin("d", "a"), Pin("d", pinned=False)],
        [Pin("b"), Pin("b", pinned=False)],
        [Pin("a", "d"), Pin("a")],
    ],
)
def test_of_two_pins_of_one_id_the_later_one_holds_as_if_it_were_alone(documents: Documents, pins: list[Pin]) -> None:
    add(documents, a=FLASH, b=COPY, d=FAR)
    documents.pin_many(pins)
    together = links(documents)
    documents.remove(["a", "b", "d"])
    add(documents, a=FLASH, b=COPY, d=FAR)
    documents.pin_many([pins[-1]])
    assert together == links(documents)
    assert documents.group().changed == 0


@pytest.mark.parametrize(
    ("pin", "reason"),
    [
        (Pin("x"), "there is no document with this id"),
        (Pin("x", pinned=False), "there is no document with this id"),
        (Pin("d", "x"), "there is no original with the id 'x'"),
        (Pin("d", "d"), "no copy of itself"),
        (Pin("d", "b"), "'b' is a copy itself: name its original, 'a'"),
    ],
)
def test_a_word_that_cannot_be_taken_is_told_and_the_others_go_on(documents: Documents, pin: Pin, reason: str) -> None:
    add(documents, a=FLASH, b=COPY, c=OTHER_FIGURE, d=FAR)
    problems = documents.pin_many([pin, Pin("c", "a")])
    assert list(problems) == [pin.id]
    assert reason in problems[pin.id]
    assert links(documents)["c"] == "a"
    with pytest.raises(InputError, match="cannot be pinned"):
        documents.unpin(pin.id) if not pin.pinned else documents.pin(pin.id, duplicate_of=pin.duplicate_of)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"no json", "not JSON"),
        (b"\xff\xfe", "not in the encoding of the file"),
        (b"[1]", "must be a JSON object"),
        (b'{"duplicate_of": "a"}', '"id" is null: use a string or a whole number'),
        (b'{"id": true}', '"id" is true or false: use a string'),
        (b'{"id": "\\ud800"}', '"id" has a lone surrogate'),
        (b'{"id": "%s"}' % (b"x" * 600), '"id" has 600 bytes'),
        (b'{"id": "b", "duplicate_of": ""}', '"duplicate_of" has 0 bytes'),
        (b'{"id": "b", "duplicate_of": "\\ud800"}', '"duplicate_of" has a lone surrogate'),
        (b'{"id": "b"}', 'it says nothing: give "duplicate_of"'),
        (b'{"id": "b", "pinned": 0}', '"pinned" is a number: use false'),
        (b'{"identity": 1}', "it has 'identity': use duplicate_of, id, pinned"),
    ],
)
def test_a_broken_line_of_pins_is_named_and_the_others_go_on(tmp_path: Path, line: bytes, reason: str) -> None:
    with Documents(f"sqlite:///{tmp_path}/news.db") as documents:
        documents.setup()
        add(documents, a=FLASH, b=COPY, c=FAR)
        pins = b'{"id": "b", "duplicate_of": null}\n' + line + b'\n{"id": "c", "duplicate_of": "a"}\n'
        (tmp_path / "pins.jsonl").write_bytes(pins)
        done = es_simhash("pin pins.jsonl --store sqlite:///news.db", cwd=tmp_path)
        assert done.code == 3
        assert done.err.startswith("rejected: pins.jsonl:2: ")
        assert reason in done.err
        assert links(documents) == {"a": None, "b": None, "c": "a"}


def test_a_list_of_pins_is_a_file_of_pins(tmp_path: Path) -> None:
    with Documents(f"sqlite:///{tmp_path}/news.db") as documents:
        documents.setup()
        add(documents, a=FLASH, b=COPY, c=OTHER_FIGURE)
        documents.pin("b")
        documents.pin("c", duplicate_of="a")
        listed = es_simhash("pin --list --store sqlite:///news.db", cwd=tmp_path).out
        earlier, no_id = '{"id": "b", "duplicate_of": "a"}\n', '{"id": 9}\n'
        (tmp_path / "pins.jsonl").write_text(earlier + listed.replace("true", "false") + no_id, encoding="utf-8")
        done = es_simhash("pin pins.jsonl --store sqlite:///news.db", cwd=tmp_path)
        assert (done.code, done.err.count("rejected: ")) == (3, 1)
        assert done.err.count(" has an earlier line: this one holds\n") == 1
        assert "2 documents pinned or unpinned" in done.out
        assert links(documents) == {"a": None, "b": "a", "c": None}
        assert list(documents.pins()) == []
