"""Pairs of documents whose fingerprints are near: the blocks of :mod:`es_simhash.groups.near_pairs`, as keys of a join.

Equal fingerprints are compared only once: they form a *kind*, and the first document of a kind stands for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from es_simhash.fingerprinting.encoding import to_signed
from es_simhash.groups.near_pairs import Costs, block_masks
from es_simhash.tools.spark.frames import checkpointed
from es_simhash.tools.spark.keys import SALTING, Salting, near_pairs
from es_simhash.tools.spark.near import NearSearch, word_names

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

SHUFFLED = Costs(sort=5_000, compare=30)
"""A fingerprint is sent to another task and sorted there. A comparison takes 12 ns, but real fingerprints are not
uniform, so more of them are compared."""


def connecting_pairs(
    documents: DataFrame, bits: int, max_distance: int, salting: Salting = SALTING
) -> tuple[DataFrame, int]:
    """Return pairs enough for links by fingerprints: what ``NearPairs.connecting`` yields, without what no link needs.

    :param documents: ``position`` and the words of the fingerprint; without documents that have none.
    :returns: ``earlier``, ``later`` and ``distance``, which is null for a pair that only connects two documents; and
        how many pairs were left out.
    """
    words = word_names(bits)
    firsts = checkpointed(documents.groupBy(*words).min("position").toDF(*words, "first"))
    same = documents.join(firsts, words).where("position <> first")
    of_kind = same.selectExpr("first AS earlier", "position AS later", "0 AS distance")
    if max_distance == 0:
        return of_kind, 0
    near, left_out = _near_kinds(firsts, bits, max_distance, None, salting)
    return of_kind.union(near.select("earlier", "later", "distance")), left_out


def nearest_pairs(
    documents: DataFrame, bits: int, max_distance: int, most: int, salting: Salting = SALTING
) -> tuple[DataFrame, int]:
    """Return the near pairs, for each document at most ``most`` earlier ones: what ``NearPairs.every`` returns.

    :param documents: ``position`` and the words of the fingerprint; without documents that have none.
    :returns: ``earlier``, ``later`` and ``distance``; and how many pairs were left out.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    words = word_names(bits)
    kinds = documents.groupBy(*words).agg(f.min("position").alias("kind"), f.count("*").alias("size"))
    kinds = checkpointed(kinds)
    pairs = kinds.selectExpr("kind AS first", "kind AS second", "0 AS distance").where("size > 1")
    left_out = 0
    if max_distance > 0:
        firsts = kinds.withColumnRenamed("kind", "first")
        found, left_out = _near_kinds(firsts, bits, max_distance, most, salting)
        found = checkpointed(found)
        left_out += int(found.agg(f.sum("left_out")).first()[0] or 0)
        every = found.where("left_out = 0")
        near = checkpointed(first_of_each(every, most).select("earlier", "later", "distance"))
        left_out += every.count() - near.count()
        pairs = pairs.union(near).union(near.select("later", "earlier", "distance"))
    members = documents.join(kinds, words).select("kind", "position")
    rank = f.row_number().over(Window.partitionBy("kind").orderBy("position"))
    leading = members.withColumn("rank", rank).where(f.col("rank") <= most)
    leading = leading.groupBy("kind").agg(f.sort_array(f.collect_list("position")).alias("earlier"))
    of_first = pairs.join(leading.withColumnRenamed("kind", "first"), "first")
    later = members.selectExpr("kind AS second", "position AS later")
    # Most kinds have one member. Then one of the two directions ends here.
    both = of_first.join(later, "second").where("later > first")
    candidates = both.select(f.explode("earlier").alias("earlier"), "later", "distance").where("earlier < later")
    kept = checkpointed(first_of_each(candidates, most).select("earlier", "later", "distance"))
    return kept, left_out + _pairs_of_members(kinds, pairs) - kept.count()


def first_of_each(pairs: DataFrame, most: int | Column) -> DataFrame:
    """Return the ``most`` nearest pairs of each later document, then the first ones.

    :param most: a number for all, or a column of the pairs.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    rank = f.row_number().over(Window.partitionBy("later").orderBy("distance", "earlier"))
    return pairs.withColumn("rank", rank).where(f.col("rank") <= most).drop("rank")


def _pairs_of_members(kinds: DataFrame, pairs: DataFrame) -> int:
    """Return the number of pairs of documents in these pairs of kinds, which name each pair in both orders."""
    from pyspark.sql import functions as f

    one = kinds.selectExpr("kind AS first", "size AS first_size")
    other = kinds.selectExpr("kind AS second", "size AS second_size")
    sizes = pairs.where("first <= second").join(one, "first").join(other, "second")
    count = f.when(f.col("first") == f.col("second"), f.col("first_size") * (f.col("first_size") - 1) / 2).otherwise(
        f.col("first_size") * f.col("second_size")
    )
    return int(sizes.agg(f.sum(count)).first()[0] or 0)


def _near_kinds(
    firsts: DataFrame, bits: int, max_distance: int, most: int | None, salting: Salting
) -> tuple[DataFrame, int]:
    """Return the near pairs of different fingerprints.

    :param firsts: the words of the fingerprint, and ``first``, the first document that has it.
    """
    from pyspark.sql import functions as f

    masks = block_masks(max_distance, bits // 64, firsts.count(), SHUFFLED)
    numbers = tuple(tuple(int(mask) for mask in each) for each in masks)
    keys = f.array(*(_masked(word_names(bits), each) for each in numbers))
    columns = [f.col("first").alias("position"), *word_names(bits)]
    if most is not None:
        columns.append(f.lit(most).alias("most"))
    rows = firsts.select(*columns, f.posexplode(keys).alias("number", "key"))
    return near_pairs(rows, NearSearch(bits, max_distance, most is not None, numbers), salting)


def _masked(words: list[str], masks: tuple[int, ...]) -> Column:
    """Return the bits of the masks as one number: different bits may rarely get one number."""
    from pyspark.sql import functions as f

    parts: list[Any] = [
        f.col(word).bitwiseAND(f.lit(to_signed(mask))) for word, mask in zip(words, masks, strict=True) if mask
    ]
    return parts[0] if len(parts) == 1 else f.xxhash64(*parts)
