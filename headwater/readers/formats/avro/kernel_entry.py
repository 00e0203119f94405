"""The entry of the kernel's machine code. Imported only where it has to be compiled, once per host."""

from __future__ import annotations

from headwater.readers.formats.avro.kernel import decode
from headwater.readers.formats.avro.layout import ENTRY_ARGUMENTS
from headwater.readers.kernels.compiling import compile_function


def _enter(given: int, row: int) -> int:
    return decode(given, row)


def compile_kernel() -> tuple[str, bytes]:
    """Return the name of the C function, and an object file that holds it: see `compile_function`."""
    return compile_function(_enter, ENTRY_ARGUMENTS)
