"""The process that decodes for another one: pyarrow ends a process that gives it certain damaged files.

``python -m headwater.readers.files.decoder_child FOLDER``, started by `decoder_process`. It knows no file
system: bytes of the file come through the pipe on which it is asked. It ends when that is closed.
"""

from __future__ import annotations

import io
import json
import os
import resource
import shutil
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final, cast

import pyarrow as pa
from pyarrow import orc

from headwater.readers.files.decoder_process import NUMBER, RANGE, TOO_LARGE, DecoderMessage, receive, send
from headwater.readers.files.parquet_statistics import read_bounds

_BATCH_ROWS: Final = 32_768
_WATCH_S: Final = 0.01
_STATM: Final = Path("/proc/self/statm")


class _AskedFile(io.RawIOBase):
    """A file whose bytes the reader has. One owner, one thread."""

    def __init__(self, size: int, questions: IO[bytes], answers: IO[bytes]) -> None:
        self._size = size
        self._asked = questions
        self._answers = answers
        self._at = 0

    def readable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        begin = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = begin + offset
        return self._at

    def tell(self) -> int:
        return self._at

    def read(self, size: int | None = -1) -> Any:
        available = max(self._size - self._at, 0)
        count = available if size is None or size < 0 else min(size, available)
        if count == 0:
            return b""
        send(self._answers, DecoderMessage.READ, RANGE.pack(self._at, count))
        _, content = receive(self._asked)
        self._at += content.size
        return content


def main() -> None:
    """Answer until the pipe is closed. Then remove the folder of time zones that the reader has made."""
    # Whatever a library prints must not get between the messages.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    questions = os.fdopen(sys.stdin.fileno(), "rb", buffering=0, closefd=False)
    source: Any = None
    while True:
        try:
            message, content = receive(questions)
        except EOFError:
            break
        try:
            if message is DecoderMessage.OPEN:
                (size,) = NUMBER.unpack(content)
                source = orc.ORCFile(pa.PythonFile(_AskedFile(size, questions, answers), "r"))
                _check_names(source.schema)
                send(answers, DecoderMessage.FILE, NUMBER.pack(source.nstripes) + source.schema.serialize())
            elif message is DecoderMessage.FOOTER:
                send(answers, DecoderMessage.STATISTICS, read_bounds(content))
            else:
                number, columns, most_bytes = json.loads(content.to_pybytes())
                with _memory_within(most_bytes):
                    stripe = _stripe(source, number, columns)
                for rows in _parts(stripe):
                    send(answers, DecoderMessage.ROWS, rows)
                send(answers, DecoderMessage.END)
        except (pa.ArrowException, OSError, EOFError, ValueError) as error:
            if isinstance(error, BrokenPipeError):
                break
            send(answers, DecoderMessage.FAILED, str(error).encode())
    # The reader is gone, and cannot remove it.
    shutil.rmtree(sys.argv[1], ignore_errors=True)


@contextmanager
def _memory_within(most_bytes: int) -> Iterator[None]:
    """End this process if it takes so much more memory than it has, as far as the system tells that.

    A limit of the system would do the same sooner, but libraries take what it refuses for memory.
    """
    most = _resident_bytes() + most_bytes
    done = threading.Event()
    watch = threading.Thread(target=_watch, args=(done, most), daemon=True)
    watch.start()
    try:
        yield
        _end_above(most)
    finally:
        done.set()
        watch.join()


def _watch(done: threading.Event, most: int) -> None:
    while not done.wait(_WATCH_S):
        _end_above(most)


def _end_above(most: int) -> None:
    if _resident_bytes() > most:
        os._exit(TOO_LARGE)


def _resident_bytes() -> int:
    """Return how much memory this process has; 0 where only other systems than Linux know it."""
    try:
        return int(_STATM.read_text().split()[1]) * resource.getpagesize()
    except FileNotFoundError:
        return 0


def _stripe(source: Any, number: int, columns: list[str]) -> pa.RecordBatch:
    """Return some columns of a stripe.

    To the library a name with a dot is a path, which leads into the column that is named as its beginning.
    """
    names: list[str] = source.schema.names
    if not any("." in name for name in names):
        return cast("pa.RecordBatch", source.read_stripe(number, columns=columns))
    return cast("pa.RecordBatch", source.read_stripe(number)).select([names.index(name) for name in columns])


def _check_names(fields: Iterable[pa.Field[Any]]) -> None:
    """Look at all names, at every level.

    Raises:
        ValueError: one is no UTF-8.
    """
    for field in fields:
        field.name.encode()
        _check_names(field.type.field(at) for at in range(field.type.num_fields))


def _parts(batch: pa.RecordBatch) -> Iterator[pa.Buffer]:
    """Yield a stripe in slices, so that the reader has one of them in memory at a time."""
    for offset in range(0, batch.num_rows, _BATCH_ROWS):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch.slice(offset, _BATCH_ROWS))
        yield sink.getvalue()


if __name__ == "__main__":
    main()
