"""The entry of the kernel's machine code. Imported only where it has to be compiled, once per host."""

from __future__ import annotations

from headwater.readers.formats.lines.kernel import split_lines
from headwater.readers.formats.lines.layout import ENTRY_ARGUMENTS
from headwater.readers.kernels.compiling import compile_function


def _enter(  # noqa: PLR0917 - C has no keywords
    data: int, end: int, one: int, other: int, room: int, places: int, sizes: int, text: int
) -> int:
    return split_lines(data, end, one, other, room, places, sizes, text)


def compile_kernel() -> tuple[str, bytes]:
    """Return the name of the C function, and an object file that holds it: see `compile_function`."""
    return compile_function(_enter, ENTRY_ARGUMENTS)
