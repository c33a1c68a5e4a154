"""What the parts of a look-up, of a write and of ``group`` take: constants that were measured.

Those of look-ups are fitted to ``MEASURED``: Elasticsearch 9.5.3, one shard, and the client, on one machine of two
cores (AMD EPYC) that did little else, a million and ten million random fingerprints. Another machine has other times:
``scripts/benchmark --part model`` measures them.
"""

from __future__ import annotations

from dataclasses import replace

from es_simhash.tools.sizing.model import Collection, Work, work

ROUND_TRIP = 1_200.0
"""µs of a request that finds nothing."""
QUERY = 130.0
"""µs of one query on one shard, without its terms."""
TERM = 1.0
"""µs of the server for one term of a query, on one shard: it parses and sorts the terms."""
SEEK = 0.7
"""µs to look up one term in one Lucene segment."""
POSTING = 0.01
"""µs to read one posting."""
CANDIDATE = 10.0
"""µs to return one candidate."""
CLIENT, CLIENT_TERM, CLIENT_CANDIDATE = 35.0, 0.5, 6.5
"""µs of the client for a look-up, for each of its terms, and for each candidate."""
WRITE = 87.0
"""µs of one core of the server to write a document of es_simhash's fields, with the merges (docs/measurements.md,
"Ingest and group")."""
INGEST = 55.0
"""µs of the main process of an ingest for a document: docs/measurements.md, "Ingest and group". It is the bound of one
process, however many worker processes it has."""
WRITE_KEYS = 150.0
"""The same with keys of the text: 13,220 lines of poems a second on two cores, client and server together, so it is at
most 2 s / 13,220 (scripts/study/million.md)."""
INGEST_BY_TEXTS = 650.0
"""µs of the client of an ingest by the rule ``copy`` for a document, with its keys and the comparison of texts: 750 of
695 characters, 415 to 490 of 100 characters in a load of a million (docs/measurements.md, "What each rule costs")."""
HELD = 7.3e-7
"""µs of an ingest to compare a fingerprint with each that it holds in memory: 7.3 µs with ten million."""
GROUP, LINK = 33.0, 200.0
"""µs of ``group`` to read and compare a document, and to write a link: scripts/benchmark/README.md, "Group on ten
million"."""
LINKED = 0.1
"""The part of the documents whose links ``group`` writes: as many are duplicates in that measurement."""
GROUP_MEMORY = 206.0
"""Bytes of the memory of ``group`` for a document without the pairs that texts confirm: the same measurement, with ids
of 13 characters and 64 bits."""
GROUP_MEGABYTES = 150
"""Memory of ``group`` without documents: 236 MB for 100,000 documents with keys, 86 MB of it by the figures here."""
GROUP_KEYS, GROUP_PAIR = 230.0, 300.0
"""µs of ``group`` to find the pairs of a document by the keys in its memory, and to fetch and compare the texts of a
pair. Measured in Elasticsearch: 25 s for 100,000 texts of 50 words with some 5,000 pairs, 337 s for a million of them,
9 s for 21,578 stories of a newswire, 30 s for 14,031 pages of templates."""
GROUP_KEYS_MEMORY = 400.0
"""Bytes of the memory of ``group`` for the keys of a document: 25 of 8 bytes, and as many while they are merged."""
GROUP_CANDIDATE = 105.0
"""Bytes of the memory of ``group`` for a candidate that it finds by keys of the text: 24 in its list of pairs, the rest
while equal pairs are dropped. Measured on 400,000 random pairs."""
INGEST_KEYS_MEMORY = 700.0
"""Bytes of the memory of an ingest for the keys of a document that it holds: an ingest of a million documents of 25
keys took 1,155 MB, 480 MB of it without the keys (docs/measurements.md, "What each rule costs")."""
INGEST_MEGABYTES, WORKER_MEGABYTES = 260, 110
"""Memory of an ingest, without the fingerprints that it holds, and of each worker process: docs/measurements.md,
"Ingest and group"."""


def look_up_us(work: Work, lucene: float = 1, *, batch: int = 1, shards: int = 1, at_once: int = 1) -> float:
    """Return the µs of one look-up, from the request to the answer, for one client that waits for it.

    :param lucene: Lucene segments of a shard.
    :param batch: look-ups of one request.
    :param shards: all of them are searched.
    :param at_once: searches of one shard that the servers do at the same time.
    """
    client = CLIENT + CLIENT_TERM * work.terms + CLIENT_CANDIDATE * work.returned
    return ROUND_TRIP / batch + client + core_us(work, lucene, shards=shards) / at_once


def core_us(work: Work, lucene: float = 1, *, shards: int = 1) -> float:
    """Return the µs of one core of the servers for one look-up."""
    return (
        shards * (QUERY / work.together + (TERM + SEEK * lucene) * work.terms)
        + POSTING * work.postings
        + CANDIDATE * work.returned
    )


_MILLION = Collection(1_000_000)
_TEN_MILLION = Collection(10_000_000)
_PLAN = work("plan", _TEN_MILLION), work("plan", _TEN_MILLION, 100)
MEASURED: tuple[tuple[str, Work, int, int, float], ...] = (
    ("query plan, 4 terms, one at a time", Work(4, 61, 4.2), 1, 1, 1_170),
    ("query plan, 40 terms, one at a time", Work(40, 610, 5.5), 1, 1, 1_560),
    ("query plan, 312 terms, one at a time", Work(312, 4_760, 8.3), 1, 1, 2_200),
    ("query plan, 500 terms, one at a time", Work(500, 7_630, 10.6), 1, 1, 2_860),
    ("query plan, 4 terms, k = 0, 100 at once", Work(4, 61, 1.0, 100), 100, 1, 95),
    ("query plan, 4 terms, k = 1, 100 at once", Work(4, 61, 2.4, 100), 100, 1, 87),
    ("query plan, 4 terms, k = 2, 100 at once", Work(4, 61, 4.2, 100), 100, 1, 160),
    ("query plan, 40 terms, k = 3, 100 at once", Work(40, 610, 5.5, 42), 100, 1, 245),
    ("plain OR, one at a time", Work(4, 61, 68.3), 1, 1, 1_740),
    ("ten million, plain OR, one at a time", Work(4, 613, 613), 1, 18, 20_000),
    ("ten million, plain OR, 100 at once", Work(4, 612, 612), 100, 18, 10_638),
    ("ten million, query plan, one at a time", replace(_PLAN[0], candidates=0.28), 1, 18, 3_401),
    ("ten million, query plan, 100 at once", replace(_PLAN[1], candidates=2.3), 100, 18, 625),
)
"""Look-ups that were measured: what they are, their work, look-ups in a request, Lucene segments, µs of each. Where
near fingerprints were planted, the candidates are those that were counted (scripts/benchmark/README.md,
scripts/benchmark/model.md, docs/keys.md)."""
TOO_LOW = ("ten million, plain OR, one at a time", "ten million, query plan, one at a time")
"""Look-ups of ``MEASURED`` that take up to 1.75 times as long as predicted. No plausible constants fit them and all
others: one at a time on a large index, a candidate and a list of postings take longer than in a batch."""
