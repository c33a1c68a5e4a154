"""An index of random documents, and the look-ups in it with the clauses and the options of the product."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from es_simhash.search.candidates import candidates_clause, plain_clause
from es_simhash.search.encoding import HASH_BITS, LONGER, encoded
from es_simhash.search.keys import KeyQuery, key_queries, text_keys
from es_simhash.search.look_up import choose
from es_simhash.search.minhash import BANDS
from es_simhash.stores.elasticsearch.keys import sharing_clause
from es_simhash.stores.elasticsearch.rows import row_options

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from bench import Bench

BYTES = 4_000
"""Bytes on the disk for a document, with what merges need."""
K = 3
BAND_VALUES = 100_000
"""Each band of a document is one of so many values."""
CHARACTERS, LENGTH = 1_000, 11
"""A short text has LENGTH characters, each of them one of CHARACTERS."""
TENANTS = 100
FINGERPRINTS = ("plain", "plan")
"""The ways that look fingerprints up."""


# --- the documents --------------------------------------------------------------------------------------------------


def load(bench: Bench, index: str, count: int, keys: str | None, settings: dict[str, Any] | None = None) -> None:
    """Fill an index by parallel_bulk. Its documents have random fingerprints.

    :param keys: ``shingles``; ``grams`` for short texts without fingerprints; None for none.
    :param settings: of the index. With ``routing`` the documents are routed by their tenant.
    """
    from elasticsearch.helpers import parallel_bulk

    from es_simhash import Documents

    settings = dict(settings or {})
    routed = settings.pop("routing", False)
    properties = {"tenant": {"type": "keyword"}} if routed else {}
    bench.client.indices.create(
        index=index, settings={"index": {"refresh_interval": "-1", **settings}}, mappings={"properties": properties}
    )
    with Documents(bench.client, index=index) as documents:
        documents.setup(keys=keys is not None)
    lines = short_texts(bench, count) if keys == "grams" else documents_of(bench, count, keys, routed=routed)
    for ok, item in parallel_bulk(
        bench.client, lines, thread_count=2, chunk_size=2_000, index=index, expand_action_callback=lambda line: line
    ):
        assert ok, item
    bench.client.indices.refresh(index=index)


def documents_of(bench: Bench, count: int, keys: str | None, *, routed: bool) -> Iterator[tuple[str, str]]:
    """Yield the lines of bulk requests."""
    for number in range(count):
        value = bench.rng.getrandbits(64)
        digits = f"{value:016x}"
        ours: dict[str, Any] = {f"s{segment}": digits[4 * segment : 4 * segment + 4] for segment in range(4)}
        ours |= {"fp": value - (value >> 63 << 64), "digest": f"{bench.rng.getrandbits(128):032x}"}
        ours |= {"group": str(number), "written": number + 1}
        if keys:
            ours |= {"keys": encoded(bands_of(bench)), "length": 200}
        tenant = f"t{number % TENANTS}"
        routing = f',"routing":"{tenant}"' if routed else ""
        own = f',"tenant":"{tenant}"' if routed else ""
        source = json.dumps(ours, separators=(",", ":"))
        yield f'{{"index":{{"_id":"{number}"{routing}}}}}', f'{{"simhash":{source}{own}}}'


def short_texts(bench: Bench, count: int) -> Iterator[tuple[str, str]]:
    """Yield the lines of bulk requests: documents with a digest and the q-grams of a random short text."""
    for number in range(count):
        keys = text_keys(short_text(bench))
        ours: dict[str, Any] = {"keys": encoded(keys.values), "length": keys.length}
        ours |= {"digest": f"{bench.rng.getrandbits(128):032x}", "written": number + 1}
        source = json.dumps(ours, separators=(",", ":"), ensure_ascii=False)
        yield f'{{"index":{{"_id":"{number}"}}}}', f'{{"simhash":{source}}}'


def short_text(bench: Bench) -> str:
    return "".join(chr(0x4E00 + bench.rng.randrange(CHARACTERS)) for _ in range(LENGTH))


def bands_of(bench: Bench) -> list[int]:
    """Return the MinHash bands of a text, each one of BAND_VALUES values. No two bands have a value in common."""
    step = (1 << HASH_BITS) // (BANDS * BAND_VALUES)
    chosen = bench.rng.choices(range(BAND_VALUES), k=BANDS)
    return [LONGER << HASH_BITS | step * (BANDS * value + band) for band, value in enumerate(chosen)]


# --- look-ups -------------------------------------------------------------------------------------------------------


def queries_of(bench: Bench, way: str, count: int) -> list[Any]:
    """Return what is looked up: fingerprints, or conditions on keys."""
    if way in FINGERPRINTS:
        return [bench.rng.getrandbits(64) for _ in range(count)]
    if way == "shingles":
        return [KeyQuery(tuple(bands_of(bench)), 1) for _ in range(count)]
    return [key_queries(text_keys(short_text(bench)), 0.8)[0] for _ in range(count)]


def clause_of(way: str, queries: Sequence[Any]) -> dict[str, Any]:
    """Return the clause that looks these queries up together."""
    if way == "plain":
        return plain_clause(queries[0])
    if way == "plan":
        return candidates_clause(queries)
    return sharing_clause(queries)


def together_of(way: str, size: int, documents: int) -> int:
    """Return how many of a batch of look-ups are one query."""
    return min(size, choose(size, K, 64, documents).together) if way == "plan" else 1


def search_of(
    bench: Bench, index: str, way: str, together: int, tenant: str | None = None, *, routed: bool = True
) -> Callable[[Sequence[Any]], object]:
    """Return a search of a batch: one request, with the options of the product.

    :param tenant: only its documents are found.
    :param routed: only the shard of the tenant is searched.
    """
    scored = way in ("shingles", "grams")
    options: dict[str, Any] = {"size": 1_000, "_source": False, **row_options(), "sort": ["_doc"]}
    header: dict[str, Any] = {"index": index}
    if scored:
        options |= {"size": 21, "sort": ["_score"], "track_total_hits": True}
        header["search_type"] = "dfs_query_then_fetch"
    if tenant and routed:
        header["routing"] = tenant
    only = {"filter": [{"term": {"tenant": tenant}}]} if tenant else {}

    def search(queries: Sequence[Any]) -> object:
        lines = []
        for some in chunks(queries, together):
            clause = clause_of(way, some)
            query = {"must": [clause], **only} if scored else {"filter": [clause, *only.get("filter", ())]}
            lines += [header, {"query": {"bool": query}, **options}]
        responses = bench.client.msearch(searches=lines)["responses"]
        for each in responses:
            if "error" in each:
                raise RuntimeError(each["error"])
        return responses

    return search


def terms_of(clause: Any) -> Iterator[tuple[str, str]]:
    """Yield the field and the value of each term of a clause."""
    if isinstance(clause, list):
        for each in clause:
            yield from terms_of(each)
    elif isinstance(clause, dict):
        for kind, inner in clause.items():
            if kind in ("term", "terms"):
                ((field, values),) = inner.items()
                yield from ((field, value) for value in (values if isinstance(values, list) else [values]))
            else:
                yield from terms_of(inner)


def chunks(values: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    for start in range(0, len(values), size):
        yield values[start : start + size]
