"""One conversation with the server's sender of logical replication, over libpq.

libpq does the steps before it: TLS, SCRAM, files with passwords. From there on both sides send messages. The
first one of this side confirms the position from which it reads, and nothing later: rows read since may not
be committed.
"""

from __future__ import annotations

import fcntl
import struct
import termios
import threading
import time
from typing import Final

from headwater.core.errors import SourceError, TransientSourceError
from headwater.core.redaction import logger_of
from headwater.enumerators.postgres.connection import PostgresConnection, is_readable, mapped_errors
from headwater.enumerators.postgres.errors import server_error
from headwater.enumerators.postgres.settings import SOURCE
from headwater.enumerators.postgres.split import Commit, lsn_text
from headwater.enumerators.postgres.table import quoted

log = logger_of(__name__)

_COPY_BOTH: Final = 8
_XLOG_DATA: Final = ord("w")
_KEEPALIVE: Final = ord("k")
_BEGIN: Final = ord("B")
_HEADER_BYTES: Final = 25
EPOCH_MICROS: Final = 946_684_800_000_000
"""The year 2000, where times of the protocol begin, since 1970."""
_PAUSE_S: Final = 0.0015
"""Between two reads: a server that sends each change alone then sends many, and takes half the time."""
_GATHERING_S: Final = 0.1
"""How long single messages are gathered: a batch is not over before its last one anyway."""
_LIBPQ_BYTES: Final = 16_384
"""The bytes that libpq reads at a time."""
_PING_S: Final = 0.02
_PING_MOST_S: Final = 1.0
_CONFIRM_S: Final = 1.0


def now_micros() -> int:
    """Return the time as the protocol has it."""
    return time.time_ns() // 1_000 - EPOCH_MICROS


class ReplicationStream:
    """Messages of one slot from a position on. Belongs to one thread.

    Args:
        connection: for replication, idle.
        slot: the slot.
        publication: whose changes are sent.
        start: the first LSN at which a transaction is sent; none is that the slot has confirmed.
        confirmed: the position to confirm: not later than ``start``.
        silence_ms: how long the server may say nothing at all.

    Raises:
        SourceError: the server refuses.
    """

    def __init__(
        self,
        connection: PostgresConnection,
        slot: str,
        publication: str,
        *,
        start: int,
        confirmed: int,
        silence_ms: int,
    ) -> None:
        self._connection = connection
        self._pgconn = connection.pgconn
        self._confirmed = confirmed
        self._silence_s = silence_ms / 1_000
        self._what = f"reading slot {slot!r} from {lsn_text(start)} on"
        names = quoted(publication).replace("'", "''")
        command = (
            f"START_REPLICATION SLOT {slot} LOGICAL {lsn_text(start)} "
            f"(proto_version '1', publication_names '{names}')"
        )
        result = self._pgconn.exec_(command.encode())
        if result.status != _COPY_BOTH:
            sqlstate = result.error_field(ord("C"))
            message = result.error_message.decode(errors="replace")
            raise server_error(sqlstate.decode() if sqlstate else None, message, self._what)
        self._pgconn.nonblocking = 1
        self._heard_s = time.monotonic()
        self._asked_s = self._heard_s
        self._told_s = self._heard_s
        self._ping_s = _PING_S
        self.sent_lsn = 0
        """Everything before is sent, as far as the server has told it."""
        self.coming: Commit | None = None
        """The first transaction that begins in the messages read since the caller has set it to None."""
        self._tell(asks=True)

    def confirm(self, lsn: int) -> None:
        """Let the server forget everything before a position, within a second. It never goes back.

        Args:
            lsn: everything before is kept elsewhere, durable.
        """
        self._confirmed = max(self._confirmed, lsn)

    def read(self, most_bytes: int, stop: int, woken: threading.Event) -> list[memoryview]:
        """Return the next XLogData messages; none where the server has sent everything before ``stop``.

        Blocks until there are some, or `sent_lsn` has reached ``stop``, or ``woken`` is set.

        Raises:
            TransientSourceError: the connection was lost, or the server says nothing any more.
            SourceError: the server ended the conversation.
        """
        messages: list[memoryview] = []
        size = 0
        until_s = time.monotonic() + _GATHERING_S
        while size < most_bytes:
            added_bytes = self._take(messages, most_bytes - size)
            size += added_bytes
            if messages and self.coming is None:
                self.coming = _begun(messages[0])
            if self.sent_lsn >= stop or woken.is_set():
                break
            if added_bytes:
                # Not at once: messages that come meanwhile are read in one go, and the server sends them so.
                woken.wait(_PAUSE_S)
                if self._is_readable(0.0):
                    continue
            if messages and time.monotonic() > until_s:
                break
            self._wait()
        return messages

    def close(self) -> None:
        """End the conversation. The server may take a moment to leave the slot."""
        self._connection.close()

    def _wait(self) -> None:
        """Wait for the server, and ask it how far it is if it says nothing."""
        if self._is_readable(min(self._ping_s, 0.05)):
            return
        now = time.monotonic()
        if now - self._heard_s > self._silence_s:
            raise TransientSourceError(
                f"{self._what}: the server has said nothing for {self._silence_s:.0f} s", source=SOURCE
            )
        if now - self._asked_s >= self._ping_s:
            self._ping_s = min(2 * self._ping_s, _PING_MOST_S)
            self._tell(asks=True)

    def _is_readable(self, timeout_s: float) -> bool:
        return is_readable(self._pgconn.socket, timeout_s)

    def _take(self, messages: list[memoryview], most_bytes: int) -> int:
        """Take the messages that have come; return how many bytes. About ``most_bytes`` at the most."""
        size = 0
        # Around the loop: a million messages come one by one.
        with mapped_errors(self._what):
            next_message = self._pgconn.get_copy_data
            # Messages that come meanwhile wait for the next call: a server whose messages are taken at once
            # sends each alone.
            for _ in range(1 + _readable_bytes(self._pgconn.socket) // _LIBPQ_BYTES):
                self._pgconn.consume_input()
                while True:
                    length, message = next_message(1)
                    if length <= 0:
                        break
                    if message[0] == _XLOG_DATA:
                        messages.append(message)
                        size += length
                    elif message[0] == _KEEPALIVE:
                        self._heard(message)
                if length < 0 or size >= most_bytes:
                    break
        if length < 0:
            raise self._ended()
        now = time.monotonic()
        if size:
            self._heard_s = now
            self._ping_s = _PING_S
        if now - self._told_s >= _CONFIRM_S:
            self._tell(asks=False)
        return size

    def _heard(self, keepalive: memoryview) -> None:
        lsn, _, asks = struct.unpack_from(">QQB", keepalive, 1)
        self._heard_s = time.monotonic()
        self.sent_lsn = max(self.sent_lsn, lsn)
        if asks:
            self._tell(asks=False)

    def _tell(self, *, asks: bool) -> None:
        now = time.monotonic()
        self._told_s = now
        if asks:
            self._asked_s = now
        lsn = self._confirmed
        status = struct.pack(">cQQQQB", b"r", lsn, lsn, lsn, now_micros(), asks)
        with mapped_errors(self._what):
            self._pgconn.put_copy_data(status)
            self._pgconn.flush()

    def _ended(self) -> SourceError:
        result = self._pgconn.get_result()
        sqlstate = result.error_field(ord("C")) if result is not None else None
        text = result.error_message.decode(errors="replace") if result is not None else ""
        text = text or self._pgconn.get_error_message() or "the server ended the conversation"
        return server_error(sqlstate.decode() if sqlstate else None, text, self._what)


def _readable_bytes(descriptor: int) -> int:
    """Return how many bytes a socket has."""
    count = fcntl.ioctl(descriptor, termios.FIONREAD, struct.pack("i", 0))
    return int(struct.unpack("i", count)[0])


def _begun(message: memoryview) -> Commit | None:
    """Return the commit of the transaction that begins with a message; None if none does."""
    if message[_HEADER_BYTES] != _BEGIN:
        return None
    lsn, micros = struct.unpack_from(">QQ", message, _HEADER_BYTES + 1)
    return Commit(lsn, (micros + EPOCH_MICROS) // 1_000)


def first_transaction(stream: ReplicationStream, stop: int, woken: threading.Event) -> Commit | None:
    """Return the commit of the first transaction that is sent; None for none in the range.

    Nothing is sent that the publication does not have, whatever is in the log.
    """
    while True:
        for message in stream.read(1, stop, woken):
            if (first := _begun(message)) is not None:
                return first
        if stream.sent_lsn >= stop or woken.is_set():
            return None
