"""The file of labels: it always holds the labels that were added and not undone, after those of earlier sessions."""

from __future__ import annotations

import json
import stat
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from es_simhash.errors import InputError
from es_simhash.tools.review.labels import LabelFile

if TYPE_CHECKING:
    from pathlib import Path


def pair(number: int) -> dict[str, Any]:
    return {"a_id": f"a{number}", "b_id": f"{number}", "a": "暴雨\n\ud800"}


@settings(max_examples=40)
@given(
    earlier=st.lists(st.integers(0, 9), unique=True, max_size=3),
    steps=st.lists(st.none() | st.tuples(st.integers(10, 99), st.booleans()), max_size=12),
    ended=st.booleans(),
)
def test_the_file_has_each_label_that_was_added_and_not_undone(
    tmp_path_factory: pytest.TempPathFactory, earlier: list[int], steps: list[Any], ended: bool
) -> None:
    path = tmp_path_factory.mktemp("labels") / "labels.jsonl"
    before = "\n".join(json.dumps({**pair(n), "duplicate": True}) for n in earlier)
    path.write_text(before + "\n" * (ended and bool(earlier)))
    added: list[Any] = []
    with LabelFile(str(path)) as labels:
        for step in steps:
            if step is None:
                if added:
                    labels.undo()
                added = added[:-1]
            else:
                number, duplicate = step
                labels.add(pair(number), duplicate)
                added.append(step)
            # At any moment the file is complete, so a program that is killed loses nothing.
            lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
            assert lines[len(earlier) :] == [{**pair(n), "duplicate": duplicate} for n, duplicate in added]
            assert lines[: len(earlier)] == [{**pair(n), "duplicate": True} for n in earlier]
        last = [step for step in steps if step is not None]
        if last and steps[-1] is not None:
            assert labels.has(f"{last[-1][0]}", f"a{last[-1][0]}")
    with LabelFile(str(path)) as again:
        kept = {*earlier, *(n for n, _ in added)}
        assert all(again.has(f"a{n}", str(n)) == (n in kept) for n in range(100))


def test_a_new_file_is_for_its_owner_only_and_a_line_that_is_not_json_is_named(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    with LabelFile(str(path)):
        pass
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.write_text('{"a_id": "a", "b_id": "b", "duplicate": true}\n{"a_id": \n')
    with pytest.raises(InputError, match=r"labels\.jsonl:2: not JSON"):
        LabelFile(str(path))
    with pytest.raises(InputError, match=r"cannot write labels to .*: "):
        LabelFile(str(tmp_path))
