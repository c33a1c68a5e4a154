"""``dedupe`` beside other libraries with an exact check of what they find: processor time, memory, what each finds.

Each contender is a program of its own, which reads JSON lines and writes those that stay. The time for a text,
and *MB more*, are without what a file of four lines takes: the start of the program. The other libraries look up
MinHash signatures of shingles of 3 characters, and take a text for a copy if the shingles have a Jaccard similarity of
0.7 or more with one that stays. They run as ``python scripts/benchmark/dedupe.py NAME FILE``.
"""

from __future__ import annotations

import json
import re
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench import by_turns, program, ratio
from texts import SHARES, corpus, kind_of, write

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bench import Bench, Program

LEAST = 0.7
SHINGLE, HASHES, BANDS = 3, 128, 32
OURS, LINES = "es_simhash", "read and write lines"
PEERS = ("rensa", "datasketch", "gaoya")


def dedupe(bench: Bench) -> None:
    """Run each contender on texts of each length, of which some are copies, and on notices of one template."""
    ours = ("-m", "es_simhash", "dedupe", "--workers")
    commands: dict[str, tuple[str, ...]] = {OURS: (*ours, "0"), f"{OURS}, 2 worker processes": (*ours, "2")}
    commands |= {name: (__file__, name) for name in (LINES, *PEERS) if name == LINES or bench.peer(name)}
    file = str(bench.folder / "texts.jsonl")
    tasks = {name: lambda _, command=command: program(*command, file) for name, command in commands.items()}
    few: dict[str, Program] = {}
    for kind in SHARES:
        documents = corpus(bench, kind)
        if not few:
            write(Path(file), documents[:4])
            few = {name: task(0) for name, task in tasks.items()}
        write(Path(file), documents)
        runs = by_turns(tasks, bench.rounds)
        spent = {name: [max(0.0, run.seconds - few[name].seconds) for run in own] for name, own in runs.items()}
        walls = {name: [run.wall for run in own] for name, own in runs.items()}
        rows = {
            name: {
                "µs of the processor": [1e6 * seconds / len(documents) for seconds in spent[name]],
                f"× {OURS}": ratio(spent[name], spent[OURS]),
                "wall time, ×": ratio(walls[name], walls[OURS]),
                "MB at most": [run.peak for run in own],
                "MB more": [run.peak - few[name].peak for run in own],
                **found(own[0].output, documents),
            }
            for name, own in runs.items()
        }
        bench.page.table(f"{len(documents):,} {kind_of(kind)}", rows)
        if kind == 90 and "rensa" in runs:
            bench.page.aim("dedupe, × rensa with an exact check", ratio(spent[OURS], spent["rensa"]), at_most=3)


def found(output: str, documents: list[dict[str, Any]]) -> dict[str, object]:
    """Return the share of the copies that were found, and how many other texts were taken for copies."""
    left = set(re.findall('^{"id": "([^"]+)"', output, re.MULTILINE))
    removed = [document["id"] for document in documents if document["id"] not in left]
    copies = sum(document["id"].startswith("copy") for document in documents)
    hits = sum(id.startswith("copy") for id in removed)
    return {"copies found": f"{hits / copies:.1%}" if copies else "", "others removed": len(removed) - hits}


# --- the other libraries, each in a program of its own ---------------------------------------------------------------


def main(name: str, file: str) -> None:
    find_copy: Callable[[int, str, set[str]], Iterable[int]] = MAKERS[name]()
    kept: dict[int, set[str]] = {}
    with open(file, encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            text = json.loads(line)["text"]
            if name != LINES:
                own = shingles_of(text)
                found = (kept[other] for other in find_copy(number, text, own) if other in kept)
                if any(len(own & other) >= LEAST * len(own | other) for other in found):
                    continue
                kept[number] = own
            sys.stdout.write(line)


def shingles_of(text: str) -> set[str]:
    return {text[start : start + SHINGLE] for start in range(max(1, len(text) - SHINGLE + 1))}


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
    LINES: lambda: None,
    "rensa": rensa_index,
    "datasketch": datasketch_index,
    "gaoya": gaoya_index,
}

if __name__ == "__main__":
    main(*sys.argv[1:])
