"""Search for near fingerprints without a server: our SQLite file beside other indexes, on disk and in memory."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from bench import fingerprints_near, latencies, resident_megabytes, seconds_of
from report import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from bench import Bench

K = 3
QUERIES = {"one at a time": 1, "100 at a time": 100}
CHUNK = 10_000
LIMIT = 50
"""Hits that a search for the nearest returns at most. More than any query has within K bits."""

Found = list[set[int]]
"""For each query the numbers of the fingerprints that were found."""


@dataclass
class Contender:
    """An index that is filled.

    :param search: from queries to the numbers of the fingerprints within K bits.
    :param where: ``disk`` or ``memory``.
    :param megabytes: of its file, or by which it made the process larger.
    """

    search: Callable[[Sequence[int]], Found]
    where: str
    megabytes: Callable[[], float] | None = None


def embedded(bench: Bench) -> None:
    """Search random fingerprints, with planted neighbours, within 3 bits."""
    values, queries = pool(bench)
    contenders, facts = {}, {}
    for name, make in {
        "es_simhash": es_simhash,
        "DuckDB scan": duckdb_scan,
        "sqlite-vec scan": sqlite_vec_scan,
        "1e0ng SimhashIndex": simhash_index,
        "faiss flat": faiss_flat,
        "faiss multi-hash": faiss_multi_hash,
        "usearch exact": usearch_exact,
        "usearch HNSW": usearch_hnsw,
        "numpy scan": numpy_scan,
    }.items():
        made: list[Contender | None] = []
        before = resident_megabytes()
        seconds = seconds_of(lambda: made.append(make(values, bench)))  # noqa: B023
        if (contender := made[0]) is None:
            continue
        size = contender.megabytes() if contender.megabytes else resident_megabytes() - before
        contenders[name] = contender
        facts[name] = {"in": contender.where, "recall": 0.0, "MB": size, "built in s": seconds}
    truth = numpy_scan(values, bench).search(queries)
    for name, contender in contenders.items():
        found = contender.search(queries)
        hits = sum(len(mine & true) for mine, true in zip(found, truth, strict=True))
        facts[name]["recall"] = hits / sum(map(len, truth))
    for how, size in QUERIES.items():
        searches = {name: contender.search for name, contender in contenders.items()}
        table = Table(
            f"{len(values):,} fingerprints of 64 bits, within {K} bits, {len(queries)} queries, {how}",
            "ms a query",
            latencies(searches, queries, size, bench.rounds),
            "es_simhash",
            facts,
        )
        bench.report.add(table)
        if size == 1:
            bench.report.aim("search, recall", facts["es_simhash"]["recall"], at_least=1)
            aims(table, facts, bench)


def aims(table: Table, facts: dict[str, dict[str, Any]], bench: Bench) -> None:
    exact = [name for name, each in facts.items() if each["recall"] == 1 and name != "es_simhash"]
    on_disk = [table.ratio(name) for name in exact if facts[name]["in"] == "disk"]
    in_memory = [1 / table.ratio(name) for name in exact if facts[name]["in"] == "memory"]
    bench.report.aim("search, × the fastest exact one on disk", min(on_disk, default=float("nan")), at_least=2)
    bench.report.aim("search, time by that of the fastest in memory", max(in_memory, default=float("nan")), at_most=4)


def pool(bench: Bench) -> tuple[NDArray[np.uint64], list[int]]:
    """Return random fingerprints, and queries that have a neighbour among them at each distance from 0 to 7."""
    values = np.random.default_rng(bench.seed).integers(0, 2**64, bench.count, dtype=np.uint64)
    queries = [bench.rng.getrandbits(64) for _ in range(min(200, bench.count // 20))]
    near = [value for query in queries for value in fingerprints_near(query, range(8), bench.rng)]
    values[bench.rng.sample(range(bench.count), len(near))] = near
    return values, queries


# --- on disk --------------------------------------------------------------------------------------------------------


def es_simhash(values: NDArray[np.uint64], bench: Bench) -> Contender:
    from es_simhash import Documents
    from es_simhash.contract import Candidates, Probe
    from es_simhash.search.near_index import NearIndex

    path = bench.folder / "embedded.db"
    store = Documents(f"sqlite:///{path}").store
    fill(store, values.tolist())

    def search(queries: Sequence[int]) -> Found:
        probes = tuple(Probe(query, None) for query in queries)
        rows = store.candidates(Candidates(probes, K, 64)).rows
        if len(queries) == 1:
            query = queries[0]
            return [{int(row.id) for row in rows if row.fingerprint and (row.fingerprint ^ query).bit_count() <= K}]
        index = NearIndex(64, K)
        index.add([row.fingerprint for row in rows])
        return [{int(rows[at].id) for at in index.within(query)[0].tolist()} for query in queries]

    return Contender(search, "disk", lambda: megabytes(path))


def fill(store: Any, values: Sequence[int]) -> None:
    """Set a store up without keys, and write documents with these fingerprints. Their ids are their numbers."""
    from es_simhash import Scheme
    from es_simhash.contract import Entry, Row

    store.set_up(Scheme(), ())
    for start in range(0, len(values), CHUNK):
        rows = (
            Row(str(n), value, f"{n:032x}", str(n), None, n + 1)
            for n, value in enumerate(values[start : start + CHUNK], start)
        )
        written = store.write(tuple(Entry(row, '{"n": 1}') for row in rows), 64)
        if written.refused or written.busy:
            raise RuntimeError(f"the store did not take all documents: {dict(written.refused)} {written.busy}")
    store.refresh()


def duckdb_scan(values: NDArray[np.uint64], bench: Bench) -> Contender | None:
    if (duckdb := bench.peer("duckdb")) is None:
        return None
    path = bench.folder / "embedded.duckdb"
    connection = duckdb.connect(str(path))
    connection.execute("CREATE TABLE documents (n BIGINT, fp UBIGINT)")
    columns = {"n": np.arange(len(values)), "fp": values}  # noqa: F841  # DuckDB finds it by its name
    connection.execute("INSERT INTO documents SELECT * FROM columns")
    connection.execute("CHECKPOINT")
    one = f"SELECT n FROM documents WHERE bit_count(xor(fp, ?::UBIGINT)) <= {K}"
    many = (
        "SELECT q.number, d.n FROM documents d, (SELECT unnest(?::UBIGINT[]) AS fp, unnest(range(?)) AS number) q "
        f"WHERE bit_count(xor(d.fp, q.fp)) <= {K}"
    )

    def search(queries: Sequence[int]) -> Found:
        if len(queries) == 1:
            return [{n for (n,) in connection.execute(one, [queries[0]]).fetchall()}]
        found: Found = [set() for _ in queries]
        for number, n in connection.execute(many, [list(queries), len(queries)]).fetchall():
            found[number].add(n)
        return found

    return Contender(search, "disk", lambda: megabytes(path))


def sqlite_vec_scan(values: NDArray[np.uint64], bench: Bench) -> Contender | None:
    if (sqlite_vec := bench.peer("sqlite_vec", "sqlite-vec")) is None:
        return None
    path = bench.folder / "embedded-vec.db"
    try:
        connection: Any = connect_with_extension(str(path), sqlite_vec.loadable_path())
    except (ImportError, AttributeError) as error:
        bench.report.left_out("sqlite-vec", f"Python's sqlite3 takes no extensions ({error}): pip install apsw")
        return None
    connection.execute("CREATE VIRTUAL TABLE documents USING vec0(fp bit[64])")
    connection.execute("BEGIN")
    rows = ((n, value) for n, value in enumerate(as_bytes(values)))
    connection.executemany("INSERT INTO documents (rowid, fp) VALUES (?, vec_bit(?))", rows)
    connection.execute("COMMIT")
    sql = f"SELECT rowid, distance FROM documents WHERE fp MATCH vec_bit(?) AND k = {LIMIT}"

    def search(queries: Sequence[int]) -> Found:
        asked = as_bytes(np.array(queries, dtype=np.uint64))
        return [{n for n, bits in connection.execute(sql, [query]) if bits <= K} for query in asked]

    return Contender(search, "disk", lambda: megabytes(path))


def connect_with_extension(path: str, extension: str) -> Any:
    """Return a connection to an SQLite file with an extension, by Python's sqlite3 if it can, else by apsw."""
    import sqlite3

    connection: Any = sqlite3.connect(path, isolation_level=None)
    if not hasattr(connection, "enable_load_extension"):
        import apsw

        connection = apsw.Connection(path)
    connection.enable_load_extension(True)
    connection.load_extension(extension)
    return connection


# --- in memory ------------------------------------------------------------------------------------------------------


def simhash_index(values: NDArray[np.uint64], bench: Bench) -> Contender | None:
    if (simhash := bench.peer("simhash")) is None:
        return None
    logging.getLogger().setLevel(logging.ERROR)  # it warns of every large bucket
    index = simhash.SimhashIndex([(str(n), simhash.Simhash(value)) for n, value in enumerate(values.tolist())], k=K)

    def search(queries: Sequence[int]) -> Found:
        return [{int(n) for n in index.get_near_dups(simhash.Simhash(query))} for query in queries]

    return Contender(search, "memory")


def faiss_flat(values: NDArray[np.uint64], bench: Bench) -> Contender | None:
    if (faiss := bench.peer("faiss", "faiss-cpu")) is None:
        return None
    index = faiss.IndexBinaryFlat(64)
    index.add(as_matrix(values))
    return Contender(faiss_search(index), "memory")


def faiss_multi_hash(values: NDArray[np.uint64], bench: Bench) -> Contender | None:
    """Make four hashes of 16 bits each. Two fingerprints within 3 bits agree in one of them, so the recall is 1."""
    if (faiss := bench.peer("faiss", "faiss-cpu")) is None:
        return None
    index = faiss.IndexBinaryMultiHash(64, 4, 16)
    index.nflip = 0
    index.add(as_matrix(values))
    return Contender(faiss_search(index), "memory")


def faiss_search(index: Any) -> Callable[[Sequence[int]], Found]:
    def search(queries: Sequence[int]) -> Found:
        limits, _, numbers = index.range_search(as_matrix(np.array(queries, dtype=np.uint64)), K + 1)
        return [set(numbers[start:end].tolist()) for start, end in pairwise(limits.tolist())]

    return search


def usearch_exact(values: NDArray[np.uint64], bench: Bench) -> Contender | None:
    if (usearch := bench.peer("usearch.index", "usearch")) is None:
        return None
    matrix = as_matrix(values)

    def search(queries: Sequence[int]) -> Found:
        asked = as_matrix(np.array(queries, dtype=np.uint64))
        return usearch_hits(usearch.search(matrix, asked, LIMIT, usearch.MetricKind.Hamming, exact=True), len(queries))

    return Contender(search, "memory")


def usearch_hnsw(values: NDArray[np.uint64], bench: Bench) -> Contender | None:
    if (usearch := bench.peer("usearch.index", "usearch")) is None:
        return None
    index = usearch.Index(ndim=64, metric=usearch.MetricKind.Hamming, dtype=usearch.ScalarKind.B1)
    index.add(np.arange(len(values)), as_matrix(values))

    def search(queries: Sequence[int]) -> Found:
        asked = as_matrix(np.array(queries, dtype=np.uint64))
        return usearch_hits(index.search(asked, LIMIT), len(queries))

    return Contender(search, "memory")


def usearch_hits(matches: Any, count: int) -> Found:
    keys, distances = (np.atleast_2d(each).reshape(count, -1) for each in (matches.keys, matches.distances))
    return [set(some[bits <= K].tolist()) for some, bits in zip(keys, distances, strict=True)]


def numpy_scan(values: NDArray[np.uint64], bench: Bench) -> Contender:
    def search(queries: Sequence[int]) -> Found:
        return [set(np.flatnonzero(np.bitwise_count(values ^ np.uint64(query)) <= K).tolist()) for query in queries]

    return Contender(search, "memory", lambda: values.nbytes / 1e6)


def as_matrix(values: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """Return fingerprints as rows of eight bytes."""
    return values.astype(">u8").view(np.uint8).reshape(-1, 8)


def as_bytes(values: NDArray[np.uint64]) -> list[bytes]:
    return [row.tobytes() for row in as_matrix(values)]


def megabytes(path: Path) -> float:
    return sum(file.stat().st_size for file in path.parent.glob(path.name + "*")) / 1e6
