"""Differences from Spark's own readers that are meant: What files of all formats have in common."""

from __future__ import annotations

from tests.parity.differences import Difference

__all__ = ["DIFFERENCES"]

DIFFERENCES: dict[str, Difference] = {}
