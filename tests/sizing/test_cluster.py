"""The size of a cluster, and the tables of the documentation."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from es_simhash.cli import cli
from es_simhash.sizing.chances import TEXTS
from es_simhash.sizing.cluster import SHARD_BYTES, SHARD_DOCUMENTS, size_of
from es_simhash.sizing.disk import bytes_by_field
from es_simhash.sizing.model import Pool

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"


@given(
    documents=st.integers(1, 10**11),
    bits=st.sampled_from([64, 128]),
    k=st.integers(0, 7),
    texts=st.sampled_from(list(TEXTS.values())),
    keys=st.sampled_from([(), ("blocks",), ("shingles",), ("blocks", "shingles")]),
)
def test_shards_stay_within_their_limits_and_more_documents_never_take_less(
    documents: int, bits: int, k: int, texts: object, keys: tuple[str, ...]
) -> None:
    pool = Pool(documents, bits, k, texts)  # type: ignore[arg-type]
    found, twice = size_of(pool, 100, keys), size_of(replace(pool, documents=2 * documents), 100, keys)
    assert documents / found.shards <= SHARD_DOCUMENTS
    assert documents * found.document_bytes / found.shards <= SHARD_BYTES
    assert found.nodes >= max(2, *found.nodes_for.values())
    for name in ("disk_bytes", "cache_bytes", "shards", "load_seconds", "group_bytes"):
        assert getattr(found, name) <= getattr(twice, name)


def test_the_bytes_of_a_document_in_a_field_fall_as_documents_share_terms() -> None:
    few, many = (bytes_by_field(Pool(count), ("blocks", "shingles")) for count in (10**5, 10**8))
    assert all(many[f"simhash.s{i}"] < few[f"simhash.s{i}"] for i in range(4))
    assert many["simhash.blocks"] < few["simhash.blocks"]
    assert few["simhash.digest"] == pytest.approx(many["simhash.digest"], rel=0.1)


def test_a_crowd_makes_the_mean_look_up_dearer() -> None:
    pool = Pool(10**8, crowd=10**6)
    assert size_of(pool, 100).core_ms > size_of(replace(pool, crowd=0), 100).core_ms
    assert size_of(pool, 100).crowded is not None


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--documents", "0"], "'0' is not a number of documents: use a whole number from 1 to"),
        (["--documents", "1.5"], "'1.5' is not a number of documents"),
        (["--documents", "many"], "'many' is not a number of documents"),
        (["--documents", "nan"], "'nan' is not a number of documents"),
        (["--documents", "1e13"], "'1e13' is not a number of documents"),
        (["--documents", "10", "--crowd", "11"], "11 of 10 documents cannot share a segment: use at most 10"),
        (["--documents", "10", "--max-distance", "8"], "8 is too large for 64 bits: use 0 to 7"),
        (["--documents", "10", "--rate", "0"], "0 is not in the range 0<x<="),
        (["--documents", "10", "--keys", "bands"], "'bands' is not one of 'shingles', 'blocks'"),
        ([], "Missing option '--documents'"),
    ],
)
def test_a_wrong_argument_is_an_error_that_names_the_right_ones(arguments: list[str], error: str) -> None:
    done = CliRunner().invoke(cli, ["size", *arguments])
    assert done.exit_code == 2
    assert error in " ".join(done.output.split())


def test_json_has_every_figure_and_the_assumptions() -> None:
    done = CliRunner().invoke(cli, ["size", "--documents", "5e7", "--max-distance", "5", "--keys", "blocks", "--json"])
    found = json.loads(done.output)
    assert (found["documents"], found["way"]) == (50_000_000, "plan")
    assert found["document_bytes"] == pytest.approx(sum(found["fields"].values()))
    assert "block keys are not used, because max_distance is above 3" in found["assumed"]


def test_the_tables_of_the_documentation_are_those_of_the_code() -> None:
    done = subprocess.run(
        [sys.executable, SCRIPTS / "make-sizing-tables", "--check"],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(SCRIPTS.parent)},
    )
    assert done.returncode == 0, done.stderr
