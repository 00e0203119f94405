"""The words of a plan: blocks that name each other, and are found by their addresses in the end."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from google.protobuf.descriptor import EnumDescriptor

from headwater.readers.formats.protobuf import layout
from headwater.readers.formats.protobuf.field_kinds import enum_names
from headwater.readers.kernels.arrays import Int64Array, address

NOTHING: Final = 0
"""The index of no block: the plan itself stands there."""


class PlanWords:
    """Collects blocks of words, each known by the index of its first word until `finish`."""

    def __init__(self) -> None:
        self._words = [0] * layout.PLAN_FIELDS
        self._references: list[int] = []
        self._enums: dict[str, int] = {}

    def block(self, words: Sequence[int], references: Sequence[int] = ()) -> int:
        """Append words, and return the index of the first one.

        Args:
            words: numbers, and indexes of blocks.
            references: which of them are indexes of blocks.
        """
        begin = len(self._words)
        self._words += words
        self._references += [begin + at for at in references if words[at] != NOTHING]
        return begin

    def refer(self, place: int, block: int) -> None:
        """Let one word, which may be of the plan itself, name a block."""
        self._words[place] = block
        self._references.append(place)

    def put(self, place: int, number: int) -> None:
        """Set one word."""
        self._words[place] = number

    def bytes(self, data: bytes) -> int:
        """Append bytes."""
        padded = data + bytes(-len(data) % 8)
        return self.block(struct.unpack(f"<{len(padded) // 8}q", padded))

    def enum(self, enum: EnumDescriptor) -> int:
        """Append the names of an enum, unless they are there."""
        if enum.full_name not in self._enums:
            names = enum_names(enum)
            prefix = f"UNKNOWN_ENUM_VALUE_{enum.name}_".encode()  # as Java writes it, and so Spark
            words = [len(names), int(enum.is_closed), self.bytes(prefix), len(prefix)]
            references = [layout.ENUM_PREFIX]
            for number, name in sorted(names.items()):
                references.append(len(words) + 1)
                words += [number, self.bytes(name.encode()), len(name.encode())]
            self._enums[enum.full_name] = self.block(words, references)
        return self._enums[enum.full_name]

    def operation(self, words: Sequence[int]) -> int:
        """Append an operation."""
        return self.block(words, layout.OP_REFERENCES)

    def table(self, operations: Mapping[int, int]) -> tuple[int, int]:
        """Append a hash table of operations by tag, and return it with its mask."""
        places = 1 << max(1, (2 * len(operations)).bit_length())
        found = [0] * (2 * places)
        references = []
        for tag, operation in operations.items():
            place = (tag >> 3) & (places - 1)
            while found[2 * place]:
                place = (place + 1) & (places - 1)
            found[2 * place : 2 * place + 2] = tag, operation
            references.append(2 * place + 1)
        return self.block(found, references), places - 1

    def finish(self) -> Int64Array:
        """Return the plan. It names addresses inside of itself, and cannot be copied."""
        plan: Int64Array = np.array(self._words, np.int64)
        references = np.array(self._references, np.int64)
        plan[references] = plan[references] * 8 + address(plan)
        return plan
