"""How long tests wait for what must happen at some time."""

from __future__ import annotations

__all__ = ["PATIENCE_S"]

PATIENCE_S = 400
"""Only a hang takes so long, on a machine with much else to do too. pytest's own time-out is longer."""
