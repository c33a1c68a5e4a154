"""The scripts that people run by hand start, and say what they are for; the benchmark runs at its smallest size."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

SCRIPTS = Path(__file__).resolve().parents[1] / "scripts"
NAMES = ["benchmark", "corpus", "kill-nodes", "study"]


@pytest.mark.parametrize("name", NAMES)
def test_a_script_says_what_it_is_for(name: str) -> None:
    done = run(name, "--help")
    assert done.returncode == 0
    assert done.stderr == ""
    assert done.stdout.startswith("usage: ")
    assert len(done.stdout.splitlines()) > 8


def test_the_benchmark_runs_without_a_server_and_names_the_libraries_that_are_missing(tmp_path: Path) -> None:
    found = benchmark(tmp_path, ["bloom", "embedded", "groups", "serve", "skew", "unseen", "search"])
    assert {table["part"] for table in found["tables"]} == {"bloom", "embedded", "groups", "serve", "skew", "unseen"}
    assert {line["recall"] for line in facts(found) if "recall" in line} == {1}
    left_out = "\n".join(found["left_out"])
    assert "the part search is left out: it needs a server" in left_out
    assert ("pybloom-live is left out: it is not installed" in left_out) == (find_spec("pybloom_live") is None)


@pytest.mark.elasticsearch
@pytest.mark.opensearch
def test_the_benchmark_finds_everything_on_each_server(
    tmp_path: Path, elasticsearch_url: str, opensearch_url: str
) -> None:
    stores = ["--store", elasticsearch_url, "--store", f"opensearch+{opensearch_url}"]
    found = benchmark(tmp_path, ["search", "add", "ingest"], "--count", "400", "--workers", "0", *stores)
    recall = {name: line["recall"] for name, line in named_facts(found) if "recall" in line}
    assert recall["within 7 bits"] == 1
    for kind in ("plan", "plain OR"):
        of_servers = {name: each for name, each in recall.items() if name.endswith(f", {kind}")}
        assert {name.partition(" ")[0] for name in of_servers} == {"Elasticsearch", "OpenSearch"}
        assert set(of_servers.values()) == {1}


@pytest.mark.elasticsearch
def test_a_server_that_is_too_small_is_named_before_the_load(elasticsearch_url: str) -> None:
    done = run("benchmark", "--part", "search", "--count", "1_000_000_000_000", "--store", elasticsearch_url)
    assert done.returncode == 1
    assert "1,000,000,000,000 documents need 1,500,000.0 GB on the server's disk, and " in done.stdout
    assert done.stderr == "the server is too small for some parts: see above\n"


def benchmark(folder: Path, parts: list[str], *arguments: str) -> dict[str, Any]:
    """Run parts of the benchmark at the smallest size. Return what it measured."""
    file = folder / "benchmark.json"
    chosen = [word for part in parts for word in ("--part", part)]
    done = run("benchmark", "--size", "tiny", *chosen, *arguments, "--json", str(file))
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(file.read_bytes())
    return found


def named_facts(found: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return [(name, line) for table in found["tables"] for name, line in table.get("facts", {}).items()]


def facts(found: dict[str, Any]) -> list[dict[str, Any]]:
    return [line for _, line in named_facts(found)]


def run(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, SCRIPTS / name, *arguments], capture_output=True, text=True, timeout=300)
