"""The size of a cluster, and the tables of the documentation."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import example, given
from hypothesis import strategies as st

from es_simhash.cli import cli
from es_simhash.console.output import number
from es_simhash.search.key_table import most_texts_held
from es_simhash.tools.sizing.chances import TEXTS
from es_simhash.tools.sizing.cluster import MEMORY, SHARD_BYTES, SHARD_DOCUMENTS, size_of
from es_simhash.tools.sizing.disk import bytes_by_field
from es_simhash.tools.sizing.model import Collection

SCRIPTS = Path(__file__).resolve().parents[3] / "scripts"


@given(
    documents=st.integers(1, 10**11),
    bits=st.sampled_from([64, 128]),
    k=st.integers(0, 7),
    texts=st.sampled_from(list(TEXTS.values())),
    keys=st.booleans(),
)
@example(documents=7_812_501, bits=64, k=0, texts=TEXTS["random"], keys=True)  # group holds the keys of half of them
def test_shards_stay_within_their_limits_and_more_documents_never_take_less(
    documents: int, bits: int, k: int, texts: object, keys: bool
) -> None:
    collection = Collection(documents, bits, k, texts)  # type: ignore[arg-type]
    found, twice = (
        size_of(collection, 100, keys=keys),
        size_of(replace(collection, documents=2 * documents), 100, keys=keys),
    )
    assert documents / found.shards <= SHARD_DOCUMENTS
    assert documents * found.document_bytes / found.shards <= SHARD_BYTES
    for name in ("disk_bytes", "cache_bytes", "shards", "load_seconds", "group_seconds"):
        assert getattr(found, name) <= getattr(twice, name)
    most = most_texts_held(MEMORY)
    if not keys or 2 * documents <= most or documents > most:  # keys that are too many are not in the memory of group
        assert found.group_bytes <= twice.group_bytes


@pytest.mark.parametrize("keys", [False, True])
def test_ten_times_the_documents_take_longer_for_each_look_up(keys: bool) -> None:
    sizes = [size_of(Collection(10**exponent, texts=TEXTS["newswire"]), 100, keys=keys) for exponent in range(6, 11)]
    for few, many in pairwise(sizes):
        assert few.core_ms < many.core_ms
        assert few.one_ms < many.one_ms or keys  # there the nodes grow with the shards


def test_twice_the_rate_needs_about_twice_the_nodes_for_it() -> None:
    once, twice = (size_of(Collection(10**8), rate).nodes_for["rate"] for rate in (50_000, 100_000))
    assert twice == pytest.approx(2 * once, abs=1)
    assert once > 10


def test_an_ingest_whose_texts_decide_takes_the_time_that_was_measured_for_one() -> None:
    collection = Collection(10**6, texts=TEXTS["newswire"])
    alone, keys = size_of(collection, 100), size_of(collection, 100, keys=True)
    assert alone.load_seconds * 10 < keys.load_seconds
    assert 10**6 / keys.load_seconds <= 1_600


def test_the_default_is_that_of_a_new_store_with_keys() -> None:
    def found(*arguments: str) -> str:
        done = CliRunner().invoke(cli, ["size", "--documents", "1e6", *arguments])
        assert done.exit_code == 0
        return done.output

    assert found() == found("--keys")
    assert "look-up by keys of shingles" in found()
    assert "without keys" in found("--no-keys")


def test_group_takes_more_time_and_memory_if_the_index_has_keys() -> None:
    collection = Collection(10**7, texts=TEXTS["newswire"])
    alone, keys = size_of(collection, 100), size_of(collection, 100, keys=True)
    assert keys.group_seconds > 2 * alone.group_seconds
    assert keys.group_bytes > 2 * alone.group_bytes


def test_the_bytes_of_a_document_in_a_field_fall_as_documents_share_terms() -> None:
    few, many = (bytes_by_field(Collection(count), keys=True) for count in (10**5, 10**8))
    assert all(many[f"simhash.s{i}"] < few[f"simhash.s{i}"] for i in range(4))
    assert few["simhash.digest"] == pytest.approx(many["simhash.digest"], rel=0.1)


def test_a_hot_segment_makes_the_mean_look_up_dearer() -> None:
    collection = Collection(10**8, hot=10**6)
    assert size_of(collection, 100).core_ms > size_of(replace(collection, hot=0), 100).core_ms
    assert size_of(collection, 100).hot_look_up is not None


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--documents", "0"], "'0' is not a number of documents: use a whole number from 1 to"),
        (["--documents", "1.5"], "'1.5' is not a number of documents"),
        (["--documents", "many"], "'many' is not a number of documents"),
        (["--documents", "nan"], "'nan' is not a number of documents"),
        (["--documents", "1e13"], "'1e13' is not a number of documents"),
        (["--documents", "10", "--hot", "11"], "11 of 10 documents cannot share a segment: use at most 10"),
        (["--documents", "10", "--max-distance", "8"], "8 is too large for 64 bits: use 0 to 7"),
        (["--documents", "10", "--rate", "0"], "0 is not a number of documents a second: use a number above 0, up to"),
        (["--documents", "10", "--rate", "nan"], "nan is not a number of documents a second"),
        (["--documents", "10", "--rate", "inf"], "inf is not a number of documents a second"),
        ([], "Missing option '--documents'"),
    ],
)
def test_a_wrong_argument_is_an_error_that_names_the_right_ones(arguments: list[str], error: str) -> None:
    done = CliRunner().invoke(cli, ["size", *arguments])
    assert done.exit_code == 2
    assert error in " ".join(done.output.split())


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (99.4, "99"), (99.7, "100"), (4e-4, "4e-04"), (12_345, "12,345")]
)
def test_a_number_has_two_digits_or_more_and_no_exponent_from_a_thousandth_on(value: float, text: str) -> None:
    assert number(value) == text


def test_a_rate_below_one_is_printed_as_it_is() -> None:
    done = CliRunner().invoke(cli, ["size", "--documents", "10", "--rate", "0.4"])
    assert "for 0.4 documents a second" in done.output
    assert "  0.4 documents a second are looked up and written" in done.output


def test_json_has_every_figure_the_assumptions_and_the_arguments_that_give_it_again() -> None:
    done = CliRunner().invoke(cli, ["size", "--documents", "5e7", "--max-distance", "5", "--no-keys", "--json"])
    found = json.loads(done.output)
    assert (found["documents"], found["way"]) == (50_000_000, "plan")
    assert found["document_bytes"] == pytest.approx(sum(found["fields"].values()))
    assert "max_distance 5, without keys, 1 replica" in found["assumed"]
    arguments = found["arguments"]
    assert arguments.pop("keys") is False
    options = ["--no-keys", *(f"--{name.replace('_', '-')}={value}" for name, value in arguments.items())]
    again = CliRunner().invoke(cli, ["size", *options, "--json"])
    assert json.loads(again.output) == found | {"arguments": arguments | {"keys": False}}


def test_the_tables_of_the_documentation_are_those_of_the_code() -> None:
    done = subprocess.run(
        [sys.executable, SCRIPTS / "make-sizing-tables", "--check"],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(SCRIPTS.parent)},
    )
    assert done.returncode == 0, done.stderr
