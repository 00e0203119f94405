"""Rows of COPY as batches of Arrow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from headwater.core.emitter import RecordEmitter, SplitState
from headwater.enumerators.postgres.ctid_ranges import TableSplit
from headwater.readers.postgres.binary_values import binary_columns
from headwater.readers.postgres.types import PostgresColumn

if TYPE_CHECKING:
    from headwater.readers.postgres.framing import FramedRows


@dataclass(frozen=True, slots=True)
class CopiedRows:
    """Rows of one COPY.

    Attributes:
        table: its name, with its schema.
        columns: of each row.
        rows: cut; valid until the next fetch.
    """

    table: str
    columns: Sequence[PostgresColumn]
    rows: FramedRows


class CopyEmitter(RecordEmitter[CopiedRows, TableSplit, int]):
    """Rows in, batches out. A range has one position behind it, which it reaches when it is read.

    Where a row lies in its table is not sent: so the position stays at the start of the range meanwhile.

    Args:
        schema: of the batches: its columns are those of the records, in their order.
    """

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema

    def emit(self, record: CopiedRows, state: SplitState[TableSplit, int]) -> Iterator[pa.RecordBatch]:
        arrays = binary_columns(record.rows, record.columns, record.table)
        yield batch_of(arrays, self._schema, record.rows.rows)


def batch_of(arrays: list[pa.Array[Any]], schema: pa.Schema, rows: int) -> pa.RecordBatch:
    """Return columns as a batch, which has its rows also without any column."""
    if arrays:
        return pa.RecordBatch.from_arrays(arrays, schema=schema)
    empty: Any = pa.StructArray.from_buffers(pa.struct([]), rows, [None])
    return pa.RecordBatch.from_struct_array(empty)
