"""``es-simhash remove``: what is left behind finds its other original where the ingest would have looked for it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.cli import STORM, STORM_NEAR, es_simhash, line

if TYPE_CHECKING:
    from pathlib import Path


def tenant(name: str) -> str:
    return json.dumps({"term": {"tenant": name}})


def test_among_is_to_a_removal_what_the_filter_was_to_the_ingest(tmp_path: Path) -> None:
    for id, text in (("b1", STORM), ("a1", STORM), ("a2", STORM_NEAR), ("a3", STORM)):
        stdin = line(id, text, tenant=id[0])
        assert es_simhash("ingest", "-", "--filter", tenant(id[0]), cwd=tmp_path, stdin=stdin).code == 0
    done = es_simhash("remove", "a1", "--among", tenant("a"), "--json", cwd=tmp_path)
    assert (done.code, done.json) == (0, [{"removed": 1}])
    links = {each["id"]: (each["group"], each["duplicate_of"]) for each in es_simhash("export", cwd=tmp_path).json}
    assert links == {"b1": ("b1", None), "a2": ("a2", None), "a3": ("a2", "a2")}
    done = es_simhash("remove", "--filter", tenant("a"), "--among", tenant("a"), cwd=tmp_path)
    assert (done.code, done.out) == (0, "2 documents removed\n")


def test_among_is_a_clause(tmp_path: Path) -> None:
    done = es_simhash("remove", "a1", "--among", "tenant", cwd=tmp_path)
    assert done.code == 2
    assert "'--among'" in done.err
