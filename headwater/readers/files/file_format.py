"""What a file format is: how to find its records in a byte range, and how to make columns of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from headwater.enumerators.files.split import FileStatus
from headwater.readers.files.block import FileBlock
from headwater.readers.files.settings import ReadSettings

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["FileFormat"]


class FileFormat(ABC):
    """One format.

    Stateless: settings only. Made in every task; both halves of the reader use it, each its own method, on
    the task's thread.
    """

    needs_schema: ClassVar[bool] = True
    """Whether what it holds must be inferred or given; otherwise `infer` needs no file."""

    def __init__(self, settings: ReadSettings) -> None:
        self.settings = settings

    def is_splittable(self, url: str) -> bool:
        """Whether several tasks may read a range of a file each.

        Decided by the name alone: the driver opens nothing.
        """
        return False

    @abstractmethod
    def blocks(
        self, file: Any, status: FileStatus, start: int, stop: int, columns: pa.Schema
    ) -> Iterator[FileBlock]:
        """Yield the raw records of a range of a file, in order.

        Every record of a file is in exactly one range, whatever the borders.

        Args:
            file: open, at any position.
            status: of the file.
            start: the first byte of the range.
            stop: the first byte after it.
            columns: which columns of the file are wanted; a format that can skip the others does.

        Raises:
            CorruptRecordError: the file is not of this format.
        """

    @abstractmethod
    def decode(self, block: FileBlock, url: str, columns: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a raw record: columns by the names of ``columns``, in any order.

        Those that the file lacks are missing, and mean null.

        May bring columns in other types than those asked for; whoever assembles the rows casts them.

        Raises:
            CorruptRecordError: a record cannot be read, and the mode is to fail.
        """

    @abstractmethod
    def infer(self, file: Any, status: FileStatus) -> pa.Schema:
        """Return the columns that a file seems to have, after a look at its beginning or at its footer.

        Raises:
            CorruptRecordError: the file is not of this format.
        """
