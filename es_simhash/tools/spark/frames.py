"""DataFrames that are computed once."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def checkpointed(frame: DataFrame) -> DataFrame:
    """Compute a frame, and return it without its history.

    The rows are kept by the executors, in memory and on disk. If the session has a checkpoint directory, they are kept
    there, so that the loss of an executor does not stop the job.
    """
    directory = frame.sparkSession.sparkContext.getCheckpointDir()
    return frame.localCheckpoint() if directory is None else frame.checkpoint()
