"""The checkpoint: a run that is stopped anywhere goes on where it was, and only the same run goes on."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash.errors import InputError, StoreError
from es_simhash.ingest.checkpoint import FORMAT
from tests.client import STORM
from tests.ingest import contents, failing, ingested, new

if TYPE_CHECKING:
    from es_simhash import Outcome

# Ten documents in batches of three; 3 is 0 again, 5 has no text, 8 nearly repeats 0.
TEXTS: list[Any] = [STORM, "第一", "第二", STORM, "第三", None, "第四", "第五", STORM.replace("部分", "多处"), "第六"]
INPUT = [{"id": str(number), "text": text} for number, text in enumerate(TEXTS)]
OUTCOMES = ["new"] * 3 + ["exact_duplicate", "new", "rejected", "new", "new", "near_duplicate", "new"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "x.checkpoint"


@pytest.fixture(scope="module")
def whole() -> list[Any]:
    documents = new()
    assert [outcome.outcome for outcome in ingest(documents, None)] == OUTCOMES
    return contents(documents)


def ingest(documents: Any, path: Path | None, items: Any = INPUT, **options: Any) -> list[Outcome]:
    checkpoint = None if path is None else str(path)
    return list(ingested(documents, items, **{"size": 3, "checkpoint": checkpoint} | options))


def names(outcomes: list[Outcome]) -> list[str]:
    return [outcome.outcome for outcome in outcomes]


@pytest.mark.parametrize("number", [1, 2, 4])
def test_what_a_store_that_failed_did_not_do_is_done_by_the_next_call(
    path: Path, whole: list[Any], number: int
) -> None:
    documents = new(failing("write", number, StoreError("it died")))
    outcomes: list[Outcome] = []
    with pytest.raises(StoreError, match="it died; repeat it: what is done stays as it is"):
        outcomes.extend(ingested(documents, INPUT, size=3, checkpoint=str(path)))
    outcomes += ingest(documents, path)
    assert names(outcomes) == OUTCOMES
    assert contents(documents) == whole


@pytest.mark.parametrize("taken", range(1, 11))
def test_what_was_written_and_not_taken_is_unchanged_the_next_time(path: Path, whole: list[Any], taken: int) -> None:
    documents = new()
    outcomes: Any = ingested(documents, INPUT, size=3, checkpoint=str(path))
    for _ in range(taken):
        next(outcomes)
    outcomes.close()
    begun = (taken - 1) // 3 * 3  # of the batch whose outcomes were not all taken
    again = [name if name == "rejected" else "unchanged" for name in OUTCOMES[begun : begun + 3]]
    assert names(ingest(documents, path)) == again + OUTCOMES[begun + 3 :]
    assert contents(documents) == whole


@pytest.mark.posix
def test_nothing_beside_the_checkpoint_is_written_or_followed(path: Path) -> None:
    others = [path.with_name(f"{path.name}{suffix}") for suffix in (".new", ".tmp", "~")]
    (victim := path.with_name("victim")).write_text("precious")
    for other in others:
        other.symlink_to(victim)
    ingest(new(), path)
    assert victim.read_text() == "precious"
    assert {*path.parent.iterdir()} == {path, victim, *others}
    assert json.loads(path.read_text())["lines"] == 10


@pytest.mark.posix
@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null"])
def test_a_device_is_no_checkpoint(device: str) -> None:
    with pytest.raises(InputError, match="name another file"):
        ingest(new(), Path(device))


@pytest.mark.posix
def test_a_checkpoint_that_cannot_be_written_leaves_no_file(tmp_path: Path) -> None:
    (folder := tmp_path / "x.checkpoint").mkdir()
    with pytest.raises(InputError, match="cannot be read"):
        ingest(new(), folder)
    documents, path = new(), tmp_path / "y.checkpoint"
    outcomes = ingested(documents, INPUT, size=3, checkpoint=str(path))
    next(outcomes)
    path.unlink()
    path.mkdir()
    with pytest.raises(StoreError, match="cannot write"):
        list(outcomes)
    assert {*tmp_path.iterdir()} == {folder, path}


def test_a_signal_right_after_the_file_was_replaced_is_no_failed_write(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace = os.replace

    def stopped(*paths: Any) -> None:
        replace(*paths)
        raise KeyboardInterrupt

    outcomes = ingested(new(), INPUT, size=3, checkpoint=str(path))
    next(outcomes)
    monkeypatch.setattr(os, "replace", stopped)
    with pytest.raises(KeyboardInterrupt):
        list(outcomes)
    assert {*path.parent.iterdir()} == {path}
    assert json.loads(path.read_text())["lines"] == 3


def test_documents_that_were_appended_are_ingested(path: Path) -> None:
    documents = new()
    ingest(documents, path, INPUT[:4])
    assert ingest(documents, path, INPUT[:4]) == []
    assert names(ingest(documents, path)) == OUTCOMES[4:]
    assert json.loads(path.read_text())["lines"] == 10


@pytest.mark.parametrize("items", [INPUT[:3], [*INPUT[:3], {"id": "3", "text": "another"}, *INPUT[4:]]])
def test_another_input_is_an_error(path: Path, items: list[Any]) -> None:
    documents = new()
    ingest(documents, path, INPUT[:4])
    with pytest.raises(InputError, match="belongs to another input"):
        ingest(documents, path, items)


def test_a_store_that_was_made_again_is_an_error(path: Path) -> None:
    ingest(new(), path)
    other = new()
    ingest(other, None, INPUT[5:])
    with pytest.raises(
        InputError, match="belongs to another store, or the store was made again since: ingest everything"
    ):
        ingest(other, path)


def test_a_file_that_is_no_checkpoint_stays_as_it_is(path: Path) -> None:
    documents = new()
    ingest(documents, path)
    about = json.loads(path.read_text())
    format, wrong = json.dumps({"format": FORMAT}), [json.dumps(about | {"lines": lines}) for lines in ("3", None, [3])]
    for damage in ("", "{}", "[]", '{"format": 1}', format, '{"lines": 3', "\0", *wrong):
        path.write_text(damage)
        with pytest.raises(InputError, match="name another file"):
            ingest(documents, path)
        assert path.read_text() == damage


def test_a_folder_that_is_missing_ends_the_run_before_anything_is_stored(tmp_path: Path) -> None:
    documents = new()
    with pytest.raises(InputError, match=r"cannot write .*: name another file, in a folder that exists"):
        ingest(documents, tmp_path / "missing" / "x.checkpoint")
    assert contents(documents) == []
