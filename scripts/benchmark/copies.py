"""Remove the copies of a file: ``es-simhash dedupe`` beside text-dedup, and beside other indices with an exact check.

Each contender is a program of its own. What counts is processor time, of all its processes. One file has lines of
random words, a fifth of them copies; the lines of the other one are all near each other.

Two contenders keep their index: ``es-simhash ingest`` into SQLite, and datasketch in the Redis at
``REDIS_TEST_URL``, if that is set. The time of the server is counted too.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from report import Table

if TYPE_CHECKING:
    import random
    from collections.abc import Callable
    from pathlib import Path

    from bench import Bench

LENGTH = 200
COPIES = 0.2
"""Share of the lines that are copies of an earlier one, with two other words."""
SIMILARITY = 0.8
SHINGLE = 5
REDIS, IN_REDIS = "REDIS_TEST_URL", "datasketch in Redis"
MOST_NEAR_LINES = 4_000
"""Some contenders compare each of these lines with each."""
NEAR_WORDS, NEAR_VOCABULARY = 50, 24
"""Words of a line that is near all others, and the different words of which it is made."""


def copy(bench: Bench) -> None:
    """Remove the copies among lines of random words."""
    file = bench.folder / "lines.jsonl"
    copies = write_lines(file, bench.count, bench.rng)
    title = f"{bench.count:,} lines of {LENGTH} characters, {copies:,} of them copies, {bench.workers} workers"
    table = beside(bench, title, file, bench.count, copies)
    for name in ("text-dedup", "datasketch"):
        bench.report.aim(f"dedupe, processor time of {name} by ours", table.ratio(name), at_least=1)


def near_equal_lines(bench: Bench) -> None:
    """Remove the copies among lines that are near each other. Hardly one is a copy."""
    near, count = bench.folder / "near.jsonl", min(bench.count, MOST_NEAR_LINES)
    write_near_lines(near, count, bench.rng)
    title = f"{count:,} lines of {NEAR_WORDS} words out of {NEAR_VOCABULARY}, {bench.workers} workers"
    beside(bench, title, near, count)


def beside(bench: Bench, title: str, file: Path, count: int, copies: int | None = None) -> Table:
    """Run each contender on a file, and report what it takes.

    :param count: of the lines.
    :param copies: how many of them are copies; None if that is not known.
    """
    contenders: dict[str, Callable[[], list[str]]] = {"es_simhash": lambda: ours(file, bench.workers)}
    if bench.peer("text_dedup", "text-dedup") is not None:
        contenders["text-dedup"] = lambda: text_dedup(file, bench.folder / "kept", bench.workers)
    contenders["es_simhash in SQLite"] = lambda: ingest(file, bench.folder / "kept.db")
    for index in INDICES:
        if index == IN_REDIS and REDIS not in os.environ:
            bench.report.left_out(index, f"set {REDIS} to the URL of a Redis whose data may be removed")
        elif bench.peer("redis" if index == IN_REDIS else index) is not None:
            contenders[index] = lambda index=index: [sys.executable, __file__, index, str(file)]
    values = {name: [0.0] * 0 for name in contenders}
    facts: dict[str, dict[str, object]] = {name: {} for name in contenders}
    for _ in range(bench.rounds):
        for name, command in contenders.items():
            served = redis_seconds() if name == IN_REDIS else 0.0
            processor, wall, printed = measured(command())
            served = redis_seconds() - served if name == IN_REDIS else 0.0
            values[name].append(1e6 * (processor + served) / count)
            facts[name] = {"wall s": wall}
            if name not in ("text-dedup", "es_simhash in SQLite"):  # they print something else
                facts[name]["lines kept"] = printed
                if copies is not None:
                    facts[name]["share of the copies found"] = (count - printed) / copies
    table = Table(title, "µs of processor time a line", values, "es_simhash", facts)
    bench.report.add(table)
    return table


def write_lines(file: Path, count: int, rng: random.Random) -> int:
    """Write the lines, and return how many of them are copies."""
    words = vocabulary(30_000, rng)
    made: list[list[str]] = []
    copies = 0
    with file.open("w", encoding="utf-8") as out:
        for number in range(count):
            if made and rng.random() < COPIES:
                text = list(rng.choice(made))
                for _ in range(2):
                    text[rng.randrange(len(text))] = rng.choice(words)
                copies += 1
            else:
                text = []
                while sum(map(len, text)) + len(text) < LENGTH:
                    text.append(rng.choice(words))
                if len(made) < 10_000:
                    made.append(text)
            out.write(json.dumps({"id": number, "text": " ".join(text)}) + "\n")
    return copies


def write_near_lines(file: Path, count: int, rng: random.Random) -> None:
    words = vocabulary(NEAR_VOCABULARY, rng)
    with file.open("w", encoding="utf-8") as out:
        for number in range(count):
            out.write(json.dumps({"id": number, "text": " ".join(rng.choices(words, k=NEAR_WORDS))}) + "\n")


def vocabulary(count: int, rng: random.Random) -> list[str]:
    return ["".join(rng.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(rng.randint(2, 9))) for _ in range(count)]


def ours(file: Path, workers: int) -> list[str]:
    return [sys.executable, "-m", "es_simhash", "dedupe", str(file), "--quiet", "--workers", str(workers)]


def ingest(file: Path, store: Path) -> list[str]:
    for each in store.parent.glob(f"{store.name}*"):
        each.unlink()
    options = ["--on-duplicate", "skip", "--quiet", "--store", f"sqlite:///{store}"]
    return [sys.executable, "-m", "es_simhash", "ingest", str(file), *options]


def text_dedup(file: Path, output: Path, workers: int) -> list[str]:
    return [
        *(sys.executable, "-m", "text_dedup.minhash", "--path", "json", "--data_files", str(file), "--split", "train"),
        *("--column", "text", "--output", str(output), "--cache_dir", str(output / "cache"), "--min_length", "1"),
        *("--num_proc", str(max(1, workers)), "--ngram", "3", "--threshold", str(SIMILARITY)),
    ]


def measured(command: list[str]) -> tuple[float, float, int]:
    """Run a command, and return its seconds of processor time, its seconds, and the lines that it printed."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
    done = subprocess.run(command, capture_output=True, env=environment, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.decode()[-1000:]}")
    after, ended = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return processor, ended - began, done.stdout.count(b"\n")


class Datasketch:
    """MinHashLSH."""

    def __init__(self) -> None:
        import datasketch

        self._sketch_of = datasketch.MinHash
        self._lsh = datasketch.MinHashLSH(threshold=SIMILARITY - 0.15, num_perm=128)

    def look_up(self, text: str, shingles: frozenset[str]) -> list[int]:
        """Return the numbers of lines that may be near. The line itself is added by :meth:`add`."""
        self._sketch = self._sketch_of(num_perm=128)
        self._sketch.update_batch([shingle.encode() for shingle in shingles])
        found: list[int] = self._lsh.query(self._sketch)
        return found

    def add(self, number: int) -> None:
        self._lsh.insert(number, self._sketch, check_duplication=False)


class DatasketchInRedis(Datasketch):
    """MinHashLSH whose tables are in Redis."""

    def __init__(self) -> None:
        super().__init__()
        import datasketch

        redis_server().flushdb()
        where = urlsplit(os.environ[REDIS])
        storage = {"type": "redis", "redis": {"host": where.hostname, "port": where.port or 6379}}
        self._lsh = datasketch.MinHashLSH(threshold=SIMILARITY - 0.15, num_perm=128, storage_config=storage)


class Rensa:
    """RMinHashLSH, 32 bands of 4 rows."""

    def __init__(self) -> None:
        import rensa

        self._sketch_of = rensa.RMinHash
        self._lsh = rensa.RMinHashLSH(threshold=SIMILARITY, num_perm=128, num_bands=32)

    def look_up(self, text: str, shingles: frozenset[str]) -> list[int]:
        self._sketch = self._sketch_of(128, 1)
        self._sketch.update(list(shingles))
        found: list[int] = self._lsh.query(self._sketch)
        return found

    def add(self, number: int) -> None:
        self._lsh.insert(number, self._sketch)


class Gaoya:
    """MinHashStringIndex, 32 bands of 4 rows."""

    def __init__(self) -> None:
        from gaoya.minhash import MinHashStringIndex

        self._index = MinHashStringIndex(32, SIMILARITY - 0.15, 32, 4, None, "char", False, (SHINGLE, SHINGLE))

    def look_up(self, text: str, shingles: frozenset[str]) -> list[int]:
        self._text = text
        found: list[int] = self._index.query(text)
        return found

    def add(self, number: int) -> None:
        self._index.insert_document(number, self._text)


INDICES = {"datasketch": Datasketch, IN_REDIS: DatasketchInRedis, "rensa": Rensa, "gaoya": Gaoya}
"""Indices of other libraries. An exact check makes sure of what they find."""


def redis_server() -> Any:
    import redis

    return redis.Redis.from_url(os.environ[REDIS])


def redis_seconds() -> float:
    """Return the seconds of processor time that the Redis has taken."""
    found = redis_server().info("cpu")
    return float(found["used_cpu_user"] + found["used_cpu_sys"])


def print_distinct(name: str, file: str) -> None:
    """Print the lines that are no copy of an earlier one, by the exact Jaccard similarity of the index's candidates."""
    index = INDICES[name]()
    kept: list[frozenset[str]] = []
    for line in open(file, encoding="utf-8"):  # noqa: SIM115
        text = json.loads(line)["text"]
        shingles = frozenset(text[start : start + SHINGLE] for start in range(max(1, len(text) - SHINGLE + 1)))
        others = (kept[number] for number in index.look_up(text, shingles))
        if all(len(shingles & other) < SIMILARITY * len(shingles | other) for other in others):
            index.add(len(kept))
            kept.append(shingles)
            print(line, end="")


if __name__ == "__main__":
    print_distinct(*sys.argv[1:])
