"""Checks of Java and of Spark, before work begins."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from es_simhash.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MAJOR = "4"
"""The major version of Spark that this package is tested with."""
_NO_CONNECT = "this job does not run on Spark Connect: unset SPARK_REMOTE, or start the job with spark-submit"


def check_pyspark() -> None:
    """Check that PySpark is installed in the right version, and that it can start Java.

    :raises InputError: if it cannot.
    """
    try:
        import pyspark
    except ImportError as error:
        raise InputError("PySpark is not installed: pip install 'es-simhash[spark]'") from error
    _check_version("PySpark", pyspark.__version__)
    if "SPARK_REMOTE" in os.environ:
        raise InputError(_NO_CONNECT)
    if "PYSPARK_GATEWAY_PORT" in os.environ:  # spark-submit and Databricks have started Java already
        return
    home = os.environ.get("JAVA_HOME")
    if home and not Path(home, "bin", "java").exists():
        raise InputError(f"there is no Java at JAVA_HOME={home}: let JAVA_HOME name a JDK 17 or 21")
    if not home and shutil.which("java") is None:
        raise InputError("Spark needs Java, and there is no java on PATH: install a JDK 17 or 21, or set JAVA_HOME")


def check_session(session: SparkSession) -> None:
    """Check that Spark itself has the right version, and that the session is not of Spark Connect.

    A session of Spark Connect has no SparkContext, which checkpoints need.

    :raises InputError: if it is another Spark.
    """
    if type(session).__module__.startswith("pyspark.sql.connect."):
        raise InputError(_NO_CONNECT)
    _check_version("Spark", session.version)


def _check_version(name: str, version: str) -> None:
    if version.partition(".")[0] != MAJOR:
        raise InputError(f"{name} {version} is installed, and this program needs {name} {MAJOR}: install that one")
