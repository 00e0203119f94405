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


class FileFormat(ABC):
    """How files of one kind are read.

    Each half of a task's reader makes its own: the split reader calls `blocks`, the emitter `decode`, both on
    the task's thread. The driver calls `is_splittable` when it plans, and `infer` when it needs a schema.

    Args:
        settings: what the user said.
    """

    needs_schema: ClassVar[bool] = True
    """Whether columns must be inferred from files or given; otherwise `infer` needs no file."""

    def __init__(self, settings: ReadSettings) -> None:
        self.settings = settings

    def is_splittable(self, url: str) -> bool:
        """Whether several tasks may read a range of a file each. Known by its name: nothing is opened."""
        return False

    @abstractmethod
    def blocks(
        self, file: Any, status: FileStatus, start: int, stop: int, columns: pa.Schema
    ) -> Iterator[FileBlock]:
        """Yield the raw records of a range of a file, in order.

        Every record of a file is in exactly one range, whatever the borders.

        Args:
            file: an open binary file, at its start.
            status: of the file.
            start: the first byte of the range.
            stop: the first byte after it.
            columns: which columns of the file are wanted; a format that can skip the others does.

        Raises:
            CorruptRecordError: the file is not of this format.
        """

    @abstractmethod
    def decode(self, block: FileBlock, url: str, columns: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a block: columns by the names of ``columns``, in any order.

        A column that the file lacks is missing, and means null. Columns may have other types than those
        asked for: `RowAssembler` casts them.

        Args:
            block: what `blocks` yielded.
            url: of the file, for errors.
            columns: which columns of the file are wanted.

        Raises:
            CorruptRecordError: a record cannot be read, and the mode is to fail.
        """

    @abstractmethod
    def infer(self, file: Any, status: FileStatus) -> pa.Schema:
        """Return the columns that a file seems to have, after a look at its beginning or at its footer.

        Args:
            file: an open binary file, at its start.
            status: of the file.

        Raises:
            CorruptRecordError: the file is not of this format.
        """
