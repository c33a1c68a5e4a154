"""Who is a copy of whom, of the documents of many machines? ``group`` and ``load`` ask it.

Spark makes the keys of the texts, joins documents on common keys, and compares the texts of each pair. The pairs of
copies are few. So one process decides with them, in the order of the documents, as ``group`` does: a document is a copy
of the most similar original before it; else it is an original itself. A group is an original and its copies.

PySpark is imported where it is used (the extra ``spark``).
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from functools import partial
from itertools import compress, pairwise
from typing import TYPE_CHECKING, Any

import elasticsearch.helpers
import numpy as np

from es_simhash import DuplicateRule, Fingerprinter, InputError, Row
from es_simhash.caches import cache_of_short
from es_simhash.decide.judge import Side, judge
from es_simhash.decide.rule import LIKELIEST, ResolvedRule
from es_simhash.similarity.confirm import TextFeatures
from es_simhash.text.keys import key_queries, keys_of_texts, share_enough
from es_simhash.text.normalisation import compared_characters_of_texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import pandas as pd
    import pyarrow as pa
    from elasticsearch import Elasticsearch
    from pyspark.sql import DataFrame

    from es_simhash.decide.judge import Judged

ENTRIES_OF_QUERY = 4_000
"""As in memory, the rarest keys of a query are read as far as they have so many entries together. Here it is twice as
many: among 100 million documents that loses a tenth as many copies."""
_HELD, _LONGEST_HELD = 200, 100_000
"""Texts whose features are held in a task. Pairs come in the order of one of their documents."""
_BITS = 64
_COMMON = 4
"""How many of the rarest keys of a query must be common: more exclude few pairs, and take more keys."""
MADE = "position long, id string, text string, digest string, fingerprint string, length long"
"""Documents with their normalised texts. The fingerprint has hexadecimal digits. A blank text has no digest."""
_ENOUGH = 12
"""What the common keys of two documents must weigh: so much a band, as one is enough, and a part of it a q-gram. Each
number up to ``_COMMON`` divides it."""
_KEYS = "position long, most int, query int, minimum int, key long"
_PAIRS = "later long, earlier long, unlike double"
_log = logging.getLogger("es_simhash")


@dataclass(frozen=True)
class Grouping:
    """What a copy is.

    :param rule: it does not count times.
    :param fingerprinter: of the Scheme.
    """

    rule: DuplicateRule
    fingerprinter: Fingerprinter

    def __post_init__(self) -> None:
        if self.rule.within is not None:
            raise InputError("Spark does not count times: use a rule without within, or es-simhash group")

    def fingerprints(self, frames: Iterable[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        """Yield ``MADE`` of the documents of frames with position, id and text."""
        for frame in frames:
            frame["text"] = [self.fingerprinter.scheme.normalise(text) for text in frame["text"]]
            made = self.fingerprinter.fingerprints_normalised(frame["text"].tolist())
            frame["digest"] = ["" if each.blank else each.digest for each in made]
            frame["fingerprint"] = [each.hex for each in made]
            frame["length"] = [len(words) for words in compared_characters_of_texts(frame["text"].tolist())]
            yield frame

    def keys(self, frames: Iterable[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        """Yield ``_KEYS`` of the documents of frames. A copy has at least ``minimum`` keys of a query."""
        import pandas as pd

        for frame in frames:
            heads: list[tuple[int, int, int, int, int]] = []
            keys: list[int] = []
            for position, most, queries in self._queries(frame):
                for number, (minimum, of_query) in enumerate(queries):
                    heads.append((position, most, number, minimum, len(of_query)))
                    keys += of_query
            *columns, sizes = np.array(heads, dtype=np.int64).reshape(-1, 5).T
            repeated = (np.repeat(column, sizes) for column in columns)
            names = ["position", "most", "query", "minimum", "key"]
            yield pd.DataFrame(dict(zip(names, [*repeated, np.array(keys, dtype=np.int64)], strict=True)))

    def _queries(self, frame: pd.DataFrame) -> Iterator[tuple[int, int, list[tuple[int, Sequence[int]]]]]:
        """Yield the position of each document, with how many it is compared at most, and its queries (minimum, keys).

        The last query has the keys of no query.
        """
        positions, least = frame["position"].tolist(), self.rule.min_similarity
        rule = ResolvedRule(self.rule, self.fingerprinter, keys=True)
        if least is None:
            for position, digits in zip(positions, frame["fingerprint"], strict=True):
                blocks = [] if digits is None else _blocks(int(digits, 16), self.rule.max_distance or 0)
                yield position, rule.most(None), [(1, blocks)]
            return
        for position, keys in zip(positions, keys_of_texts(frame["text"].tolist()), strict=True):
            queries = [(each.minimum, each.keys) for each in key_queries(keys, least)]
            others = tuple(set(keys.values).difference(*(asked for _, asked in queries)))
            yield position, rule.most(keys), [*queries, (len(others) + _COMMON, others)]

    def copies(self, frames: Iterable[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        """Yield ``_PAIRS`` that are copies, of pairs with their texts and fingerprints."""
        rule = ResolvedRule(self.rule, self.fingerprinter, keys=True)
        features = cache_of_short(_HELD, _LONGEST_HELD)(
            partial(TextFeatures, fingerprinter=self.fingerprinter, is_normalised=True)
        )

        def side(text: str, fingerprint: str | None, length: int) -> Side:
            value = None if fingerprint is None else int(fingerprint, 16)
            return Side(Row("", value, "", length), features(text) if rule.compares_texts else None)

        for frame in frames:
            later = map(side, frame["later_text"], frame["later_fingerprint"], frame["later_length"])
            earlier = map(side, frame["earlier_text"], frame["earlier_fingerprint"], frame["earlier_length"])
            pairs = list(zip(later, earlier, strict=True))
            is_far = [rule.are_far_apart(one.row, other.row) for one, other in pairs]
            is_read = (frame["rank"] <= LIKELIEST) | ~np.array(is_far, dtype=np.bool_)
            judged = [_judged(*pair, rule) for pair in compress(pairs, is_read)]
            unlike = [-(each.similarity or 0.0) if rule.compares_texts else each.distance or 0 for each in judged]
            compared = frame[is_read].assign(unlike=unlike)
            yield compared[[each.relation == "copy" for each in judged]][["later", "earlier", "unlike"]]


def _judged(later: Side, earlier: Side, rule: ResolvedRule) -> Judged:
    """Return what a document is to one that shares a key with it: different, unless the keys are enough."""
    [judged] = judge(later, [earlier], rule)
    least = rule.chosen.min_similarity
    if least is None or later.text is None or earlier.text is None or judged.relation != "copy":
        return judged
    return judged if share_enough(later.text.keys, earlier.text.keys, least) else replace(judged, relation="different")


def _blocks(fingerprint: int, max_distance: int) -> list[int]:
    """Return hashes of blocks of the bits, and of their places: fingerprints within max_distance have one in common."""
    edges = [_BITS * number // (max_distance + 1) for number in range(max_distance + 2)]
    return [hash((low, fingerprint >> low & (1 << high - low) - 1)) for low, high in pairwise(edges)]


def group_frame(documents: DataFrame, grouping: Grouping, order: str | None = None) -> DataFrame:
    """Return ``id``, ``group`` and ``duplicate_of`` of each document.

    :param documents: with the columns ``id`` and those of the text.
    :param order: name of the column by which documents are earlier or later, such as a time; None for their ids.
    :raises InputError: if a column is missing, if a document has no id, order or text, or if two have one id.
    """
    from pyspark.sql import functions as f

    placed = _placed(documents, grouping.rule.text_fields, order)
    made = on_disk(placed.mapInPandas(grouping.fingerprints, MADE))
    linked = linked_frame(made, made.select("position", "id", "digest"), grouping)
    return linked.select("id", "group", f.when(f.col("group") != f.col("id"), f.col("group")).alias("duplicate_of"))


def linked_frame(made: DataFrame, documents: DataFrame, grouping: Grouping) -> DataFrame:
    """Return documents with the first of their text, and with the position (``original``) and id (``group``) of theirs.

    :param made: ``MADE``.
    :param documents: position, id and digest of those that are grouped, and other columns.
    """
    from pyspark.sql import functions as f
    from pyspark.sql import window

    earliest = f.min("position").over(window.Window.partitionBy("digest"))
    with_text = documents.where("digest <> ''").select("position", earliest.alias("first"))
    text = f.lit("").alias("text") if grouping.rule.min_similarity is None else "text"
    texts = made.select("position", text, "fingerprint", "length")
    firsts = on_disk(texts.join(with_text.where("position = first").select("position"), "position"))
    links = made.sparkSession.createDataFrame(_links(_copies(firsts, grouping).toArrow()))
    originals = documents.select(f.col("position").alias("original"), f.col("id").alias("group"))
    linked = documents.join(with_text, "position", "left").join(links, "first", "left")
    return linked.withColumn("original", f.coalesce("original", "first", "position")).join(originals, "original")


def _placed(documents: DataFrame, text_fields: Sequence[str], order: str | None) -> DataFrame:
    """Return position, id and text of the documents, in their order."""
    from pyspark.sql import functions as f

    if missing := {"id", *text_fields, *([order] if order else [])} - set(documents.columns):
        raise InputError(f"the input has no column {', '.join(sorted(missing))}: it has {', '.join(documents.columns)}")
    text = f.when(f.coalesce(*text_fields).isNotNull(), f.concat_ws("\n", *text_fields))
    by = f.col(order or "id")
    columns = documents.select(f.col("id").cast("string").alias("id"), by.alias("place"), text.alias("text"))
    empty = columns.where("id IS NULL OR place IS NULL OR text IS NULL").first()
    if empty is not None:
        raise InputError(f"a document has no id, order or text: {empty.asDict()}")
    twice = columns.groupBy("id").count().where("count > 1").first()
    if twice is not None:
        raise InputError(f"{twice['count']:,} documents have the id {twice['id']!r}: give each an id of its own")
    placed = columns.orderBy("place", "id").withColumn("position", f.monotonically_increasing_id())
    return on_disk(placed.drop("place"))


def on_disk(frame: DataFrame) -> DataFrame:
    """Keep a DataFrame once it is computed. What a lost node had is computed again."""
    from pyspark import StorageLevel

    return frame.persist(StorageLevel.DISK_ONLY)


def _copies(firsts: DataFrame, grouping: Grouping) -> DataFrame:
    """Return the pairs of different texts that are copies: later, earlier, and the smaller the more alike they are."""
    from pyspark.sql import functions as f
    from pyspark.sql import window

    if grouping.rule.rule == "exact":
        return firsts.sparkSession.createDataFrame([], _PAIRS)
    keys = on_disk(firsts.mapInPandas(grouping.keys, _KEYS))
    counts = on_disk(keys.groupBy("key").agg(f.count("*").alias("documents")).where("documents > 1"))
    is_read = f.col("documents") <= ENTRIES_OF_QUERY
    if hot := counts.where(~is_read).count():
        _log.warning("%s keys that more than %s documents have are left out", f"{hot:,}", f"{ENTRIES_OF_QUERY:,}")
    shared = on_disk(keys.join(counts, "key"))
    # A document with m of n keys has c of any n - m + c: the rarest are enough. The rarest of all are not shared.
    of_query, common = window.Window.partitionBy("position", "query"), f.least("minimum", f.lit(_COMMON))
    by_rarity = of_query.orderBy("documents", "key")
    counted = shared.withColumns(
        {
            "rank": f.row_number().over(by_rarity),
            "entries": f.sum("documents").over(by_rarity),
            "wanted": f.count("*").over(of_query) - f.col("minimum") + common,
        }
    )
    read = counted.where((f.col("rank") <= f.col("wanted")) & (f.col("entries") <= ENTRIES_OF_QUERY))
    least = f.greatest(f.lit(1), common - f.col("wanted") + f.count("*").over(of_query))
    asked = read.select(f.col("position").alias("later"), "most", "key", (f.lit(_ENOUGH) / least).alias("weight"))
    stored = shared.where(is_read).select("key", f.col("position").alias("earlier"))
    found = asked.join(stored, "key").where("earlier < later").repartition("later")
    near = found.groupBy("later", "earlier", "most").agg(f.sum("weight").alias("weight"))
    likeliest = window.Window.partitionBy("later").orderBy(f.desc("weight"), "earlier")
    likely = near.where(f.col("weight") >= _ENOUGH).withColumn("rank", f.row_number().over(likeliest))
    ranked = on_disk(likely.where("rank <= most + 1"))
    if crowded := ranked.where("rank > most").count():
        _log.warning("%s documents share keys with very many: only the likeliest were compared", f"{crowded:,}")
    pairs = ranked.where("rank <= most").select("later", "earlier", "rank")
    later = firsts.toDF("later", "later_text", "later_fingerprint", "later_length")
    earlier = firsts.toDF("earlier", "earlier_text", "earlier_fingerprint", "earlier_length")
    compared = pairs.join(earlier, "earlier").join(later, "later")
    return compared.sortWithinPartitions("later").mapInPandas(grouping.copies, _PAIRS)


def _links(pairs: pa.Table) -> pa.Table:
    """Return the original of each document (``first``) that is a copy of one, by their positions."""
    import pyarrow as pa

    later, earlier, unlike = (pairs[name].to_numpy() for name in ("later", "earlier", "unlike"))
    originals: dict[int, int] = {}
    for place in np.lexsort((earlier, unlike, later)):
        copy, original = int(later[place]), int(earlier[place])
        if copy not in originals and original not in originals:  # an original itself: all before it are decided
            originals[copy] = original
    columns = {"first": list(originals), "original": list(originals.values())}
    return pa.table(columns, pa.schema([(name, pa.int64()) for name in columns]))


def write_links(client: Elasticsearch, index: str, links: Iterable[Mapping[str, Any]]) -> int:
    """Write links into the documents of an index, and return how many of these exist.

    Do it while no other program writes. A document that is not there any more is left out.

    :param links: dicts with ``id``, ``group`` and ``duplicate_of``, as OUTPUT has them.
    :raises elasticsearch.helpers.BulkIndexError: if the server refuses a document.
    """
    actions = (
        {
            "_op_type": "update",
            "_id": each["id"],
            "doc": {"simhash": {"group": each["group"], "duplicate_of": each["duplicate_of"]}},
        }
        for each in links
    )
    written, _ = elasticsearch.helpers.bulk(client, actions, index=index, ignore_status=404, stats_only=True)
    return written
