"""Files decoded by another process, so that a damaged one ends that process and not the worker.

ORC as a whole, and of Parquet the statistics in footers: there pyarrow ends its process. The two processes
send each other messages over pipes: one byte for the kind, the length of the content in eight, the content.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import IntEnum
from pathlib import Path
from typing import IO, Any, Final

import pyarrow as pa

from headwater.core.errors import CorruptRecordError, SourceError, TransientSourceError
from headwater.readers.compression import LargeBlockError


class DecoderMessage(IntEnum):
    """The kind of a message. The first four come from the reader, the others from the process."""

    OPEN = 1
    """A file of ORC begins. Holds its size (`NUMBER`)."""
    STRIPE = 2
    """A stripe is wanted. Holds its number, the columns, and the most memory that it may take, in JSON."""
    BYTES = 3
    """Answers `READ`."""
    FOOTER = 4
    """Statistics of Parquet are wanted. Holds the names of the columns and the end of the file, pickled."""

    READ = 5
    """Bytes of the file are wanted. Holds where they begin and how many they are (`RANGE`)."""
    FILE = 6
    """Answers `OPEN`. Holds the number of stripes (`NUMBER`), and the schema of Arrow IPC."""
    ROWS = 7
    """A part of a stripe, as a stream of Arrow IPC."""
    END = 8
    """There are no more rows of the stripe."""
    STATISTICS = 10
    """Answers `FOOTER`. Holds `GroupBounds` of each row group, pickled."""
    FAILED = 9
    """The file, or the stripe, cannot be read. Holds why, as text. Ends the answer."""


NUMBER: Final = struct.Struct("<q")
RANGE: Final = struct.Struct("<qq")
_HEAD: Final = struct.Struct("<Bq")


def send(pipe: IO[bytes], message: DecoderMessage, content: bytes | pa.Buffer = b"") -> None:
    """Write one message.

    Raises:
        OSError: the pipe is closed.
    """
    view = memoryview(content)
    pipe.write(_HEAD.pack(message, len(view)))
    pipe.write(view)
    pipe.flush()


def receive(pipe: IO[bytes]) -> tuple[DecoderMessage, pa.Buffer]:
    """Read one message.

    Raises:
        EOFError: the pipe is closed.
    """
    message, size = _HEAD.unpack(_exactly(pipe, _HEAD.size))
    return DecoderMessage(message), _exactly(pipe, size)


def _exactly(pipe: IO[bytes], size: int) -> pa.Buffer:
    content = pa.allocate_buffer(size)
    view = memoryview(content).cast("B")
    at = 0
    while at < size:
        count = pipe.readinto(view[at:])  # type: ignore[attr-defined]  # pipes have it
        if not count:
            raise EOFError("the other end of the pipe is closed")
        at += count
    return content


_OF_THE_FILE: Final = frozenset(
    {signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGTRAP}
)
"""By these a decoder ends itself. Others come from outside, as SIGKILL does where memory is short."""
_PIPE_BYTES: Final = 1 << 20
TOO_LARGE: Final = 77
"""The exit code of a process that takes more memory than it may."""
_ZONE_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9:_+-]*(/[A-Za-z0-9][A-Za-z0-9:_+-]*)*")
_MOST_ZONE_NAME: Final = 100
_NEW_NAMES: Final = {
    "US/Alaska": "America/Anchorage",
    "US/Aleutian": "America/Adak",
    "US/Arizona": "America/Phoenix",
    "US/Central": "America/Chicago",
    "US/East-Indiana": "America/Indiana/Indianapolis",
    "US/Eastern": "America/New_York",
    "US/Hawaii": "Pacific/Honolulu",
    "US/Indiana-Starke": "America/Indiana/Knox",
    "US/Michigan": "America/Detroit",
    "US/Mountain": "America/Denver",
    "US/Pacific": "America/Los_Angeles",
    "US/Samoa": "Pacific/Pago_Pago",
}
"""The names that pyarrow 26 looks for, by those that stand in a file; older versions look for the latter."""


def _zone_of_utc() -> bytes:
    """Return a file of a time zone that is UTC, in the layout of RFC 8536, version 2."""
    head = b"TZif2" + bytes(15) + struct.pack(">6l", 0, 0, 0, 0, 1, 4)
    data = struct.pack(">lbb", 0, 0, 0) + b"UTC\0"
    return head + data + head + data + b"\nUTC0\n"


class DecoderProcess:
    """A process that decodes one file after the other. One owner at a time, one thread.

    To its C++ library every time zone is UTC. So it counts a timestamp of ORC from the beginning of 2015 in
    UTC, where the writer did by its own clock, and makes no other change: its own would lose an hour of a
    year.

    Raises:
        OSError: it cannot be started.
    """

    def __init__(self) -> None:
        self.owner = os.getpid()
        """The process that has started it: in a copy of that one it is somebody else's."""
        # Removed by whichever of the two processes ends the other.
        self._zones = Path(tempfile.mkdtemp(prefix="headwater-decoder-"))
        # A worker's modules may come from places that Spark has added.
        modules = os.pathsep.join(path for path in sys.path if path)
        self._process = subprocess.Popen(  # noqa: S603 - this Python, with a module of this package
            [sys.executable, "-m", "headwater.readers.files.decoder_child", str(self._zones)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            # What Spark sends to all processes of a worker would end it before it has removed the folder.
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": modules, "TZDIR": str(self._zones)},
        )
        self._questions: IO[bytes] = _pipe(self._process.stdin)
        self._answers: IO[bytes] = _pipe(self._process.stdout)
        set_size = getattr(fcntl, "F_SETPIPE_SZ", None)
        if set_size is not None:
            with suppress(OSError):  # more than this user may have
                fcntl.fcntl(self._answers, set_size, _PIPE_BYTES)
        self.is_idle = True
        """Whether all of the last answer was taken."""
        self.last_read = 0
        """Where the bytes of the file begin that it has read last."""
        self.know_zone("GMT")

    def know_zone(self, name: str) -> None:
        """Let the process know a time zone, before it reads a stripe with times of it.

        Raises:
            ValueError: this is no name of one.
        """
        if len(name) > _MOST_ZONE_NAME or not _ZONE_NAME.fullmatch(name):
            raise ValueError(f"there is no time zone {name!r}")
        for each in {name, _NEW_NAMES.get(name, name)}:
            file = self._zones / each
            if not file.exists():
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(_zone_of_utc())

    def ask(self, question: DecoderMessage, content: bytes) -> None:
        """Ask for a file, a stripe or statistics. All of `answers` has to be taken before the next question.

        Raises:
            DecoderProcessEndedError: the process has ended.
        """
        self.is_idle = False
        self._send(question, content)

    def answers(self, file: Any) -> Iterator[tuple[DecoderMessage, pa.Buffer]]:
        """Yield the messages of the answer, up to its end. The process reads the file through this one.

        Raises:
            DecoderProcessEndedError: the process has ended.
            pa.ArrowInvalid: the file cannot be read.
            LargeBlockError: the process has ended, because the stripe takes more memory than it may.
            OSError: of the file system.
        """
        while not self.is_idle:
            try:
                message, content = receive(self._answers)
            except EOFError:
                raise self._ended() from None
            if message is DecoderMessage.READ:
                self.last_read, size = RANGE.unpack(content)
                file.seek(self.last_read)
                self._send(DecoderMessage.BYTES, file.read(size))
                continue
            self.is_idle = message is not DecoderMessage.ROWS
            if message is DecoderMessage.FAILED:
                raise pa.ArrowInvalid(content.to_pybytes().decode())
            yield message, content

    def _send(self, message: DecoderMessage, content: bytes) -> None:
        try:
            send(self._questions, message, content)
        except BrokenPipeError:
            raise self._ended() from None

    def _ended(self) -> Exception:
        """Return why the process has ended, wherever in its work that is noticed."""
        code = self._process.wait()
        return LargeBlockError() if code == TOO_LARGE else DecoderProcessEndedError(code)

    def close(self) -> None:
        """End the process, also in the middle of its work."""
        self._process.kill()
        self._process.wait()
        self._questions.close()
        self._answers.close()
        shutil.rmtree(self._zones, ignore_errors=True)


class DecoderProcessEndedError(Exception):
    """The process has ended while it was asked.

    Args:
        code: the signal that has ended it, below 0; otherwise its exit code.
    """

    def __init__(self, code: int) -> None:
        super().__init__(f"the process that decodes it ended with {_ending(code)}")
        self.is_of_the_file = -code in _OF_THE_FILE
        """Whether a file has ended it."""
        self._is_by_signal = code < 0

    @property
    def kind(self) -> type[SourceError]:
        """The error of the file that this is."""
        if self.is_of_the_file:
            return CorruptRecordError
        return TransientSourceError if self._is_by_signal else SourceError


def _ending(code: int) -> str:
    return f"exit code {code}" if code >= 0 else signal.Signals(-code).name


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None, "both are pipes"
    return pipe


_idle: list[DecoderProcess] = []
_lock = threading.Lock()
"""Threads of one worker may take a process, and give one back, at once."""


@contextmanager
def decoder_process() -> Iterator[DecoderProcess]:
    """Lend a process, which is kept for the next file if no answer of it is outstanding.

    Raises:
        OSError: none can be started.
    """
    with _lock:
        # A process that was copied by fork does not own those of the first one.
        _idle[:] = [process for process in _idle if process.owner == os.getpid()]
        idle = _idle.pop() if _idle else None
    process = idle or DecoderProcess()
    try:
        yield process
    finally:
        with _lock:
            is_reused = process.is_idle and not _idle
            if is_reused:
                _idle.append(process)
        if not is_reused:
            process.close()


@atexit.register
def _close_idle() -> None:
    while _idle:
        _idle.pop().close()
