"""The compiled kernel of this process, and what it takes for the end of a line."""

from __future__ import annotations

import functools
from typing import Final

from headwater.readers.formats.lines.layout import CARRIAGE_RETURN, ENTRY_ARGUMENTS, LINE_FEED
from headwater.readers.kernels.cache import KernelSource, load_kernel
from headwater.readers.kernels.machine_code import CompiledFunction

SOURCE: Final = KernelSource(
    modules=(
        "headwater.readers.formats.lines.kernel",
        "headwater.readers.formats.lines.kernel_entry",
        "headwater.readers.formats.lines.layout",
        "headwater.readers.kernels.compiling",
        "headwater.readers.kernels.memory",
    ),
    entry="headwater.readers.formats.lines.kernel_entry",
    arguments=ENTRY_ARGUMENTS,
    needed_for="lines of files",
    extra="formats",
)

USUAL_LINE_BYTES: Final = 16
"""There is memory for lines of so many bytes on average; if they are shorter, it is asked for anew."""


@functools.cache
def kernel() -> CompiledFunction:
    """Return the compiled kernel, loaded with the first call in a process: see `load_kernel`.

    Raises:
        MissingDependencyError: numba is not installed in this process, and the kernel is not compiled yet.
    """
    return load_kernel(SOURCE)


def line_ends_of(separator: bytes | None) -> tuple[int, int] | None:
    r"""Return the two bytes, which may be the same, that end lines for the kernel.

    Args:
        separator: what ends a line; None for ``\n``, ``\r\n`` and ``\r``.

    Returns:
        None if the separator has several bytes: the kernel finds single ones.
    """
    if separator is None:
        return LINE_FEED, CARRIAGE_RETURN
    return (separator[0], separator[0]) if len(separator) == 1 else None
