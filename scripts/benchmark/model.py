"""The model of es_simhash/tools/sizing beside a real index: candidates, terms, postings, bytes, look-ups a second."""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from contextlib import closing, contextmanager
from dataclasses import replace
from math import nan
from typing import TYPE_CHECKING, Any, cast

from bench import in_own_process, latencies, peak_megabytes, seconds_of
from es_simhash import Documents
from es_simhash.search.minhash import BANDS
from es_simhash.tools.sizing.chances import TEXTS
from es_simhash.tools.sizing.costs import GROUP, GROUP_MEMORY, WRITE, core_us, look_up_us
from es_simhash.tools.sizing.disk import bytes_by_field
from es_simhash.tools.sizing.model import Collection, work
from random_index import (
    BAND_VALUES,
    BYTES,
    CHARACTERS,
    FINGERPRINTS,
    LENGTH,
    chunks,
    clause_of,
    load,
    queries_of,
    search_of,
    terms_of,
    together_of,
)
from report import Facts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from bench import Bench
    from es_simhash.tools.sizing.model import Way

SINGLE, BATCH, TOGETHER = 100, 1_000, 100
"""Look-ups one at a time and in batches, of each round; look-ups of a batch."""
COUNTED, COUNTED_TOGETHER = 40, 3
"""Queries for one and for several fingerprints whose postings and candidates are counted."""
LIMIT = 1.5
"""By what factor a prediction may be wrong."""
FEW = 20.0
"""Fewer counted postings or candidates than these say nothing about a prediction: it is chance."""
COLUMNS = (
    "terms", "predicted", "postings", "predicted", "×", "candidates", "predicted", "×", "look-ups a second",
    "predicted", "×", "µs of the server", "predicted", "×",
)  # fmt: skip


def model(bench: Bench) -> None:
    """Compare the model with an index of random documents, or with the index of --index, which is flushed and read."""
    # Bands and short texts have fewer values than real ones, so that a look-up has candidates.
    entries = 2 / CHARACTERS + ((LENGTH - 1) / CHARACTERS) ** 2
    texts = replace(TEXTS["random"], band=1 / BAND_VALUES, bands=BANDS / BAND_VALUES, entries=entries)
    if bench.existing:
        check_bits(bench, bench.existing)
        collection = Collection(bench.client.count(index=bench.existing)["count"], texts=texts)
        compare_all(bench, bench.existing, FINGERPRINTS, collection)
        compare_bytes(bench, bench.existing, collection)
        return
    bench.room(bench.count, BYTES)
    collection = Collection(bench.count, texts=texts)
    with loaded(bench, "shingles") as index:
        compare_all(bench, index, (*FINGERPRINTS, "shingles"), collection)
        bench.servers[0].merge(index)
        compare_bytes(bench, index, collection, keys=True)
        compare_all(bench, index, (*FINGERPRINTS, "shingles"), collection)
        compare_group(bench, index, collection)
    with loaded(bench, "grams") as index:
        bench.servers[0].merge(index)
        compare_all(bench, index, ("grams",), collection)


def check_bits(bench: Bench, index: str) -> None:
    """Stop if the fingerprints of an index have not 64 bits, as those have that are looked up."""
    with closing(Documents(f"{bench.store}/{index}").store) as store:
        scheme = store.describe()
    if scheme is None or scheme.bits != 64:
        found = "is not set up" if scheme is None else f"has fingerprints of {scheme.bits} bits"
        sys.exit(f"the index {index} {found}: name one with fingerprints of 64 bits (--index)")


@contextmanager
def loaded(bench: Bench, keys: str) -> Iterator[str]:
    """Yield the name of an index with random documents, and with these keys: ``shingles`` or ``grams``."""
    with bench.index("model") as index:
        before = bench.servers[0].seconds()
        seconds = seconds_of(lambda: load(bench, index, bench.count, keys))
        micro = 1e6 * (bench.servers[0].seconds() - before) / bench.count
        bench.report.note(
            f"{bench.count:,} documents with {keys}: parallel_bulk took {seconds:,.0f} s, and "
            f"{micro:,.0f} µs of a core of the server for a document, of which the model has {WRITE:,.0f}."
        )
        yield index


def compare_all(bench: Bench, index: str, ways: Sequence[str], collection: Collection) -> None:
    shards, lucene = segments_of(bench, index)
    rows: list[list[Any]] = [["look-ups at once", *COLUMNS]]
    for way in ways:
        rows += compare(bench, index, cast("Way", way), collection, lucene, shards)
    where = f"{collection.documents:,} documents, {shards} shards, {lucene} Lucene segments a shard"
    title = f"{where}: measured, predicted, and the factor between"
    bench.report.add(Facts(title, rows))


def compare(
    bench: Bench, index: str, way: Way, collection: Collection, lucene: int, shards: int
) -> Iterator[list[Any]]:
    """Yield a row for look-ups one at a time, and a row for batches."""
    for size in (1, TOGETHER):
        what = f"{collection.documents:,} documents, {lucene} Lucene segments, {way}, {size} at once"
        queries = queries_of(bench, way, min(SINGLE if size == 1 else BATCH, bench.count // 2))
        together = together_of(way, size, collection.documents)
        counted = list(chunks(queries, together))[: COUNTED if together == 1 else COUNTED_TOGETHER]
        asked, clauses = sum(map(len, counted)), [clause_of(way, some) for some in counted]
        terms = sum(len(list(terms_of(clause))) for clause in clauses)
        postings, candidates = postings_of(bench, index, clauses), hits(bench, index, clauses)
        rate, micro = speed(bench, search_of(bench, index, way, together), queries, size)
        expected = work(way, collection, size)
        expected_rate = 1e6 / look_up_us(expected, lucene, batch=size, shards=shards)
        expected_micro = core_us(expected, lucene, shards=shards)
        yield [
            f"{way}, {size}",
            *(terms / asked, expected.terms),
            *(postings / asked, expected.postings),
            factor(bench, f"{what}: postings", postings, expected.postings * asked),
            *(candidates / asked, expected.candidates),
            factor(bench, f"{what}: candidates", candidates, expected.candidates * asked),
            *(rate, expected_rate, factor(bench, f"{what}: look-ups a second", rate, expected_rate)),
            *(micro, expected_micro, max(micro / expected_micro, expected_micro / micro) if micro else nan),
        ]


def speed(
    bench: Bench, search: Callable[[Sequence[Any]], object], queries: Sequence[Any], size: int
) -> tuple[float, float]:
    """Return the look-ups a second of the best round, and the µs of a core of the server for each."""
    latencies({"": search}, queries, size, 1)  # the server compiles what it runs often
    before = bench.servers[0].seconds()
    milliseconds = latencies({"": search}, queries, size, bench.rounds)[""]
    looked_up = len(queries) * bench.rounds + size  # the first batch comes once more
    return 1000 / min(milliseconds), 1e6 * (bench.servers[0].seconds() - before) / looked_up


def factor(bench: Bench, what: str, measured: float, predicted: float) -> float:
    """Return by what factor a prediction is wrong, 1 or more, and keep the aim."""
    if min(measured, predicted) <= 0 or max(measured, predicted) < FEW:
        return nan
    found = max(measured / predicted, predicted / measured)
    bench.report.aim(f"{what}, × the prediction", found, at_most=LIMIT)
    return found


def compare_bytes(bench: Bench, index: str, collection: Collection, *, keys: bool = False) -> None:
    """Compare the bytes by field. Of an index of --index that are the fields of es_simhash."""
    with warnings.catch_warnings(action="ignore"):  # a technical preview
        body = bench.client.indices.disk_usage(index=index, run_expensive_tasks=True, flush=True)
    totals: Counter[str] = Counter()
    for name, found in body.items():  # an alias may name several indices
        if name != "_shards":
            totals.update({field: each["total_in_bytes"] for field, each in found["fields"].items()})
    measured = {field: total / collection.documents for field, total in totals.items()}
    a_shard = replace(collection, documents=collection.documents // segments_of(bench, index)[0])
    predicted = bytes_by_field(a_shard, keys=keys, band_values=BAND_VALUES)
    if bench.existing:
        measured, predicted = (
            {name: each for name, each in found.items() if name.startswith("simhash.")}
            for found in (measured, predicted)
        )
    rows: list[list[Any]] = [["field", "bytes a document", "predicted", "×"]]
    for name, each in sorted(measured.items(), key=lambda pair: -pair[1]):
        if each >= 0.5:
            expected = predicted.get(name, nan)
            rows.append([name, each, expected, max(each / expected, expected / each)])
    both = sum(measured.values()), sum(predicted.values())
    what = f"{collection.documents:,} documents: bytes of the index"
    rows.append(["all", *both, factor(bench, what, *both)])
    bench.report.add(Facts(f"{collection.documents:,} documents: bytes of a document by field", rows))


def compare_group(bench: Bench, index: str, collection: Collection) -> None:
    seconds, megabytes = in_own_process(group, f"{bench.store}/{index}")
    expected = collection.documents * GROUP / 1e6, collection.documents * GROUP_MEMORY / 1e6
    rows = [["group", "measured", "predicted"], ["seconds", seconds, expected[0]], ["MB", megabytes, expected[1]]]
    bench.report.add(Facts(f"{collection.documents:,} documents: group, of which none is near another", rows))


def group(address: str) -> tuple[float, float]:
    """Return the seconds of ``group``, and by how many megabytes it makes the peak of the process higher."""
    with Documents(address, request_timeout=600) as documents:
        before = peak_megabytes()
        return seconds_of(lambda: documents.group(rule="fingerprint")), peak_megabytes() - before


def postings_of(bench: Bench, index: str, clauses: Sequence[dict[str, Any]]) -> int:
    """Return how many documents have the terms of the clauses: a document counts for each of its terms."""
    terms = [term for clause in clauses for term in terms_of(clause)]
    return sum(hits(bench, index, [{"term": {field: value}} for field, value in some]) for some in chunks(terms, 500))


def hits(bench: Bench, index: str, queries: Sequence[dict[str, Any]]) -> int:
    """Return the sum of the hits of the queries."""
    searches = [{"query": query, "size": 0, "track_total_hits": True} for query in queries]
    return sum(body["hits"]["total"]["value"] for body in bench.servers[0].searches(index, searches))


def segments_of(bench: Bench, index: str) -> tuple[int, int]:
    """Return the number of shards, and the Lucene segments of the one with the most."""
    indices = bench.client.indices.segments(index=index)["indices"].values()
    shards = [copies[0]["segments"].values() for each in indices for copies in each["shards"].values()]
    return len(shards), max(sum(segment["search"] for segment in segments) for segments in shards)
