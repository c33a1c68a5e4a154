"""What each rule costs: processor time of an ingest and of look-ups, and bytes; and texts that are near each other."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

from bench import interleaved, processor_seconds
from es_simhash import Documents
from report import Table
from texts import of_words, read, texts, write_corpus

if TYPE_CHECKING:
    from bench import Bench

WORDS = 40
LENGTH = 10_000
BATCH = 100
RULES = ("fingerprint", "copy", "contained")
PARTS = 5


def rules(bench: Bench) -> None:
    """Ingest the same documents by each rule, then look all of them up, 100 in a call."""
    for title, made in texts_of(bench).items():
        facts: dict[str, dict[str, Any]] = {}
        measured(bench, made[:20], "copy", facts)  # load the dictionary
        tasks = {rule: partial(measured, bench, made, rule, facts) for rule in RULES}
        values = interleaved(tasks, bench.rounds)
        where = bench.server.product if bench.server else "SQLite"
        title = f"{where}: {len(made):,} {title}, {bench.workers} worker processes"
        bench.report.add(Table(title, "µs of the client to ingest one", values, RULES[0], facts))
        kept = facts["copy"]["last by first fifth"]
        bench.report.aim(f"{title}, by copy: rate of the last fifth by the first", kept, at_least=0.5)


def texts_of(bench: Bench) -> dict[str, list[str]]:
    """Return texts by what they are: of a file or with a copy in ten, all near each other, and with words in common."""
    if bench.texts:
        return {"texts of the file": texts(bench.texts, bench.count, LENGTH, bench.seed)}
    file = bench.folder / "corpus.jsonl"
    write_corpus(file, bench.count, WORDS)
    return {
        f"texts of {WORDS} words": list(read(file)),
        "texts of 50 words out of 24": of_words(bench.count, 24, 50, bench.rng),
        "texts of 20 words out of 4,000": of_words(bench.count, 4_000, 20, bench.rng),
    }


def measured(bench: Bench, made: list[str], rule: str, facts: dict[str, dict[str, Any]]) -> float:
    """Return the µs of the client to ingest a document, into an empty store."""
    if bench.server:
        bench.server.room(len(made), 20_000)
        with bench.server.index("rules") as index:
            return timed(f"{bench.server.store}/{index}", bench, made, rule, facts)
    for file in bench.folder.glob("rules.db*"):
        file.unlink()
    file = bench.folder / "rules.db"
    microseconds = timed(f"sqlite:///{file}", bench, made, rule, facts)
    facts[rule]["bytes of the file"] = file.stat().st_size / len(made)
    return microseconds


def timed(address: str, bench: Bench, made: list[str], rule: str, facts: dict[str, dict[str, Any]]) -> float:
    documents = [{"id": number, "text": text} for number, text in enumerate(made)]
    counts: Counter[str] = Counter()
    spent = []
    with Documents(address) as store:
        store.setup(rule=rule)
        for part in range(PARTS):
            began = processor_seconds()
            given = documents[len(made) * part // PARTS : len(made) * (part + 1) // PARTS]
            counts.update(outcome.outcome for outcome in store.ingest(given, workers=bench.workers))
            spent.append(processor_seconds() - began)
        began = processor_seconds()
        for start in range(0, len(made), BATCH):
            store.similar_many(made[start : start + BATCH])
        looked_up = processor_seconds() - began
    facts[rule] = {"last by first fifth": spent[0] / spent[-1], "look-up, µs": 1e6 * looked_up / len(made), **counts}
    return 1e6 * sum(spent) / len(made)
