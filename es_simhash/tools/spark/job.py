"""The files and the session of the Spark job."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from es_simhash.errors import InputError, StoreError, one_line
from es_simhash.tools.spark.session import check_session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

_JSON_LINES = (".jsonl", ".json", ".jsonl.gz", ".json.gz")


@contextmanager
def open_session(checkpoints: str | None) -> Iterator[SparkSession]:
    """Open the session of spark-submit, or one in this process that uses all cores. An open session stays open.

    :param checkpoints: a folder for intermediate results, or None. What the job writes there is deleted at the end.
    :raises InputError: if Spark cannot start, or is not of the right kind.
    :raises StoreError: if Spark raises an error while the session is in use.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException
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
        check_session(session)
        session.sparkContext.setLogLevel("ERROR")
        with _checkpoints(session, checkpoints):
            yield session
    except (PySparkException, Py4JError) as error:
        raise StoreError(f"Spark stopped ({_cause(error)}): its log says more") from error
    finally:
        if not was_open:
            with suppress(Py4JError):  # Java may have died
                session.stop()


@contextmanager
def _checkpoints(session: SparkSession, folder: str | None) -> Iterator[None]:
    """Keep checkpoints in a folder while the job runs. Spark makes a folder for them in it, and never deletes it."""
    if folder is None:
        yield
        return
    session.sparkContext.setCheckpointDir(folder)
    made = session.sparkContext.getCheckpointDir()
    assert made is not None
    files, path = _file_system(session, made)
    try:
        yield
    finally:
        files.delete(path, True)


def _cause(error: Exception) -> str:
    """Return the message of an error of Spark, or of Java behind it, as the start of one line."""
    cause = getattr(error, "java_exception", None)
    while cause is not None and cause.getCause() is not None:
        cause = cause.getCause()
    return one_line(error if cause is None else Exception(cause.toString()))[:200]


def _file_system(session: SparkSession, path: str) -> tuple[Any, Any]:
    """Return Hadoop's file system of a path, and the path."""
    hadoop = session._jvm.org.apache.hadoop.fs.Path(path)
    return hadoop.getFileSystem(session._jsparkSession.sessionState().newHadoopConf()), hadoop


def check_output(session: SparkSession, path: str) -> None:
    """Check that a path does not exist yet, before work begins.

    :raises InputError: if it does.
    """
    files, folder = _file_system(session, path)
    if files.exists(folder):
        raise InputError(f"{path} exists: remove it, or name another output")


def read_documents(session: SparkSession, path: str) -> DataFrame:
    """Return the documents of Parquet or of JSON lines, by the end of the name.

    :raises InputError: if they cannot be read.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    # By default a line that is not JSON would be a row of nulls.
    reader = session.read.option("mode", "FAILFAST")
    try:
        return reader.json(path) if path.rstrip("/").endswith(_JSON_LINES) else reader.parquet(path)
    except (PySparkException, Py4JError) as error:  # the latter for a line that is not JSON
        raise InputError(f"cannot read {path} ({_cause(error)}): name Parquet, or JSON lines (.jsonl)") from error
