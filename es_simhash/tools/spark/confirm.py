"""Confirm pairs of documents by their texts."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from es_simhash.errors import InputError
from es_simhash.tools.spark.frames import checkpointed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from es_simhash.similarity.confirm import Confirm
    from es_simhash.tools.spark.documents import Input

HELD = 200
"""Texts whose features are held in a task. Pairs come in the order of one of their documents."""


def confirmed(pairs: DataFrame, rows: DataFrame, source: Input, confirm: Confirm) -> DataFrame:
    """Return the pairs whose texts agree.

    :param pairs: ``earlier``, ``later`` and ``distance``.
    :param rows: ``id`` and ``position`` of all documents.
    :raises InputError: if a document of a pair has no text.
    """
    from pyspark.sql import functions as f

    compared = pairs.select(f.col("earlier").alias("position")).union(pairs.select("later")).distinct()
    every = checkpointed(source.texts(rows.join(compared, "position", "left_semi")))
    check_texts(every.where("text IS NULL"), rows, source.text_fields)
    earlier, later = every.toDF("earlier", "earlier_text"), every.toDF("later", "later_text")
    with_texts = pairs.join(earlier, "earlier").join(later, "later")

    def agreeing(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        features = lru_cache(HELD)(confirm.features)
        for batch in batches:
            both = zip(*(batch.column(name).to_pylist() for name in ("earlier_text", "later_text")), strict=True)
            agree = [confirm.similarity(features(one), features(other)) >= confirm.least for one, other in both]
            yield batch.select(["earlier", "later", "distance"]).filter(_mask(agree))

    return with_texts.mapInArrow(agreeing, "earlier long, later long, distance int")


def _mask(values: list[bool]) -> pa.Array:
    import pyarrow as pa

    return pa.array(values, pa.bool_())


def check_texts(without: DataFrame, rows: DataFrame, fields: tuple[str, ...]) -> None:
    """Check that no document is without a text.

    :param without: ``position`` of the documents without one.
    :param rows: ``id`` and ``position`` of all documents.
    :raises InputError: naming the first document without one.
    """
    from pyspark.sql import functions as f

    missing = without.agg(f.min("position")).first()[0]
    if missing is not None:
        id = rows.where(f.col("position") == missing).first().id
        names = ", ".join(map(repr, fields))
        raise InputError(f"cannot confirm against document {id!r}: it has no text in column {names}")
