"""The rows of a task, in the Arrow types of the schema that Spark plans with."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from typing import Any

import pyarrow as pa

from headwater.connector.readable import readable_rows
from headwater.connector.sources.configured import ConfiguredSource


def planned_rows(
    configured: ConfiguredSource, task: Any, planned: pa.Schema
) -> Generator[pa.RecordBatch, None, None]:
    """Yield what a task reads. On an executor. An error on the way is readable.

    Args:
        configured: the source, with the schema that Spark plans with.
        task: of its coordinator.
        planned: that schema, as Spark's workers send it to the JVM.

    Raises:
        HeadwaterError: what reading raises, or a value that Spark's type does not hold.
    """
    return readable_rows(_rows(configured, task, planned))


def _rows(
    configured: ConfiguredSource, task: Any, planned: pa.Schema
) -> Generator[pa.RecordBatch, None, None]:
    # Imported late: every process that makes a reader loads this module, and only a task reads.
    from headwater.readers.runtime.batches import cast_batch

    with closing(configured.read_task(task)) as batches:
        for batch in batches:
            yield cast_batch(batch, planned, configured.source.name)
