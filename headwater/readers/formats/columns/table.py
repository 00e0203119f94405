"""The columns that a kernel fills, as a table of numbers: types, names, and where their buffers lie.

A schema is a tree: structs, lists and maps have children. Its nodes stand in the table level by level, so
that the children of a node are neighbours. A kernel reads the table, and is compiled once for all schemas.

The buffers of all nodes share one region, which is leased for each batch and divided by the sizes of the last
one. A kernel never writes outside of a buffer: before it writes it compares the room that is left. A buffer
that is full goes on in memory of its own (`headwater.readers.formats.columns.kernel.room`). So the memory
follows the bytes that are decoded, however many columns there are.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

from headwater.core.errors import SourceError
from headwater.readers.formats.columns import layout
from headwater.readers.formats.columns.row_arrays import with_last_of_keys
from headwater.readers.kernels.arenas import PROCESS_POOL, ArenaPool
from headwater.readers.kernels.arrays import ByteArray, Int64Array, address

_LEAST_ENTRIES: Final = 64
_LEAST_DATA: Final = 256
_SPARE_ENTRIES: Final = 1 << 17
_SPARE_DATA: Final = 1 << 22
"""What all nodes together may have more than the least, so that few small columns need not grow."""
_DATA_FACTOR: Final = 8
"""The room for strings of all nodes together, as a multiple of the bytes that are decoded."""
_ROOT: Final = 0
_AFTER_NAME: Final = b'"' + bytes(40)

_BUFFERS: Final = slice(layout.NODE_VALUES, layout.NODE_DATA + 1)
_FILLED: Final = slice(layout.NODE_ENTRIES, layout.NODE_DATA_SIZE + 1)

_BITS: Final = {
    layout.TYPE_BOOLEAN: 1,
    layout.TYPE_BYTE: 8,
    layout.TYPE_SHORT: 16,
    layout.TYPE_INT: 32,
    layout.TYPE_LONG: 64,
    layout.TYPE_FLOAT: 32,
    layout.TYPE_DOUBLE: 64,
    layout.TYPE_DECIMAL: 128,
    layout.TYPE_DATE: 32,
    layout.TYPE_TIMESTAMP: 64,
    layout.TYPE_LOCAL_TIMESTAMP: 64,
    layout.TYPE_DURATION: 64,
    layout.TYPE_TIME: 64,
    layout.TYPE_STRING: 32,
    layout.TYPE_BINARY: 32,
    layout.TYPE_LIST: 32,
    layout.TYPE_MAP: 32,
}
_WITH_OFFSETS: Final = frozenset({layout.TYPE_STRING, layout.TYPE_BINARY, layout.TYPE_LIST, layout.TYPE_MAP})
_WITH_DATA: Final = frozenset({layout.TYPE_STRING, layout.TYPE_BINARY})

_LIBC: Final = ctypes.CDLL(None)
_LIBC.realloc.restype = ctypes.c_void_p
_LIBC.realloc.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_LIBC.free.argtypes = [ctypes.c_void_p]


class ColumnTable:
    """Columns of any schema, filled by a kernel. One owner, one thread.

    Attributes:
        nodes: the table, one row a node, as `table_layout` describes it. A kernel gets its address.

    Args:
        fields: the columns, all nullable.
        pool: lends the memory.
        last_of_keys: whether of a key that stands twice in a map the last value alone stays.
    """

    def __init__(
        self,
        fields: Sequence[pa.Field[Any]],
        pool: ArenaPool = PROCESS_POOL,
        *,
        last_of_keys: bool = False,
    ) -> None:
        self._last_of_keys = last_of_keys
        described = list(_level_by_level(pa.struct(fields)))
        self._types = [node.type for node in described]
        self._own_names = [node.name for node in described]
        self.nodes: Int64Array = np.zeros((len(described), layout.NODE_FIELDS), np.int64)
        self._names = _name_bytes([node.name for node in described])
        for at, node in enumerate(described):
            row = self.nodes[at]
            row[layout.NODE_TYPE] = type_code(node.type)
            row[layout.NODE_PARENT] = node.parent
            row[layout.NODE_FIRST_CHILD] = node.first_child
            row[layout.NODE_CHILDREN] = node.children
            row[layout.NODE_NAME_SIZE] = len(node.name.encode())
            row[layout.NODE_VALUE_BITS] = _BITS.get(int(row[layout.NODE_TYPE]), 0)
            if pa.types.is_decimal(node.type):
                row[layout.NODE_PRECISION] = node.type.precision
                row[layout.NODE_SCALE] = node.type.scale
        sizes = self.nodes[:, layout.NODE_NAME_SIZE] + len(_AFTER_NAME)
        self.nodes[:, layout.NODE_NAME] = address(self._names) + np.cumsum(sizes) - sizes
        self._codes: list[int] = self.nodes[:, layout.NODE_TYPE].tolist()
        self._parents = [node.parent for node in described]
        self._children = [range(node.first_child, node.first_child + node.children) for node in described]
        self._is_never_null = [
            layout.TYPE_MAP in {self._codes[above], self._codes[self._parents[above]]}
            and at == self._children[above][0]
            for at, above in enumerate(self._parents)
        ]
        self._counted_by = np.array([node.counted_by for node in described], np.intp)
        self._per_row: list[int] = np.flatnonzero(self._counted_by == _ROOT).tolist()
        self._with_data = np.array([code in _WITH_DATA for code in self._codes], np.bool_)
        self._with_offsets = [at for at, code in enumerate(self._codes) if code in _WITH_OFFSETS]
        self._pool = pool
        self._region: ByteArray | None = None
        self._last_filled: Int64Array = np.zeros((len(described), 2), np.int64)
        """Entries and size of the data of each node at the end of the last batch."""
        self._is_divided = False
        self._places: Int64Array = np.zeros((len(described), 3), np.int64)
        """Where the buffers begin in the region: values, validity, data."""
        self._region_size = 0
        # A task may end in the middle of a batch.
        weakref.finalize(self, _release, self.nodes).atexit = False

    @property
    def rows(self) -> int:
        """How many rows are filled."""
        return int(self.nodes[_ROOT, layout.NODE_ENTRIES])

    def field(self, node: int) -> tuple[str, pa.DataType]:
        """Return the path of a field, such as ``address.zip`` or ``prices[]``, and its type."""
        path = ""
        at = node
        while at != _ROOT:
            above = self._parents[at]
            if self._codes[above] == layout.TYPE_STRUCT and not self._is_entry(above):
                path = f".{self._own_names[at]}{path}"
            elif not self._is_entry(at):
                path = f"[]{path}"
            at = above
        return path.removeprefix("."), self._types[node]

    def _is_entry(self, node: int) -> bool:
        """Whether a node stands for the pairs of a map."""
        return node != _ROOT and self._codes[self._parents[node]] == layout.TYPE_MAP

    def make_room(self, rows: int, size: int) -> None:
        """Make room for more rows, and some for their bytes: the kernel makes more where it has to.

        Args:
            rows: how many.
            size: their bytes.
        """
        rows += self.rows
        if self._region is None:
            if not self._is_divided or self.nodes[_ROOT, layout.NODE_MOST_ENTRIES] < rows:
                self._divide(rows, size)
            self._region = self._leased()
        room = int(self.nodes[_ROOT, layout.NODE_MOST_ENTRIES])
        if room < rows:
            self._enlarge_columns(room, min(max(2 * room, rows), layout.MOST))

    def refuse_more(self, node: int) -> None:
        """Say why a node can hold no more, as a kernel reports it when it stops.

        Args:
            node: the value of ``STATE_NODE``.

        Raises:
            SourceError: always.
        """
        raise SourceError(
            f"a column of {self._types[node]} has more elements or bytes than an Arrow batch can hold "
            "(2 GiB), or than this process has memory for"
        )

    def finish(self) -> list[pa.Array[Any]]:
        """Return the rows that are filled as columns, and start anew in other memory."""
        self.make_room(0, 0)
        assert self._region is not None
        region = pa.py_buffer(self._region.data)
        begin = address(self._region)
        rows = self.nodes.tolist()
        columns = [self._array(at, region, begin, rows) for at in self._children[_ROOT]]
        if any(node[layout.NODE_OWNED] for node in rows):
            self._is_divided = False
            # The arrays own the buffers now.
            self.nodes[:, layout.NODE_OWNED] = 0
        self._last_filled = self.nodes[:, _FILLED].copy()
        self.nodes[:, _FILLED] = 0
        self._region = None
        return columns

    def _divide(self, rows: int, size: int) -> None:
        """Divide the next region by what these rows may need and the last ones did, with a margin."""
        least = max(_LEAST_ENTRIES, min(1024, _SPARE_ENTRIES // len(self._codes)))
        last_entries, last_data = self._last_filled.T
        entries = np.maximum(last_entries + last_entries // 4, least)
        entries[_ROOT] = max(entries[_ROOT], rows + rows // 8)
        entries = np.minimum(entries[self._counted_by], layout.MOST)
        columns = max(int(self._with_data.sum()), 1)
        share = min(size + size // 4, _DATA_FACTOR * size // columns)
        least = max(_LEAST_DATA, min(1 << 14, _SPARE_DATA // columns), share)
        data = np.maximum(last_data + last_data // 4, least)
        data = np.where(self._with_data, np.minimum(data, layout.MOST), 0)
        self.nodes[:, layout.NODE_MOST_ENTRIES] = entries
        self.nodes[:, layout.NODE_MOST_DATA] = data
        sizes = np.stack([_bytes(entries * self.nodes[:, layout.NODE_VALUE_BITS]), _bytes(entries), data], 1)
        # Arrow wants its buffers aligned to 64 bytes.
        sizes = (sizes + (layout.SPARE_BYTES + 63)) & ~63
        ends = np.cumsum(sizes).reshape(sizes.shape)
        self._places = ends - sizes
        self._region_size = int(ends[-1, -1])
        self._is_divided = True

    def _leased(self) -> ByteArray:
        """Return a new region, and write into the table where its buffers lie."""
        region = self._pool.lease(self._region_size)
        self.nodes[:, _BUFFERS] = self._places + address(region)
        for at in self._places[self._with_offsets, 0].tolist():
            region[at : at + 4] = 0
        return region

    def _enlarge_columns(self, room: int, larger: int) -> None:
        """Move the nodes that have one entry a row, as the kernel does with others that are full."""
        self._is_divided = False
        for at in self._per_row:
            node = self.nodes[at]
            bits = int(node[layout.NODE_VALUE_BITS])
            _move(node, layout.NODE_VALUES, _bytes(room * bits), _bytes(larger * bits))
            _move(node, layout.NODE_VALIDITY, _bytes(room), _bytes(larger))
            node[layout.NODE_MOST_ENTRIES] = larger

    def _array(self, at: int, region: pa.Buffer, begin: int, rows: Sequence[Sequence[int]]) -> pa.Array[Any]:
        """Return a node as an array, given its region, where that begins, and the rows of the table."""
        node = rows[at]
        code = self._codes[at]
        entries = node[layout.NODE_ENTRIES]
        sizes = [(layout.NODE_VALIDITY, entries + 7 >> 3)]
        if code != layout.TYPE_STRUCT:
            bits = node[layout.NODE_VALUE_BITS] * (entries + (code in _WITH_OFFSETS))
            sizes.append((layout.NODE_VALUES, bits + 7 >> 3))
        if code in _WITH_DATA:
            sizes.append((layout.NODE_DATA, node[layout.NODE_DATA_SIZE]))
        parts: list[pa.Buffer | None]
        if node[layout.NODE_OWNED]:
            parts = [_buffer(node, field, size, region, begin) for field, size in sizes]
        else:
            parts = [region.slice(node[field] - begin, size) for field, size in sizes]
        if self._is_never_null[at]:
            # Entries and keys of maps are never null. Up to version 25 Arrow ends the process where that is
            # still to be counted.
            parts[0] = None
        children = [self._array(child, region, begin, rows) for child in self._children[at]]
        if code == layout.TYPE_MAP and self._last_of_keys:
            parts[1], children = with_last_of_keys(entries, parts[1], children)
        # Nulls are counted when someone asks.
        return pa.Array.from_buffers(self._types[at], entries, parts, -1, children=children or None)


def _buffer(node: Sequence[int], field: int, size: int, region: pa.Buffer, begin: int) -> pa.Buffer:
    """Return a buffer of a node, which may be memory of its own."""
    if node[layout.NODE_OWNED] >> (field - layout.NODE_VALUES) & 1:
        return pa.foreign_buffer(node[field], size, _Allocation(node[field]))
    return region.slice(node[field] - begin, size)


class _Allocation:
    """Memory of the C library, which an Arrow buffer keeps alive."""

    def __init__(self, at: int) -> None:
        self._at = at

    def __del__(self) -> None:
        _LIBC.free(self._at)


def _release(nodes: Int64Array) -> None:
    """Free the memory that the nodes of a table own."""
    for node in nodes.tolist():
        for field in range(layout.NODE_VALUES, layout.NODE_DATA + 1):
            if node[layout.NODE_OWNED] >> (field - layout.NODE_VALUES) & 1:
                _LIBC.free(node[field])


def _move(node: Int64Array, field: int, size: int, larger: int) -> None:
    """Move a buffer of a node into larger memory, as the kernels' `_move` does."""
    bit = 1 << (field - layout.NODE_VALUES)
    owned = int(node[layout.NODE_OWNED])
    at = int(node[field])
    moved = _LIBC.realloc(at if owned & bit else None, larger + layout.SPARE_BYTES)
    if moved is None:
        raise MemoryError
    if not owned & bit:
        ctypes.memmove(moved, at, size)
    node[field] = moved
    node[layout.NODE_OWNED] = owned | bit


def _bytes(bits: Any) -> Any:
    """Return the bytes for bits, and for the first one of offsets; of numbers or arrays."""
    return (bits + 7) // 8 + 4


class _Node:
    """A type in the tree, before it has a place in the table."""

    def __init__(self, name: str, kind: pa.DataType, parent: int, counted_by: int) -> None:
        self.name = name
        self.type = kind
        self.parent = parent
        self.counted_by = counted_by
        """The node that has an entry for each of its: below a struct that of the struct, else the node."""
        self.first_child = 0
        self.children = 0


def _level_by_level(root: pa.DataType) -> Iterator[_Node]:
    """Return the nodes of a schema, the children of each as neighbours."""
    nodes = [_Node("", root, -1, _ROOT)]
    for at, node in enumerate(nodes):  # it grows while it is walked through
        fields = list(_fields(node.type))
        node.first_child = len(nodes)
        node.children = len(fields)
        nodes += [
            _Node(field.name, field.type, at, node.counted_by if pa.types.is_struct(node.type) else first)
            for first, field in enumerate(fields, len(nodes))
        ]
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
