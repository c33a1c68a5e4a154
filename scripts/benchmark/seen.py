"""Seen items: the time of a look-up beside a bare read of the document, and lost adds with many writers."""

from __future__ import annotations

import multiprocessing
import random
import sqlite3
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from itertools import compress
from typing import TYPE_CHECKING, Any

from bench import latencies
from report import Facts, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bench import Bench

CALLS = 200


def unseen(bench: Bench) -> None:
    """Ask which of some candidates a user has not seen. Half of them are seen.

    The filter alone is what any program must compute: it hashes the candidates and looks up their bits.
    """
    path = bench.folder / "users.db"

    def read() -> Any:
        return connection.execute("SELECT * FROM users LEFT JOIN filters USING (user) WHERE user = 'ann'").fetchall()

    connection = sqlite3.connect(path)
    of_unseen(bench, f"sqlite:///{path}", "SQLite", read)
    connection.close()
    if not bench.store:
        bench.report.left_out("unseen in Elasticsearch", "it needs a server: --store http://localhost:9200")
        return
    with bench.index("users") as index:
        store = f"{bench.store}/{index}"
        table = of_unseen(bench, store, bench.where, lambda: bench.client.get(index=index, id="ann"))
        ratio = table.ratio("unseen", "bare get")
        bench.report.aim(f"unseen of {bench.count:,} candidates, × a bare get", ratio, at_most=1.3)


def of_unseen(bench: Bench, store: str, where: str, read: Callable[[], Any]) -> Table:
    from es_simhash import BloomFilter, SeenItems

    candidates = [f"item-{number}" for number in range(bench.count)]
    bloom = BloomFilter(1_000, 0.01)
    bloom.update(candidates[::2])
    stored = bloom.to_bytes()

    def read_and_look_up() -> list[str]:
        read()
        found = BloomFilter.from_bytes(stored).contains_many(candidates)
        return list(compress(candidates, (~found).tolist()))

    with SeenItems(store) as seen:
        seen.setup()
        seen.add("ann", candidates[::2])
        searches: dict[str, Callable[[Sequence[int]], object]] = {
            "unseen": lambda _: seen.unseen("ann", candidates),
            "bare get": lambda _: read(),
            "bare get, then the filter alone": lambda _: read_and_look_up(),
        }
        values = latencies(searches, range(CALLS), 1, bench.rounds)
    table = Table(f"{where}: unseen of {bench.count:,} candidates, {CALLS} calls", "ms", values, "bare get")
    bench.report.add(table)
    return table


# --- many writers ---------------------------------------------------------------------------------------------------


def writers(bench: Bench) -> None:
    """Add items to one user, then to a thousand, by threads and processes. Each acknowledged item must be seen.

    On Elasticsearch a plain read-modify-write is under the same load for comparison. It loses some adds.
    """
    rows: list[list[Any]] = [["writers", "users", "adds", "seconds", "lost", "given up"]]
    if bench.store:
        with bench.index("users") as index:
            for threads, processes in ((16, 0), (0, 4), (16, 4)):
                for users in (1, 1_000):
                    rows.append(contend(bench, f"{bench.store}/{index}", threads, processes, users))
                    bench.client.indices.delete(index=index)
        with bench.index("control") as index:
            rows.append(control(bench, index))
    else:
        rows += [contend(bench, f"sqlite:///{bench.folder}/users-{users}.db", 0, 4, users) for users in (1, 1_000)]
    bench.report.add(Facts("Adds of many writers", rows))
    lost = sum(row[4] for row in rows[1:] if row[0] != CONTROL)
    bench.report.aim("acknowledged adds that were lost", float(lost), at_most=0)


def contend(bench: Bench, store: str, threads: int, processes: int, users: int) -> list[Any]:
    from es_simhash import SeenItems

    with SeenItems(store) as seen:
        seen.setup()
    began = time.perf_counter()
    spawn = multiprocessing.get_context("spawn")
    with (
        ThreadPoolExecutor(max(threads, 1)) as pool,
        ProcessPoolExecutor(max(processes, 1), mp_context=spawn) as others,
    ):
        work = [pool.submit(write, store, f"t{n}", users, bench.count) for n in range(threads)]
        work += [others.submit(write, store, f"p{n}", users, bench.count) for n in range(processes)]
        results = [each.result() for each in work]
    seconds = time.perf_counter() - began
    by_user: dict[str, list[str]] = {}
    for acknowledged, _ in results:
        for user, item in acknowledged:
            by_user.setdefault(user, []).append(item)
    with SeenItems(store) as seen:
        lost = sum(map(len, seen.unseen_many(by_user).values()))
    kind = " + ".join(f"{n} {name}" for n, name in ((threads, "threads"), (processes, "processes")) if n)
    return [kind, users, sum(map(len, by_user.values())), seconds, lost, sum(failed for _, failed in results)]


def write(store: str, writer: str, users: int, adds: int) -> tuple[list[tuple[str, str]], int]:
    """Add items one by one, each to a random user. Return the acknowledged (user, item), and the number of failures."""
    from es_simhash import SeenItems

    rng = random.Random(writer)
    acknowledged, failed = [], 0
    with SeenItems(store, deadline=120) as seen:
        for n in range(adds):
            user, item = f"user-{rng.randrange(users)}", f"{writer}-{n}"
            if seen.add_many({user: [item]}).failed:
                failed += 1
            else:
                acknowledged.append((user, item))
    return acknowledged, failed


CONTROL = "16 threads, plain read-modify-write"


def control(bench: Bench, index: str) -> list[Any]:
    """Read, add and write without a condition, for comparison."""
    from es_simhash import BloomFilter

    client = bench.client
    bench.servers[0].put(index, "user", {"other": BloomFilter(1_000, 0.01).to_bytes().hex()})

    def stored() -> BloomFilter:
        source = client.get(index=index, id="user")["_source"]
        return BloomFilter.from_bytes(bytes.fromhex(source["other"]))

    def naive(writer: int) -> None:
        for n in range(bench.count):
            bloom = stored()
            bloom.add(f"{writer}-{n}")
            bench.servers[0].put(index, "user", {"other": bloom.to_bytes().hex()})

    began = time.perf_counter()
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(naive, range(16)))
    seconds, bloom = time.perf_counter() - began, stored()
    lost = sum(f"{writer}-{n}" not in bloom for writer in range(16) for n in range(bench.count))
    return [CONTROL, 1, 16 * bench.count, seconds, lost, 0]
