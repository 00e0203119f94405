"""The entry of the machine code for shapes. Imported only where it has to be compiled, once per host."""

from __future__ import annotations

from headwater.readers.formats.json.shapes import note_shapes
from headwater.readers.formats.json.shapes_layout import ENTRY_ARGUMENTS
from headwater.readers.kernels.compiling import compile_function


def _enter(starts: int, sizes: int, first: int, count: int, state: int) -> int:
    return note_shapes(starts, sizes, first, count, state)


def compile_kernel() -> tuple[str, bytes]:
    """Return the name of the C function, and an object file that holds it: see `compile_function`."""
    return compile_function(_enter, ENTRY_ARGUMENTS)
