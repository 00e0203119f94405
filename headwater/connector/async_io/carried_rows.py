"""Rows as bytes: Arrow's own, in pieces that are not too large; and rows that are carried over.

These are stored, in Spark's state or beside a manifest, and outlive versions of headwater and changes of a
query. A piece has the version that wrote it: pieces of earlier versions are read, pieces of later ones are
refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headwater.connector.async_io.input_rows import cut
from headwater.core.errors import OffsetError
from headwater.readers.runtime.epoch.calls import BOOKKEEPING

MOST_BYTES = 1 << 20
_MOST_ROWS = 1024
_VERSION_KEY = b"headwater.carried_rows"
_ORDER_KEY = b"headwater.order"
_VERSION = 2
"""The newest version that is read: it has the time of the first attempt too. Version 1 is written."""
_ROUNDS = BOOKKEEPING + "rounds"


def pack(batch: pa.RecordBatch) -> Iterator[bytes]:
    """Yield a batch as Arrow's own bytes, piece by piece."""
    for part in cut(batch, MOST_BYTES, _MOST_ROWS) if batch.num_rows else ():
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(part)
        yield sink.getvalue().to_pybytes()


def unpack(packed_rows: bytes) -> pa.RecordBatch:
    """Return the batch that `pack` made bytes of."""
    return pa.ipc.open_stream(packed_rows).read_next_batch()


class CarriedRows:
    """Stores rows that are not out, and takes them up again.

    A column goes with them: how often a row was carried over.

    Args:
        schema: the columns of the input as they are now.
        order: names the order that must be kept from rows that were stored to new ones, and is stored with
            them; None if there is none.
    """

    def __init__(self, schema: pa.Schema, order: str | None = None) -> None:
        self._schema = schema
        self._order = order

    def new(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return rows that were not carried over yet, in the form of carried ones."""
        never = pa.array([0] * batch.num_rows, pa.int32())
        return self._joined(batch, never)

    def carried(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Return rows as they are stored: carried over once more."""
        rounds = pc.add(rows.column(_ROUNDS), pa.scalar(1, pa.int32()))
        carried = rows.drop_columns([_ROUNDS]).append_column(_ROUNDS, rounds)
        metadata = {_VERSION_KEY: b"1"}
        if self._order is not None:
            metadata[_ORDER_KEY] = self._order.encode()
        stored: pa.RecordBatch = carried.replace_schema_metadata(metadata)
        return stored

    def taken_up(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return stored rows in the columns of the input: a column that is new is null.

        Raises:
            OffsetError: a later version wrote them, a column has a type now that their values do not fit, or
                they were not carried over in the order that must be kept.
        """
        metadata = batch.schema.metadata or {}
        version = int(metadata.get(_VERSION_KEY, b"1"))
        if version > _VERSION:
            raise OffsetError(
                "rows that were carried over were written by a later version of headwater (layout "
                f"{version}, this one reads up to {_VERSION}): go back to that version, or start "
                "with a new checkpoint"
            )
        order = metadata.get(_ORDER_KEY, b"in any order").decode()
        if self._order is not None and order != self._order:
            raise OffsetError(
                f"there are rows that were carried over {order}, and now rows are to be asked {self._order}, "
                "which cannot be kept with them: set the function, its keys and the number of state "
                "partitions back, and let the query finish them first with availableNow=True"
            )
        return self._joined(batch, batch.column(_ROUNDS))

    def rounds(self, batches: Sequence[pa.RecordBatch]) -> int:
        """Return how often the row was carried over that was so most often."""
        return max((pc.max(batch.column(_ROUNDS)).as_py() for batch in batches), default=0)

    def _joined(self, batch: pa.RecordBatch, rounds: pa.Array[Any]) -> pa.RecordBatch:
        # New rows and old ones get the very same schema: the rows of a task are gathered together.
        columns = [self._column(batch, field) for field in self._schema]
        return pa.RecordBatch.from_arrays([*columns, rounds], names=[*self._schema.names, _ROUNDS])

    def _column(self, batch: pa.RecordBatch, field: pa.Field[Any]) -> pa.Array[Any]:
        if batch.schema.get_field_index(field.name) < 0:
            missing: pa.Array[Any] = pa.nulls(batch.num_rows, field.type)
            return missing
        column = batch.column(field.name)
        try:
            cast: pa.Array[Any] = column.cast(field.type)
        except pa.ArrowException as error:
            raise OffsetError(
                f"there are carried rows whose {field.name!r} is {column.type}, and now it is "
                f"{field.type}: leave its type, or let the query finish them first with availableNow=True"
            ) from error
        return cast
