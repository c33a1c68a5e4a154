"""Search where fingerprints are not spread evenly: a hot segment, and documents that are nearly equal."""

from __future__ import annotations

from collections import defaultdict
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from bench import fingerprints_near, in_own_process, latencies, peak_megabytes
from embedded import fill
from es_simhash import Documents
from es_simhash.errors import SimhashError
from report import Table
from search import BYTES, load, plain_search, values_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from bench import Bench

K = 3
QUERIES = 40
PAGE, MOST = 10_000, 100_000
"""Hits of one page, and of all pages, of the plain OR."""
EVEN, HOT, EQUAL = "even", "a quarter share a segment", "nearly equal"

Found = set[int]


@dataclass
class Pool:
    """Fingerprints, and queries with the fingerprints among them that are within K bits."""

    values: list[int]
    queries: list[int]
    near: dict[int, set[int]]


def skew(bench: Bench) -> None:
    """Search three pools: random fingerprints; a quarter of them with one segment; all within 4 bits of each other."""
    pools = {EVEN: even(bench, 0.0), HOT: even(bench, 0.25), EQUAL: equal(bench)}
    in_sqlite(bench, pools)
    if not bench.store or bench.servers[0].is_opensearch:
        bench.report.left_out("skew in Elasticsearch", "it needs one: --store http://localhost:9200")
        return
    bench.room(bench.count, BYTES)
    for name, pool in pools.items():
        in_elasticsearch(bench, name, pool)


def even(bench: Bench, hot: float) -> Pool:
    """Return random fingerprints, and queries with a neighbour at each distance from 0 to 7.

    :param hot: the share of fingerprints and queries whose first segment is the same.
    """
    segment = 0x5EED << 48

    def draw(number: int) -> int:
        value = bench.rng.getrandbits(64)
        return segment | value >> 16 if number < hot * 100 else value

    queries = [draw(number * 100 // QUERIES) for number in range(QUERIES)]
    planted = {query: fingerprints_near(query, range(8), bench.rng) for query in queries}
    values = [value for some in planted.values() for value in some]
    values += [draw(number % 100) for number in range(bench.count - len(values))]
    bench.rng.shuffle(values)
    near = {query: {value for value in some if (value ^ query).bit_count() <= K} for query, some in planted.items()}
    return Pool(values, queries, near)


def equal(bench: Bench) -> Pool:
    """Return fingerprints that differ from one in two bits each, so that very many documents share one."""
    centre = bench.rng.getrandbits(64)
    values = [fingerprints_near(centre, [2], bench.rng)[0] for _ in range(bench.count)]
    different = set(values)
    queries = bench.rng.sample(sorted(different), min(QUERIES // 4, len(different)))
    near = {query: {value for value in different if (value ^ query).bit_count() <= K} for query in queries}
    return Pool(values, queries, near)


# --- SQLite ---------------------------------------------------------------------------------------------------------


def in_sqlite(bench: Bench, pools: dict[str, Pool]) -> None:
    values, facts = {}, {}
    for name, pool in pools.items():
        address = f"sqlite:///{bench.folder}/skew-{len(facts)}.db"
        with closing(Documents(address).store) as store:
            fill(store, pool.values)
            with_store = partial(by_store, store)
            facts[name] = found_by(with_store, pool)
            facts[name]["more memory, MB"] = in_own_process(memory_of, "sqlite", address, pool.queries)
            values |= latencies({name: each(with_store)}, pool.queries, 1, bench.rounds)
    title = f"SQLite: {bench.count:,} fingerprints, within {K} bits, one query at a time"
    bench.report.add(Table(title, "ms a query", values, EVEN, facts))
    recall = min(each["recall"] for each in facts.values())
    bench.report.aim("skew, SQLite: recall", recall, at_least=1)


# --- Elasticsearch --------------------------------------------------------------------------------------------------


def in_elasticsearch(bench: Bench, name: str, pool: Pool) -> None:
    with bench.index("skew") as index, ExitStack() as stack:
        load(bench.servers[0], index, pool.values)
        searches = {
            kind: stack.enter_context(search_of(kind, f"{bench.store}/{index}")) for kind in ("plan", "plain OR")
        }
        facts = {kind: found_by(search, pool) for kind, search in searches.items()}
        for kind in searches:
            more = in_own_process(memory_of, kind, f"{bench.store}/{index}", pool.queries)
            facts[kind]["more memory, MB"] = more
        timed = {kind: each(search) for kind, search in searches.items()}
        title = f"Elasticsearch, {name}: {bench.count:,} fingerprints, within {K} bits, one query at a time"
        values = latencies(timed, pool.queries, 1, bench.rounds)
        bench.report.add(Table(title, "ms a query", values, "plain OR", facts))
        bench.report.aim(f"skew, {name}, Elasticsearch: recall", facts["plan"]["recall"], at_least=1)


@contextmanager
def search_of(kind: str, address: str) -> Iterator[Callable[[int], tuple[Found, int]]]:
    """Yield a search: from a query to the fingerprints that it finds, and the number of candidates."""
    if kind == "plain OR":
        from elasticsearch import Elasticsearch

        server, _, index = address.rpartition("/")
        with Elasticsearch(server, request_timeout=600) as client:
            yield partial(plain, client, index)
        return
    with closing(Documents(address).store) as store:
        yield partial(by_store, store)


def by_store(store: Any, query: int) -> tuple[Found, int]:
    from es_simhash.contract import Candidates, Probe
    from es_simhash.deciding.similar import MOST_MATCHES

    request = Candidates((Probe(query, None),), K, 64, per_fingerprint=MOST_MATCHES)
    rows = store.candidates(request).rows
    return {row.fingerprint for row in rows}, len(rows)


def plain(client: Any, index: str, query: int) -> tuple[Found, int]:
    """Read the pages of the plain OR, up to MOST candidates."""
    found: Found = set()
    count, after = 0, None
    point = client.open_point_in_time(index=index, keep_alive="1m")["id"]
    try:
        while count < MOST:
            pit = {"id": point, "keep_alive": "1m"}
            search = {"size": PAGE, "pit": pit, "sort": ["_shard_doc"], **plain_search(query)}
            body = client.search(body={**search, **({} if after is None else {"search_after": after})})
            point = body["pit_id"]
            hits = body["hits"]["hits"]
            found |= values_of([body])[0]
            count += len(hits)
            if len(hits) < PAGE:
                break
            after = hits[-1]["sort"]
    finally:
        client.close_point_in_time(id=point)
    return found, count


# --- both -----------------------------------------------------------------------------------------------------------


def each(search: Callable[[int], object]) -> Callable[[Sequence[int]], None]:
    """Return a search of a batch that does not mind an error: it is in the facts."""

    def some(queries: Sequence[int]) -> None:
        for query in queries:
            try:
                search(query)
            except SimhashError:
                continue

    return some


def found_by(search: Callable[[int], tuple[Found, int]], pool: Pool) -> dict[str, Any]:
    """Return the recall of the fingerprints within K bits, the candidates, and the errors of a search."""
    true, hits, candidates, errors = 0, 0, 0, defaultdict[str, int](int)
    for query in pool.queries:
        true += len(pool.near[query])
        try:
            found, count = search(query)
        except SimhashError as error:
            errors[type(error).__name__] += 1
            continue
        hits += len(found & pool.near[query])
        candidates += count
    named = ", ".join(f"{name} × {count}" for name, count in errors.items())
    return {"recall": hits / true, "candidates": candidates / len(pool.queries), "errors": named or "none"}


def memory_of(kind: str, address: str, queries: Sequence[int]) -> float:
    """Return by how many megabytes the searches make the peak of a process higher, after the first search."""
    with search_of(kind, address) as found:
        search = each(found)
        search(queries[:1])
        before = peak_megabytes()
        search(queries)
        return peak_megabytes() - before
