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


def test_the_list_of_tasks_names_every_script() -> None:
    listed = (SCRIPTS / "README.md").read_text(encoding="utf-8")
    names = {path.name for path in SCRIPTS.iterdir()} - {"README.md", "__pycache__"}
    assert [name for name in sorted(names) if name.partition("_news.")[0] not in listed] == []


@pytest.mark.parametrize("name", ["benchmark", "corpus.py", "study/cases.py", "study/revisions.py"])
def test_a_script_says_what_it_is_for(name: str) -> None:
    done = run(name, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("usage: ")
    assert len(done.stdout.splitlines()) > 8


def test_the_benchmark_runs_without_a_server_and_names_the_libraries_that_are_missing(tmp_path: Path) -> None:
    report = benchmark(tmp_path, ["bloom", "dedupe", "rules", "search"], "--count", "50")
    assert {table["part"] for table in report["tables"]} == {"bloom", "dedupe", "rules"}
    left_out = "\n".join(report["left_out"])
    assert "the part search is left out: it needs a server" in left_out
    assert ("pybloom-live is left out: it is not installed" in left_out) == (find_spec("pybloom_live") is None)


@pytest.mark.elasticsearch
def test_the_benchmark_finds_everything_on_a_server(tmp_path: Path, elasticsearch_url: str) -> None:
    report = benchmark(tmp_path, ["search", "ingest"], "--count", "400", "--store", elasticsearch_url)
    facts = [line for table in report["tables"] for line in table["facts"].values()]
    assert {line["recall"] for line in facts if "recall" in line} == {1}


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
    done = run("benchmark", "--size", "tiny", "--workers", "0", *chosen, *arguments, "--json", str(file))
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(file.read_bytes())
    return report


def run(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, SCRIPTS / name, *arguments], capture_output=True, text=True, timeout=300)
