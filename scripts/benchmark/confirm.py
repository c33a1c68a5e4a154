"""How much longer an ingest with confirm takes, without keys."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from bench import interleaved, seconds_of
from report import Table
from texts import corpus, texts

if TYPE_CHECKING:
    from bench import Bench

WORDS = 40
LENGTH = 10_000
SETTINGS: dict[str, dict[str, Any]] = {
    "max_distance 3": {},
    "max_distance 7": {"max_distance": 7},
    "confirm 0.8": {"confirm": 0.8},
    "confirm 0.8, under CONFIRMED": {"confirm": 0.8},
}


def confirm(bench: Bench) -> None:
    """Ingest the same documents in each way.

    With confirm 0.8 max_distance is 7; under CONFIRMED it is 15 of 128 bits.
    """
    if bench.texts:
        some = enumerate(texts(bench.texts, bench.count, LENGTH, bench.seed))
        documents = [{"id": number, "text": text} for number, text in some]
    else:
        with corpus(bench.count, WORDS) as pipe:
            assert pipe.stdout is not None
            documents = [json.loads(line) for line in pipe.stdout]
    if bench.store:
        bench.room(len(documents), 20_000)
    outcomes: dict[str, dict[str, Any]] = {}
    ingest(bench, documents[:20], "max_distance 3", outcomes)  # load the dictionary
    tasks = {name: lambda n=name: ingest(bench, documents, n, outcomes) for name in SETTINGS}
    values = interleaved(tasks, bench.rounds)
    characters = sum(len(document["text"]) for document in documents) // len(documents)
    where = bench.where
    title = f"{where}: {len(documents):,} documents of {characters:,} characters, {bench.workers} worker processes"
    bench.report.add(Table(title, "s", values, "max_distance 3", outcomes))


def ingest(bench: Bench, documents: list[dict[str, Any]], name: str, outcomes: dict[str, dict[str, Any]]) -> float:
    if not bench.store:
        file = bench.folder / "confirm.db"
        for each in bench.folder.glob("confirm.db*"):
            each.unlink()
        return timed(f"sqlite:///{file}", bench, documents, name, outcomes)
    with bench.index("confirm") as index:
        return timed(f"{bench.store}/{index}", bench, documents, name, outcomes)


def timed(
    address: str, bench: Bench, documents: list[dict[str, Any]], name: str, outcomes: dict[str, dict[str, Any]]
) -> float:
    from es_simhash import CONFIRMED, Documents, Scheme

    scheme = CONFIRMED if "CONFIRMED" in name else Scheme()
    counts: Counter[str] = Counter()
    with Documents(address, scheme=scheme) as store:
        store.setup()
        ingested = store.ingest(documents, workers=bench.workers, **SETTINGS[name])
        seconds = seconds_of(lambda: counts.update(outcome.outcome for outcome in ingested))
    outcomes[name] = dict(counts)
    return seconds
