"""What the reader of files hands to the emitter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class FileBlock:
    """A raw record of a file: some whole lines as they are, or some decoded columns.

    Attributes:
        data: bytes of whole lines, or a batch as the file has it.
        start: where in the file it begins (of compressed files: in what they hold).
        stop: the position after it.
        header: the names of the file's columns, where it tells them; otherwise None.
    """

    data: bytes | pa.RecordBatch
    start: int
    stop: int
    header: tuple[str, ...] | None = None
