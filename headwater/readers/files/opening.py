"""A planned file as a stream of bytes: the version that was planned, or none."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO, cast

from headwater.core.clock import SystemClock
from headwater.core.errors import DataLossError
from headwater.core.retry import Backoff, retrying
from headwater.enumerators.files.filesystem import file_errors, open_file_system
from headwater.enumerators.files.listing import present_status
from headwater.enumerators.files.split import FileStatus

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
