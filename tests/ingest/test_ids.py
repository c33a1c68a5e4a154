"""The ids of a run: each counts once, at its first place, and memory does not grow with them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from es_simhash import Outcome
from es_simhash.deciding.outcome import Document
from es_simhash.errors import StoreError
from es_simhash.ingest.ids import FirstPlaces
from tests.ingest import batches, documents

needs_proc = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads /proc")


@pytest.mark.parametrize("size", [1, 2, 10])
def test_an_id_that_comes_again_is_rejected_with_its_first_place(size: int) -> None:
    given = [{"id": 1, "text": "x"}, {"id": 2, "text": "y"}, {"id": "1", "text": "z"}, {"id": 2, "text": "y"}]
    items = [item for batch in batches(given, size) for item in batch]
    assert [type(item) for item in items] == [Document, Document, Outcome, Outcome]
    assert [item.id for item in items] == ["1", "2", "1", "2"]
    assert isinstance(items[2], Outcome)
    assert items[2].reason == (
        "document 3: the id '1' occurred before in this run, at document 1: the first one counts; use another id"
    )


def test_an_id_that_was_rejected_may_come_again() -> None:
    [batch] = batches([{"id": 1}, {"id": 1, "text": "x"}])
    assert [type(item) for item in batch] == [Outcome, Document]


def test_each_run_has_ids_of_its_own() -> None:
    assert batches(documents(3)) == batches(documents(3))


def test_claims_of_a_batch_are_those_of_one_after_the_other() -> None:
    given = [(key, f"line {number}") for number, key in enumerate(["a", "b", "a", "七", 'c"\\', "b", 'c"\\', "d"])]
    with FirstPlaces() as one, FirstPlaces() as other:
        for start in (0, 3):
            expected = [one.claim(*each) for each in given[start : start + 5]]
            assert other.claim_all(given[start : start + 5]) == expected


def test_a_disk_that_is_full_of_ids_is_a_clear_error() -> None:
    keys = [(f"{number:0100}", "here") for number in range(10_000)]
    for fill in (lambda: ids.fill(keys), lambda: [ids.claim(*each) for each in keys], lambda: ids.claim_all(keys)):
        with FirstPlaces() as ids:
            ids._db.execute("PRAGMA max_page_count = 20")
            with pytest.raises(StoreError, match=r"\(database or disk is full\): make room there, or .* TMPDIR"):
                fill()


FULL = """
import os
import resource
from es_simhash.errors import StoreError
from es_simhash.ingest.ids import FirstPlaces

resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))
with FirstPlaces() as ids:
    try:
        for number in range(50_000):
            ids.claim(f"{number:0400}", "here")
    except StoreError as error:
        print(error)
    with os.scandir("/proc/self/fd") as opened:
        print(*(os.readlink(each.path) for each in opened if each.name > "2"))
"""


@needs_proc
def test_the_error_names_the_folder_in_which_the_file_is(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FULL],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "SQLITE_TMPDIR": str(tmp_path / "missing"), "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    error, opened = done.stdout.splitlines()
    assert f"cannot write the temporary file of ids in {tmp_path} (" in error
    assert f"{tmp_path}/" in opened


GROWTH = """
import sqlite3
import sys
from pathlib import Path
from es_simhash.ingest.reader import Reader
from es_simhash.ingest.ids import FirstPlaces, claim
from es_simhash.ingest.batches import Source
from es_simhash.fingerprinting.fingerprinter import Fingerprinter

if sys.argv[1] == "in memory":
    connect = sqlite3.connect
    sqlite3.connect = lambda path, **options: connect(":memory:", **options)

def peak_after(count):
    reader = Reader(Fingerprinter(), "id", ("text",))
    documents = ({"id": f"https://news.example/2025/09/{number:0400}", "text": "x"} for number in range(count))
    source = Source(documents)
    with FirstPlaces() as ids:
        assert sum(len(claim(reader.read_all(lines), ids)) for lines in iter(source.take, [])) == count
    [peak] = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:")]
    return int(peak.split()[1]) * 1024

few = peak_after(5_000)
print(peak_after(150_000) - few)
"""


def growth(how: str) -> int:
    """By how many bytes the memory of a process grows from 5,000 long ids to 150,000."""
    done = subprocess.run(
        [sys.executable, "-c", GROWTH, how],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return int(done.stdout)


@pytest.mark.slow
@needs_proc
def test_memory_does_not_grow_with_the_number_of_ids() -> None:
    assert growth("in a file") < 8_000_000
    assert growth("in memory") > 16_000_000, "or this test could not fail"
