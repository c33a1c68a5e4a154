"""``es-simhash ingest --resume``: a run that was killed and resumed gives the same result as one that was not."""

from __future__ import annotations

import json
import random
import sqlite3
import subprocess
import time
from typing import TYPE_CHECKING, Any

import pytest
from elasticsearch import Elasticsearch

from es_simhash import Documents
from es_simhash.ingest.checkpoint import Checkpoint
from tests.cli import COMMAND, HARVEST, STORM, complaint, environment, es_simhash, line

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

COUNT = 1_200
COMMON = ["--batch-size", "50", "--json", "--resume", "x.checkpoint", "--dead-letter", "x.dead"]


def news(count: int = COUNT) -> bytes:
    """Originals, near-copies, copies, updates, bad lines, and ids that come again, in a seeded order."""
    chance = random.Random(7)
    words = [STORM[start : start + 4] for start in range(0, len(STORM) - 4, 4)]
    texts: list[str] = []
    lines: list[bytes] = []
    for number in range(count):
        text = "，".join(chance.sample(words, 12))
        if texts and chance.random() < 0.5:
            text = chance.choice(texts) + chance.choice(["", "。", "又及", f"{number % 5}号"])
        texts.append(text)
        lines.append(
            chance.choices(
                [
                    line(number, text, page=number),
                    line(chance.randrange(number + 1), text),
                    b'{"id": 5, "te\n',
                    line(number, None),
                    "{暴雨}\n".encode("gbk"),
                ],
                [90, 4, 2, 2, 2],
            )[0]
        )
    return b"".join(lines)


def stored_before() -> list[Any]:
    chance = random.Random(8)
    return [{"id": id, "text": HARVEST[id % 40 :] + STORM[id % 7 :]} for id in chance.sample(range(COUNT), 150)]


def killed(folder: Path, *arguments: str, after: int, wait: float) -> bool:
    """Kill the command ``wait`` seconds after so many outcomes; False if it came to its end before."""
    with subprocess.Popen(
        [*COMMAND, "ingest", "--rule", "fingerprint", *arguments],
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
    ) as process:
        assert process.stdout is not None
        for _ in range(after):
            if not process.stdout.readline():
                break
        time.sleep(wait)
        process.kill()
    return process.returncode < 0


def in_sqlite(address: str) -> list[Any]:
    """All that is stored, in the order of writing."""
    db = sqlite3.connect(address.removeprefix("sqlite:///"))
    rows = db.execute('SELECT id, fp, digest, "group", duplicate_of, source FROM documents ORDER BY written').fetchall()
    db.close()
    return rows


def in_elasticsearch(address: str) -> list[Any]:
    url, _, index = address.rpartition("/")
    with Elasticsearch(url) as client:
        client.indices.refresh(index=index)
        hits = client.search(index=index, size=10_000, sort="simhash.written")["hits"]["hits"]
    for hit in hits:
        del hit["_source"]["simhash"]["written"]
    return [(hit["_id"], hit["_source"]) for hit in hits]


def letters(folder: Path) -> list[bytes]:
    return sorted((folder / "x.dead").read_bytes().splitlines())


def uninterrupted(folder: Path, address: str) -> Any:
    folder.mkdir()
    (folder / "news.jsonl").write_bytes(news())
    prepare(address)
    done = es_simhash("ingest", "--rule", "fingerprint", "news.jsonl", "--store", address, *COMMON, cwd=folder)
    assert (done.code, done.err) == (3, "")
    return done.json[-1], letters(folder)


def prepare(address: str) -> None:
    with Documents(address) as documents:
        documents.setup()
        list(documents.ingest(stored_before(), rule="fingerprint"))


def killed_again_and_again(folder: Path, address: str, kills: int, seed: int) -> Any:
    folder.mkdir()
    (folder / "news.jsonl").write_bytes(news())
    prepare(address)
    chance = random.Random(seed)
    command = ["news.jsonl", "--store", address, *COMMON]
    for kill in range(kills):
        workers = "1" if kill % 4 == 3 else "0"
        after = chance.choice([0, chance.randrange(3 * COUNT // kills // 2)])
        killed(folder, *command, "--workers", workers, after=after, wait=chance.uniform(0, 0.1 if after else 1.5))
    done = es_simhash("ingest", "--rule", "fingerprint", *command, "--workers", "0", cwd=folder)
    assert (done.code, done.err) == (3, "")
    return done.json[-1], letters(folder)


@pytest.mark.slow
def test_killed_ten_times_it_gives_the_same_result(tmp_path: Path) -> None:
    one, other = (f"sqlite:///{tmp_path}/{name}.db" for name in ("one", "other"))
    wanted = uninterrupted(tmp_path / "one", one)
    assert killed_again_and_again(tmp_path / "other", other, 10, seed=1) == wanted
    assert in_sqlite(other) == in_sqlite(one)
    assert wanted[0]["total"] == COUNT
    assert all(wanted[0][outcome] for outcome in ("updated", "exact_duplicate", "near_duplicate", "rejected"))


@pytest.mark.elasticsearch
@pytest.mark.slow
def test_killed_four_times_on_elasticsearch_it_gives_the_same_result(
    tmp_path: Path, elasticsearch_url: str, make_index: Any
) -> None:
    one, other = (f"{elasticsearch_url}/{make_index()}" for _ in range(2))
    wanted = uninterrupted(tmp_path / "one", one)
    assert killed_again_and_again(tmp_path / "other", other, 4, seed=2) == wanted
    assert in_elasticsearch(other) == in_elasticsearch(one)


# --- dead letters ------------------------------------------------------------------------------------------


def test_dead_letters_of_an_unfinished_batch_are_written_once(tmp_path: Path) -> None:
    (tmp_path / "news.jsonl").write_bytes(b"5\n" * 3 + line("a") + b"6\n" * 3)
    command = ["news.jsonl", "--json", "--workers", "0"]
    es_simhash("ingest", "--rule", "fingerprint", *command, "--dead-letter", "all.dead", cwd=tmp_path)
    wanted = (tmp_path / "all.dead").read_bytes().splitlines(keepends=True)
    assert len(wanted) == 6
    before = b"of another run\n"
    (tmp_path / "x.dead").write_bytes(before)
    with Checkpoint(str(tmp_path / "x.checkpoint")) as checkpoint:
        checkpoint.note = {"dead_letters": str(tmp_path / "x.dead"), "end": len(before)}
        checkpoint._keep()
    between = b"of one that ran meanwhile\n"
    (tmp_path / "x.dead").write_bytes(before + wanted[0] + between + wanted[1])  # and then it was killed
    done = es_simhash(
        "ingest --rule fingerprint", *command, "--resume", "x.checkpoint", "--dead-letter", "x.dead", cwd=tmp_path
    )
    assert done.json[-1]["rejected"] == 6
    found = (tmp_path / "x.dead").read_bytes().splitlines(keepends=True)
    assert found == [before, wanted[0], between, *wanted[1:]]


def test_dead_letters_of_a_batch_that_was_killed_twice_are_written_once(tmp_path: Path) -> None:
    (tmp_path / "news.jsonl").write_bytes(line("a") + b"5\n" * 3_000)
    command = ["news.jsonl", "--resume", "x.checkpoint", "--dead-letter", "x.dead", "--json", "--batch-size", "3001"]
    for after in (10, 30):
        assert killed(tmp_path, *command, after=after, wait=0)
    es_simhash("ingest", "--rule", "fingerprint", *command, cwd=tmp_path)
    places = [json.loads(each)["place"] for each in (tmp_path / "x.dead").read_bytes().splitlines()]
    assert places == [f"news.jsonl:{number}" for number in range(2, 3_002)]


def test_lines_that_others_append_to_the_dead_letter_file_stay(tmp_path: Path) -> None:
    dead, mended = tmp_path / "all.dead", b'{"id": "a", "text": "mended by hand"}\n'
    commands = []
    for day, lines in (("day1", b"5\n"), ("day2", b"6\n" * 2)):
        (tmp_path / day).write_bytes(lines)
        commands.append(
            ["ingest", "--rule", "fingerprint", day, "--resume", f"{day}.checkpoint", "--dead-letter", "all.dead"]
        )
        es_simhash(*commands[-1], cwd=tmp_path)
    dead.write_bytes(dead.read_bytes() + mended)
    all_of_them = dead.read_bytes().splitlines()
    assert len(all_of_them) == 4
    for command in commands:
        es_simhash(*command, cwd=tmp_path)
        assert dead.read_bytes().splitlines() == all_of_them


def test_the_end_of_the_dead_letter_file_is_noted_before_the_first_batch(tmp_path: Path) -> None:
    (tmp_path / "news.jsonl").write_bytes(line("a") + b"5\n" * 3_000)
    (tmp_path / "x.dead").write_bytes(b"of another run\n")
    command = ["news.jsonl", "--resume", "x.checkpoint", "--dead-letter", "x.dead", "--json", "--batch-size", "3001"]
    assert killed(tmp_path, *command, after=10, wait=0)
    assert (tmp_path / "x.dead").stat().st_size > 1_000
    es_simhash("ingest", "--rule", "fingerprint", *command, cwd=tmp_path)
    assert len((tmp_path / "x.dead").read_bytes().splitlines()) == 3_001


def test_another_file_of_dead_letters_is_not_cut(tmp_path: Path) -> None:
    (tmp_path / "news.jsonl").write_bytes(b"5\n")
    es_simhash("ingest --rule fingerprint news.jsonl --resume x.checkpoint --dead-letter x.dead", cwd=tmp_path)
    (tmp_path / "y.dead").write_bytes(b"of another run\n" * 100)
    (tmp_path / "news.jsonl").write_bytes(b"5\n6\n")
    es_simhash("ingest --rule fingerprint news.jsonl --resume x.checkpoint --dead-letter y.dead", cwd=tmp_path)
    assert len((tmp_path / "y.dead").read_bytes().splitlines()) == 101


# --- going on ----------------------------------------------------------------------------------------------


def test_a_resumed_run_with_nothing_left_counts_all_documents(tmp_path: Path) -> None:
    (tmp_path / "news.jsonl").write_bytes(line("a") + line("b"))
    command = ["ingest", "--rule", "fingerprint", "news.jsonl", "--resume", "x.checkpoint"]
    es_simhash(*command, cwd=tmp_path)
    done = es_simhash(*command, cwd=tmp_path)
    assert done.code == 0
    first, *rest = done.out.splitlines()
    assert first.startswith("0 documents in ")
    assert rest == [
        "2 including earlier runs with the same --resume file",
        "  new                         1",
        "  exact duplicates            1",
    ]


def test_a_resumed_run_ingests_lines_that_were_appended_to_the_input(tmp_path: Path) -> None:
    (tmp_path / "news.jsonl").write_bytes(line("a"))
    command = ["ingest", "--rule", "fingerprint", "news.jsonl", "--resume", "x.checkpoint", "--json"]
    es_simhash(*command, cwd=tmp_path)
    (tmp_path / "news.jsonl").write_bytes(line("a") + line("b"))
    first, counts = es_simhash(*command, cwd=tmp_path).json
    assert (first["id"], first["outcome"], first["place"]) == ("b", "exact_duplicate", "news.jsonl:2")
    assert (counts["total"], counts["new"], counts["exact_duplicate"]) == (2, 1, 1)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["other.jsonl"], "belongs to another input"),
        (["news.jsonl", "--store", "sqlite:///b.db"], "with store 'sqlite:///es-simhash.db', not 'sqlite:///b.db'"),
        (["news.jsonl", "--max-text", "7"], "with max_text 10000000, not 7"),
        (["news.jsonl", "--weights", "tf"], "holds fingerprints of Scheme"),
        (["news.jsonl", "--on-duplicate", "fail"], "use 'index' or 'skip'"),
        (["news.jsonl", "--resume", "news.jsonl"], "--resume and the input are one file, news.jsonl"),
        (["news.jsonl", "--resume", "missing/x.checkpoint"], "there is no folder for the checkpoint"),
        (["news.jsonl", "--resume", "es-simhash.db"], "--store and --resume are one file, es-simhash.db"),
        (
            ["news.jsonl", "--dead-letter", "es-simhash.db-wal"],
            "--store and --dead-letter are one file, es-simhash.db-wal",
        ),
        (["news.jsonl", "--resume", "other.jsonl"], "cannot be used"),
        (
            ["news.jsonl", "--store", "sqlite:///b.db", "--resume", "es-simhash.db"],
            "is not the checkpoint of an ingest",
        ),
    ],
)
def test_other_options_than_those_of_the_checkpoint_are_an_error_of_one_line(
    tmp_path: Path, more: list[str], says: str
) -> None:
    (tmp_path / "news.jsonl").write_bytes(line("a"))
    (tmp_path / "other.jsonl").write_bytes(line("b"))
    es_simhash("ingest", "--rule", "fingerprint", "news.jsonl", "--resume", "x.checkpoint", cwd=tmp_path)
    done = es_simhash("ingest", "--rule", "fingerprint", "--resume", "x.checkpoint", "--json", *more, cwd=tmp_path)
    said = [each for each in done.err.splitlines() if each.startswith("es-simhash: ")]
    assert (done.code, len(said)) == (1, 1)
    assert says in said[0]


def test_a_checkpoint_that_another_ingest_uses_is_an_error_of_one_line(tmp_path: Path) -> None:
    with Checkpoint(str(tmp_path / "x.checkpoint")):
        done = es_simhash("ingest", "--rule", "fingerprint", "--resume", "x.checkpoint", cwd=tmp_path, stdin=line("a"))
    assert "another ingest uses it" in complaint(done)
    assert not (tmp_path / "es-simhash.db").exists()
