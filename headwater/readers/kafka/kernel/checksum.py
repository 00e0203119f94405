"""CRC-32C (Castagnoli), which record batches of format v2 have, by the processor's instruction or by tables.

The instruction takes three times as long as the processor needs between two of them. So three parts of a
block are summed up side by side, and joined by tables of checksums with zeros behind them.
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from typing import Any, Final, cast

import numpy as np
import numpy.typing as npt
from llvmlite import binding as llvm
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from headwater.readers.kafka import layout
from headwater.readers.kafka.layout import BatchArray
from headwater.readers.kernels.memory import called, inlined, load_byte, load_uint64

_POLYNOMIAL: Final = 0x82F63B78
_WORD: Final = 8
_PART_BYTES: Final = 1024
_BLOCK_BYTES: Final = 3 * _PART_BYTES
_INT64: Final = ir.IntType(64)


def _table_of_bytes() -> list[int]:
    table = []
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = crc >> 1 ^ (_POLYNOMIAL if crc & 1 else 0)
        table.append(crc)
    return table


_BYTES: Final = _table_of_bytes()


def _after_zeros(crc: int, count: int) -> int:
    for _ in range(count):
        crc = crc >> 8 ^ _BYTES[crc & 0xFF]
    return crc


def _tables(zeros: list[int]) -> npt.NDArray[np.uint64]:
    """Return a table for each number of zeros: the checksum of each byte with these zeros behind it."""
    return np.array([_after_zeros(byte, count) for count in zeros for byte in range(256)], np.uint64)


def _joining_tables() -> npt.NDArray[np.uint64]:
    """Return four tables, one for each byte of a checksum, which a part of zeros follows."""
    # A checksum is linear: that of each bit tells those of all bytes.
    bits = [_after_zeros(1 << bit, _PART_BYTES) for bit in range(32)]
    entries = []
    for first in range(0, 32, 8):
        for byte in range(256):
            crc = 0
            for bit in range(8):
                crc ^= bits[first + bit] if byte >> bit & 1 else 0
            entries.append(crc)
    return np.array(entries, np.uint64)


_STEP_TABLES: Final = _tables(list(range(_WORD, 0, -1)))
_JOIN_TABLES: Final = _joining_tables()


def _instruction() -> str | None:
    """Return LLVM's name of the processor's instruction for a word; None if it has none."""
    features = llvm.get_host_cpu_features()
    machine = platform.machine().lower()
    if machine in {"x86_64", "amd64"} and features.get("sse4.2"):
        return "llvm.x86.sse42.crc32.64.64"
    return "llvm.aarch64.crc32cx" if machine in {"aarch64", "arm64"} and features.get("crc") else None


def _word_function(name: str) -> Callable[[Any, Any], Any]:
    """Return the instruction as a function of compiled code."""
    kind = _INT64 if name.startswith("llvm.x86.") else ir.IntType(32)

    @intrinsic  # type: ignore[untyped-decorator]
    def add_word(_typing: Any, _crc: Any, _word: Any) -> Any:
        def codegen(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            function = cgutils.get_or_insert_function(
                builder.module, ir.FunctionType(kind, [kind, _INT64]), name
            )
            crc = arguments[0] if kind is _INT64 else builder.trunc(arguments[0], kind)
            result = builder.call(function, [crc, arguments[1]])
            return result if kind is _INT64 else builder.zext(result, _INT64)

        return types.uint64(types.uint64, types.uint64), codegen

    return cast("Callable[[Any, Any], Any]", add_word)


@inlined
def _add_word_by_tables(crc: Any, word: Any) -> Any:
    word ^= crc
    crc = _STEP_TABLES[word & 0xFF]
    for place in range(1, 8):
        crc ^= _STEP_TABLES[place * 256 + (word >> np.uint64(8 * place) & 0xFF)]
    return crc


_NAME: Final = _instruction()
_add_word: Final = _add_word_by_tables if _NAME is None else _word_function(_NAME)


@inlined
def _add_byte(crc: Any, byte: Any) -> Any:
    # The last of the tables for words: no byte follows.
    return crc >> np.uint64(8) ^ _STEP_TABLES[7 * 256 + ((crc ^ byte) & 0xFF)]


@inlined
def _before_part(crc: Any) -> Any:
    """Return a checksum after a part of zeros."""
    return (
        _JOIN_TABLES[crc & 0xFF]
        ^ _JOIN_TABLES[256 + (crc >> np.uint64(8) & 0xFF)]
        ^ _JOIN_TABLES[512 + (crc >> np.uint64(16) & 0xFF)]
        ^ _JOIN_TABLES[768 + (crc >> np.uint64(24) & 0xFF)]
    )


@called
def crc32c(at: int, end: int) -> Any:
    """Return the checksum of the bytes between two addresses."""
    crc = np.uint64(0xFFFFFFFF)
    while end - at >= _BLOCK_BYTES:
        second = np.uint64(0)
        third = np.uint64(0)
        for place in range(at, at + _PART_BYTES, _WORD):
            crc = _add_word(crc, load_uint64(place))
            second = _add_word(second, load_uint64(place + _PART_BYTES))
            third = _add_word(third, load_uint64(place + 2 * _PART_BYTES))
        crc = _before_part(_before_part(crc) ^ second) ^ third
        at += _BLOCK_BYTES
    while end - at >= _WORD:
        crc = _add_word(crc, load_uint64(at))
        at += _WORD
    while at < end:
        crc = _add_byte(crc, np.uint64(load_byte(at)))
        at += 1
    return np.int64(crc ^ np.uint64(0xFFFFFFFF))


@inlined
def first_wrong(data: int, batches: BatchArray) -> int:
    """Return the place of the first batch of format v2 whose checksum is not that of its bytes, else -1.

    Args:
        data: the address of the record set.
        batches: their headers, also of other formats, which are passed over.
    """
    for b in range(batches.size):
        batch = batches[b]
        if batch.magic == 2:
            start = data + batch.start - layout.CHECKED_BEFORE_RECORDS
            if crc32c(start, data + batch.end) != batch.crc:
                return b
    return -1
