"""A wrong file stops the command once, and how the progress of a file moves."""

from __future__ import annotations

import gzip
from io import StringIO
from typing import TYPE_CHECKING

import pytest
from tqdm import tqdm

from es_simhash import Documents, InputError, Line
from es_simhash.cli.input import Input, check_fields
from es_simhash.ingest.batches import FIRST, checked_start
from tests.cli import STORM, complaint, es_simhash, line

if TYPE_CHECKING:
    from pathlib import Path

NOT_USABLE = Line("f:1", {"docid": 1})


def check(line: Line) -> None:
    check_fields(line, "id", ("text",))


def usable(number: int) -> Line:
    return Line(f"f:{number}", {"id": number, "text": STORM})


@pytest.mark.parametrize(
    "lines",
    [
        *([NOT_USABLE] * wrong + [usable(1), NOT_USABLE, usable(2)] for wrong in (0, 1, FIRST - 1)),
        [NOT_USABLE] * (FIRST - 1),
        [*map(usable, range(FIRST - 1)), Line("f:100", {"id": 1, "title": "快讯", "text": STORM})],
    ],
    ids=["usable", "one wrong", "all but one wrong", "few and wrong", "a field in the last one"],
)
def test_no_line_is_lost_of_a_file_that_is_not_wrong_as_a_whole(lines: list[Line]) -> None:
    fields = ("title", "text") if lines[-1].document.get("title") else ("text",)
    assert list(checked_start(iter(lines), check, "f", fields)) == lines


def test_a_file_without_a_usable_line_stops_once_and_names_its_fields() -> None:
    with pytest.raises(InputError) as error:
        next(checked_start(iter([NOT_USABLE] * FIRST + [usable(1)]), check, "f"))
    assert str(error.value) == (
        "stopped, because none of the first 100 documents in f can be used. f:1: no field 'id': name the field that "
        "holds the id (id_field). It has the fields: docid"
    )


def test_a_text_field_that_no_document_has_stops_the_command() -> None:
    with pytest.raises(InputError, match="none of the first 100 documents in f has the field 'titel'"):
        next(checked_start(map(usable, range(FIRST)), check, "f", ("titel", "text")))


def test_a_text_field_that_no_document_of_a_small_file_has_is_said(caplog: pytest.LogCaptureFixture) -> None:
    assert len(list(checked_start(map(usable, range(10)), check, "f", ("titel", "text")))) == 10
    assert "none of the first 10 documents in f has the field 'titel'" in caplog.text


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("ingest", "name another encoding, such as gb18030"),
        ("ingest --encoding gb18030 --id-field docid", "no field 'docid'"),
        ("dedupe --encoding gb18030 --text-field body", "no text in field 'body'"),
        ("seen add", "name another encoding, such as gb18030"),
    ],
)
def test_a_wrong_file_is_one_line_and_nothing_is_stored(tmp_path: Path, words: str, says: str) -> None:
    (tmp_path / "news.jsonl").write_bytes((line("n1") * 150).decode().encode("gb18030"))
    store = "" if words.startswith("dedupe") else "--store sqlite:///new.db"
    assert says in complaint(es_simhash(f"{words} news.jsonl {store}", cwd=tmp_path))
    if (tmp_path / "new.db").exists():
        with Documents(f"sqlite:///{tmp_path / 'new.db'}") as documents:
            assert list(documents.export()) == []


def test_the_progress_moves_by_the_bytes_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "news.jsonl.gz"
    path.write_bytes(gzip.compress(b"".join(line(number) for number in range(1_000))))
    source = Input((str(path),))
    with tqdm(total=path.stat().st_size, file=StringIO()) as shown:
        assert len(list(source.lines(shown, check))) == 1_000
        assert shown.n == path.stat().st_size
