"""The compiled kernel of this process."""

from __future__ import annotations

import functools

from headwater.readers.formats.avro.layout import ENTRY_ARGUMENTS
from headwater.readers.kernels.cache import KernelSource, load_kernel
from headwater.readers.kernels.machine_code import CompiledFunction

SOURCE = KernelSource(
    modules=(
        "headwater.readers.formats.avro.kernel",
        "headwater.readers.formats.avro.kernel_entry",
        "headwater.readers.formats.avro.kernel_operations",
        "headwater.readers.formats.avro.kernel_values",
        "headwater.readers.formats.avro.layout",
        "headwater.readers.formats.kernel_columns",
        "headwater.readers.formats.kernel_text",
        "headwater.readers.formats.table_layout",
        "headwater.readers.kernels.compiling",
        "headwater.readers.kernels.memory",
        "headwater.readers.kernels.utf8",
        "headwater.readers.kernels.varints",
    ),
    entry="headwater.readers.formats.avro.kernel_entry",
    arguments=ENTRY_ARGUMENTS,
    needed_for="the avro format",
    extra="formats",
)


@functools.cache
def kernel() -> CompiledFunction:
    """Return the compiled kernel, loaded with the first call in a process: see `load_kernel`.

    Raises:
        MissingDependencyError: numba is not installed in this process.
    """
    return load_kernel(SOURCE)
