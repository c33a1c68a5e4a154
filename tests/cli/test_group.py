"""``es-simhash group``: decide again what is a duplicate of what."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.cli import HARVEST, STORM, STORM_NEAR, es_simhash, line

if TYPE_CHECKING:
    from pathlib import Path


def test_it_says_how_many_groups_there_are_and_what_it_changed(tmp_path: Path) -> None:
    data = line("a", lang="zh") + line("b", STORM_NEAR, lang="zh") + line("c", HARVEST) + line("d", STORM)
    assert es_simhash("ingest --workers 0", cwd=tmp_path, stdin=data).code == 0
    done = es_simhash("group", cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines() == ["4 documents, 1 group with 3 members", "updated the link of 0 documents"]
    [report] = es_simhash("group", "--json", "--filter", '{"term": {"lang": "zh"}}', cwd=tmp_path).json
    assert (report["documents"], report["groups"], report["members"]) == (2, 1, 2)
