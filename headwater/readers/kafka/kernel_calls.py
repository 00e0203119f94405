"""The compiled functions of `headwater.readers.kafka.kernel.decode`.

Any thread may call; they run on that thread, without the GIL.
"""

from __future__ import annotations

from typing import Final

from headwater.readers.kafka import layout
from headwater.readers.kafka.layout import BatchArray
from headwater.readers.kernels.arrays import ByteArray, Int64Array, address
from headwater.readers.kernels.cache import Kernel

KERNEL: Final = Kernel(
    "headwater.readers.kafka.kernel.entry",
    "enter",
    arguments=10,
    needed_for="the kafka source",
    extra="kafka",
)


def scan(data: ByteArray, batches: BatchArray) -> int:
    """Call `headwater.readers.kafka.kernel.decode.scan`.

    Raises:
        MissingDependencyError: numba is not installed in this process.
    """
    return _call(layout.FUNCTION_SCAN, data, batches, 0, 0, 0, 0, 0)


def decode(  # noqa: PLR0917 - as the kernel has them
    data: ByteArray,
    batches: BatchArray,
    position: int,
    stop: int,
    rows: int,
    out: Int64Array,
    tally: Int64Array,
) -> int:
    """Call `headwater.readers.kafka.kernel.decode.decode`; ``out`` holds `RowBuffers.addresses`."""
    return _call(layout.FUNCTION_DECODE, data, batches, position, stop, rows, address(tally), address(out))


def first_wrong(data: ByteArray, batches: BatchArray) -> int:
    """Call `headwater.readers.kafka.kernel.checksum.first_wrong`."""
    return _call(layout.FUNCTION_VERIFY, data, batches, 0, 0, 0, 0, 0)


def _call(function: int, data: ByteArray, batches: BatchArray, *more: int) -> int:
    return KERNEL(function, address(data), data.size, address(batches), batches.size, *more)
