"""``dedupe`` beside other libraries with an exact check of what they find, in processor time, and what each keeps.

Each contender is a program of its own, which reads JSON lines and writes those that stay. The other libraries look up
MinHash signatures of shingles of 3 characters, and take a text for a copy if the shingles have a Jaccard similarity of
0.7 or more with one that stays. They run as ``python scripts/benchmark/dedupe.py NAME FILE``.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from bench import interleaved, processor_seconds
from report import Table
from texts import texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from bench import Bench

LENGTHS = {20: 1, 90: 1, 500: 4, 1_500: 10}
"""Characters of the texts, and by how much their number is divided."""
COPIES = 0.3
EDITS = 3
LEAST = 0.7
SHINGLE, HASHES, BANDS = 3, 128, 32
OURS = "es_simhash, {} processes"
PEERS = ("rensa", "datasketch", "gaoya")


def dedupe(bench: Bench) -> None:
    """Run each contender on texts of each length, of which some are edited copies of earlier ones."""
    commands = {OURS.format(workers): ["-m", "es_simhash", "dedupe", "--workers", str(workers)] for workers in (0, 2)}
    commands |= {name: [__file__, name] for name in ("read and write", *PEERS) if name not in PEERS or bench.peer(name)}
    for length, divisor in LENGTHS.items():
        file, count = bench.folder / "texts.jsonl", max(10, bench.count // divisor)
        write(file, with_copies(bench, texts(bench.texts, count, length, bench.seed)))
        facts: dict[str, dict[str, Any]] = {name: {"wall, s": 0.0, "kept": 0} for name in commands}
        tasks = {name: partial(measured, command, file, facts[name]) for name, command in commands.items()}
        values = interleaved(tasks, bench.rounds)
        microseconds = {name: [1e6 * each / count for each in spent] for name, spent in values.items()}
        table = Table(
            f"{count:,} texts of {length:,} characters",
            "µs of the processor for one",
            microseconds,
            OURS.format(0),
            facts,
        )
        bench.report.add(table)
        if length == 90:
            bench.report.aim("dedupe, × rensa with an exact check", 1 / table.ratio("rensa"), at_most=3)


def measured(command: list[str], file: Path, facts: dict[str, Any]) -> float:
    """Return the seconds of the processor, and set what else is known."""
    began, spent = time.perf_counter(), processor_seconds()
    done = subprocess.run(
        [sys.executable, *command, str(file)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True
    )
    facts["wall, s"], facts["kept"] = time.perf_counter() - began, done.stdout.count(b"\n")
    return processor_seconds() - spent


def with_copies(bench: Bench, originals: list[str]) -> list[str]:
    """Return as many texts, of which some are copies of earlier ones with up to ``EDITS`` other characters."""
    rng, made = bench.rng, list[str]()
    for text in originals:
        if made and rng.random() < COPIES:
            edited = list(rng.choice(made))
            for _ in range(rng.randint(1, EDITS)):
                edited[rng.randrange(len(edited))] = rng.choice(text)
            text = "".join(edited)
        made.append(text)
    return made


def write(file: Path, made: Iterable[str]) -> None:
    lines = (json.dumps({"id": number, "text": text}, ensure_ascii=False) + "\n" for number, text in enumerate(made))
    file.write_text("".join(lines), encoding="utf-8")


# --- the other libraries, each in a program of its own ---------------------------------------------------------------


def main(name: str, file: str) -> None:
    find_copy: Callable[[int, str, set[str]], Iterable[int]] = MAKERS[name]()
    kept: dict[int, set[str]] = {}
    with open(file, encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            text = json.loads(line)["text"]
            if name != "read and write":
                own = {text[start : start + SHINGLE] for start in range(max(1, len(text) - SHINGLE + 1))}
                found = (kept[other] for other in find_copy(number, text, own) if other in kept)
                if any(len(own & other) >= LEAST * len(own | other) for other in found):
                    continue
                kept[number] = own
            sys.stdout.write(line)


def rensa_index() -> Callable[[int, str, set[str]], Iterable[int]]:
    import rensa

    index = rensa.RMinHashLSH(LEAST, HASHES, BANDS)

    def find(number: int, text: str, shingles: set[str]) -> Iterable[int]:
        signature = rensa.RMinHash(HASHES, 1)
        signature.update(list(shingles))
        found: Iterable[int] = index.query(signature)
        index.insert(number, signature)
        return found

    return find


def datasketch_index() -> Callable[[int, str, set[str]], Iterable[int]]:
    import datasketch

    index = datasketch.MinHashLSH(params=(BANDS, HASHES // BANDS), num_perm=HASHES)

    def find(number: int, text: str, shingles: set[str]) -> Iterable[int]:
        signature = datasketch.MinHash(HASHES)
        signature.update_batch([shingle.encode() for shingle in shingles])
        found: Iterable[int] = index.query(signature)
        index.insert(number, signature)
        return found

    return find


def gaoya_index() -> Callable[[int, str, set[str]], Iterable[int]]:
    gaoya = import_module("gaoya.minhash")
    index = gaoya.MinHashStringIndex(32, LEAST, BANDS, HASHES // BANDS, None, "char", False, (SHINGLE, SHINGLE))

    def find(number: int, text: str, shingles: set[str]) -> Iterable[int]:
        found: Iterable[int] = index.query(text)
        index.insert_document(number, text)
        return found

    return find


MAKERS: dict[str, Callable[[], Any]] = {
    "read and write": lambda: None,
    "rensa": rensa_index,
    "datasketch": datasketch_index,
    "gaoya": gaoya_index,
}

if __name__ == "__main__":
    main(*sys.argv[1:])
