"""Pairs of documents that share keys of their texts: MinHash bands, and q-grams of short texts.

Bands: two documents that share a band are a pair. Q-grams: a similar short text shares at least t of the n q-grams of
a text (:mod:`es_simhash.search.qgrams`). So two similar texts have one of their n - t + 1 first q-grams in common, in
any one order of all q-grams (*prefix filtering*: Chaudhuri, Ganti and Kaushik, "A primitive operator for similarity
joins in data cleaning", ICDE 2006; Bayardo, Ma and Srikant, "Scaling up all pairs similarity search", WWW 2007). The
order begins with the rarest q-grams. Their Levenshtein similarity is computed where they meet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from es_simhash.search import minhash, qgrams
from es_simhash.search.keys import key_queries
from es_simhash.similarity.confirm import most_texts
from es_simhash.tools.spark.confirm import check_texts
from es_simhash.tools.spark.fingerprints import first_of_each
from es_simhash.tools.spark.frames import checkpointed
from es_simhash.tools.spark.keys import near_pairs
from es_simhash.tools.spark.near import NearSearch, word_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from es_simhash.search.keys import TextKeys
    from es_simhash.tools.spark.documents import Input
    from es_simhash.tools.spark.rule import PairRule

COMMON = 100
"""A q-gram that more texts have is called common."""
MOST_COMMON = 100_000
"""Common q-grams whose numbers of texts are known to every task: the most common ones."""
_KEYS = {
    "bands": "array<long>",
    "characters": "string",
    "grams": "array<long>",
    "prefix": "int",
    "most": "long",
}
"""The columns that hold the keys of a text, and their types."""


def pairs_by_keys(rows: DataFrame, source: Input, rule: PairRule) -> tuple[DataFrame, int]:
    """Return the pairs of documents that share keys, for each document as many earlier ones as a store compares.

    :param rows: the documents to compare: ``position``, ``id`` and the words of the fingerprint.
    :returns: ``earlier``, ``later`` and ``distance``, one more than all bits if a document has no fingerprint; and how
        many pairs were left out.
    """
    from pyspark.sql import functions as f

    assert rule.confirm is not None
    columns = ["position", *word_names(rule.bits)]
    keyed = _keyed(rows.select(*columns).join(source.texts(rows), "position"), rule)
    check_texts(keyed.where("bands IS NULL"), rows, source.text_fields)
    with_bands = keyed.selectExpr(*columns, "most", "0 AS number", "explode(bands) AS key")
    bands, bands_left_out = near_pairs(with_bands, _search(rule, None), rule.salting)
    with_grams = _first_grams(
        keyed.where("prefix > 0").select(*columns, "most", "characters", "grams", "prefix"), _common(keyed)
    )
    exploded = with_grams.selectExpr(*columns, "most", "characters", "0 AS number", "explode(grams) AS gram")
    short = exploded.withColumnRenamed("gram", "key")
    grams, grams_left_out = near_pairs(short, _search(rule, rule.confirm.least), rule.salting)
    found = checkpointed(bands.union(grams))
    left_out = bands_left_out + grams_left_out + int(found.agg(f.sum("left_out")).first()[0] or 0)
    pairs = checkpointed(found.where("left_out = 0").select("earlier", "later", "distance").distinct())
    limited = pairs.join(keyed.selectExpr("position AS later", "most"), "later")
    kept = checkpointed(first_of_each(limited, f.col("most")).select("earlier", "later", "distance"))
    return kept, left_out + pairs.count() - kept.count()


def _search(rule: PairRule, least: float | None) -> NearSearch:
    return NearSearch(rule.bits, rule.max_distance if rule.limited else None, nearest=True, least=least)


def _keyed(texts: DataFrame, rule: PairRule) -> DataFrame:
    """Compute the keys of each text once.

    :param texts: ``position``, the words of the fingerprint, and ``text``.
    :returns: in place of ``text``: ``bands``; of a text with q-grams its ``characters`` and ``grams``, and
        how many of its q-grams are enough (``prefix``), 0 if it looks for no other text; with how many earlier texts it
        is compared (``most``). They are null without a text.
    """
    assert rule.confirm is not None
    features = rule.confirm.features

    def keys_of(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        kinds = (pa.list_(pa.int64()), pa.string(), pa.list_(pa.int64()), pa.int32(), pa.int64())
        for batch in batches:
            texts = batch.column("text").to_pylist()
            values = [(None,) * len(kinds) if text is None else _values(features(text).keys, rule) for text in texts]
            kept = batch.drop_columns(["text"])
            made = [pa.array([each[index] for each in values], kind) for index, kind in enumerate(kinds)]
            yield pa.RecordBatch.from_arrays([*kept.columns, *made], names=[*kept.schema.names, *_KEYS])

    names = [name for name in texts.columns if name != "text"]
    schema = ", ".join([*(f"{name} long" for name in names), *(f"{name} {type}" for name, type in _KEYS.items())])
    return checkpointed(texts.select(*names, "text").mapInArrow(keys_of, schema))


def _values(keys: TextKeys, rule: PairRule) -> tuple[list[int], str, list[int], int, int]:
    """Return the values of the columns ``_KEYS``."""
    bands, most = list(filter(minhash.is_band, keys.shingles)), most_texts(keys.length)
    if not keys.words:
        return bands, "", [], 0, most
    assert rule.confirm is not None
    queries = key_queries(keys, rule.confirm.least)
    query = next((query for query in queries if query.lengths is not None), None)
    prefix = 0 if query is None else len(query.keys) - query.minimum + 1
    return bands, keys.words, qgrams.gram_keys(keys.words), prefix, most


def _common(keyed: DataFrame) -> dict[int, int]:
    """Return of the most common q-grams the numbers of texts that have them."""
    from pyspark.sql import functions as f

    counts = keyed.selectExpr("explode(grams) AS gram").groupBy("gram").count().where(f.col("count") > COMMON)
    return dict(counts.orderBy(f.desc("count"), "gram").limit(MOST_COMMON).collect())


def _first_grams(keyed: DataFrame, common: Mapping[int, int]) -> DataFrame:
    """Keep of the ``grams`` of each text the first ones, as many as ``prefix`` says. The rarest come first."""

    def first(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            rows = zip(batch.column("grams").to_pylist(), batch.column("prefix").to_pylist(), strict=True)
            grams = [sorted(every, key=lambda gram: (common.get(gram, 0), gram))[:prefix] for every, prefix in rows]
            kept = batch.drop_columns(["grams", "prefix"])
            made = pa.array(grams, pa.list_(pa.int64()))
            yield pa.RecordBatch.from_arrays([*kept.columns, made], names=[*kept.schema.names, "grams"])

    types = {"characters": "string", "grams": "array<long>"}
    names = [name for name in keyed.columns if name not in ("grams", "prefix")]
    schema = ", ".join(f"{name} {types.get(name, 'long')}" for name in [*names, "grams"])
    return keyed.mapInArrow(first, schema)
