"""What the parts of a look-up, of a write and of ``group`` take: constants that were measured.

Look-ups: Elasticsearch 9.5.3, one shard, and the client, on one machine of two cores (AMD EPYC) that did nothing else; a
million random fingerprints. The constants are fitted to these figures (``scripts/benchmark --part search``), and give
each of them within 1.5 times:

- the query plan at max_distance 0 to 7, one at a time: 1.17 to 2.86 ms for 4 to 500 terms; in batches of 100, at 0 to
  3: 11,497 to 4,085 a second;
- the plain OR, one at a time: 1.74 ms with 68 candidates;
- block keys, one at a time: 758 a second; in batches of 100: 10,816; of 500: 16,440;
- block keys in batches of 100, in 14 Lucene segments and in one: 7,000 and 13,500 a second.

Another machine has other times. Measure yours with ``scripts/benchmark --part model``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from es_simhash.sizing.model import Work

ROUND_TRIP = 1_000.0
"""µs of a request that finds nothing."""
QUERY = 100.0
"""µs of one query on one shard, without its terms."""
TERM = 1.9
"""µs of the server for one term of a query, on one shard: it parses and sorts the terms."""
SEEK = 0.5
"""µs to look up one term in one Lucene segment."""
POSTING = 0.002
"""µs to read one posting."""
CANDIDATE = 8.0
"""µs to return one candidate."""
CLIENT, CLIENT_TERM, CLIENT_CANDIDATE = 45.0, 0.8, 5.0
"""µs of the client for a look-up, for each of its terms, and for each candidate."""
WRITE = 130.0
"""µs of one core of the server to write a document of es_simhash's fields, with the merges: ``parallel_bulk`` writes
15,040 a second on two cores (docs/measurements.md, "A large load"), so it is at most 2 s / 15,040."""
INGEST = 80.0
"""µs of the main process of an ingest for a document: docs/measurements.md, "A large load". It is the bound of one
process, however many worker processes it has."""
GROUP, LINK = 33.0, 200.0
"""µs of ``group`` to read and compare a document, and to write a link: docs/measurements.md, "Group on ten million"."""
LINKED = 0.1
"""The part of the documents whose links ``group`` writes: as many are duplicates in the pool of that measurement."""
GROUP_MEMORY = 206.0
"""Bytes of the memory of ``group`` for a document: the same measurement."""
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
