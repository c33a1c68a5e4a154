"""The input: which columns it must have, and its documents with their fingerprints, in write order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from es_simhash.errors import InputError, SchemeMismatch, count_of
from es_simhash.fingerprinting.encoding import to_longs
from es_simhash.tools.spark.frames import checkpointed
from es_simhash.tools.spark.near import word_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

    from es_simhash.fingerprinting.fingerprinter import Fingerprinter

STORED = ("fingerprint", "digest")
"""The columns of an export. If the input has both, texts are not fingerprinted again."""


@dataclass(frozen=True)
class Input:
    """A DataFrame of documents, and what its columns mean.

    :param frame: has the column ``id``, the column ``order``, and either ``fingerprint`` (hex) and ``digest`` or the
        text. It may have ``group``, ``version`` and ``scheme``, as ``es-simhash export --fields`` writes them.
    :param fingerprinter: of the Scheme of the fingerprints.
    :param text_fields: names of the columns with the text. Several are joined by line breaks.
    :param order: name of the column by which documents are in write order: a number.
    """

    frame: DataFrame
    fingerprinter: Fingerprinter
    text_fields: tuple[str, ...] = ("text",)
    order: str = "written"

    @property
    def is_fingerprinted(self) -> bool:
        """The input has fingerprints and digests."""
        return set(STORED) <= set(self.frame.columns)

    def text(self) -> Column:
        """Return the text of a document; null if it has none."""
        from pyspark.sql import functions as f

        fields = [f.col(_quoted(name, self.frame.columns)) for name in self.text_fields]
        return f.when(f.coalesce(*fields).isNotNull(), f.concat_ws("\n", *fields))

    def check(self, *, confirm: bool, kept: bool) -> None:
        """Check the columns, and that each document has an id, a place in the order, and the Scheme.

        :param confirm: texts are compared.
        :param kept: heads are chosen by the present groups.
        :raises InputError: naming what is missing.
        :raises SchemeMismatch: if the fingerprints are of another Scheme.
        """
        needed = ["id", self.order, *(["group"] if kept else [])]
        missing = [name for name in needed if name not in self.frame.columns]
        if missing:
            hint = "; or name the column with the write order (order)" if self.order in missing else ""
            raise InputError(
                f"the input has no column {', '.join(missing)}, it has {', '.join(self.frame.columns)}: "
                f"export it with `es-simhash export --fields written,version,scheme`{hint}"
            )
        if confirm or not self.is_fingerprinted:
            self._check_text("to confirm" if self.is_fingerprinted else "to fingerprint")
        kind = self.frame.schema[self.order].dataType.simpleString()
        if kind not in ("tinyint", "smallint", "int", "bigint"):
            raise InputError(f"the column {self.order} is of type {kind}: the write order is a whole number")
        self._check_values()

    def _check_text(self, purpose: str) -> None:
        from pyspark.errors import AnalysisException
        from pyspark.sql import functions as f

        names = self.frame.columns
        for name in self.text_fields:
            try:
                kind = self.frame.select(f.col(_quoted(name, names))).schema[0].dataType.simpleString()
            except AnalysisException as error:
                raise InputError(
                    f"there is no text {purpose}: the input has no column {name}, it has {', '.join(names)}: "
                    "export it with `es-simhash export --fields text`, or name the column (text_field)"
                ) from error
            if kind != "string":
                raise InputError(f"the text in column {name} is of type {kind}: use strings")

    def _check_values(self) -> None:
        from pyspark.sql import functions as f

        scheme, names = self.fingerprinter.scheme, self.frame.columns
        counts: dict[str, Column] = {"all": f.count("*"), "id": f.count("id"), self.order: f.count(self.order)}
        if self.is_fingerprinted:
            counts["digest"] = f.count("digest")
            wrong = f.length("fingerprint") != scheme.bits // 4
            counts["wide"] = f.sum(wrong.cast("int"))
        if "scheme" in names:
            counts |= {"scheme": f.count("scheme"), "first": f.min("scheme"), "last": f.max("scheme")}
        found = self.frame.agg(*(column.alias(name) for name, column in counts.items())).first().asDict()
        for name in ("id", self.order, "digest", "scheme"):
            if found.get(name, found["all"]) < found["all"]:
                raise InputError(f"the input has {count_of(found['all'] - found[name], 'document')} without {name}")
        for version in (found.get("first"), found.get("last")):
            if version not in (None, scheme.version):
                raise SchemeMismatch(
                    f"the input has fingerprints of Scheme {version}, this program makes fingerprints of "
                    f"{scheme.version}: give the options of that Scheme, such as its width (bits)"
                )
        if found.get("wide"):
            raise SchemeMismatch(
                f"the input has {count_of(found['wide'], 'fingerprint')} of another width than {scheme.bits} bits: "
                "choose that width (bits)"
            )

    def read(self) -> DataFrame:
        """Return the documents in write order.

        :returns: ``position`` (a number that grows with the write order), ``id``, the words of the fingerprint
            (``fp0``, ``fp1``, null for a text that is too short), ``digest``, ``group`` and ``version``.
        :raises InputError: if an id comes twice.
        """
        from pyspark.sql import functions as f

        names = self.frame.columns
        optional = [(f.col(name) if name in names else f.lit(None)).cast("string").alias(name) for name in OPTIONAL]
        columns = [f.col("id").cast("string").alias("id"), f.col(self.order).cast("long").alias("written"), *optional]
        if self.is_fingerprinted:
            made = self.frame.select(*columns, *_words_of_hex(self.fingerprinter.scheme.bits), "digest")
        else:
            made = _fingerprinted(self.frame.select(*columns, self.text().alias("text")), self.fingerprinter)
        made = checkpointed(made)
        twice = made.groupBy("id").count().where("count > 1").select(f.min("id")).first()[0]
        if twice is not None:
            raise InputError(f"the id {twice!r} comes twice in the input: keep its last document")
        # The number of the partition and of the row in it. The frame is sorted, and a checkpoint keeps the partitions:
        # so the number grows with the order.
        return checkpointed(
            checkpointed(made.orderBy("written", "id")).withColumn("position", f.monotonically_increasing_id())
        ).drop("written")

    def texts(self, documents: DataFrame) -> DataFrame:
        """Return ``position`` and ``text`` of some documents.

        :param documents: ``id`` and ``position``.
        """
        from pyspark.sql import functions as f

        every = self.frame.select(f.col("id").cast("string").alias("id"), self.text().alias("text"))
        return every.join(documents.select("id", "position"), "id").select("position", "text")


OPTIONAL = ("group", "version")


def _quoted(name: str, columns: Sequence[str]) -> str:
    return f"`{name}`" if name in columns else name


def _words_of_hex(bits: int) -> list[Column]:
    from pyspark.sql import functions as f

    # conv() to base -10 gives the signed number of 64 bits.
    return [
        f.conv(f.substring("fingerprint", 16 * word + 1, 16), 16, -10).cast("long").alias(name)
        for word, name in enumerate(word_names(bits))
    ]


def _fingerprinted(frame: DataFrame, fingerprinter: Fingerprinter) -> DataFrame:
    words = word_names(fingerprinter.scheme.bits)

    def fingerprints(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            made = fingerprinter.fingerprints(text or "" for text in batch.column("text").to_pylist())
            longs = [[None] * len(words) if each.value is None else to_longs(each.value, each.bits) for each in made]
            columns: list[Any] = [
                pa.array([each[number] for each in longs], pa.int64()) for number in range(len(words))
            ]
            columns.append(pa.array([each.digest for each in made], pa.string()))
            kept = batch.drop_columns(["text"])
            names = [*kept.schema.names, *words, "digest"]
            yield pa.RecordBatch.from_arrays([*kept.columns, *columns], names=names)

    types = {"written": "long"} | dict.fromkeys(words, "long")
    schema = [name for name in frame.columns if name != "text"] + [*words, "digest"]
    return frame.mapInArrow(fingerprints, ", ".join(f"`{name}` {types.get(name, 'string')}" for name in schema))
