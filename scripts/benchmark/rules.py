"""What each rule costs: processor time of an ingest and of look-ups, and bytes."""

from __future__ import annotations

import json
import resource
from collections import Counter
from typing import TYPE_CHECKING, Any

from bench import interleaved
from report import Table
from texts import corpus, texts

if TYPE_CHECKING:
    from pathlib import Path

    from bench import Bench
    from es_simhash import Documents

WORDS = 40
LENGTH = 10_000
BATCH = 100
SETTINGS: dict[str, tuple[bool, dict[str, Any]]] = {
    "fingerprint, without keys": (False, {"rule": "fingerprint"}),
    "copy": (True, {"rule": "copy"}),
    "contained": (True, {"rule": "contained"}),
}


def rules(bench: Bench) -> None:
    """Ingest the same documents by each rule, then look all of them up, 100 in a call."""
    if bench.texts:
        some = enumerate(texts(bench.texts, bench.count, LENGTH, bench.seed))
        documents = [{"id": number, "text": text} for number, text in some]
    else:
        with corpus(bench.count, WORDS) as pipe:
            assert pipe.stdout is not None
            documents = [json.loads(line) for line in pipe.stdout]
    if bench.store:
        bench.room(len(documents), 20_000)
    facts: dict[str, dict[str, Any]] = {}
    measured(bench, documents[:20], "copy", facts)  # load the dictionary
    tasks = {name: lambda n=name: measured(bench, documents, n, facts) for name in SETTINGS}
    values = interleaved(tasks, bench.rounds)
    characters = sum(len(document["text"]) for document in documents) // len(documents)
    title = (
        f"{bench.where}: {len(documents):,} documents of {characters:,} characters, {bench.workers} worker processes"
    )
    bench.report.add(Table(title, "µs of the client to ingest one", values, "fingerprint, without keys", facts))


def measured(bench: Bench, documents: list[dict[str, Any]], name: str, facts: dict[str, dict[str, Any]]) -> float:
    if bench.store:
        with bench.index("rules") as index:
            return timed(f"{bench.store}/{index}", bench, documents, name, facts)
    for each in bench.folder.glob("rules.db*"):
        each.unlink()
    file = bench.folder / "rules.db"
    return timed(f"sqlite:///{file}", bench, documents, name, facts, file)


def timed(
    address: str,
    bench: Bench,
    documents: list[dict[str, Any]],
    name: str,
    facts: dict[str, dict[str, Any]],
    file: Path | None = None,
) -> float:
    from es_simhash import Documents

    keys, rule = SETTINGS[name]
    with Documents(address) as store:
        store.setup(keys=keys)
        began, served = spent(), server(bench)
        counts = Counter(outcome.outcome for outcome in store.ingest(documents, workers=bench.workers, **rule))
        ingest, serves = (spent() - began) / len(documents), (server(bench) - served) / len(documents)
        if bench.store:
            bench.client.indices.refresh(index=address.rpartition("/")[2])
        facts[name] = {"look-up, µs of the client": look_up(store, documents, rule), **counts}
        if bench.store:
            facts[name]["ingest, µs of the server"] = serves
    if file is not None:
        facts[name]["bytes of the file"] = file.stat().st_size / len(documents)
    return ingest


def look_up(store: Documents, documents: list[dict[str, Any]], rule: dict[str, Any]) -> float:
    began = spent()
    for start in range(0, len(documents), BATCH):
        store.similar_many([document["text"] for document in documents[start : start + BATCH]], **rule)
    return (spent() - began) / len(documents)


def spent() -> float:
    """Return the µs of processor time of this process and of the worker processes that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used) * 1e6


def server(bench: Bench) -> float:
    """Return the µs of processor time of all nodes; 0 without a server. Others who use it are included."""
    if not bench.store:
        return 0
    nodes = bench.client.nodes.stats(metric="process")["nodes"].values()
    return sum(node["process"]["cpu"]["total_in_millis"] for node in nodes) * 1e3
