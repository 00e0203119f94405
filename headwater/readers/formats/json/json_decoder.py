"""Decodes JSON values with the compiled kernel."""

from __future__ import annotations

import ctypes
import functools
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

from headwater.core.errors import OptionError
from headwater.readers.formats import table_layout
from headwater.readers.formats.column_table import ColumnTable
from headwater.readers.formats.format import BadValues, Spans, ValueDecoder
from headwater.readers.formats.format_options import FormatOptions
from headwater.readers.formats.json import layout, pattern_layout
from headwater.readers.formats.json.time_pattern import program_of
from headwater.readers.formats.json.zones import offsets_of
from headwater.readers.kernels.arrays import ByteArray, Int64Array, address
from headwater.readers.kernels.cache import KernelSource, load_kernel
from headwater.readers.kernels.machine_code import CompiledFunction

SOURCE: Final = KernelSource(
    modules=(
        *(
            f"headwater.readers.formats.json.{name}"
            for name in (
                *("base64", "days", "double_text", "entries", "exact_numbers", "frames", "from_text"),
                *("kernel", "kernel_entry", "layout", "moments", "names", "numbers", "objects"),
                *("pattern_fields", "pattern_layout", "pattern_matching", "rescue", "scalars", "scanner"),
                *("skipping", "strings", "text", "times"),
            )
        ),
        "headwater.readers.formats.kernel_columns",
        "headwater.readers.formats.kernel_text",
        "headwater.readers.formats.table_layout",
        "headwater.readers.kernels.compiling",
        "headwater.readers.kernels.memory",
        "headwater.readers.kernels.utf8",
    ),
    entry="headwater.readers.formats.json.kernel_entry",
    arguments=layout.ENTRY_ARGUMENTS,
    needed_for="the format json",
    extra="formats",
)

_BEHIND: Final = 64
"""So many bytes behind a value the kernel may load."""
_MOST_ZONES: Final = 256
_SPECIAL_NAME: Final = re.compile(r'["\\\x00-\x1f]')

_REASONS: Final = {
    layout.REASON_NOT_JSON: "is not JSON",
    layout.REASON_MISMATCH: "has a field whose value does not fit the type of its column",
    layout.REASON_NOT_AN_OBJECT: "is not a JSON object",
}


@functools.cache
def _kernel() -> CompiledFunction:
    """Return the compiled kernel, loaded with the first call in a process."""
    return load_kernel(SOURCE)


class JsonDecoder(ValueDecoder):
    """Decodes JSON objects into columns. One owner, one thread.

    Args:
        schema: the columns.
        options: the column for corrupt values, and the zone of times without one.
        exact: whether a column of strings takes numbers and objects as they stand, which must be UTF-8.
        specials: whether texts such as ``NaN`` are numbers.

    Raises:
        OptionError: there is no such time zone, or none is given and a column needs one.
    """

    def __init__(
        self, schema: pa.Schema, options: FormatOptions, *, exact: bool = False, specials: bool = True
    ) -> None:
        special = (options.corrupt_column, options.rescued_column)
        fields = [field for field in schema if field.name not in special]
        extras = [field for field in schema if field.name in special]
        self._table = ColumnTable([*fields, *extras])
        self._order = [[*fields, *extras].index(field) for field in schema]
        self._zones = _Zones(options.time_zone)
        self._scratch = np.zeros(layout.SCRATCH_BYTES, np.uint8)
        self._levels = np.zeros(layout.LEVEL_BYTES, np.uint8)
        self._stack = np.zeros(layout.FRAME_BYTES * (2 + _depth(pa.struct(fields))), np.uint8)
        self._state = np.zeros(table_layout.STATE_FIELDS, np.int64)
        self._state[layout.STATE_FIELDS_OF_ROOT] = len(fields)
        places = {field.name: 1 + len(fields) + at for at, field in enumerate(extras)}
        self._state[layout.STATE_CORRUPT] = places.get(options.corrupt_column or "", 0)
        self._state[layout.STATE_RESCUE] = places.get(options.rescued_column or "", 0)
        self._state[layout.STATE_SCRATCH] = address(self._scratch)
        self._state[layout.STATE_LEVELS] = address(self._levels)
        self._state[layout.STATE_STACK] = address(self._stack)
        self._state[layout.STATE_EXACT] = int(exact)
        self._state[layout.STATE_NO_SPECIALS] = int(not specials)
        self._patterns = _Patterns(options)
        self._state[layout.STATE_PATTERNS] = self._patterns.address
        plain = not any(_SPECIAL_NAME.search(name) for name in _names(pa.struct(fields)))
        self._state[layout.STATE_PLAIN_NAMES] = int(plain)

    def append(self, spans: Spans) -> BadValues | None:
        """Decode values; see `ValueDecoder.append`."""
        count = len(spans.sizes)
        sizes = np.ascontiguousarray(spans.sizes, np.int64)
        # Both stay alive until the kernel is done.
        starts, _copies = _addresses(spans, sizes)
        rows = np.empty(count, np.int64)
        reasons = np.empty(count, np.int64)
        self._table.make_room(count, int(sizes.clip(0).sum()))
        self._state[table_layout.STATE_BAD] = 0
        done = 0
        while True:
            self._state[layout.STATE_ZONES] = self._zones.address
            self._state[layout.STATE_ZONE_COUNT] = self._zones.count
            done = _kernel()(
                address(self._table.nodes),
                *(address(array) if count else 0 for array in (starts, sizes)),
                done,
                count,
                address(self._state),
                *(address(array) if count else 0 for array in (rows, reasons)),
            )
            stop = int(self._state[table_layout.STATE_STOP])
            if stop == table_layout.STOP_DONE:
                break
            if stop == layout.STOP_ZONE:
                self._zones.add(self._named_zone())
            else:
                self._table.grow(stop, int(self._state[table_layout.STATE_NODE]))
        bad = int(self._state[table_layout.STATE_BAD])
        return BadValues(rows[:bad], reasons[:bad]) if bad else None

    def reason(self, code: int) -> str:
        """Return why a value is bad."""
        return _REASONS[code]

    def finish(self) -> Sequence[pa.Array[Any]]:
        """Return the rows since the last call as columns."""
        columns = self._table.finish()
        return [columns[at] for at in self._order]

    def _named_zone(self) -> bytes:
        at = int(self._state[layout.STATE_ZONE_TEXT])
        return ctypes.string_at(at, int(self._state[layout.STATE_ZONE_SIZE]))


class _Patterns:
    """The programs of the patterns that a user gave, and the room that they need."""

    def __init__(self, options: FormatOptions) -> None:
        given = (options.timestamp_format, options.timestamp_ntz_format, options.date_format)
        self._programs = [None if one is None else np.array(program_of(one), np.int64) for one in given]
        self._work = np.zeros(pattern_layout.WORK_BYTES, np.uint8)
        self._table = np.array(
            [*(0 if one is None else address(one) for one in self._programs), address(self._work)], np.int64
        )

    @property
    def address(self) -> int:
        return address(self._table)


class _Zones:
    """The time zones that the kernel knows: the one for times without a zone, and those seen in values.

    A name that means no zone is remembered too.
    """

    def __init__(self, time_zone: str | None) -> None:
        self._rows: list[list[int]] = []
        self._kept: list[object] = []  # what the addresses point to
        if time_zone is not None:
            if offsets_of(time_zone) is None:
                raise OptionError(f"there is no time zone {time_zone!r}; write Europe/Paris, +01:00 or UTC")
            self._append(b"", time_zone)
        else:
            self._rows.append([0] * (layout.ZONE_BYTES // 8))
        self._table = np.array(self._rows, np.int64)

    @property
    def address(self) -> int:
        return address(self._table)

    @property
    def count(self) -> int:
        return len(self._rows)

    def add(self, name: bytes) -> None:
        if len(self._rows) > _MOST_ZONES:
            # Values may name anything: what is forgotten is looked up again.
            del self._rows[1:], self._kept[3:]
        self._append(name, name.decode("ascii", "replace").strip())
        self._table = np.array(self._rows, np.int64)

    def _append(self, key: bytes, name: str) -> None:
        text = np.frombuffer(key + b"\0", np.uint8)
        until, offsets = offsets_of(name) or (np.empty(0, np.int64), np.empty(0, np.int64))
        self._kept += [text, until, offsets]
        places = (address(until), address(offsets)) if len(offsets) else (0, 0)
        self._rows.append([address(text), len(key), *places, len(offsets)])


def _addresses(spans: Spans, sizes: Int64Array) -> tuple[Int64Array, ByteArray]:
    """Return the addresses of values, those at the end of the data as copies with room behind them."""
    base = address(spans.data) if spans.data.size else 0
    starts = spans.starts + base
    last = np.flatnonzero(spans.starts + sizes > spans.data.size - _BEHIND)
    last = last[sizes[last] >= 0]
    copies = np.zeros(int(sizes[last].sum()) + _BEHIND, np.uint8)
    at = 0
    for row in last.tolist():
        start, size = int(spans.starts[row]), int(sizes[row])
        copies[at : at + size] = spans.data[start : start + size]
        starts[row] = address(copies) + at
        at += size
    return starts, copies


def _depth(kind: pa.DataType) -> int:
    return 1 + max((_depth(child) for child in _children(kind)), default=0)


def _names(kind: pa.DataType) -> Iterator[str]:
    if isinstance(kind, pa.StructType):
        yield from (kind.field(i).name for i in range(kind.num_fields))
    for child in _children(kind):
        yield from _names(child)


def _children(kind: pa.DataType) -> list[pa.DataType]:
    if isinstance(kind, pa.StructType):
        return [kind.field(i).type for i in range(kind.num_fields)]
    if isinstance(kind, pa.ListType):
        return [kind.value_type]
    if isinstance(kind, pa.MapType):
        return [kind.key_type, kind.item_type]
    return []
