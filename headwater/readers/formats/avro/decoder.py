"""Decodes values of Avro: runs the kernel with a program for each schema that it meets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

from headwater.readers.formats.avro import layout
from headwater.readers.formats.avro.columns import arrow_schema
from headwater.readers.formats.avro.operations import NODE_BYTES, Program
from headwater.readers.formats.avro.program import compile_program, nodes_of_nulls
from headwater.readers.formats.avro.types import AvroType
from headwater.readers.formats.columns import layout as table
from headwater.readers.formats.columns.kernel_runs import run_kernel
from headwater.readers.formats.columns.table import ColumnTable
from headwater.readers.formats.format import BadValues, Spans, ValueDecoder
from headwater.readers.formats.wire_format import header_reason, schema_id
from headwater.readers.kernels.arrays import address
from headwater.readers.kernels.cache import Kernel

KERNEL: Final = Kernel(
    "headwater.readers.formats.avro.kernel.decode", "decode", arguments=2, needed_for="the avro format"
)

PLAIN: Final = -1
"""The id of the only schema, where values name none."""
_ROOT: Final = 0
_CORRUPT: Final[pa.Field[Any]] = pa.field("corrupt", pa.string())


class AvroDecoder(ValueDecoder):
    """Decodes values of one schema, or of the schemas that they name in a header.

    Args:
        reader: the schema whose columns are made.
        corrupt_column: whether there is a column for bad values, after the others.
        header: how many bytes of each value are before Avro's; 0: there is no header.
        raw_bytes: whether values of the schema ``bytes`` are these bytes, without their length in front.
        writer: called for each schema that is met for the first time, with its id, `PLAIN` without a header,
            and the number of the value.
        sole_block: whether values are arrays of one block, without the end that arrays have.
    """

    def __init__(
        self,
        reader: AvroType,
        *,
        corrupt_column: bool,
        header: int,
        writer: Callable[[int, int], AvroType],
        raw_bytes: bool = False,
        sole_block: bool = False,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._header = header
        self._raw_bytes = raw_bytes
        fields = list(arrow_schema(reader))
        self._table = ColumnTable([*fields, _CORRUPT] if corrupt_column else fields, last_of_keys=True)
        self._programs: list[Program] = []
        self._frames = np.zeros(layout.FRAME_FIELDS, np.int64)
        self._ids: list[int] = []
        self._codes: dict[str, int] = {}
        self._state = np.zeros(table.STATE_FIELDS, np.int64)
        self._inputs = np.zeros(layout.IN_FIELDS, np.int64)
        self._bad = np.empty((2, 0), np.int64)
        self._nulls = np.fromiter(nodes_of_nulls(self._table.nodes, _ROOT), np.int64)
        for at, value in (
            (layout.IN_HEADER, header),
            (layout.IN_NODES, address(self._table.nodes)),
            (layout.IN_NODE_COUNT, len(self._table.nodes)),
            (layout.IN_NULLS, address(self._nulls)),
            (layout.IN_NULL_COUNT, self._nulls.size),
            (layout.IN_CORRUPT, NODE_BYTES * (1 + len(fields))),
            (layout.IN_CORRUPT_COUNT, int(corrupt_column)),
            (layout.IN_SOLE_BLOCK, int(sole_block)),
            (layout.IN_STATE, address(self._state)),
        ):
            self._inputs[at] = value
        self._show_programs()

    def append(self, spans: Spans) -> BadValues | None:
        rows = spans.sizes.size
        self._table.make_room(rows, int(np.maximum(spans.sizes, 0).sum()))
        if self._bad.shape[1] < rows:
            self._bad = np.empty((2, rows), np.int64)
        for at, value in (
            (layout.IN_DATA, address(spans.data)),
            (layout.IN_DATA_SIZE, spans.data.size),
            (layout.IN_STARTS, address(spans.starts)),
            (layout.IN_SIZES, address(spans.sizes)),
            (layout.IN_ROWS, rows),
            (layout.IN_BAD_ROWS, address(self._bad[0])),
            (layout.IN_BAD_REASONS, address(self._bad[1])),
        ):
            self._inputs[at] = value
        self._state[:] = 0
        if not self._header and not self._programs:
            self._add_program(PLAIN, 0)
        self._run(spans)
        count = int(self._state[table.STATE_BAD])
        if count == 0:
            return None
        bad = BadValues(self._bad[0, :count].copy(), self._bad[1, :count].copy())
        self._name_headers(spans, bad)
        return bad

    def reached_element(self) -> tuple[int, int]:
        """Return which element of an array `append` came to, counted from its last one, and where it begins.

        That is the bad one, or the place behind the last one. To be asked after an only value, which is an
        array of one block. The place is one in memory: compare it with that of the value.
        """
        return int(self._frames[layout.FRAME_LEFT]), int(self._frames[layout.FRAME_BEGIN])

    def reason(self, code: int, row: int | None = None) -> str:
        if code < layout.REASONS_OF_PROGRAMS:
            return layout.REASONS[code]
        return list(self._codes)[code - layout.REASONS_OF_PROGRAMS]

    def finish(self) -> Sequence[pa.Array[Any]]:
        return self._table.finish()

    def _run(self, spans: Spans) -> None:
        def add_schema(row: int) -> None:
            begin = int(spans.starts[row])
            self._add_program(schema_id(spans.data[begin : begin + self._header].tobytes()), row)

        def call(row: int) -> int:
            return KERNEL(address(self._inputs), row)

        run_kernel(call, self._state, self._table, {layout.STOP_SCHEMA: add_schema})

    def _add_program(self, writer_id: int, row: int) -> None:
        writer = self._writer(writer_id, row)
        program = compile_program(
            writer, self._reader, self._table.nodes, self._code, raw_bytes=self._raw_bytes
        )
        self._ids.append(writer_id)
        self._programs.append(program)
        self._show_programs()

    def _show_programs(self) -> None:
        """Write where the programs are, for the kernel. The last one is of no schema."""
        table_rows = np.full((len(self._programs) + 1, layout.PROGRAM_FIELDS), PLAIN, np.int64)
        for row, writer_id, program in zip(table_rows, self._ids, self._programs, strict=False):
            row[layout.PROGRAM_ID] = writer_id
            row[layout.PROGRAM_OPERATIONS] = address(program.operations)
            row[layout.PROGRAM_NUMBERS] = address(program.numbers)
            row[layout.PROGRAM_TEXTS] = address(program.texts)
        depth = max((program.depth for program in self._programs), default=1)
        frames = depth
        if any(program.is_recursive for program in self._programs):
            frames += layout.MOST_FRAMES
        self._frames = np.zeros(frames * layout.FRAME_FIELDS, np.int64)
        self._shown = table_rows
        self._inputs[layout.IN_PROGRAMS] = address(table_rows)
        self._inputs[layout.IN_PROGRAM_COUNT] = len(self._programs)
        self._inputs[layout.IN_FRAMES] = address(self._frames)
        # Behind the last call there is room for the lists in what it calls.
        last = 8 * layout.FRAME_FIELDS * (frames - depth - 1)
        self._inputs[layout.IN_LAST_FRAME] = address(self._frames) + last

    def _code(self, reason: str) -> int:
        return self._codes.setdefault(reason, layout.REASONS_OF_PROGRAMS + len(self._codes))

    def _name_headers(self, spans: Spans, bad: BadValues) -> None:
        """Say which other wire format a value has, if it is a known one."""
        for at in np.flatnonzero(bad.reasons == layout.REASON_HEADER).tolist():
            begin = int(spans.starts[bad.rows[at]])
            value = spans.data[begin : begin + int(spans.sizes[bad.rows[at]])]
            bad.reasons[at] = self._code(header_reason(value))
