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
from es_simhash.spark.confirm import check_texts
from es_simhash.spark.fingerprints import first_of_each
from es_simhash.spark.frames import settled
from es_simhash.spark.keys import near_pairs
from es_simhash.spark.near import NearSearch, word_names
from es_simhash.verbs.rule import MOST_TEXTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from es_simhash.search.keys import KeyQuery, TextKeys
    from es_simhash.spark.documents import Input
    from es_simhash.verbs.rule import ResolvedRule

COMMON = 100
"""A q-gram that more texts have is called common."""
MOST_COMMON = 100_000
"""Common q-grams whose numbers of texts are known to every task: the most common ones."""


def pairs_by_keys(rows: DataFrame, source: Input, rule: ResolvedRule) -> tuple[DataFrame, int]:
    """Return the pairs of documents that share keys, for each document at most ``MOST_TEXTS`` earlier ones.

    :param rows: the documents to compare: ``position``, ``id`` and the words of the fingerprint.
    :returns: ``earlier``, ``later`` and ``distance``, one more than all bits if a document has no fingerprint; and how
        many pairs were left out.
    """
    from pyspark.sql import functions as f

    assert rule.texts is not None
    words = word_names(rule.bits)
    every = source.texts(rows)
    check_texts(every, rows, source.text_fields)
    with_texts = settled(rows.select("position", *words).join(every, "position"))
    keys = _KeysOfTexts(rule, words)
    bands, bands_left_out = near_pairs(_rows(with_texts, keys.bands, words), _search(rule, None))
    common = with_texts.mapInArrow(keys.grams, "gram string").groupBy("gram").count().where(f.col("count") > COMMON)
    keys.common = dict(common.orderBy(f.desc("count"), "gram").limit(MOST_COMMON).collect())
    least = rule.texts.confirm.least
    grams, grams_left_out = near_pairs(_rows(with_texts, keys.prefixes, words), _search(rule, least))
    found = settled(bands.union(grams))
    left_out = bands_left_out + grams_left_out + int(found.agg(f.sum("left_out")).first()[0] or 0)
    pairs = settled(found.where("left_out = 0").select("earlier", "later", "distance").distinct())
    kept = settled(first_of_each(pairs, MOST_TEXTS))
    return kept, left_out + pairs.count() - kept.count()


def _search(rule: ResolvedRule, least: float | None) -> NearSearch:
    return NearSearch(rule.bits, rule.max_distance if rule.limited else None, MOST_TEXTS, least=least)


def _rows(
    texts: DataFrame, keys: Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]], words: list[str]
) -> DataFrame:
    made = texts.mapInArrow(
        keys, f"position long, {', '.join(f'{word} long' for word in words)}, gram string, words string"
    )
    return made.selectExpr("position", *words, "words", "0 AS number", "xxhash64(gram) AS key")


class _KeysOfTexts:
    """Makes the keys of texts in a task.

    :param common: of the most common q-grams, the numbers of texts that have them.
    """

    def __init__(self, rule: ResolvedRule, words: list[str]) -> None:
        self._rule = rule
        self._words = words
        self.common: dict[str, int] = {}

    def bands(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield a row for each MinHash band of each text."""
        for batch in batches:
            keys = [[key for key in each.values if key.startswith(minhash.KIND)] for each in self._keys(batch)]
            yield self._batch(batch, keys, [""] * len(keys))

    def grams(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the q-grams of the short texts."""
        import pyarrow as pa

        for batch in batches:
            grams = [gram for each in self._keys(batch) if each.words for gram in qgrams.gram_keys(each.words)]
            yield pa.RecordBatch.from_arrays([pa.array(grams, pa.string())], names=["gram"])

    def prefixes(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield a row for each of the first q-grams of each short text."""
        for batch in batches:
            every = list(self._keys(batch))
            queries = [self._rule.queries(keys) if keys.words else () for keys in every]
            prefixes = [self._prefix(next((q for q in some if q.lengths is not None), None)) for some in queries]
            yield self._batch(batch, prefixes, [keys.words for keys in every])

    def _prefix(self, query: KeyQuery | None) -> list[str]:
        if query is None:
            return []
        ordered = sorted(query.keys, key=lambda key: (self.common.get(key, 0), key))
        return ordered[: len(ordered) - query.minimum + 1]

    def _keys(self, batch: pa.RecordBatch) -> Iterator[TextKeys]:
        assert self._rule.texts is not None
        for text in batch.column("text").to_pylist():
            yield self._rule.texts.confirm.features(text).keys

    def _batch(self, batch: pa.RecordBatch, keys: list[list[str]], texts: list[str]) -> pa.RecordBatch:
        """Return a batch with a row for each key of each row."""
        import pyarrow as pa

        index = pa.array([row for row, some in enumerate(keys) for _ in some], pa.int64())
        columns = [batch.column(name).take(index) for name in ("position", *self._words)]
        columns.append(pa.array([key for some in keys for key in some], pa.string()))
        columns.append(pa.array(texts, pa.string()).take(index))
        return pa.RecordBatch.from_arrays(columns, names=["position", *self._words, "gram", "words"])
