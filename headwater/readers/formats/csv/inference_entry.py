"""The entry of the machine code of inference. Imported only where it has to be compiled, once per host."""

from __future__ import annotations

from headwater.readers.formats.csv.inference_kernel import infer
from headwater.readers.formats.csv.inference_layout import ENTRY_ARGUMENTS
from headwater.readers.kernels.compiling import compile_function


def _enter(offsets: int, data: int, first: int, count: int, state: int) -> int:
    return infer(offsets, data, first, count, state)


def compile_kernel() -> tuple[str, bytes]:
    """Return the name of the C function, and an object file that holds it: see `compile_function`."""
    return compile_function(_enter, ENTRY_ARGUMENTS)
