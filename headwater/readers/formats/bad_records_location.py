"""Where records go that could not be decoded, and how offsets are divided among their files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

BLOCK: Final = 1000
"""How many offsets a block has. Never changed: the files of batches that are read again depend on it."""


def block_start(offset: int) -> int:
    """Return the first offset of the block that holds an offset."""
    return offset // BLOCK * BLOCK


@dataclass(frozen=True, kw_only=True)
class BadRecordsLocation:
    """Where the files lie.

    Attributes:
        path: a folder, as a URL or a local path.
        storage_options: for the fsspec file system.
    """

    path: str
    storage_options: Mapping[str, Any] = field(default_factory=dict)
