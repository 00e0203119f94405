"""Chunks of a table: each read in a transaction of its own, which tells its sight."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final

from headwater.core.clock import Clock, SystemClock
from headwater.core.errors import SourceError, TransientSourceError
from headwater.core.jsons import JsonObject
from headwater.core.reader import RecordsWithSplitIds, SplitReader
from headwater.core.retry import Backoff, retrying
from headwater.core.split import SplitRange
from headwater.enumerators.postgres.chunks import ChunkSplit, condition
from headwater.enumerators.postgres.connection import PostgresConnection, connect, mapped_errors
from headwater.enumerators.postgres.settings import SOURCE, PostgresSettings
from headwater.enumerators.postgres.split import lsn_of
from headwater.enumerators.postgres.table import TableDescription, describe_again
from headwater.enumerators.postgres.table_parts import is_as_seen
from headwater.readers.postgres.copy_emitter import CopiedRows
from headwater.readers.postgres.copy_reader import copy_statement
from headwater.readers.postgres.copy_stream import CopyStream
from headwater.readers.postgres.types import PostgresColumn

_BEGIN: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_ALL_ROWS: Final = "SET LOCAL row_security = off"
"""The log has all rows: so it is an error if policies hide some from the role."""
_SEEN: Final = "SELECT pg_is_in_recovery(), pg_current_snapshot()::text"
_WRITTEN: Final = "SELECT pg_current_wal_insert_lsn()::text, pg_current_wal_flush_lsn()::text"
_FLUSH: Final = "SELECT pg_current_xact_id()"
"""Commits a transaction of its own: then the server flushes earlier writes soon."""
_POLL_MS: Final = 10


class ChunkReader(SplitReader[CopiedRows, ChunkSplit, int]):
    """Reads chunks by COPY, one after the other.

    One transaction gives the rows of a chunk and its note: the transactions that it saw, and an LSN behind
    all of their commits. Some of these may not be durable yet (``synchronous_commit=off``): a crash of the
    server would undo them, and their rows with them. So a chunk is finished when the server has flushed all
    that was written before.

    A server that is away, or alters the table just then, is asked again until the first row of a chunk has
    come. Later that is an error: the next attempt at the task begins the chunk anew, in another transaction.

    Args:
        settings: of the server.
        columns: returns how its columns are read. Called in the transaction of a chunk.
        backoff: how long to go on asking a server that is away.
        clock: time.
    """

    def __init__(
        self,
        settings: PostgresSettings,
        columns: Callable[[PostgresConnection, TableDescription], Sequence[PostgresColumn]],
        backoff: Backoff,
        clock: Clock | None = None,
    ) -> None:
        self._settings = settings
        self._table = ""
        self._columns_of = columns
        self._backoff = backoff
        self._closing = threading.Event()
        self._clock = clock or SystemClock()
        self._ranges: deque[SplitRange[ChunkSplit, int]] = deque()
        self._connection: PostgresConnection | None = None
        self._stream: CopyStream | None = None
        self._columns: Sequence[PostgresColumn] = ()
        self._snapshot = ""
        self._rows = 0

    def handle_splits_changes(self, added: Sequence[SplitRange[ChunkSplit, int]]) -> None:
        self._ranges.extend(added)

    def fetch(self) -> RecordsWithSplitIds[CopiedRows]:
        current = self._ranges[0]
        path = current.split.path
        if current.start >= current.stop:
            self._ranges.popleft()
            return RecordsWithSplitIds(finished=frozenset({path}), notes={path: {}})
        try:
            stream = self._stream or retrying(
                lambda: self._open(current.split),
                backoff=self._backoff,
                clock=self._clock,
                cancelled=self._closing,
                what=f"reading {current.split.split_id}",
            )
            rows = stream.rows()
            if rows is not None:
                self._rows += rows.rows
                return RecordsWithSplitIds(records={path: [CopiedRows(self._table, self._columns, rows)]})
            note = self._close_chunk()
        except SourceError:
            # The rest of this answer would be taken for the answer to the next question.
            self._disconnect()
            raise
        self._ranges.popleft()
        return RecordsWithSplitIds(finished=frozenset({path}), notes={path: note})

    def close(self) -> None:
        self._closing.set()
        self._disconnect()

    def wake_up(self) -> None:
        """Nothing waits for long: the server sends rows, or it is an error."""

    def _open(self, chunk: ChunkSplit) -> CopyStream:
        try:
            return self._opened(chunk)
        except SourceError:
            self._disconnect()
            raise

    def _opened(self, chunk: ChunkSplit) -> CopyStream:
        if self._connection is None:
            self._connection = connect(self._settings)
        connection = self._connection
        with mapped_errors("a transaction", split=chunk.split_id):
            connection.execute(_BEGIN)
            connection.execute(_ALL_ROWS)
            seen: Any = connection.execute(_SEEN).fetchone()
        is_standby, self._snapshot = seen
        self._rows = 0
        if is_standby:
            raise SourceError(
                "this server is a standby, which does not tell which transactions it shows: give the address "
                "of the primary in option 'url'",
                source=SOURCE,
                split=chunk.split_id,
            )
        table = describe_again(connection, chunk.table.oid)
        if table is None:
            raise SourceError(
                "the table was dropped while its rows were read. Start with a new checkpointLocation and a "
                "new slot",
                source=SOURCE,
                split=chunk.split_id,
            )
        self._table = table.full_name
        self._columns = self._columns_of(connection, table)
        rows_of = f"{'ONLY ' if chunk.table.only else ''}{table.sql} t"
        if not is_as_seen(connection, table, rows_of):
            raise TransientSourceError(
                f"table {table.full_name} was truncated, written anew or altered while a chunk began",
                source=SOURCE,
                split=chunk.split_id,
            )
        which = condition(connection, chunk)
        self._stream = CopyStream(
            connection,
            copy_statement(self._columns, rows_of + (f" WHERE {which}" if which else "")),
            len(self._columns),
            split=chunk.split_id,
            timeout_ms=self._settings.read_timeout_ms,
        )
        return self._stream

    def _close_chunk(self) -> JsonObject:
        """Return the note of a chunk whose rows are read, when all that it saw is durable."""
        connection = self._connection
        assert connection is not None, "the chunk was opened"
        self._end_stream()
        with mapped_errors("a transaction"):
            connection.execute("COMMIT")
        high = flushed(connection, self._clock, self._settings)
        return {"snapshot": self._snapshot, "high": high, "rows": self._rows}

    def _end_stream(self) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def _disconnect(self) -> None:
        self._end_stream()
        if self._connection is not None:
            with suppress(Exception):
                self._connection.close()
            self._connection = None


def flushed(connection: PostgresConnection, clock: Clock, settings: PostgresSettings) -> int:
    """Wait until everything that is written to the log now is durable; return where it ends.

    Blocks. If it takes a moment, an empty transaction is committed: records of open transactions are flushed
    with the next commit of anybody.

    Raises:
        TransientSourceError: the server does not flush its log.
    """
    with mapped_errors("the end of the log"):
        row: Any = connection.execute(_WRITTEN).fetchone()
        written, durable = map(lsn_of, row)
        began_ms = clock.monotonic_ms()
        never = threading.Event()
        has_asked = False
        while durable < written:
            if not has_asked:
                connection.execute(_FLUSH)
                has_asked = True
            elif clock.monotonic_ms() - began_ms > settings.read_timeout_ms:
                raise TransientSourceError(
                    f"the server has not flushed its log for {settings.read_timeout_ms} ms", source=SOURCE
                )
            clock.wait(never, _POLL_MS)
            row = connection.execute(_WRITTEN).fetchone()
            durable = lsn_of(row[1])
    return written
