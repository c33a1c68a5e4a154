"""What the parts of a look-up, of a write and of ``group`` take: constants that were measured.

Elasticsearch 9.5.3, one node with a heap of 4 GB, and the client, on one machine of two cores (AMD EPYC), which did
nothing else; indices of 10**5 and 10**6 random documents (``scripts/benchmark --part model``). Another machine has
other times. Measure yours with the same command.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from es_simhash.sizing.model import Work

ROUND_TRIP = 1_200.0
"""µs of a request that finds nothing."""
QUERY = 150.0
"""µs of one query on one shard, without its terms."""
TERM = 2.0
"""µs of the server for one term of a query, on one shard: it parses and sorts the terms."""
SEEK = 0.5
"""µs to look up one term in one Lucene segment."""
POSTING = 0.002
"""µs to read one posting."""
CANDIDATE = 12.0
"""µs to return one candidate."""
CLIENT, CLIENT_TERM, CLIENT_CANDIDATE = 10.0, 1.0, 5.0
"""µs of the client for a look-up, for each of its terms, and for each candidate."""
WRITE = 130.0
"""µs of one core of the server to write a document of es_simhash's fields, with the merges."""
INGEST = 80.0
"""µs of the main process of an ingest for a document: docs/measurements.md, "A large load". It is the bound of one
process, however many worker processes it has."""
GROUP = 30.0
"""µs of ``group`` for a document: it reads the row, and compares the fingerprint."""
GROUP_MEMORY = 800.0
"""Bytes of the memory of ``group`` for a document."""
INGEST_MEGABYTES, WORKER_MEGABYTES = 210, 110
"""Memory of an ingest and of each worker process: docs/measurements.md, "A large load". It does not grow."""


def look_up_us(work: Work, lucene: float = 1, *, batch: int = 1, shards: int = 1) -> float:
    """Return the µs of one look-up, from the request to the answer, for one client that waits for it.

    :param lucene: Lucene segments of a shard.
    :param batch: look-ups of one request.
    :param shards: they are searched one after another. Where cores are idle, it takes less.
    """
    client = CLIENT + CLIENT_TERM * work.terms + CLIENT_CANDIDATE * work.returned
    return ROUND_TRIP / batch + client + core_us(work, lucene, shards=shards)


def core_us(work: Work, lucene: float = 1, *, shards: int = 1) -> float:
    """Return the µs of one core of the servers for one look-up."""
    return (
        shards * (QUERY / work.together + (TERM + SEEK * lucene) * work.terms)
        + POSTING * work.postings
        + CANDIDATE * work.returned
    )
