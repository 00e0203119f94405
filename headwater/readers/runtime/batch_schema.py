"""A batch has the schema of its source, or the task ends."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from headwater.core.errors import ContractError
from headwater.core.source import Source
from headwater.core.split import SplitPath


def check_schema(
    source: Source[Any, Any, Any], schema: pa.Schema, batch: pa.RecordBatch, path: SplitPath
) -> pa.RecordBatch:
    """Return the batch, which has the schema of its source.

    Spark would read a batch of another schema as garbage, or fail without naming the source.

    Args:
        source: for the error.
        schema: of the source.
        batch: what its emitter yielded.
        path: of the split, for the error; empty if the rows are of several.

    Raises:
        ContractError: the batch has another schema.
    """
    if not batch.schema.equals(schema):
        whose = f"split {'-'.join(path)} of source {source.name!r}" if path else f"source {source.name!r}"
        raise ContractError(
            f"RecordEmitter.emit: a batch of {whose} has not the schema that Source.schema says:\n"
            f"{batch.schema}\nis not\n{schema}"
        )
    return batch
