"""The ids of a run: each counts once, at its first place, and memory does not grow with them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from es_simhash import Outcome
from es_simhash.flows.outcome import Document
from tests.reading import batches, documents


@pytest.mark.parametrize("size", [1, 2, 10])
def test_an_id_that_comes_again_is_rejected_with_its_first_place(size: int) -> None:
    given = [{"id": 1, "text": "x"}, {"id": 2, "text": "y"}, {"id": "1", "text": "z"}, {"id": 2, "text": "y"}]
    items = [item for batch in batches(given, size) for item in batch]
    assert [type(item) for item in items] == [Document, Document, Outcome, Outcome]
    assert [item.id for item in items] == ["1", "2", "1", "2"]
    assert isinstance(items[2], Outcome)
    assert items[2].reason == (
        "document 3: the id '1' came before in this run, at document 1: that one counts; one id, one document"
    )


def test_an_id_that_was_rejected_may_come_again() -> None:
    [batch] = batches([{"id": 1}, {"id": 1, "text": "x"}])
    assert [type(item) for item in batch] == [Outcome, Document]


def test_each_run_has_ids_of_its_own() -> None:
    assert batches(documents(3)) == batches(documents(3))


GROWTH = """
import sqlite3
import sys
from pathlib import Path
from es_simhash.reading.documents import Reader
from es_simhash.reading.ids import FirstPlaces, claim
from es_simhash.reading.source import Source
from es_simhash.core.fingerprint import Fingerprint

class Same:
    def fingerprint(self, text):
        return Fingerprint(1, "d", 4)

if sys.argv[1] == "in memory":
    connect = sqlite3.connect
    sqlite3.connect = lambda path, **options: connect(":memory:", **options)

def peak_after(count):
    reader = Reader(Same(), "id", ("text",))
    documents = ({"id": f"https://news.example/2025/09/{number:0400}", "text": "x"} for number in range(count))
    source = Source(documents)
    with FirstPlaces() as ids:
        assert sum(len(claim(reader.read_all(lines), ids)) for lines in iter(source.take, [])) == count
    [peak] = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:")]
    return int(peak.split()[1]) * 1024

few = peak_after(5_000)
print(peak_after(50_000) - few)
"""


def growth(how: str) -> int:
    """By how many bytes the memory of a process grows from 5,000 long ids to 50,000."""
    done = subprocess.run(
        [sys.executable, "-c", GROWTH, how],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stdout)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux tells the peak of one process")
def test_memory_does_not_grow_with_the_number_of_ids() -> None:
    assert growth("in a file") < 8_000_000
    assert growth("in memory") > 16_000_000, "or this test could not fail"
