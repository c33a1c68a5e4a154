"""``python -m es_simhash.tools.spark group`` and ``load``."""

from __future__ import annotations

import os
import re
import sys
from contextlib import ExitStack, closing, contextmanager
from typing import TYPE_CHECKING

import click

from es_simhash import DuplicateRule, Fingerprinter, InputError
from es_simhash.cli.exits import exit_unless_all_done, run
from es_simhash.cli.ingest import DeadLetters
from es_simhash.cli.input import check_different_files, sqlite_file
from es_simhash.cli.options import (
    api_key_option,
    ca_certs_option,
    client_options,
    dead_letter_option,
    deadline_option,
    open_documents,
    read_fingerprinter,
    rule_options,
    scheme_options,
    text_field_option,
)
from es_simhash.cli.output import OutcomePrinter, echo
from es_simhash.tools.spark.grouping import Grouping, group_frame
from es_simhash.tools.spark.load import load_documents

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from es_simhash.cli.options import StoreOptions
    from es_simhash.similarity.rule import Rule

_RAISED = re.compile(r"^(?:: )?((?:es_simhash\.errors\.\w+|(?:\w+\.)*\w+(?:Error|Exception)): .*)", re.MULTILINE)
"""Finds the line with the error in a message of Spark, which is full of traces."""


@contextmanager
def session_of(input: str) -> Iterator[SparkSession]:
    """Yield the session. An error of Spark is one line.

    :param input: what is read. If it is a pattern, Spark must not look for a file of this name: it would print a trace.
    """
    try:
        from py4j.protocol import Py4JJavaError
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise InputError("PySpark is not installed: pip install 'es-simhash[spark]'") from error
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("es_simhash").config("spark.ui.showConsoleProgress", "false")
    if set("*?[{") & set(input):
        builder = builder.config("spark.sql.streaming.fileStreamSink.ignoreMetadata", "true")
    try:
        session = builder.getOrCreate()
        context, partitions = session.sparkContext, "spark.sql.shuffle.partitions"
        if context.master.startswith("local") and not context.getConf().contains(partitions):
            session.conf.set(partitions, 4 * context.defaultParallelism)  # by default 200 tasks a stage: minutes
        yield session
    except (PySparkException, Py4JJavaError) as error:
        said = str(error)
        reason = (_RAISED.findall(said) or said.strip().splitlines()[:1])[-1]
        raise InputError(f"Spark stopped: {reason}; correct that, and repeat the command") from error


@click.group()
def spark() -> None:
    """Compute with Spark who is a copy of whom."""


@spark.command()
@click.argument("input")
@click.argument("output")
@rule_options
@text_field_option
@click.option("--order", metavar="COLUMN", help="Who is earlier: a number, a time or a text.  [default: id]")
@scheme_options
def group(
    input: str,
    output: str,
    rule: Rule | None,
    min_similarity: float | None,
    text_field: tuple[str, ...] | None,
    order: str | None,
    scheme: str | None,
    html: bool,
) -> None:
    """Group the documents of INPUT, and write id, group and duplicate_of of each to OUTPUT as Parquet.

    INPUT is Parquet, or JSON lines if its name ends in .jsonl or .json. It has the columns id and text. The function
    write_links of es_simhash.tools.spark writes OUTPUT into an index.

    \b
    python -m es_simhash.tools.spark group news.parquet links.parquet --order published
    """
    chosen = DuplicateRule(rule or "copy", min_similarity=min_similarity, text_field=text_field)
    grouping = Grouping(chosen, read_fingerprinter(scheme, html) or Fingerprinter())
    with session_of(input) as session:
        reader = session.read.option("mode", "FAILFAST")
        documents = reader.json(input) if input.endswith((".jsonl", ".json")) else reader.parquet(input)
        group_frame(documents, grouping, order).write.parquet(output)
    echo(f"wrote {output}")


@spark.command()
@click.argument("input")
@click.argument("address")
@dead_letter_option
@api_key_option
@ca_certs_option
@deadline_option
def load(
    input: str,
    address: str,
    dead_letter: str | None,
    api_key: str | None,
    ca_certs: str | None,
    deadline: float | None,
) -> None:
    """Load the documents of INPUT into a store without documents, as `es-simhash ingest` would.

    INPUT is Parquet, or JSON lines: a file, a folder or a pattern. `es-simhash init` sets up ADDRESS, and its rule and
    fields hold. The order is that of the lines, and of the names of the files. After an interruption repeat the
    command: what is written stays.

    \b
    python -m es_simhash.tools.spark load 'news/*.jsonl.gz' http://localhost:9200/news --dead-letter news.dead
    """
    api_key = api_key or os.environ.get("ELASTIC_API_KEY")  # the nodes of Spark have another environment
    store: StoreOptions = {"store": address, "api_key": api_key, "ca_certs": ca_certs, "deadline": deadline}
    check_different_files({"ADDRESS": sqlite_file(address), "--dead-letter": dead_letter}, [input])
    with ExitStack() as stack:
        documents = stack.enter_context(open_documents(**store))
        put = None if dead_letter is None else stack.enter_context(closing(DeadLetters(dead_letter))).put
        session = stack.enter_context(session_of(input))
        printer = OutcomePrinter(documents.name, as_json=False, quiet=True)
        outcomes = load_documents(session, input, documents, address, client_options(store), printer.counts)
        printer.show_all(outcomes, put, check=False)
    exit_unless_all_done(printer.not_taken, printer.counts.total())


if __name__ == "__main__":
    run(spark, "es_simhash.tools.spark")
