"""The entry of the kernel's machine code. Imported only where it has to be compiled, once per host."""

from __future__ import annotations

from headwater.readers.formats.csv.kernel import decode
from headwater.readers.formats.csv.layout import ENTRY_ARGUMENTS
from headwater.readers.kernels.compiling import compile_function


def _enter(  # noqa: PLR0917 - C has no keywords
    nodes: int, starts: int, sizes: int, first: int, count: int, state: int, rows: int, reasons: int
) -> int:
    return decode(nodes, starts, sizes, first, count, state, rows, reasons)


def compile_kernel() -> tuple[str, bytes]:
    """Return the name of the C function, and an object file that holds it: see `compile_function`."""
    return compile_function(_enter, ENTRY_ARGUMENTS)
