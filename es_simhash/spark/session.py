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


def check_pyspark() -> None:
    """Check that PySpark is installed in the right version, and that it can start Java.

    :raises InputError: if it cannot.
    """
    try:
        import pyspark
    except ImportError as error:
        raise InputError("PySpark is not installed: pip install 'es-simhash[spark]'") from error
    _check_version("PySpark", pyspark.__version__)
    # spark-submit and Databricks have started Java already, and a remote session needs none.
    if any(name in os.environ for name in ("PYSPARK_GATEWAY_PORT", "SPARK_REMOTE")):
        return
    home = os.environ.get("JAVA_HOME")
    if home and not Path(home, "bin", "java").exists():
        raise InputError(f"there is no Java at JAVA_HOME={home}: let JAVA_HOME name a JDK 17 or 21")
    if not home and shutil.which("java") is None:
        raise InputError("Spark needs Java, and there is no java on PATH: install a JDK 17 or 21, or set JAVA_HOME")


def check_session(session: SparkSession) -> None:
    """Check that Spark itself has the right version.

    :raises InputError: if it has another one.
    """
    _check_version("Spark", session.version)


def _check_version(name: str, version: str) -> None:
    if version.partition(".")[0] != MAJOR:
        raise InputError(f"{name} {version} is installed, and this program needs {name} {MAJOR}: install that one")
