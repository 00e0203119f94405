"""The columns that a kernel fills, as a table of numbers: types, names, and where their buffers lie.

A schema is a tree: structs, lists and maps have children. Its nodes stand in the table level by level, so
that the children of a node are neighbours. A kernel reads the table, and is compiled once for all schemas.

The kernel never writes outside of a buffer: before it writes it compares the room that is left. Where there
is not enough, it takes the current row back and asks for more. Then `ColumnTable.grow` moves everything into
larger memory, and the kernel decodes the same row again. The sizes are kept for the next batches.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from headwater.core.errors import SourceError
from headwater.readers.formats.columns import layout
from headwater.readers.kernels.arenas import PROCESS_POOL, ArenaPool
from headwater.readers.kernels.arrays import ByteArray, Int64Array, address

_LEAST_ENTRIES: Final = 1024
_LEAST_DATA: Final = 1 << 14
_MOST: Final = (1 << 31) - (1 << 10)
"""Arrow's offsets have 31 bits."""
_ROOT: Final = 0
_AFTER_NAME: Final = b'"' + bytes(40)

_PLACES: Final = slice(layout.NODE_VALUES, layout.NODE_DATA + 1)

_WIDTH: Final = {
    layout.TYPE_BYTE: 1,
    layout.TYPE_SHORT: 2,
    layout.TYPE_INT: 4,
    layout.TYPE_LONG: 8,
    layout.TYPE_FLOAT: 4,
    layout.TYPE_DOUBLE: 8,
    layout.TYPE_DECIMAL: 16,
    layout.TYPE_DATE: 4,
    layout.TYPE_TIMESTAMP: 8,
    layout.TYPE_LOCAL_TIMESTAMP: 8,
    layout.TYPE_DURATION: 8,
    layout.TYPE_TIME: 8,
}
_WITH_OFFSETS: Final = frozenset({layout.TYPE_STRING, layout.TYPE_BINARY, layout.TYPE_LIST, layout.TYPE_MAP})
_WITH_DATA: Final = frozenset({layout.TYPE_STRING, layout.TYPE_BINARY})


class _Buffers(NamedTuple):
    """Where the buffers of a node begin in the region, in the order of the fields from ``NODE_VALUES`` on."""

    values: int
    validity: int
    data: int


class _Division(NamedTuple):
    """How a region is divided: it stays so for batch after batch, until one needs more room."""

    buffers: Sequence[_Buffers]
    places: Int64Array
    """The same, one row a node."""
    size: int


class ColumnTable:
    """Columns of any schema, filled by a kernel. One owner, one thread.

    Attributes:
        nodes: the table, one row a node, as `table_layout` describes it. A kernel gets its address.

    Args:
        fields: the columns, all nullable.
        pool: lends the memory.
    """

    def __init__(self, fields: Sequence[pa.Field[Any]], pool: ArenaPool = PROCESS_POOL) -> None:
        described = list(_level_by_level(pa.struct(fields)))
        self._types = [node.type for node in described]
        self.nodes: Int64Array = np.zeros((len(described), layout.NODE_FIELDS), np.int64)
        self._names = _name_bytes([node.name for node in described])
        for at, node in enumerate(described):
            row = self.nodes[at]
            row[layout.NODE_TYPE] = type_code(node.type)
            row[layout.NODE_PARENT] = node.parent
            row[layout.NODE_FIRST_CHILD] = node.first_child
            row[layout.NODE_CHILDREN] = node.children
            row[layout.NODE_NAME_SIZE] = len(node.name.encode())
            row[layout.NODE_MOST_ENTRIES] = _LEAST_ENTRIES
            if pa.types.is_decimal(node.type):
                row[layout.NODE_PRECISION] = node.type.precision
                row[layout.NODE_SCALE] = node.type.scale
            if row[layout.NODE_TYPE] in _WITH_DATA:
                row[layout.NODE_MOST_DATA] = _LEAST_DATA
        sizes = self.nodes[:, layout.NODE_NAME_SIZE] + len(_AFTER_NAME)
        self.nodes[:, layout.NODE_NAME] = address(self._names) + np.cumsum(sizes) - sizes
        self._codes: list[int] = self.nodes[:, layout.NODE_TYPE].tolist()
        self._parents = [node.parent for node in described]
        self._children = [range(node.first_child, node.first_child + node.children) for node in described]
        self._per_row = [at for at, node in enumerate(described) if node.once_a_row]
        self._data_per_row = [at for at in self._per_row if self._codes[at] in _WITH_DATA]
        self._pool = pool
        self._region: ByteArray | None = None
        self._division = self._divided()

    @property
    def rows(self) -> int:
        """How many rows are filled."""
        return int(self.nodes[_ROOT, layout.NODE_ENTRIES])

    def make_room(self, rows: int, size: int) -> None:
        """Make room for more rows, and for their bytes in each column of strings.

        There may be less room than the rows need in lists, maps, and for text that becomes longer: the kernel
        asks for that.
        """
        entries = self.nodes[:, layout.NODE_MOST_ENTRIES]
        data = self.nodes[:, layout.NODE_MOST_DATA]
        wanted_entries = self.rows + rows
        wanted_data = self.nodes[:, layout.NODE_DATA_SIZE] + min(size, _MOST)
        few = entries[_ROOT] < wanted_entries
        small = [at for at in self._data_per_row if data[at] < wanted_data[at]]
        if few:
            entries[self._per_row] = _rounded(wanted_entries)
        for at in small:
            data[at] = _rounded(int(wanted_data[at]))
        if few or small:
            self._enlarge()
        elif self._region is None:
            self._region = self._leased()

    def grow(self, stop: int, node: int) -> None:
        """Make more room in one node, as a kernel asks for it when it stops.

        Args:
            stop: ``STOP_MORE_ENTRIES`` or ``STOP_MORE_DATA``.
            node: the value of ``STATE_NODE``.

        Raises:
            SourceError: Arrow cannot hold so much in one batch.
        """
        field = layout.NODE_MOST_DATA if stop == layout.STOP_MORE_DATA else layout.NODE_MOST_ENTRIES
        room = int(self.nodes[node, field])
        # Else it would ask for ever.
        assert room > 0, f"a kernel wants room in node {node}, which has no such buffer"
        if room >= _MOST:
            raise SourceError("one value has more elements or bytes than an Arrow batch can hold (2 GiB)")
        larger = min(2 * room, _MOST)
        for at in [node, *self._same_entries(node)] if field == layout.NODE_MOST_ENTRIES else [node]:
            self.nodes[at, field] = larger
        self._enlarge()

    def finish(self) -> list[pa.Array[Any]]:
        """Return the rows that are filled as columns, and start anew in other memory."""
        if self._region is None:
            self._region = self._leased()
        region = pa.py_buffer(self._region.data)
        filled = self.nodes[:, [layout.NODE_ENTRIES, layout.NODE_DATA_SIZE]].tolist()
        columns = [self._array(at, region, filled) for at in self._children[_ROOT]]
        self.nodes[:, layout.NODE_ENTRIES] = 0
        self.nodes[:, layout.NODE_DATA_SIZE] = 0
        self._region = None
        return columns

    def _same_entries(self, node: int) -> Iterator[int]:
        """Yield the nodes below that have an entry for each entry of this one: those of structs."""
        if self._codes[node] == layout.TYPE_STRUCT:
            for child in self._children[node]:
                yield child
                yield from self._same_entries(child)

    def _divided(self) -> _Division:
        """Divide a region into buffers with the room that the table says."""
        buffers: list[_Buffers] = []
        region_size = 0

        def take(size: int) -> int:
            nonlocal region_size
            at = region_size
            region_size += (
                size + layout.SPARE_BYTES + 63
            ) & ~63  # Arrow wants its buffers aligned to 64 bytes
            return at

        for code, row in zip(self._codes, self.nodes.tolist(), strict=True):
            entries = row[layout.NODE_MOST_ENTRIES]
            validity = take((entries + 7) // 8)
            values = take(_values_size(code, entries))
            buffers.append(_Buffers(values, validity, take(row[layout.NODE_MOST_DATA])))
        return _Division(buffers, np.array(buffers, np.int64), region_size)

    def _leased(self) -> ByteArray:
        """Return a new region, and write into the table where its buffers lie."""
        region = self._pool.lease(self._division.size)
        self.nodes[:, _PLACES] = self._division.places + address(region)
        for code, buffers in zip(self._codes, self._division.buffers, strict=True):
            if code in _WITH_OFFSETS:
                region[buffers.values : buffers.values + 4] = 0
        return region

    def _enlarge(self) -> None:
        """Divide a new region by the room that the table says now, and move the filled entries into it."""
        old = self._region
        division = self._division
        self._division = self._divided()
        self._region = self._leased()
        if old is None:
            return
        rows = self.nodes.tolist()
        for code, row, source, to in zip(
            self._codes, rows, division.buffers, self._division.buffers, strict=True
        ):
            entries = row[layout.NODE_ENTRIES]
            for begin, target, size in (
                (source.validity, to.validity, (entries + 7) // 8),
                (source.values, to.values, _values_size(code, entries)),
                (source.data, to.data, row[layout.NODE_DATA_SIZE]),
            ):
                self._region[target : target + size] = old[begin : begin + size]

    def _array(self, node: int, region: pa.Buffer, filled: Sequence[Sequence[int]]) -> pa.Array[Any]:
        """Return a node as an array; ``filled`` has the entries and the size of the data of each node."""
        code = self._codes[node]
        buffers = self._division.buffers[node]
        entries, data_size = filled[node]
        parts: list[pa.Buffer | None] = [region.slice(buffers.validity, (entries + 7) // 8)]
        if code != layout.TYPE_STRUCT:
            parts.append(region.slice(buffers.values, _values_size(code, entries)))
        if code in _WITH_DATA:
            parts.append(region.slice(buffers.data, data_size))
        if self._codes[self._parents[node]] == layout.TYPE_MAP:
            parts[0] = None  # the entries of maps are never null
        children = [self._array(child, region, filled) for child in self._children[node]]
        # Nulls are counted when someone asks.
        return pa.Array.from_buffers(self._types[node], entries, parts, -1, children=children or None)


class _Node:
    """A type in the tree, before it has a place in the table."""

    def __init__(self, name: str, kind: pa.DataType, parent: int, *, once_a_row: bool) -> None:
        self.name = name
        self.type = kind
        self.parent = parent
        self.once_a_row = once_a_row
        self.first_child = 0
        self.children = 0


def _level_by_level(root: pa.DataType) -> Iterator[_Node]:
    """Return the nodes of a schema, the children of each as neighbours."""
    nodes = [_Node("", root, -1, once_a_row=True)]
    for at, node in enumerate(nodes):  # it grows while it is walked through
        fields = list(_fields(node.type))
        node.first_child = len(nodes)
        node.children = len(fields)
        once = node.once_a_row and pa.types.is_struct(node.type)
        nodes += [_Node(field.name, field.type, at, once_a_row=once) for field in fields]
    return iter(nodes)


def _fields(kind: pa.DataType) -> Iterator[pa.Field[Any]]:
    if isinstance(kind, pa.StructType):
        yield from (kind.field(i) for i in range(kind.num_fields))
    elif isinstance(kind, pa.ListType):
        yield kind.value_field
    elif isinstance(kind, pa.MapType):
        entries = pa.struct([kind.key_field, kind.item_field])
        yield pa.field("entries", entries, nullable=False)


def type_code(kind: pa.DataType) -> int:
    """Return the code of a type in the table.

    Raises:
        NotImplementedError: formats make no such type. The driver has refused it before.
    """
    codes: dict[pa.DataType, int] = {
        pa.bool_(): layout.TYPE_BOOLEAN,
        pa.int8(): layout.TYPE_BYTE,
        pa.int16(): layout.TYPE_SHORT,
        pa.int32(): layout.TYPE_INT,
        pa.int64(): layout.TYPE_LONG,
        pa.float32(): layout.TYPE_FLOAT,
        pa.float64(): layout.TYPE_DOUBLE,
        pa.string(): layout.TYPE_STRING,
        pa.binary(): layout.TYPE_BINARY,
        pa.date32(): layout.TYPE_DATE,
        pa.timestamp("us", tz="UTC"): layout.TYPE_TIMESTAMP,
        pa.timestamp("us"): layout.TYPE_LOCAL_TIMESTAMP,
        pa.duration("us"): layout.TYPE_DURATION,
        pa.time64("ns"): layout.TYPE_TIME,
    }
    if kind in codes:
        return codes[kind]
    nested = (
        (pa.types.is_decimal128, layout.TYPE_DECIMAL),
        (pa.types.is_struct, layout.TYPE_STRUCT),
        (pa.types.is_list, layout.TYPE_LIST),
        (pa.types.is_map, layout.TYPE_MAP),
    )
    for is_it, code in nested:
        if is_it(kind):
            return code
    raise NotImplementedError(f"no format makes {kind}")


def _name_bytes(names: Sequence[str]) -> ByteArray:
    return np.frombuffer(b"".join(name.encode() + _AFTER_NAME for name in names), np.uint8)


def _values_size(code: int, entries: int) -> int:
    if code in _WITH_OFFSETS:
        return 4 * (entries + 1)
    if code == layout.TYPE_BOOLEAN:
        return (entries + 7) // 8
    return _WIDTH.get(code, 0) * entries


def _rounded(room: int) -> int:
    """Return a size with a margin, so that batches of about one size do not grow one after the other."""
    return min(max(_LEAST_ENTRIES, 1 << (room - 1).bit_length()), _MOST)
