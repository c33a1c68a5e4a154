"""``es-simhash serve`` beside the same call in Python: ``similar`` of 1, 10 and 100 clients at the same time."""

from __future__ import annotations

import http.client
import json
import os
import socket
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench import interleaved
from report import Table
from texts import corpus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bench import Bench
    from es_simhash import Documents

    Call = Callable[[str], object]

CLIENTS = (1, 10, 100)
WORDS = 40
REQUESTS = 1_000
"""The most requests in a round."""


def serve(bench: Bench) -> None:
    """Look stored documents up, by threads with one Documents, and by threads with a connection each."""
    from es_simhash import Documents

    with corpus(bench.count, WORDS) as pipe:
        assert pipe.stdout is not None
        stored = [json.loads(line) for line in pipe.stdout]
    texts = [document["text"] for document in stored[:REQUESTS]]

    def measured(address: str) -> None:
        with Documents(address) as documents:
            documents.setup()
            for _ in documents.ingest(stored):
                pass
            with running(address) as server:
                for clients in CLIENTS:
                    beside(bench, clients, texts, documents, *server)

    if bench.store:
        bench.room(bench.count, 20_000)
        with bench.index("serve") as index:
            measured(f"{bench.store}/{index}")
    else:
        measured(f"sqlite:///{bench.folder / 'serve.db'}")


def beside(bench: Bench, clients: int, texts: list[str], documents: Documents, port: int, pid: int) -> None:
    """Report what 50 % of the calls take, the calls a second, and the processor time of who computes them."""
    facts: dict[str, dict[str, Any]] = {}

    def timed(name: str, call_of: Callable[[], Call], spent: Callable[[], float]) -> float:
        def client(number: int) -> list[float]:
            call, times = call_of(), []
            for text in texts[number::clients]:
                began = time.perf_counter()
                call(text)
                times.append(1000 * (time.perf_counter() - began))
            return times

        before, began = spent(), time.perf_counter()
        with ThreadPoolExecutor(clients) as pool:
            times = [each for found in pool.map(client, range(clients)) for each in found]
        seconds = time.perf_counter() - began
        processor = 1e6 * (spent() - before) / len(texts)
        facts[name] = {"a second": len(texts) / seconds, "µs of the processor for one": processor}
        return statistics.median(times)

    tasks = {
        "Python": lambda: timed("Python", lambda: documents.similar, time.process_time),
        "serve": lambda: timed("serve", lambda: request_of(port), lambda: processor_seconds(pid)),
    }
    values = interleaved(tasks, bench.rounds)
    title = f"{bench.where}: `similar` among {bench.count:,} documents, {clients} at the same time"
    bench.report.add(Table(title, "p50, ms", values, "Python", facts))


def request_of(port: int) -> Call:
    """Return a function that sends a request, by a connection that stays open."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)

    def call(text: str) -> None:
        connection.request("POST", "/similar", json.dumps({"text": text}))
        reply = connection.getresponse()
        reply.read()
        if reply.status != 200:
            raise RuntimeError(f"serve answered {reply.status}")

    return call


@contextmanager
def running(address: str) -> Iterator[tuple[int, int]]:
    """Yield the port and the process id of a server."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    options = ["--store", address, "--port", str(port), "--at-once", str(max(CLIENTS)), "--seconds", "120"]
    with subprocess.Popen([sys.executable, "-m", "es_simhash", "serve", *options]) as process:
        try:
            while process.poll() is None:
                try:
                    request_of(port)("先打开词典，再开始计时：这一句话不在任何文档之中。")
                    break
                except ConnectionError:
                    time.sleep(0.1)
            yield port, process.pid
        finally:
            process.terminate()


def processor_seconds(pid: int) -> float:
    """Return the processor time of a process; not a number where there is no /proc."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return float("nan")
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
