"""`split_failures`: the rows that have a result, and the rows that failed."""

from __future__ import annotations

import warnings

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from headwater.connector.program_arguments import checked_frame
from headwater.connector.readable import readable
from headwater.core.errors import OptionError


@readable
def split_failures(df: DataFrame, error_column: str = "error") -> tuple[DataFrame, DataFrame]:
    """Return the rows that have a result, without the error column, and the rows that failed, with it.

    Each of the two is a branch of its own: an action on both **makes every call twice**, unless the frame is
    cached (``df.persist()``), or written first. In a stream, do it in ``foreachBatch``::

        def write(batch: DataFrame, batch_id: int) -> None:
            batch.persist()
            good, failed = hw.split_failures(batch)
            ...
            batch.unpersist()

    Warns (`RuntimeWarning`) where that would happen: a frame that is not cached, or a stream.

    Args:
        df: what `unordered_wait`, `ordered_wait` or `keyed_wait` returned with ``on_failure="error_column"``,
            or made from it.
        error_column: as it was given there.

    Raises:
        OptionError: there is no such column, or ``df`` is no frame.
    """
    checked_frame(df)
    if error_column not in df.columns:
        raise OptionError(
            f"{error_column!r} is no column of the frame; was on_failure='error_column' given?",
            option="error_column",
        )
    if df.isStreaming:
        warnings.warn(
            "both branches of a stream make all calls: split inside foreachBatch, on a persisted batch",
            RuntimeWarning,
            stacklevel=3,
        )
    elif not (df.storageLevel.useMemory or df.storageLevel.useDisk):
        warnings.warn(
            "the frame is not cached: an action on each branch makes all calls again; persist() it first",
            RuntimeWarning,
            stacklevel=3,
        )
    error = F.col(f"`{error_column}`")
    return df.where(error.isNull()).drop(error_column), df.where(error.isNotNull())
