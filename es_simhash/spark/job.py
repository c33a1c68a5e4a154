"""The files and the session of the Spark job."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from es_simhash.errors import InputError, one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

_JSON_LINES = (".jsonl", ".json", ".jsonl.gz", ".json.gz")


@contextmanager
def open_session(checkpoints: str | None) -> Iterator[SparkSession]:
    """Open the session of spark-submit, or one in this process that uses all cores. An open session stays open.

    :param checkpoints: a folder for intermediate results, or None.
    :raises InputError: if Spark cannot start.
    """
    from pyspark.sql import SparkSession

    # Local tasks run in this Python. A cluster has its own setting.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    was_open = SparkSession.getActiveSession() is not None
    builder = SparkSession.builder.appName("es_simhash").config("spark.ui.showConsoleProgress", "false")
    try:
        session = builder.getOrCreate()
    except Exception as error:
        raise InputError(
            f"Spark does not start ({one_line(error)[:200]}): check Java and the settings of Spark"
        ) from error
    try:
        session.sparkContext.setLogLevel("ERROR")
        if checkpoints is not None:
            session.sparkContext.setCheckpointDir(checkpoints)
        yield session
    finally:
        if not was_open:
            session.stop()


def check_output(session: SparkSession, path: str) -> None:
    """Check that a path does not exist yet, before work begins.

    :raises InputError: if it does.
    """
    jvm = session._jvm
    folder = jvm.org.apache.hadoop.fs.Path(path)
    if folder.getFileSystem(session._jsparkSession.sessionState().newHadoopConf()).exists(folder):
        raise InputError(f"{path} exists: remove it, or name another output")


def read_documents(session: SparkSession, path: str) -> DataFrame:
    """Return the documents of Parquet or of JSON lines, by the end of the name.

    :raises InputError: if they cannot be read.
    """
    from pyspark.errors import PySparkException

    reader = session.read.json if path.rstrip("/").endswith(_JSON_LINES) else session.read.parquet
    try:
        return reader(path)
    except PySparkException as error:
        raise InputError(
            f"cannot read {path} ({one_line(error)[:200]}): name Parquet, or JSON lines (.jsonl)"
        ) from error
