"""The answer to one COPY: rows as places of values in the bytes that the server sent."""

from __future__ import annotations

import os
import socket
import time
from typing import TYPE_CHECKING, Final

import numpy as np

from headwater.core.errors import CorruptRecordError, SourceError, TransientSourceError
from headwater.enumerators.postgres.connection import PostgresConnection, is_readable, mapped_errors
from headwater.enumerators.postgres.errors import server_error
from headwater.enumerators.postgres.settings import SOURCE
from headwater.readers.kernels.arrays import ByteArray, address
from headwater.readers.kernels.cache import Kernel
from headwater.readers.postgres import layout as L
from headwater.readers.postgres.framing import FramedRows

if TYPE_CHECKING:
    from psycopg.pq.abc import PGconn, PGresult

KERNEL: Final = Kernel(
    "headwater.readers.postgres.kernel.copy_framing",
    "frame",
    arguments=8,
    needed_for="the postgres source",
    extra="postgres",
)

_BLOCK_BYTES: Final = 1 << 20
_BEHIND: Final = 32
"""The bytes behind the last one that can be read."""
_PAUSE_S: Final = 0.001
_MOST_PAUSES: Final = 4
_MOST_ROWS: Final = 16_384
_MOST_VALUES: Final = 1 << 18
_LEAST_ROWS: Final = 64
_READY: Final = b"Z\0\0\0\5I"
"""The message behind all others: the server is ready for the next query."""
_SQLSTATE: Final = ord("C")
_PRIMARY: Final = ord("M")
_TURN_BYTES: Final = 1 << 18
"""The bytes of rows that are gathered at a time where libpq reads."""


class CopyStream:
    """Sends one ``COPY ... TO STDOUT (FORMAT binary)``, and cuts the answer into rows. One thread.

    libpq hands over one row a call, which takes longer than all that is done with the row. So where nothing
    is encrypted the bytes are read from its socket, many rows at a time: libpq has read nothing ahead when a
    query begins, and finds its connection idle again when the answer is over.

    Args:
        connection: idle, or in a transaction without a query. No other may use it until `rows` says the end.
        sql: the statement.
        columns: how many it selects.
        split: that is read, for errors.
        timeout_ms: how long the server may be silent.
    """

    def __init__(
        self, connection: PostgresConnection, sql: str, columns: int, *, split: str, timeout_ms: int
    ) -> None:
        self._columns = columns
        self._split = split
        self._room = max(_LEAST_ROWS, min(_MOST_ROWS, _MOST_VALUES // max(1, columns)))
        self._starts = np.empty((self._room, max(1, columns)), np.int64)
        self._lengths = np.empty((self._room, max(1, columns)), np.int32)
        self._state = np.zeros(L.STATE, np.int64)
        self._data: ByteArray = np.empty(_BLOCK_BYTES + _BEHIND, np.uint8)
        self._at = 0
        self._end = 0
        self._is_over = False
        pgconn = connection.pgconn
        source = _Messages if pgconn.ssl_in_use or pgconn.used_gssapi else _Socket
        self._source: _Messages | _Socket = source(pgconn, sql, timeout_ms)

    def rows(self) -> FramedRows | None:
        """Return the next rows, at least one; None behind the last one. Blocks.

        The rows before are gone then: their memory is used again.

        Raises:
            SourceError: the server's own error.
            TransientSourceError: the connection was lost, or the server is silent.
        """
        while not self._is_over:
            rows = self._frame()
            if rows:
                return FramedRows(self._data, self._starts, self._lengths, rows)
            if self._reason == L.OTHER:
                self._take_other()
            elif self._reason == L.BROKEN:
                raise CorruptRecordError(
                    f"a row of COPY that has not {self._columns} columns, or whose length is wrong",
                    source=SOURCE,
                    split=self._split,
                )
            else:
                self._read()
        return None

    def close(self) -> None:
        """Read no further. The connection is of no use then, unless all rows were read."""
        self._source.close()

    @property
    def _reason(self) -> int:
        return int(self._state[L.REASON])

    def _frame(self) -> int:
        rows = KERNEL(
            address(self._data),
            self._at,
            self._end,
            self._columns,
            self._room,
            address(self._starts),
            address(self._lengths),
            address(self._state),
        )
        self._at = int(self._state[L.AT])
        return rows

    def _read(self) -> None:
        """Move the rest to the front, and read behind it; make room for a message that is larger.

        Room grows with what has come, not with what a length says.
        """
        needed = int(self._state[L.NEEDED])
        left = self._end - self._at
        room = self._data.size - _BEHIND
        data = self._data
        if needed > room:
            data = np.empty(min(needed + _BLOCK_BYTES // 4, 2 * room) + _BEHIND, np.uint8)
        data[:left] = self._data[self._at : self._end].copy()
        self._data = data
        self._at = 0
        count = self._source.read_into(data.data[left : data.size - _BEHIND])
        if not count:
            raise TransientSourceError(
                "the server closed the connection while it sent rows", source=SOURCE, split=self._split
            )
        self._end = left + count

    def _take_other(self) -> None:
        """Take a message that is no row: the end, an error, or something by the way."""
        size = int(self._state[L.NEEDED])
        while self._end - self._at < size:
            self._read()
        kind = chr(self._data[self._at])
        content = self._data[self._at + 5 : self._at + size].tobytes()
        self._at += size
        if kind == "E":
            fields = {part[:1]: part[1:].decode("utf-8", "replace") for part in content.split(b"\0") if part}
            raise server_error(
                fields.get(b"C"), fields.get(b"M", "an error"), f"rows of {self._split}", split=self._split
            )
        if kind == "Z":
            self._is_over = True


class _Socket:
    """The bytes of libpq's own socket, as they come."""

    def __init__(self, pgconn: PGconn, sql: str, timeout_ms: int) -> None:
        # A file descriptor of its own: closing it leaves libpq's open.
        self._socket = socket.socket(fileno=os.dup(pgconn.socket))
        self._socket.settimeout(timeout_ms / 1_000)
        self._timeout_ms = timeout_ms
        query = sql.encode() + b"\0"
        try:
            self._socket.sendall(b"Q" + (len(query) + 4).to_bytes(4, "big") + query)
        except OSError as error:
            raise _lost(error) from error

    def read_into(self, room: memoryview) -> int:
        """Read at least a byte; return how many, 0 at the end."""
        try:
            return self._received(room)
        except TimeoutError as error:
            raise _silent(self._timeout_ms) from error
        except OSError as error:
            raise _lost(error) from error

    def _received(self, room: memoryview) -> int:
        """Read the bytes that are there; wait for more for a moment.

        A server writes little at a time, and each block costs as much time as some thousand rows.
        """
        count = self._socket.recv_into(room)
        pauses = _MOST_PAUSES
        while count and pauses and len(room) - count > len(room) // 2:
            if not is_readable(self._socket.fileno(), 0):
                time.sleep(_PAUSE_S)
                pauses -= 1
                continue
            more = self._socket.recv_into(room[count:])
            if not more:
                break  # the next call says the end
            count += more
        return count

    def close(self) -> None:
        self._socket.close()


class _Messages:
    """The messages that libpq hands over, which decrypts them, in the form in which they came."""

    def __init__(self, pgconn: PGconn, sql: str, timeout_ms: int) -> None:
        self._pgconn = pgconn
        self._timeout_ms = timeout_ms
        self._rest = memoryview(b"")
        self._is_over = False
        with mapped_errors("rows"):
            pgconn.send_query(sql.encode())
            self._check(self._result())

    def read_into(self, room: memoryview) -> int:
        """Copy the bytes that are there, at least one, and wait if there are none."""
        if not self._rest:
            with mapped_errors("rows"):
                self._rest = memoryview(self._gathered())
        count = min(len(room), len(self._rest))
        room[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count

    def _gathered(self) -> bytes:
        parts: list[bytes | memoryview] = []
        size = 0
        while size < _TURN_BYTES and not self._is_over:
            length, row = self._pgconn.get_copy_data(1)
            if length > 0:
                parts += b"d" + (length + 4).to_bytes(4, "big"), row
                size += length
            elif length == 0:
                if parts:
                    break
                self._wait()
            else:
                self._check(self._result())
                while self._result() is not None:
                    pass
                self._is_over = True
                parts.append(_READY)
        return b"".join(parts)

    def _wait(self) -> None:
        if not is_readable(self._pgconn.socket, self._timeout_ms / 1_000):
            raise _silent(self._timeout_ms)
        self._pgconn.consume_input()

    def _result(self) -> PGresult | None:
        while self._pgconn.is_busy():
            self._wait()
        return self._pgconn.get_result()

    def _check(self, result: PGresult | None) -> None:
        if result is None or not result.error_message:
            return
        code = result.error_field(_SQLSTATE)
        primary = result.error_field(_PRIMARY) or result.error_message
        raise server_error(code.decode() if code else None, primary.decode("utf-8", "replace"), "rows")

    def close(self) -> None:
        """Nothing to do: the connection is libpq's."""


def _lost(error: OSError) -> SourceError:
    return TransientSourceError(f"the connection was lost while rows were read: {error}", source=SOURCE)


def _silent(timeout_ms: int) -> SourceError:
    return TransientSourceError(
        f"the server sent nothing for {timeout_ms} ms; raise option readTimeout if it needs so long",
        source=SOURCE,
    )
