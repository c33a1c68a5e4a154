"""The scripts that people run by hand start, and say what they are for; the benchmark runs at its smallest size."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

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


def test_the_benchmark_runs_without_a_server_and_names_the_libraries_that_are_missing() -> None:
    page = benchmark("--store", "", "--part", "steps", "--part", "dedupe", "--part", "bloom")
    headings = re.findall("^## (.*)", page, re.MULTILINE)
    assert headings[:3] == ["Steps of one text", "Remove the copies of a file", "Bloom filters"]
    assert "- the server: none is named" in page
    assert ("- pybloom-live: it is not installed" in page) == (find_spec("pybloom_live") is None)
    template = page.partition("notices of one template\n")[2]
    assert cells_of(template, "es_simhash")["others removed"] == "0"  # they differ in numbers


@pytest.mark.elasticsearch
def test_the_benchmark_writes_the_documents_of_an_ingest_again(elasticsearch_url: str) -> None:
    page = benchmark("--store", elasticsearch_url, "--part", "ingest", "--part", "calls", "--part", "starts")
    ingested, written = (
        float(cells_of(page, name)["bytes on the disk"].replace(",", ""))
        for name in ("Elasticsearch", "`parallel_bulk` with our fields")
    )
    assert written == pytest.approx(ingested, rel=0.1)
    assert float(cells_of(page, "`unseen` of 1,000")["seen items"].split()[0]) > 0
    assert "nan" not in page


def benchmark(*arguments: str) -> str:
    """Run parts of the benchmark at the smallest size. Return its page."""
    done = run("benchmark", "--count", "100", "--rounds", "1", *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def cells_of(page: str, name: str) -> dict[str, str]:
    """Return the cells of the first row with this name, by the headings of their columns."""
    for table in re.findall(r"(?:^\|.*\n)+", page, re.MULTILINE):
        heading, _, *rows = ([cell.strip() for cell in line.strip("|\n").split("|")] for line in table.splitlines())
        for own, *cells in rows:
            if own == name:
                return dict(zip(heading[1:], cells, strict=True))
    raise LookupError(name)


def run(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, SCRIPTS / name, *arguments], capture_output=True, text=True, timeout=300)
