"""The compiled kernel of this process, and calls of its functions."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from headwater.readers.kafka import layout
from headwater.readers.kafka.layout import BatchArray
from headwater.readers.kernels.arrays import ByteArray, Int64Array, address
from headwater.readers.kernels.cache import KernelSource, load_kernel

if TYPE_CHECKING:
    from headwater.readers.kernels.machine_code import CompiledFunction

SOURCE = KernelSource(
    modules=(
        "headwater.readers.kafka.kernel",
        "headwater.readers.kafka.kernel_entry",
        "headwater.readers.kafka.layout",
        "headwater.readers.kernels.arrays",
        "headwater.readers.kernels.compiling",
    ),
    entry="headwater.readers.kafka.kernel_entry",
    arguments=layout.ENTRY_ARGUMENTS,
    needed_for="the kafka source",
    extra="kafka",
)


class Kernel:
    """The compiled functions of `headwater.readers.kafka.kernel`.

    One per process. Any thread may call; the functions run on that thread, without the GIL.
    """

    def __init__(self, entry: CompiledFunction) -> None:
        self._entry = entry

    def scan(self, data: ByteArray, batches: BatchArray) -> int:
        """Call `headwater.readers.kafka.kernel.scan`."""
        return self._call(layout.FUNCTION_SCAN, data, batches, 0, 0, 0, 0, 0)

    def decode(  # noqa: PLR0917 - as the kernel has them
        self,
        data: ByteArray,
        batches: BatchArray,
        position: int,
        stop: int,
        rows: int,
        out: Int64Array,
        tally: Int64Array,
    ) -> int:
        """Call `headwater.readers.kafka.kernel.decode`; ``out`` holds `RowBuffers.addresses`."""
        return self._call(
            layout.FUNCTION_DECODE, data, batches, position, stop, rows, address(tally), address(out)
        )

    def _call(self, function: int, data: ByteArray, batches: BatchArray, *more: int) -> int:
        return self._entry(function, address(data), data.size, address(batches), batches.size, *more)


@functools.cache
def kernel() -> Kernel:
    """Return the compiled kernel, loaded with the first call in a process: see `load_kernel`.

    Raises:
        MissingDependencyError: numba is not installed in this process.
    """
    return Kernel(load_kernel(SOURCE))
