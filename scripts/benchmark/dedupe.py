"""Remove the copies of a file: ``es-simhash dedupe`` beside text-dedup's MinHash and datasketch with an exact check.

Each contender is a program of its own. What counts is processor time, of all its processes.
"""

from __future__ import annotations

import importlib.util
import json
import os
import resource
import subprocess
import sys
import time
from typing import TYPE_CHECKING

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


def dedupe(bench: Bench) -> None:
    """Remove the copies of lines of 200 characters."""
    file = bench.folder / "lines.jsonl"
    copies = write_lines(file, bench.count, bench.rng)
    contenders: dict[str, Callable[[], list[str]]] = {"es_simhash": lambda: ours(file, bench.workers)}
    if bench.peer("text_dedup", "text-dedup") is not None:
        contenders["text-dedup"] = lambda: text_dedup(file, bench.folder / "kept", bench.workers)
    if importlib.util.find_spec("datasketch") is not None:
        contenders["datasketch"] = lambda: [sys.executable, __file__, str(file)]
    values = {name: [0.0] * 0 for name in contenders}
    facts: dict[str, dict[str, object]] = {name: {} for name in contenders}
    for _ in range(bench.rounds):
        for name, command in contenders.items():
            processor, wall, printed = measured(command())
            values[name].append(1e6 * processor / bench.count)
            facts[name] = {"wall s": wall}
            if name != "text-dedup":  # it writes its output in a format of its own
                facts[name]["share of the copies found"] = (bench.count - printed) / copies
    title = f"{bench.count:,} lines of {LENGTH} characters, {copies:,} of them copies, {bench.workers} workers"
    table = Table(title, "µs of processor time a line", values, "es_simhash", facts)
    bench.report.add(table)
    for name in ("text-dedup", "datasketch"):
        bench.report.aim(f"dedupe, processor time of {name} by ours", table.ratio(name), at_least=1)


def write_lines(file: Path, count: int, rng: random.Random) -> int:
    """Write the lines, and return how many of them are copies."""
    words = ["".join(rng.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(rng.randint(2, 9))) for _ in range(30_000)]
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


def ours(file: Path, workers: int) -> list[str]:
    return [sys.executable, "-m", "es_simhash", "dedupe", str(file), "--quiet", "--workers", str(workers)]


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


def datasketch(file: str) -> None:
    """Print the lines that are no copy of an earlier one: candidates of MinHash LSH, and their exact Jaccard."""
    from datasketch import MinHash, MinHashLSH

    lsh = MinHashLSH(threshold=SIMILARITY - 0.15, num_perm=128)
    kept: list[frozenset[bytes]] = []
    for line in open(file, encoding="utf-8"):  # noqa: SIM115
        text = json.loads(line)["text"]
        shingles = frozenset(text[start : start + 5].encode() for start in range(max(1, len(text) - 4)))
        sketch = MinHash(num_perm=128)
        sketch.update_batch(list(shingles))
        candidates = (kept[number] for number in lsh.query(sketch))
        if all(len(shingles & other) < SIMILARITY * len(shingles | other) for other in candidates):
            lsh.insert(len(kept), sketch, check_duplication=False)
            kept.append(shingles)
            print(line, end="")


if __name__ == "__main__":
    datasketch(sys.argv[1])
