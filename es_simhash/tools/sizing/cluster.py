"""The size of a cluster: from a number of documents and a rate to bytes, shards, nodes and times."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from math import ceil, log10
from typing import TYPE_CHECKING, Any

from es_simhash.search.key_table import most_texts_held
from es_simhash.search.look_up import UNION
from es_simhash.search.near_index import LARGEST_DISTANCE, most_held
from es_simhash.tools.sizing.costs import (
    GROUP,
    GROUP_CANDIDATE,
    GROUP_KEYS,
    GROUP_KEYS_MEMORY,
    GROUP_MEGABYTES,
    GROUP_MEMORY,
    GROUP_PAIR,
    HELD,
    INGEST,
    INGEST_BY_TEXTS,
    INGEST_KEYS_MEMORY,
    INGEST_MEGABYTES,
    LINK,
    LINKED,
    ROUND_TRIP,
    WORKER_MEGABYTES,
    WRITE,
    WRITE_KEYS,
    core_us,
    look_up_us,
)
from es_simhash.tools.sizing.disk import bytes_by_field, cached_bytes
from es_simhash.tools.sizing.model import MOST_RETURNED, mean_work, way_of, work

if TYPE_CHECKING:
    from es_simhash.tools.sizing.model import Collection, Way, Work

CORES, MEMORY, DISK = 8, 64e9, 2e12
"""The node that is assumed: its cores, bytes of memory, bytes of disk."""
FILE_CACHE = 0.5
"""The part of a node's memory that keeps files. The other half is the heap, as Elasticsearch advises."""
FULL = 0.85
"""Elasticsearch puts no more shards on a disk that is fuller: its low watermark."""
BUSY = 0.5
"""The part of the cores that work at the rate: the rest is for merges, other searches, and a node that is down."""
SHARD_BYTES, SHARD_DOCUMENTS = 50e9, 200_000_000
"""The largest shard that Elasticsearch advises ("Size your shards")."""
MERGED = 5e9
"""Bytes of the largest Lucene segment that merges make."""
SMALLEST = 2e6
"""Bytes of the smallest Lucene segments of a shard that is written to."""
INGESTED_AT_ONCE = 500
"""Documents of one request of an ingest."""
GROUPED_AT_ONCE = 100
"""Documents whose keys ``group`` looks up in one request."""
STEPS = 20
"""Points of a load at which the time of a document is computed."""


@dataclass(frozen=True)
class Size:
    """What an index of a number of documents takes.

    :param way: how a batch is looked up.
    :param look_up: the work of one look-up in a batch, in the mean.
    :param hot_look_up: that of a document with the hot segment; None without one.
    :param fields: bytes of a document by field, without replicas.
    :param disk_bytes: of all documents, with replicas.
    :param cache_bytes: what look-ups and writes read of them: it should fit into the memory for files.
    :param lucene_segments: of a shard that is written to.
    :param one_ms: milliseconds of a look-up by itself.
    :param core_ms: milliseconds of one core of the servers for a look-up in a batch.
    :param look_ups: a second, of all nodes.
    :param nodes: the most of ``nodes_for``, and one more than the replicas at least.
    :param nodes_for: the nodes that the disk, the memory for files and the rate need, each by itself.
    :param load_seconds: of an ingest of all documents by one process into an empty index.
    :param group_seconds: of ``group`` of all documents; with keys it includes the comparison of texts.
    :param ingest_bytes: memory of an ingest with two worker processes.
    :param group_bytes: memory of ``group``; with keys it includes the candidates by chance.
    """

    documents: int
    way: Way
    look_up: Work
    hot_look_up: Work | None
    fields: dict[str, float]
    disk_bytes: float
    cache_bytes: float
    shards: int
    lucene_segments: float
    one_ms: float
    core_ms: float
    look_ups: float
    nodes: int
    nodes_for: dict[str, int]
    load_seconds: float
    group_seconds: float
    ingest_bytes: float
    group_bytes: float

    @property
    def document_bytes(self) -> float:
        """Bytes of a document, without replicas."""
        return sum(self.fields.values())

    def to_dict(self) -> dict[str, Any]:
        """Return the size as a JSON object."""
        return asdict(self) | {"document_bytes": self.document_bytes}


def size_of(
    collection: Collection, rate: float, *, keys: bool = False, source_bytes: float = 1_000, replicas: int = 1
) -> Size:
    """Return what an index takes.

    :param collection: all documents.
    :param rate: documents a second that are written, each after a look-up.
    :param keys: the index has keys, and the texts confirm.
    :param source_bytes: bytes of a document's own fields in the index.
    :param replicas: copies of each shard besides the first.
    """
    way = way_of(collection, keys=keys)
    shards, fields = _shards(collection, keys, source_bytes)
    document = sum(fields.values())
    lucene = lucene_segments(collection.documents / shards * document)
    look_up = mean_work(way, collection, UNION)
    alone = mean_work(way_of(collection, 1, keys=keys), collection)
    core = core_us(look_up, lucene, shards=shards)
    copies = 1 + replicas
    disk, cache = collection.documents * document * copies, collection.documents * cached_bytes(fields) * copies
    write = (WRITE_KEYS if keys else WRITE) * copies
    a_document = core + write
    nodes_for = {
        "disk": ceil(disk / (DISK * FULL)),
        "memory": ceil(cache / (MEMORY * FILE_CACHE)),
        "rate": ceil(rate * a_document / 1e6 / (CORES * BUSY)),
    }
    nodes = max(copies, *nodes_for.values())
    keys_us, keys_bytes = (0.0, 0.0)
    if keys:
        keys_us, keys_bytes = _group_by_keys(collection.documents, look_up, lucene, shards, nodes * CORES)
    return Size(
        documents=collection.documents,
        way=way,
        look_up=look_up,
        hot_look_up=work(way, collection, UNION, hot=True) if collection.hot else None,
        fields=fields,
        disk_bytes=disk,
        cache_bytes=cache,
        shards=shards,
        lucene_segments=lucene,
        one_ms=look_up_us(alone, lucene, shards=shards, at_once=min(shards, nodes * CORES)) / 1e3,
        core_ms=core / 1e3,
        look_ups=nodes * CORES * BUSY / core * 1e6,
        nodes=nodes,
        nodes_for=nodes_for,
        load_seconds=_load_seconds(collection, way, shards, document, write, nodes * CORES),
        group_seconds=collection.documents * (GROUP + LINKED * LINK + keys_us) / 1e6,
        ingest_bytes=(INGEST_MEGABYTES + 2 * WORKER_MEGABYTES) * 1e6 + _held_bytes(collection, way),
        group_bytes=GROUP_MEGABYTES * 1e6 + collection.documents * (GROUP_MEMORY + keys_bytes),
    )


def lucene_segments(shard_bytes: float) -> float:
    """Return about how many Lucene segments a shard has while it is written to.

    Merges keep up to ten segments of each class of sizes, five in the mean; a class is ten times as large as the one
    below. Segments of MERGED bytes are not merged any more.
    """
    growing = min(shard_bytes, MERGED)
    return shard_bytes // MERGED + 5 * max(1.0, log10(growing / SMALLEST))


def _shards(collection: Collection, keys: bool, source_bytes: float) -> tuple[int, dict[str, float]]:
    """Return the number of shards, and the bytes by field of a document in one of them."""
    shards = ceil(collection.documents / SHARD_DOCUMENTS)
    while True:
        fields = bytes_by_field(
            replace(collection, documents=-(-collection.documents // shards)), keys=keys, source_bytes=source_bytes
        )
        needed = ceil(collection.documents * sum(fields.values()) / SHARD_BYTES)
        if needed <= shards:
            return shards, fields
        shards = needed


def _group_by_keys(documents: int, look_up: Work, lucene: float, shards: int, cores: int) -> tuple[float, float]:
    """Return what ``group`` takes in addition for a document with keys: µs, and bytes of the keys and of the pairs.

    If the keys of all documents are too many for the memory, each document is looked up, a hundred in a request. That
    takes the client at least as long as a search in its memory. The document itself is no candidate. Each pair is found
    twice, and its texts are compared once.
    """
    others = min(look_up.candidates, MOST_RETURNED - 1)
    client, pairs = GROUP_KEYS + GROUP_PAIR * others / 2, GROUP_CANDIDATE * others
    if documents <= most_texts_held(MEMORY):
        return client, GROUP_KEYS_MEMORY + pairs
    at_once = min(cores, GROUPED_AT_ONCE * shards)
    found = look_up_us(look_up, lucene, batch=GROUPED_AT_ONCE, shards=shards, at_once=at_once)
    return client + ROUND_TRIP / GROUPED_AT_ONCE + found, pairs


def _held(collection: Collection, way: Way) -> int:
    """Return how many fingerprints an ingest on a machine with ``MEMORY`` holds, to look up almost no document."""
    if way == "shingles" or collection.max_distance > LARGEST_DISTANCE:
        return 0
    return min(collection.documents, most_held(MEMORY, collection.bits))


def _held_bytes(collection: Collection, way: Way) -> float:
    """Return the bytes of the fingerprints, or of the keys, that an ingest on a machine with ``MEMORY`` holds."""
    if way == "shingles":
        return min(collection.documents, most_texts_held(MEMORY)) * INGEST_KEYS_MEMORY
    return _held(collection, way) * collection.bits / 2


def _load_seconds(collection: Collection, way: Way, shards: int, document: float, write: float, cores: int) -> float:
    """Return the seconds of a load by one process: it waits for its own work, for the look-ups or for the servers."""
    seconds = 0.0
    client = INGEST_BY_TEXTS if way == "shingles" else INGEST
    held = _held(collection, way)
    for step in range(STEPS):
        so_far = max(1, int(collection.documents * (step + 0.5) / STEPS))
        core, waits = 0.0, HELD * so_far
        if so_far > held:
            hot = min(so_far, int(collection.hot * so_far / collection.documents))
            look_up = mean_work(way, replace(collection, documents=so_far, hot=hot), UNION)
            core = core_us(look_up, lucene_segments(so_far / shards * document), shards=shards)
            at_once = min(cores, max(1, INGESTED_AT_ONCE // look_up.together) * shards)
            waits = ROUND_TRIP / INGESTED_AT_ONCE + core / at_once
        seconds += max(client, waits, (core + write) / cores) * collection.documents / STEPS / 1e6
    return seconds
