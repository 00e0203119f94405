"""The one function of the machine code: a number chooses which function is called, with its state."""

from __future__ import annotations

from headwater.readers.postgres import wal_layout as L
from headwater.readers.postgres.kernel.text_values import text
from headwater.readers.postgres.kernel.wal_frames import frame, scan


def enter(function: int, state: int) -> int:
    """Call a function with the address of its state."""
    if function == L.FUNCTION_SCAN:
        return scan(state)
    if function == L.FUNCTION_FRAME:
        return frame(state)
    return text(state)
