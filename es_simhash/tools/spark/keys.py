"""Rows with keys: candidates of each other are brought together by a join on keys, never by one on all pairs.

A key that very many documents share would be the work of one task. So its rows are *salted*: each gets the number of a
chunk, and is copied once for each chunk that its own chunk is compared with. Each pair of chunks is a key of its own
then, so that the work spreads over the tasks. A chunk is compared with at most ``reach`` chunks on either side of it,
on a ring. If a key has more chunks, pairs are left out, and counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from es_simhash.tools.spark.frames import checkpointed
from es_simhash.tools.spark.near import FOUND, KEY, NearSearch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Salting(NamedTuple):
    """How the rows of a common key are divided.

    :param chunk: rows of a chunk, about.
    :param reach: chunks on either side of a chunk with which it is compared. With 250, a million rows of one key are
        compared completely. That is 500 billion comparisons, some 12 ns each.
    :param text_reach: the same where texts are compared at once, which takes a microsecond for each pair: 10,000 rows
        of one key.
    """

    chunk: int = 2_000
    reach: int = 250
    text_reach: int = 2


SALTING = Salting()


def near_pairs(rows: DataFrame, search: NearSearch, salting: Salting = SALTING) -> tuple[DataFrame, int]:
    """Return the near pairs of the rows that have a key in common.

    :param rows: ``number``, ``key`` and ``position``; the words of the fingerprint; perhaps ``characters``, the
        word characters of a short text, and ``most``, the number of earlier rows that one is paired with.
    :returns: the columns of ``FOUND``; and how many pairs of rows were not compared because a key has so many.
    """
    salted, left_out = _salted(rows, salting.chunk, salting.reach if search.least is None else salting.text_reach)
    together = salted.repartition(*KEY).sortWithinPartitions(*KEY)
    return together.mapInArrow(search, FOUND), left_out


def _salted(rows: DataFrame, chunk: int, reach: int) -> tuple[DataFrame, int]:
    from pyspark.sql import functions as f

    sizes = rows.groupBy("number", "key").agg(f.count("*").alias("size")).where(f.col("size") > chunk)
    hot = checkpointed(sizes.withColumn("chunks", f.ceil(f.col("size") / chunk)))
    some = hot.select("size", "chunks").where(f.col("chunks") > 2 * reach + 1).collect()
    # Of n rows in c chunks, each is compared with those of 2 * reach + 1 chunks.
    left_out = sum(int(size * (size - 1) // 2 * (1 - (2 * reach + 1) / chunks)) for size, chunks in some)
    if hot.isEmpty():
        return rows.selectExpr("*", "0 AS side", "0 AS low", "0 AS high"), 0
    chunked = rows.join(hot.select("number", "key", "chunks"), ["number", "key"], "left").selectExpr(
        "*", "CAST(coalesce(pmod(xxhash64(position), chunks), 0) AS INT) AS side"
    )
    span = f"CAST(least({reach}, floor(coalesce(chunks, 1) / 2)) AS INT)"
    others = f"transform(sequence(-{span}, {span}), step -> pmod(side + step, CAST(coalesce(chunks, 1) AS INT)))"
    copied = chunked.selectExpr("*", f"explode(array_distinct({others})) AS other")
    return copied.selectExpr("*", "least(side, other) AS low", "greatest(side, other) AS high").drop(
        "other", "chunks"
    ), left_out
