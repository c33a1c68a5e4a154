"""A first load: Spark decides whole documents and writes them into a store, which is then as ``ingest`` makes it.

Documents are read, fingerprinted and written by the code of ``ingest``, and linked by that of ``group``. The order of a
document follows from its place in the input. So a task that is repeated, by Spark or by a second run, writes the same.
"""

from __future__ import annotations

import logging
import pickle
import time
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from es_simhash import Documents, Fingerprinter, InputError
from es_simhash.decide.outcome import Document, Outcome, failed
from es_simhash.decide.rule import ResolvedRule
from es_simhash.ingest.batches import Source
from es_simhash.ingest.reader import IdField, Reader
from es_simhash.input.values import plain
from es_simhash.lines import Line
from es_simhash.rows import Entry, Scan
from es_simhash.tools.spark.grouping import MADE, Grouping, linked_frame, on_disk

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

_REPORT = "outcome string, count long, place long, refused binary"
"""How many documents of a task have an outcome; or where one stands that was refused, and its pickled Outcome."""
OTHER = "the store has another document under its id, or another program changed it: ingest it"
_log = logging.getLogger("es_simhash")
_TAKEN = {(False, False): "new", (False, True): "near_duplicate", (True, True): "exact_duplicate"}


@dataclass(frozen=True)
class Load:
    """What a task needs to read documents and to write them.

    :param begun: the order of the first document, in microseconds since 1970.
    """

    input: str
    address: str
    options: Mapping[str, Any]
    rule: ResolvedRule
    id_field: IdField
    begun: int = 0

    def read(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield ``MADE`` of the documents that can be used, of batches with position and document."""
        reader = Reader(self.rule, self.id_field)
        for batch in batches:
            rows = batch.to_pylist()
            made = [
                (row["position"], one.row.id, one.text, one.row.digest, _hex(one.row.fingerprint), one.row.length)
                for row, one in zip(rows, reader.read_all([self._line(row) for row in rows]), strict=True)
                if isinstance(one, Document)
            ]
            yield _batch(made, MADE)

    def write(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Write documents, and yield ``_REPORT``.

        :param batches: position and document; ``place``, ``first``, ``original``, ``group`` of those that count.
        """
        links: dict[str, dict[str, Any]] = {}

        def lines() -> Iterator[Line]:
            for batch in batches:
                for row in batch.to_pylist():
                    line = self._line(row)
                    links[line.place] = row
                    yield line

        reader, source, counts = Reader(self.rule, self.id_field), Source(lines()), Counter[str]()
        refused: list[Outcome] = []
        with Documents(self.address, fingerprinter=self.rule.fingerprinter, **self.options) as documents:
            while taken := source.next_batch():
                entries: dict[str, tuple[Entry, Document, str]] = {}
                for line, one in zip(taken, reader.read_all(taken), strict=True):
                    link = links.pop(line.place)
                    if isinstance(one, Outcome):
                        refused.append(one)
                    elif link["place"] is None:
                        counts["replaced"] += 1
                    else:
                        name = _TAKEN[link["first"] not in (None, link["place"]), link["original"] != link["place"]]
                        entries[one.row.id] = self._entry(one, link), one, name
                refused += _write(documents, entries, counts)
        if source.error is not None:
            raise source.error
        stored = [(name, count, None, None) for name, count in counts.items()]
        rest = [(None, None, int((one.place or "").rpartition(" ")[2]), pickle.dumps(one)) for one in refused]
        yield _batch([*stored, *rest], _REPORT)

    def _line(self, row: Mapping[str, Any]) -> Line:
        place, document = f"{self.input} document {row['position'] + 1}", row["document"]
        if isinstance(document, bytes):
            return Line(place, size=len(document), raw=document + b"\n")
        return Line(place, plain(document))

    def _entry(self, document: Document, link: Mapping[str, Any]) -> Entry:
        order = self.begun + link["place"]
        row = document.row._replace(order=order, written=order)
        if link["original"] != link["place"]:
            row = row._replace(duplicate_of=link["group"])
        return document.entry(row)


def _write(
    documents: Documents, entries: Mapping[str, tuple[Entry, Document, str]], counts: Counter[str]
) -> Iterator[Outcome]:
    """Write documents, count those that are stored then, and yield the others. One that is there already is stored."""
    written = documents.store.write([entry for entry, _, _ in entries.values()]) if entries else None
    if written is None:
        return
    there = documents.store.read(sorted(written.conflicts))
    for id, (entry, document, name) in entries.items():
        if id in written.refused:
            yield failed(document, written.refused[id])
        elif id in written.conflicts and (id not in there or there[id].row._replace(version=None) != entry.row):
            yield failed(document, OTHER)
        else:
            counts[name] += 1


def load_documents(
    session: SparkSession,
    input: str,
    documents: Documents,
    address: str,
    options: Mapping[str, Any],
    counts: Counter[Any],
) -> Generator[Outcome, None, None]:
    """Load documents, and yield those that were refused.

    :param options: of the connection, for :class:`~es_simhash.Documents` in each task.
    :param counts: the others are added, by their outcome.
    :raises InputError: if the store has documents that are not in the input.
    """
    from pyspark.sql import functions as f

    if not documents.store.lags:  # a file is set up by its first documents
        documents.setup()
    else:  # a task that begins while the server is away waits for it, too
        options = {**options, "answered": True}
    info = documents.store.describe()
    if info.scheme is None or info.read_only is not None:
        raise InputError(info.read_only or f"{documents.name} holds only seen items: use another store for documents")
    fingerprinter = Fingerprinter(info.scheme)
    rule = ResolvedRule(info.rule, fingerprinter, info.keys)
    grouping, load = Grouping(info.rule, fingerprinter), Load(input, address, options, rule, IdField.of(info))
    lines = _lines(session, input)
    made = on_disk(lines.mapInArrow(load.read, MADE))
    kept = on_disk(_kept(made, info.scheme.blank_digest))
    load = replace(load, begun=_begun(documents, kept, lines.count()))
    linked = linked_frame(made, kept, grouping)
    links = linked.select(
        f.col("last").alias("position"), f.col("position").alias("place"), "first", "original", "group"
    )
    report = on_disk(lines.join(links, "position", "left").mapInArrow(load.write, _REPORT))
    for outcome, count in report.where("refused IS NULL").groupBy("outcome").agg(f.sum("count")).collect():
        counts[outcome] += count
    if replaced := counts.pop("replaced", 0):
        _log.warning("%s documents have an id that a later one has: the later one is stored", f"{replaced:,}")
    documents.store.refresh()
    for row in report.where("refused IS NOT NULL").orderBy("place").select("refused").toLocalIterator():
        yield pickle.loads(row.refused)
    others = documents.store.count(Scan()) - kept.count()
    if others > 0:
        _log.warning("%s documents that are not in %s were not compared: run `es-simhash group`", f"{others:,}", input)


def _lines(session: SparkSession, input: str) -> DataFrame:
    """Return the position and the document of each line: by the names of the files, then by their place there."""
    from pyspark.sql import functions as f

    if ".json" in input:
        read = session.read.option("lineSep", "\n").text(input).where("trim(value) <> ''")
        document = f.col("value").cast("binary")
    else:
        read = session.read.parquet(input)
        document = f.struct("*")
    part = [f.col("_metadata.file_path").alias("file"), f.col("_metadata.file_block_start").alias("start")]
    numbered = on_disk(read.select(*part, f.monotonically_increasing_id().alias("number"), document.alias("document")))
    count, parts = 0, []
    for file, start, least, size in sorted(
        numbered.groupBy("file", "start").agg(f.min("number"), f.count("*")).collect()
    ):
        parts.append((file, start, count - least))
        count += size
    shifts = session.createDataFrame(parts, "file string, start long, shift long")
    shifted = numbered.join(f.broadcast(shifts), ["file", "start"])
    return shifted.select((f.col("number") + f.col("shift")).alias("position"), "document")


def _kept(made: DataFrame, blank: str) -> DataFrame:
    """Return of each id its last document: ``last`` is where it stands, position where its text came first."""
    from pyspark.sql import functions as f
    from pyspark.sql import window

    of_id = window.Window.partitionBy("id")
    last = made.select(
        "id",
        "digest",
        "position",
        f.max("position").over(of_id).alias("last"),
        f.max_by("digest", "position").over(of_id).alias("kept"),
    )
    kept = last.where("digest = kept").groupBy("id", "last", "digest").agg(f.min("position").alias("position"))
    return kept.withColumn("digest", f.when(f.col("digest") != blank, f.col("digest")).otherwise(""))


def _begun(documents: Documents, kept: DataFrame, count: int) -> int:
    """Return the order of the first document: now, or as it was when a load of the same documents was interrupted.

    :raises InputError: if the store has another document.
    """
    stored = next(iter(documents.export()), None)
    if stored is None:
        return time.time_ns() // 1000 - count
    row = kept.where(kept.id == stored.id).first()
    if row is None:
        raise InputError(
            f"{documents.name} has the document {stored.id!r}, which is not in the input: load into a store without "
            "documents, or use es-simhash ingest"
        )
    return stored.written - int(row.position)


def _batch(rows: Sequence[tuple[Any, ...]], schema: str) -> pa.RecordBatch:
    """Return rows that have this schema of Spark."""
    import pyarrow as pa

    names, types = zip(*(field.split() for field in schema.split(", ")), strict=True)
    of_arrow = {"long": pa.int64(), "string": pa.string(), "binary": pa.binary()}
    columns = zip(*rows, strict=True) if rows else [()] * len(names)
    arrays = [pa.array(column, of_arrow[type]) for column, type in zip(columns, types, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, names)


def _hex(fingerprint: int | None) -> str | None:
    return None if fingerprint is None else f"{fingerprint:016x}"
