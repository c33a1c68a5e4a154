"""``es-simhash remove``: the duplicates of a removed document get a new original that matches the filter."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.cli import STORM, STORM_NEAR, es_simhash, line

if TYPE_CHECKING:
    from pathlib import Path


def tenant(name: str) -> str:
    return json.dumps({"term": {"tenant": name}})


def test_only_documents_that_match_the_filter_become_the_new_original(tmp_path: Path) -> None:
    for id, text in (("b1", STORM), ("a1", STORM), ("a2", STORM_NEAR), ("a3", STORM)):
        stdin = line(id, text, tenant=id[0])
        assert es_simhash("ingest --rule fingerprint - --filter", tenant(id[0]), cwd=tmp_path, stdin=stdin).code == 0
    done = es_simhash("remove", "--rule", "fingerprint", "a1", "--filter", tenant("a"), "--json", cwd=tmp_path)
    assert (done.code, done.json) == (0, [{"removed": 1}])
    links = {each["id"]: (each["group"], each["duplicate_of"]) for each in es_simhash("export", cwd=tmp_path).json}
    assert links == {"b1": ("b1", None), "a2": ("a2", None), "a3": ("a2", "a2")}
    done = es_simhash("remove --rule fingerprint --matching", tenant("a"), "--filter", tenant("a"), cwd=tmp_path)
    assert (done.code, done.out) == (0, "removed 2 documents\n")


@pytest.mark.parametrize("arguments", [[], ["a1", "--matching", tenant("a")], ["--filter", tenant("a")]])
def test_ids_or_matching_must_be_given_and_not_both(tmp_path: Path, arguments: list[str]) -> None:
    done = es_simhash("remove", "--rule", "fingerprint", *arguments, cwd=tmp_path)
    assert (done.code, done.out) == (2, "")
    assert "give either ids or --matching, or --duplicates" in done.err


def test_ids_that_no_document_has_are_named(tmp_path: Path) -> None:
    assert es_simhash("ingest", "--rule", "fingerprint", "-", cwd=tmp_path, stdin=line("a1")).code == 0
    done = es_simhash("remove", "--rule", "fingerprint", "b", "a1", "新闻", "b", cwd=tmp_path)
    assert (done.code, done.out, done.err) == (3, "removed 1 document\n", "not found: b, 新闻\n")
    done = es_simhash("remove", "--rule", "fingerprint", "a1", cwd=tmp_path)
    assert (done.code, done.out, done.err) == (1, "removed 0 documents\n", "not found: a1\n")


def test_an_option_without_the_option_that_it_belongs_to_is_a_usage_error(tmp_path: Path) -> None:
    done = es_simhash("remove", "a1", "--everything", cwd=tmp_path)
    assert (done.code, done.out) == (2, "")
    assert "--everything belongs to --matching" in done.err
