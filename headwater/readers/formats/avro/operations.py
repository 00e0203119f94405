"""Operations of the kernel, appended one by one: loops, unions, and skips of values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from headwater.readers.formats.avro import layout
from headwater.readers.formats.avro.types import (
    ArrayType,
    AvroMapType,
    AvroType,
    FixedType,
    PrimitiveType,
    RecordType,
    RecursiveType,
    UnionType,
)
from headwater.readers.formats.columns import layout as table
from headwater.readers.kernels.arrays import ByteArray, Int64Array

NODE_BYTES: Final = 8 * table.NODE_FIELDS
_SKIPS: Final = {
    "boolean": (layout.OP_SKIP_FIXED, 1),
    "int": (layout.OP_SKIP_INT, 0),
    "enum": (layout.OP_SKIP_INT, 0),
    "long": (layout.OP_SKIP_LONG, 0),
    "float": (layout.OP_SKIP_FIXED, 4),
    "double": (layout.OP_SKIP_FIXED, 8),
    "string": (layout.OP_SKIP_BYTES, 0),
    "bytes": (layout.OP_SKIP_BYTES, 0),
}


@dataclass(frozen=True)
class Program:
    """Both schemas, as the kernel reads them.

    Attributes:
        operations: rows of ``OP_FIELDS`` numbers.
        numbers: lists of numbers to which operations refer.
        texts: bytes to which they refer: symbols of enums, defaults.
        depth: how deep lists are in lists, those of recursive types once.
        is_recursive: whether records are skipped that contain themselves.
    """

    operations: Int64Array
    numbers: Int64Array
    texts: ByteArray
    depth: int
    is_recursive: bool


class Operations:
    """Collects the operations of one program."""

    def __init__(self) -> None:
        self.operations: list[list[int]] = []
        self.numbers: list[int] = []
        self._texts = bytearray()
        self._most_depth = 1
        self._depth = 0
        self._calls: dict[str, list[int]] = {}
        """The operations that call the skip of a recursive type, by its name."""
        self._callees: list[RecursiveType] = []

    def emit(self, code: int, node: int = 0, a: int = 0, b: int = 0) -> int:
        """Append an operation, and return where it is."""
        self.operations.append([code, node * NODE_BYTES, a, b])
        return len(self.operations) - 1

    def loop(self, codes: tuple[int, int], node: int, items: int, body: Callable[[], None]) -> None:
        """Append a loop over elements: the operation that begins one, the body, and the one that ends it."""
        self._depth += 1
        self._most_depth = max(self._most_depth, self._depth)
        loop = self.emit(codes[0], node, items * NODE_BYTES)
        body()
        self.emit(codes[1], 0, items * NODE_BYTES, loop)
        self.operations[loop][layout.OP_B] = len(self.operations)
        self._depth -= 1

    def each_branch(self, union: UnionType, read_branch: Callable[[AvroType], None]) -> None:
        """Append the reading of a union: one way for each branch."""
        begins = self.list_of([0] * len(union.branches))
        self.emit(layout.OP_UNION, 0, begins, len(union.branches))
        jumps = []
        for number, branch in enumerate(union.branches):
            self.numbers[begins + number] = len(self.operations)
            read_branch(branch)
            jumps.append(self.emit(layout.OP_JUMP))
        self.operations.pop()  # the last one would jump to the next operation
        for jump in jumps[:-1]:
            self.operations[jump][layout.OP_A] = len(self.operations)

    def skip(self, writer: AvroType) -> None:
        """Emit the skip of a value that the reader does not have."""
        match writer:
            case UnionType():
                self.each_branch(writer, self.skip)
            case RecursiveType():
                if writer.name not in self._calls:
                    self._callees.append(writer)
                self._calls.setdefault(writer.name, []).append(self.emit(layout.OP_SKIP_CALL))
            case RecordType():
                for field in writer.fields:
                    self.skip(field.type)
            case ArrayType():
                self._skip_list([writer.items])
            case AvroMapType():
                self._skip_list([PrimitiveType("string"), writer.values])
            case FixedType():
                self.emit(layout.OP_SKIP_FIXED, 0, writer.size)
            case _ if writer.kind != "null":
                code, size = _SKIPS[writer.kind]
                self.emit(code, 0, size)

    def _skip_list(self, parts: Sequence[AvroType]) -> None:
        def skip_item() -> None:
            for part in parts:
                self.skip(part)

        self.emit(layout.OP_SKIP_LIST)
        self.loop((layout.OP_SKIP_ITEM, layout.OP_SKIP_ITEM_END), 0, 0, skip_item)

    def list_of(self, numbers: Sequence[int]) -> int:
        """Append numbers, and return where they begin."""
        begin = len(self.numbers)
        self.numbers += numbers
        return begin

    def text(self, text: bytes) -> int:
        """Append bytes, and return where they begin."""
        begin = len(self._texts)
        self._texts += text
        return begin

    def finish(self) -> Program:
        """Return the program."""
        self.emit(layout.OP_END)
        begins: dict[str, int] = {}
        for callee in self._callees:  # grows: the skip of one may call that of another
            begins[callee.name] = len(self.operations)
            self.skip(callee.record)
            self.emit(layout.OP_SKIP_RETURN)
        for name, calls in self._calls.items():
            for call in calls:
                self.operations[call][layout.OP_A] = begins[name]
        texts = bytes(self._texts) + bytes(table.SPARE_BYTES)
        return Program(
            np.array(self.operations, np.int64),
            np.array(self.numbers or [0], np.int64),
            np.frombuffer(texts, np.uint8),
            self._most_depth,
            bool(self._callees),
        )
