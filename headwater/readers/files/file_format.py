"""The contract of a file format: find the records of a byte range, and make columns of them.

Also a planned file as a stream of bytes: the version that was planned, or none.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import IO, Any, ClassVar, TypeAlias, cast

import pyarrow as pa

from headwater.core.clock import SystemClock
from headwater.core.errors import CorruptRecordError, DataLossError
from headwater.core.imports import importing
from headwater.core.retry import Backoff, retrying
from headwater.enumerators.files.filesystem import file_errors, open_file_system
from headwater.enumerators.files.listing import present_status
from headwater.enumerators.files.split import FileStatus
from headwater.readers.files.bad_records import Quarantine
from headwater.readers.files.lines import Bytes
from headwater.readers.files.settings import ReadSettings

Opener: TypeAlias = Callable[[FileStatus], AbstractContextManager[Any]]
"""Opens a file for reading from its start, and closes it at the end."""


@dataclass(frozen=True, slots=True)
class FileBlock:
    """A raw record of a file: some whole lines as they are, or some decoded columns.

    Attributes:
        data: bytes of whole lines or of a whole file, or a batch as the file has it.
        start: where in the file it begins (of compressed files: in their content).
        stop: the position after it.
        header: the names of the file's columns, where it tells them; otherwise None.
    """

    data: Bytes | pa.RecordBatch
    start: int
    stop: int
    header: tuple[str, ...] | None = None

    @property
    def text(self) -> Bytes:
        """The bytes."""
        assert not isinstance(self.data, pa.RecordBatch), "this format reads bytes"
        return self.data

    @property
    def batch(self) -> pa.RecordBatch:
        """The batch."""
        assert isinstance(self.data, pa.RecordBatch), "this format reads batches"
        return self.data


class UnreadableRestError(CorruptRecordError):
    """Nothing can be made of a file from a record on: with ``ignoreCorruptFiles`` the rest is left out."""


@dataclass(eq=False)
class FileFormat(ABC):
    """How files of one kind are read.

    Each half of a task's reader makes its own: the split reader calls `blocks`, the emitter `decode`, both on
    the task's thread. The driver calls `is_splittable` when it plans, and `infer` when it needs a schema.

    Attributes:
        settings: of the user.
        quarantine: takes the records that cannot be read; None if they do not go to files.
    """

    settings: ReadSettings
    quarantine: Quarantine | None = None

    needs_schema: ClassVar[bool] = True
    """Whether columns must be inferred from files or given; otherwise `infer` needs no file."""

    def is_splittable(self, url: str) -> bool:
        """Whether several tasks may read a range of a file each. Known by its name: nothing is opened."""
        return False

    @abstractmethod
    def blocks(
        self, file: Any, status: FileStatus, start: int, stop: int, columns: pa.Schema
    ) -> Iterator[FileBlock]:
        """Yield the raw records of a range of a file, in order.

        Every record of a file is in exactly one range, for any borders.

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
    def decode(self, block: FileBlock, file: FileStatus, columns: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a block: columns by the names of ``columns``, in any order.

        A column that the file lacks is missing, and means null. Columns may have other types than those
        asked for: `RowAssembler` casts them.

        Args:
            block: one of `blocks`.
            file: where it comes from.
            columns: which columns of the file are wanted.

        Raises:
            CorruptRecordError: a record cannot be read, and the mode is to fail.
        """

    def finish(self) -> None:
        """Take notice that `decode` has been called for the last time, of a task that has read everything.

        For messages that sum up; the default has none.
        """
        return

    @abstractmethod
    def infer(self, file: Any, status: FileStatus) -> pa.Schema:
        """Return the columns that a file seems to have, after a look at its beginning or at its footer.

        Args:
            file: an open binary file, at its start.
            status: of the file.

        Raises:
            CorruptRecordError: the file is not of this format.
        """

    def infer_all(self, files: Sequence[FileStatus], opener: Opener) -> pa.Schema | None:
        """Return the columns that files have together; None if they are to be found by `infer`, file by file.

        Args:
            files: which; one at least.
            opener: opens one of them.

        Raises:
            CorruptRecordError: a file is not of the format.
        """
        return None


def make_format(settings: ReadSettings, quarantine: Quarantine | None = None) -> FileFormat:
    """Return the format that the settings name. Its module is imported here.

    Raises:
        MissingDependencyError: a library that it needs is not installed in this process.
    """
    row = settings.abilities
    with importing(f"the files format {settings.format}", extra="formats"):
        kind = getattr(import_module(f"headwater.readers.files.{row.module}"), row.name)
    return cast("FileFormat", kind(settings, quarantine))


# Shorter than the driver's: a task that fails is tried again by Spark.
_BACKOFF = Backoff(deadline_ms=60_000)


@contextmanager
def opened(file: FileStatus, storage_options: Mapping[str, object]) -> Iterator[IO[bytes]]:
    """Open a file for reading from anywhere in it, and close it at the end.

    Passing failures are retried for a minute.

    Raises:
        UnknownSplitError: it is gone.
        DataLossError: it is not the version that was planned: a replay would give other rows.
    """

    def attempt() -> IO[bytes]:
        with file_errors("opening", file.url):
            fs, path = open_file_system(file.url, storage_options)
            status = present_status(fs, path)
            if not file.same_content(status):
                raise DataLossError(
                    f"the file is not what was planned any more: {file.size_bytes} bytes then, "
                    f"{status.size_bytes} now",
                    source="files",
                    split=file.url,
                )
            return cast("IO[bytes]", fs.open(path, "rb"))

    with retrying(
        attempt,
        backoff=_BACKOFF,
        clock=SystemClock(),
        cancelled=threading.Event(),
        what=f"opening {file.url}",
    ) as handle:
        yield handle
