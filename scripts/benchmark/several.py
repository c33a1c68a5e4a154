"""Several ingests into one index at once: which duplicates they miss of each other, and what ``group`` finds then."""

from __future__ import annotations

import json
import multiprocessing
import time
from typing import TYPE_CHECKING, Any

from ingest import BYTES
from report import Facts

if TYPE_CHECKING:
    import random
    from pathlib import Path

    from bench import Bench

RUNS = ((1, "1s"), (2, "1s"), (4, "1s"), (8, "1s"), (4, "-1"))
"""Processes, and the refresh interval of the index: Elasticsearch's default, and none, as for a large load."""
COLUMNS = (
    "s", "documents a second", "duplicates found", "missed", "missed, %", "group, s", "links written", "groups",
    "same groups as one process, after group",
)  # fmt: skip
WORDS = 40
SHARE = 0.2
"""The share of documents that are copies of an earlier one: half of them exact, half of them with another word."""
SOON = 1_000
"""Half of the copies come at most so many documents after their original."""
HAN = [chr(code) for code in range(0x4E00, 0x9000)]


def several(bench: Bench) -> None:
    """Ingest one pool by 1, 2, 4 and 8 processes, and group it. Each process has each 1st, 2nd, … document."""
    bench.room(bench.count, BYTES)
    pool = documents_of(bench.count, bench.rng)
    rows: list[list[Any]] = [["processes, refresh interval", *COLUMNS]]
    alone: set[frozenset[str]] | None = None
    for processes, refresh in RUNS:
        files = [bench.folder / f"several-{number}.jsonl" for number in range(processes)]
        for number, file in enumerate(files):
            with file.open("w", encoding="utf-8") as lines:
                lines.writelines(json.dumps(document) + "\n" for document in pool[number::processes])
        with bench.index("several") as index:
            address = f"{bench.store}/{index}"
            set_up(bench, index, refresh)
            seconds = ingest_all(address, files)
            bench.client.indices.refresh(index=index)
            linked = bench.client.count(index=index, query={"exists": {"field": "simhash.duplicate_of"}})["count"]
            group_seconds, written, groups = group(address)
        alone = alone or groups
        true = sum(len(members) - 1 for members in alone)
        what = f"{processes} processes, refresh {refresh}: groups as of one process"
        bench.report.aim(what, float(groups == alone), at_least=1)
        missed = true - linked
        of_ingest = [seconds, bench.count / seconds, linked, missed, 100 * missed / max(1, true)]
        of_group = [group_seconds, written, len(groups), "yes" if groups == alone else "no"]
        rows.append([f"{processes}, {refresh}", *of_ingest, *of_group])
    bench.report.add(Facts(f"{bench.count:,} documents of {WORDS} words, one in five a copy", rows))


def documents_of(count: int, rng: random.Random) -> list[dict[str, str]]:
    """Return documents of random words. Copies of copies belong to the group of their original."""
    found: list[dict[str, str]] = []
    for number in range(count):
        if found and rng.random() < SHARE:
            first = max(0, number - SOON) if rng.random() < 0.5 else 0
            words = found[rng.randrange(first, number)]["text"].split("，")
            if rng.random() < 0.5:
                words[rng.randrange(WORDS)] = word(rng)
        else:
            words = [word(rng) for _ in range(WORDS)]
        found.append({"id": f"d{number}", "text": "，".join(words)})
    return found


def word(rng: random.Random) -> str:
    return "".join(rng.choices(HAN, k=2))


def set_up(bench: Bench, index: str, refresh: str) -> None:
    from es_simhash import Documents

    with Documents(bench.client, index=index) as documents:
        documents.setup(keys=False)
    bench.client.indices.put_settings(index=index, settings={"index.refresh_interval": refresh})


def ingest_all(address: str, files: list[Path]) -> float:
    """Return the seconds from the moment at which all processes are ready to the end of the last one."""
    context = multiprocessing.get_context("spawn")
    ready = context.Barrier(len(files) + 1)
    processes = [context.Process(target=ingest_file, args=(address, str(file), ready)) for file in files]
    for process in processes:
        process.start()
    ready.wait(timeout=300)
    began = time.perf_counter()
    for process in processes:
        process.join()
    if any(process.exitcode for process in processes):
        raise RuntimeError("an ingest failed: its error is above")
    return time.perf_counter() - began


def ingest_file(address: str, file: str, ready: Any) -> None:
    from es_simhash import Documents
    from es_simhash.lines import raw_lines

    with Documents(address, deadline=600, request_timeout=120) as documents, open(file, "rb") as lines:
        documents.similar("先打开词典，再开始计时：这一句话不在任何文档之中。", rule="fingerprint")
        ready.wait(timeout=300)
        for outcome in documents.ingest(raw_lines(lines, file), rule="fingerprint"):
            # A document that is not stored would count as a missed duplicate.
            assert outcome.outcome not in ("failed", "rejected"), outcome


def group(address: str) -> tuple[float, int, set[frozenset[str]]]:
    """Return the seconds of ``group``, the documents that it wrote, and the members of each group."""
    from es_simhash import Documents

    with Documents(address, deadline=600, request_timeout=120) as documents:
        began = time.perf_counter()
        written = documents.group(rule="fingerprint").changed
        seconds = time.perf_counter() - began
        members: dict[str, set[str]] = {}
        for document in documents.export():
            members.setdefault(document.group or document.id, set()).add(document.id)
    return seconds, written, {frozenset(each) for each in members.values() if len(each) > 1}
