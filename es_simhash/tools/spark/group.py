"""The groups of a DataFrame of documents: equal to those of ``es-simhash group``.

The rules are those of :mod:`es_simhash.groups.links`. The pairs come from joins on keys, the groups from
:mod:`es_simhash.tools.spark.components`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from es_simhash.errors import InputError
from es_simhash.fingerprinting.fingerprinter import Fingerprinter
from es_simhash.groups.links import check_head
from es_simhash.similarity.confirm import MOST_TEXTS
from es_simhash.similarity.rule import rule_of
from es_simhash.tools.spark.components import lowest_members
from es_simhash.tools.spark.confirm import confirmed
from es_simhash.tools.spark.documents import Input
from es_simhash.tools.spark.fingerprints import connecting_pairs, nearest_pairs
from es_simhash.tools.spark.frames import checkpointed
from es_simhash.tools.spark.keys import SALTING, Salting
from es_simhash.tools.spark.near import word_names
from es_simhash.tools.spark.rule import pair_rule
from es_simhash.tools.spark.session import check_session
from es_simhash.tools.spark.text_keys import pairs_by_keys

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from es_simhash.groups.links import Head
    from es_simhash.similarity.rule import DuplicateRule
    from es_simhash.tools.spark.rule import PairRule


@dataclass(frozen=True)
class SparkGroups:
    """The groups of a DataFrame of documents.

    :param links: a row for each document: ``id``, ``group`` (the id of its head), ``duplicate_of`` (the id of its
        original, or null), ``version`` (null if the input has none), ``digest``, ``group_digest`` (of its head),
        ``original_digest`` (of its original, or null), ``scheme`` and ``order`` (the name of the column with the write
        order).
    :param documents: the number of documents.
    :param groups: the number of groups with two or more members.
    :param members: the number of documents in these groups.
    :param rounds: of the search for connected components.
    :param left_out: about how many pairs of documents were not compared, because very many share keys or are near each
        other. If it is 0, and ``group`` leaves out none either, the links are those of ``group``.
    """

    links: DataFrame
    documents: int
    groups: int
    members: int
    rounds: int
    left_out: int


def group_frame(
    documents: DataFrame,
    *,
    fingerprinter: Fingerprinter | None = None,
    keys: bool = False,
    head: Head = "earliest",
    order: str = "written",
    salting: Salting = SALTING,
    rule: str | DuplicateRule | None = None,
) -> SparkGroups:
    """Return the groups of a DataFrame of documents, and the original of each document.

    :param documents: with the columns ``id``, ``written`` (the write order, a whole number), and either
        ``fingerprint`` (hex) and ``digest``, or the text. ``group``, ``version`` and ``scheme`` are optional. These are
        the columns that ``es-simhash export --fields`` writes.
    :param fingerprinter: of the Scheme of the documents; by default of the default Scheme.
    :param keys: candidates come from the keys of the texts, as in a store with keys. It needs ``confirm``.
    :param head: as for :meth:`~es_simhash.Documents.group`.
    :param order: name of the column with the write order.
    :param salting: how the documents of a key that very many share are divided among the tasks.
    :param rule: as for :meth:`~es_simhash.Documents.group`, without ``within``.
    :raises InputError: for an invalid argument, a column that is missing, or an id that comes twice; if texts confirm
        and a document has none.
    :raises SchemeMismatch: if the fingerprints are of another Scheme.
    """
    check_session(documents.sparkSession)
    check_head(head)
    checked = rule_of(rule)
    fingerprinter = fingerprinter or Fingerprinter()
    if checked.within is not None:
        raise InputError("the groups of Spark do not compare times: leave out within, or use `es-simhash group`")
    if keys and checked.confirm is None:
        raise InputError(
            "keys find candidates only where texts decide: use the rule 'copy' or 'contained', or leave keys out"
        )
    resolved = pair_rule(checked, fingerprinter, salting, keys=keys)
    source = Input(documents, fingerprinter, checked.text_fields, order)
    source.check(confirm=checked.confirm is not None, kept=head == "kept")
    rows = source.read()
    pairs, left_out = _pairs(rows, source, resolved)
    return _groups(rows, checkpointed(pairs), source, head, left_out)


def _pairs(rows: DataFrame, source: Input, rule: PairRule) -> tuple[DataFrame, int]:
    """Return the pairs of documents that belong together.

    :returns: ``earlier``, ``later`` and ``distance``: -1 for exact duplicates; null for a pair that only connects. The
        second value is how many pairs were left out.
    """
    from pyspark.sql import functions as f

    with_text = rows.where(f.col("digest") != rule.blank_digest)
    first = checkpointed(with_text.groupBy("digest").agg(f.min("position").alias("first")))
    copies = with_text.join(first, "digest").where("position <> first")
    exact = copies.selectExpr("first AS earlier", "position AS later", "-1 AS distance")
    if rule.confirm is None and rule.max_distance < 0:
        return exact, 0
    if rule.confirm is None:
        with_value = rows.where("fp0 IS NOT NULL").select("position", *word_names(rule.bits))
        near, left_out = connecting_pairs(with_value, rule.bits, rule.max_distance, rule.salting)
        return exact.union(near), left_out
    # Exact duplicates have the same text. So only the first of them is compared with other documents.
    compared = rows.join(first.select(f.col("first").alias("position")), "position", "left_semi")
    if rule.keys:
        near, left_out = pairs_by_keys(compared, source, rule)
    elif rule.max_distance < 0:
        return exact, 0
    else:
        with_value = compared.where("fp0 IS NOT NULL").select("position", *word_names(rule.bits))
        near, left_out = nearest_pairs(with_value, rule.bits, rule.max_distance, MOST_TEXTS, rule.salting)
    return exact.union(confirmed(checkpointed(near), rows, source, rule.confirm)), left_out


def _groups(rows: DataFrame, pairs: DataFrame, source: Input, head: Head, left_out: int) -> SparkGroups:
    from pyspark.sql import functions as f

    lowest, rounds = lowest_members(pairs.selectExpr("later AS member", "earlier AS other"))
    lowest = lowest.union(lowest.select(f.col("lowest").alias("member"), "lowest").distinct())
    heads = checkpointed(_heads(lowest, rows, head))
    sizes = heads.groupBy("head").count().agg(f.count("*"), f.sum("count")).first()
    originals = pairs.where("distance IS NOT NULL").groupBy("later").agg(f.min(f.struct("distance", "earlier")).earlier)
    originals = originals.toDF("position", "original")
    names = rows.select("position", "id", "digest")
    heads = heads.join(names.toDF("head", "head_id", "head_digest"), "head").drop("head")
    originals = originals.join(names.toDF("original", "duplicate_of", "original_digest"), "original").drop("original")
    heads = heads.withColumnRenamed("member", "position")
    linked = rows.drop("group").join(heads, "position", "left").join(originals, "position", "left")
    links = linked.select(
        "id",
        f.coalesce("head_id", "id").alias("group"),
        "duplicate_of",
        "version",
        "digest",
        f.coalesce("head_digest", "digest").alias("group_digest"),
        "original_digest",
        f.lit(source.fingerprinter.scheme.version).alias("scheme"),
        f.lit(source.order).alias("order"),
    )
    return SparkGroups(links, rows.count(), sizes[0], sizes[1] or 0, rounds, left_out)


def _heads(lowest: DataFrame, rows: DataFrame, head: Head) -> DataFrame:
    """Return ``member`` and ``head`` of each document in a group of two or more, by the rule ``head``."""
    from pyspark.sql import functions as f

    if head == "earliest":
        return lowest.withColumnRenamed("lowest", "head")
    if head == "latest":
        chosen = lowest.groupBy("lowest").agg(f.max("member").alias("head"))
    else:
        members = lowest.join(rows.select(f.col("position").alias("member"), "id", "group"), "member")
        votes = members.groupBy("lowest", f.col("group").alias("id")).agg(f.count("*").alias("votes"))
        named = members.join(votes, ["lowest", "id"], "left").withColumn("votes", f.coalesce("votes", f.lit(0)))
        first = f.min(f.struct(-f.col("votes"), f.col("member").alias("member"))).member
        chosen = named.groupBy("lowest").agg(first.alias("head"))
    return lowest.join(chosen, "lowest").select("member", "head")
