"""Lines: numbers that their kernel and Python share.

These values are compiled into machine code, and are part of the key under which that is kept.
"""

from __future__ import annotations

ENTRY_ARGUMENTS = 8

LINE_FEED = 10
CARRIAGE_RETURN = 13

BEHIND = 32
"""So many bytes behind the text of lines the kernel may store."""
