"""A million short texts: does search by keys find every duplicate, and what does it cost?

    python scripts/study/decisions.py --folder DIR --fetch
    python scripts/study/million.py --folder DIR                                  in an SQLite file
    python scripts/study/million.py --folder DIR --store http://localhost:9200    in two indices

The texts are --count lines of poems (chinese-poetry), or those of --texts FILE, of up to 60 word characters. They are
written without a look-up: into SQLite by `Write` requests, into Elasticsearch by the client's `parallel_bulk`, in turns
into an index with keys and one without, both merged to one segment at the end. The indices (--index) are deleted before
and after.

Queries are --queries lines: every second as it is, the others with one or two characters replaced, inserted or deleted.
Truth is every other text with a Levenshtein similarity of 0.8 or more to the query: each is compared with each.
`similar` takes turns with a search that has nothing to find.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import tempfile
import time
from itertools import chain
from pathlib import Path

import numpy as np
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist
from tqdm import tqdm

import corpora
from es_simhash import Documents, Fingerprinter
from es_simhash.contract import Entry, Row
from es_simhash.fingerprinting.normalisation import normalise, word_characters
from es_simhash.search.keys import SHORT, text_keys
from es_simhash.stores.sqlite.store import SqliteStore

LEAST = 0.8
CHUNK = 10_000


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path("study-corpora"), help="default: %(default)s")
    parser.add_argument("--texts", type=Path, help="JSON lines with `text`, in place of the poems")
    parser.add_argument("--store", metavar="URL", help="URL of an Elasticsearch; default: an SQLite file")
    parser.add_argument("--index", default="million", help="prefix of the names of the indices; default: %(default)s")
    parser.add_argument("--count", type=int, default=1_000_000, help="default: %(default)s")
    parser.add_argument("--queries", type=int, default=400, help="default: %(default)s")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    texts = corpora.read(arguments.texts) if arguments.texts else corpora.verses(arguments.folder)
    texts = [text for text in texts if 0 < len(word_characters(normalise(text))) <= SHORT]
    texts = rng.sample(texts, min(arguments.count, len(texts)))
    queries = [
        text if n % 2 else edited(text, rng)
        for n, text in enumerate(rng.sample(texts, min(arguments.queries, len(texts))))
    ]
    print(f"\n## {len(texts):,} short texts in {'Elasticsearch' if arguments.store else 'SQLite'}\n", flush=True)
    (in_elasticsearch if arguments.store else in_sqlite)(arguments, texts, queries)


def edited(text, rng):
    for _ in range(rng.randint(1, 2)):
        position = rng.randrange(len(text))
        put, over = rng.choice([(True, 1), (True, 0), (False, 1)])  # replace, insert or delete a character
        text = text[:position] + rng.choice(text) * put + text[position + over :]
    return text


def entries(texts):
    """Yield the documents with their fingerprints and keys."""
    fingerprinter = Fingerprinter()
    for number, text in enumerate(tqdm(texts, disable=None)):
        made = fingerprinter.fingerprint(text)
        keys = text_keys(normalise(text))
        row = Row(str(number), made.value, made.digest, str(number), None, number + 1, None, keys.values, keys.length)
        yield Entry(row, json.dumps({"id": number, "text": text}, ensure_ascii=False))


def chunks(texts):
    made = entries(texts)
    while chunk := [entry for entry, _ in zip(made, range(CHUNK), strict=False)]:
        yield chunk


# --- SQLite --------------------------------------------------------------------------------------------------


def in_sqlite(_, texts, queries):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "million.db"
        with Documents(f"sqlite:///{path}") as documents:
            documents.setup(keys=True)
        store, seconds = SqliteStore(str(path)), 0.0
        for chunk in chunks(texts):
            started = time.perf_counter()
            store.write(tuple(chunk), 64)
            seconds += time.perf_counter() - started
        store.close()
        print(f"- written: {len(texts) / seconds:,.0f} documents a second")
        print(f"- the file: {path.stat().st_size / len(texts):,.0f} bytes a document")
        with Documents(f"sqlite:///{path}") as documents:
            measured(documents, texts, queries, lambda: documents.fetch(["none"]))


# --- Elasticsearch -------------------------------------------------------------------------------------------


def in_elasticsearch(arguments, texts, queries):
    from elasticsearch import Elasticsearch
    from elasticsearch.helpers import parallel_bulk

    from es_simhash.stores.elasticsearch.rows import write_operation

    client = Elasticsearch(arguments.store, request_timeout=600)
    names = (f"{arguments.index}-keys", f"{arguments.index}-none")
    client.indices.delete(index=",".join(names), ignore_unavailable=True)
    for name in names:
        with Documents(client, index=name) as documents:
            documents.setup(keys=name == names[0])
    seconds = dict.fromkeys(names, 0.0)

    def load(name, chunk):
        def operation(entry):
            row = entry.row if name == names[0] else Row(*(getattr(entry.row, field) for field in FIELDS))
            return write_operation(Entry(row, entry.source), 64, None, {})  # new, so it needs no index

        started = time.perf_counter()
        for ok, item in parallel_bulk(
            client, chunk, thread_count=2, chunk_size=2_000, index=name, expand_action_callback=operation
        ):
            assert ok, item
        seconds[name] += time.perf_counter() - started

    for number, chunk in enumerate(chunks(texts)):
        for name in names if number % 2 else reversed(names):
            load(name, chunk)
    client.indices.forcemerge(index=",".join(names), max_num_segments=1)
    client.indices.flush(index=",".join(names))
    print("| | without keys | with keys |\n|---|---|---|")
    sizes = [client.indices.stats(index=name)["indices"][name]["primaries"]["store"]["size_in_bytes"] for name in names]
    print(f"| bytes a document, with its source | {sizes[1] / len(texts):,.0f} | {sizes[0] / len(texts):,.0f} |")
    rates = [len(texts) / seconds[name] for name in names]
    print(f"| documents a second, bulk | {rates[1]:,.0f} | {rates[0]:,.0f} |\n")

    def nothing():
        client.search(index=names[0], query={"match_none": {}}, size=0)

    with Documents(client, index=names[0]) as documents:
        measured(documents, texts, queries, nothing)
    client.indices.delete(index=",".join(names))
    client.close()


FIELDS = ("id", "fingerprint", "digest", "group", "duplicate_of", "written")

# --- search --------------------------------------------------------------------------------------------------


def measured(documents, texts, queries, nothing):
    """Print the recall, and the times of one search and of batches."""
    found, taken, empty = [], [], []
    for query in queries[:20]:
        documents.similar(query, confirm=LEAST)  # warm up
    for query in tqdm(queries, disable=None):
        taken.append(timed(lambda query=query: found.append(documents.similar(query, confirm=LEAST))))
        empty.append(timed(nothing))
    true = truth(texts, queries)
    ids = [{int(match.id) for match in matches if match.similarity < 1} for matches in found]
    hits = sum(len(mine & theirs) for mine, theirs in zip(ids, true, strict=True))
    every, all_found = sum(map(len, true)), sum(map(len, ids))
    print(
        f"- {len(queries)} queries with {every} true texts: recall {hits / every:.4f}, precision {hits / all_found:.4f}"
    )
    print(f"- incomplete answers: {sum(not matches.complete for matches in found)}")
    p50, nothing_p50 = (1000 * statistics.median(times) for times in (taken, empty))
    print(
        f"- p50 of `similar`, which reads texts too: {p50:.2f} ms; of a search that finds nothing: {nothing_p50:.2f} ms"
    )
    speeds = {1: len(taken) / sum(taken)}
    many = list(chain.from_iterable([queries] * -(-500 // len(queries))))
    for size in (100, 500):
        batches = [many[start : start + size] for start in range(0, len(many) - size + 1, size)]
        seconds = sum(timed(lambda batch=batch: documents.similar_many(batch, confirm=LEAST)) for batch in batches)
        speeds[size] = size * len(batches) / seconds
    print(f"- look-ups a second: {', '.join(f'{rate:,.0f} in batches of {size}' for size, rate in speeds.items())}")
    sys.stdout.flush()


def timed(function):
    started = time.perf_counter()
    function()
    return time.perf_counter() - started


def truth(texts, queries):
    """Return for each query the positions of the texts with a Levenshtein similarity from ``LEAST`` up to 1."""
    scorer, words = Levenshtein.normalized_similarity, [word_characters(normalise(text)) for text in texts]
    found = []
    for start in tqdm(range(0, len(queries), 20), desc="truth", disable=None):
        asked = [word_characters(normalise(query)) for query in queries[start : start + 20]]
        # With the threshold itself as cutoff, some pairs at exactly the threshold are lost.
        alike = cdist(asked, words, scorer=scorer, score_cutoff=LEAST - 0.001, dtype=np.float64, workers=-1)
        found += [set(np.flatnonzero((row >= LEAST) & (row < 1)).tolist()) for row in alike]
    return found


if __name__ == "__main__":
    main()
