"""The entry of the machine code for documents. Imported only where it has to be compiled, once per host."""

from __future__ import annotations

from headwater.readers.formats.json.documents_layout import ENTRY_ARGUMENTS
from headwater.readers.formats.json.elements import split_documents
from headwater.readers.kernels.compiling import compile_function


def _enter(  # noqa: PLR0917 - C has no keywords
    starts: int, sizes: int, first: int, count: int, levels: int, begin: int, limit: int, state: int
) -> int:
    return split_documents(starts, sizes, first, count, levels, begin, limit, state)


def compile_kernel() -> tuple[str, bytes]:
    """Return the name of the C function, and an object file that holds it: see `compile_function`."""
    return compile_function(_enter, ENTRY_ARGUMENTS)
