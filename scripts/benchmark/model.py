"""The model of es_simhash/sizing beside a real index: candidates, terms, postings, bytes by field, look-ups a second."""

from __future__ import annotations

import json
import warnings
from contextlib import contextmanager
from dataclasses import replace
from math import nan
from typing import TYPE_CHECKING, Any

from bench import latencies, seconds_of
from es_simhash.search.candidates import blocks_clause, candidates_clause, plain_clause
from es_simhash.search.keys import KeyQuery
from es_simhash.search.look_up import choose
from es_simhash.search.minhash import ALPHABET, BANDS
from es_simhash.sizing.chances import TEXTS
from es_simhash.sizing.costs import look_up_us
from es_simhash.sizing.disk import bytes_by_field
from es_simhash.sizing.model import Pool, work
from es_simhash.stores.elasticsearch.key_search import sharing_clause
from es_simhash.stores.elasticsearch.rows import ROW_OPTIONS
from report import Facts
from search import merge, raw

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from bench import Bench

BYTES = 4_000
"""Bytes on the disk for a document, with what merges need."""
CHUNK = 10_000
SINGLE, BATCH = 200, 2_000
"""Look-ups one at a time, and in batches of 100, of each round."""
TOGETHER = 100
COUNTED = 50
"""Queries whose postings and candidates are counted."""
BAND_VALUES = 100_000
"""Each band of a document is one of so many values."""
LIMIT = 1.5
"""By what factor a prediction may be wrong."""
FEW = 20.0
"""Fewer counted postings or candidates than these say nothing about a prediction: it is chance."""
FINGERPRINTS = ("plain", "plan", "blocks")


def model(bench: Bench) -> None:
    """Compare the model with an index of random fingerprints, or with the index of --index, which is only read."""
    with index_of(bench) as (index, count, ours):
        lucene = segments_of(bench, index)
        pool = Pool(count, texts=replace(TEXTS["random"], band=1 / BAND_VALUES, bands=BANDS / BAND_VALUES))
        bench.report.note(f"{count:,} documents in {lucene} Lucene segments.")
        if ours:
            compare_bytes(bench, index, pool)
        ways = [way for way in (*FINGERPRINTS, "shingles") if has(bench, index, way)]
        rows = [["way, look-ups at once", *COLUMNS]]
        for way in ways:
            rows += compare(bench, index, way, pool, lucene)
        bench.report.add(Facts(f"{count:,} documents: measured, predicted, and the factor between the two", rows))


COLUMNS = (
    "terms", "predicted", "postings", "predicted ", "×", "candidates", "predicted  ", "× ", "look-ups a second",
    "predicted   ", "×  ",
)  # fmt: skip


def compare(bench: Bench, index: str, way: str, pool: Pool, lucene: int) -> Iterator[list[Any]]:
    """Yield a row for look-ups one at a time, and a row for batches."""
    for size in (1, TOGETHER):
        queries = queries_of(bench, way, SINGLE if size == 1 else BATCH, pool)
        together = together_of(way, size, pool)
        expected = work(way, pool, size)  # type: ignore[arg-type]
        clauses = [clause_of(way, some) for some in chunks(queries, together)][: COUNTED if size == 1 else 5]
        asked = sum(min(together, len(queries) - together * n) for n in range(len(clauses)))
        terms = sum(len(list(terms_of(clause))) for clause in clauses)
        postings, candidates = postings_of(bench, index, clauses), candidates_of(bench, index, clauses)
        search = search_of(bench, index, way, together)
        milliseconds = latencies({way: search}, queries, size, bench.rounds)[way]
        rate = 1000 / min(milliseconds)
        micro = look_up_us(expected, lucene, batch=size)
        yield [
            f"{way}, {size}",
            terms / asked,
            expected.terms,
            postings / asked,
            expected.postings,
            factor(bench, f"{way}, {size} at once, postings", postings, expected.postings * asked),
            candidates / asked,
            expected.candidates,
            factor(bench, f"{way}, {size} at once, candidates", candidates, expected.candidates * asked),
            rate,
            1e6 / micro,
            factor(bench, f"{way}, {size} at once, look-ups a second", rate, 1e6 / micro),
        ]


def factor(bench: Bench, what: str, measured: float, predicted: float) -> float:
    """Return by what factor a prediction is wrong, 1 or more, and keep the aim."""
    if min(measured, predicted) <= 0 or max(measured, predicted) < FEW:
        return nan
    found = max(measured / predicted, predicted / measured)
    bench.report.aim(f"{bench.count:,} documents: {what}, × the prediction", found, at_most=LIMIT)
    return found


def compare_bytes(bench: Bench, index: str, pool: Pool) -> None:
    with warnings.catch_warnings(action="ignore"):  # a technical preview
        body = bench.client.indices.disk_usage(index=index, run_expensive_tasks=True, flush=True)[index]
    measured = {name: each["total_in_bytes"] / pool.documents for name, each in body["fields"].items()}
    predicted = bytes_by_field(pool, ("blocks", "shingles"), band_values=BAND_VALUES)
    rows: list[list[Any]] = [["field", "bytes a document", "predicted", "×"]]
    for name, each in sorted(measured.items(), key=lambda pair: -pair[1]):
        expected = predicted.get(name, nan)
        rows.append([name, each, expected, max(each / expected, expected / each) if each and expected else nan])
    ours = [name for name in measured if name.startswith("simhash")]
    both = sum(measured[name] for name in ours), sum(predicted.get(name, 0) for name in ours)
    rows.append(["all of simhash", *both, factor(bench, "bytes of simhash", *both)])
    rows.append(["all", sum(measured.values()), sum(predicted.values()), ""])
    bench.report.add(Facts(f"{pool.documents:,} documents: bytes a document by field", rows))


# --- look-ups -------------------------------------------------------------------------------------------------------


def queries_of(bench: Bench, way: str, count: int, pool: Pool) -> list[Any]:
    if way in FINGERPRINTS:
        return [bench.rng.getrandbits(64) for _ in range(count)]
    return [bands_of(bench) for _ in range(count)]


def clause_of(way: str, queries: Sequence[Any]) -> dict[str, Any]:
    if way == "plain":
        return plain_clause(queries[0])
    if way == "plan":
        return candidates_clause(queries)
    if way == "blocks":
        return blocks_clause(queries)
    return sharing_clause([KeyQuery(tuple(queries[0]), 1)])


def together_of(way: str, size: int, pool: Pool) -> int:
    if way == "plan":
        return choose(size, pool.max_distance, pool.bits, pool.documents, blocks=False).together
    return size if way == "blocks" else 1


def search_of(bench: Bench, index: str, way: str, together: int) -> Callable[[Sequence[Any]], object]:
    """Return a search of a batch, with the options of the product."""
    options = {"size": 1_000, "_source": False, **ROW_OPTIONS, "sort": ["_doc"]}
    if way == "shingles":
        options |= {"size": 21, "sort": ["_score"], "track_total_hits": True}

    def search(queries: Sequence[Any]) -> object:
        where = "must" if way == "shingles" else "filter"
        return raw(
            bench,
            index,
            [{"query": {"bool": {where: [clause_of(way, some)]}}, **options} for some in chunks(queries, together)],
        )

    return search


def terms_of(clause: Any) -> Iterator[tuple[str, str]]:
    """Yield the field and the value of each term of a clause."""
    if isinstance(clause, list):
        for each in clause:
            yield from terms_of(each)
    elif isinstance(clause, dict):
        for kind, inner in clause.items():
            if kind in ("term", "terms"):
                ((field, values),) = inner.items()
                yield from ((field, value) for value in (values if isinstance(values, list) else [values]))
            else:
                yield from terms_of(inner)


def postings_of(bench: Bench, index: str, clauses: Sequence[dict[str, Any]]) -> int:
    """Return how many documents have the terms of the clauses, each as often as it has one."""
    total = 0
    for clause in clauses:
        for some in chunks(list(terms_of(clause)), 500):
            searches = [
                {"query": {"term": {field: value}}, "size": 0, "track_total_hits": True} for field, value in some
            ]
            total += sum(body["hits"]["total"]["value"] for body in raw(bench, index, searches))
    return total


def candidates_of(bench: Bench, index: str, clauses: Sequence[dict[str, Any]]) -> int:
    searches = [{"query": clause, "size": 0, "track_total_hits": True} for clause in clauses]
    return sum(body["hits"]["total"]["value"] for body in raw(bench, index, searches))


def chunks(values: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    for start in range(0, len(values), size):
        yield values[start : start + size]


# --- the index ------------------------------------------------------------------------------------------------------


@contextmanager
def index_of(bench: Bench) -> Iterator[tuple[str, int, bool]]:
    """Yield the name of the index, its documents, and whether it was loaded here."""
    if bench.existing:
        yield bench.existing, bench.client.count(index=bench.existing)["count"], False
        return
    bench.room(bench.count, BYTES)
    with bench.index("model") as index:
        seconds = seconds_of(lambda: load_random(bench, index, bench.count))
        bench.report.note(f"Loaded {bench.count:,} documents in {seconds:,.0f} s, by parallel_bulk.")
        merge(bench, index)
        yield index, bench.count, True


def has(bench: Bench, index: str, way: str) -> bool:
    field = {"blocks": "simhash.blocks", "shingles": "simhash.keys"}.get(way, "simhash.s0")
    return bench.client.search(index=index, query={"exists": {"field": field}}, size=0, terminate_after=1)["hits"][
        "total"
    ]["value"] > 0


def segments_of(bench: Bench, index: str) -> int:
    """Return the Lucene segments of the largest shard."""
    shards = bench.client.indices.segments(index=index)["indices"]
    return max(
        sum(segment["search"] for segment in copies[0]["segments"].values())
        for each in shards.values()
        for copies in each["shards"].values()
    )


def load_random(
    bench: Bench, index: str, count: int, keys: Sequence[str] = ("blocks", "shingles"), shards: int = 1
) -> None:
    """Fill an index with random fingerprints and random bands, by parallel_bulk."""
    from elasticsearch.helpers import parallel_bulk

    from es_simhash import Documents

    bench.client.indices.create(index=index, settings={"index": {"number_of_shards": shards, "refresh_interval": "-1"}})
    with Documents(bench.client, index=index) as documents:
        documents.setup(keys=keys)
    for ok, item in parallel_bulk(
        bench.client,
        documents_of(bench, count, keys),
        thread_count=2,
        chunk_size=2_000,
        index=index,
        expand_action_callback=lambda line: line,
    ):
        assert ok, item
    bench.client.indices.refresh(index=index)


def documents_of(bench: Bench, count: int, keys: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the lines of bulk requests."""
    from es_simhash.search.blocks import block_keys

    for start in range(0, count, CHUNK):
        values = [bench.rng.getrandbits(64) for _ in range(min(CHUNK, count - start))]
        blocks = block_keys(values, 64) if "blocks" in keys else [()] * len(values)
        for number, (value, of_value) in enumerate(zip(values, blocks, strict=True), start):
            digits = f"{value:016x}"
            ours: dict[str, Any] = {f"s{segment}": digits[4 * segment : 4 * segment + 4] for segment in range(4)}
            ours |= {"fp": value - (value >> 63 << 64), "digest": f"{bench.rng.getrandbits(128):032x}"}
            ours |= {"group": str(number), "written": number + 1}
            if of_value:
                ours["blocks"] = of_value
            if "shingles" in keys:
                ours |= {"keys": bands_of(bench), "length": 200}
            yield f'{{"index":{{"_id":"{number}"}}}}', f'{{"simhash":{json.dumps(ours, separators=(",", ":"))}}}'


def bands_of(bench: Bench) -> list[str]:
    """Return the MinHash bands of a text, each one of BAND_VALUES values."""
    numbers = [bench.rng.randrange(BAND_VALUES) * 687_194 for _ in range(BANDS)]  # spread over 36 bits
    return [
        f"m{ALPHABET[band]}" + "".join(ALPHABET[number >> shift & 63] for shift in range(30, -1, -6))
        for band, number in enumerate(numbers)
    ]
