"""The parts of tables that a task reads, one after the other."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Event

from headwater.core.clock import SystemClock
from headwater.core.errors import SourceError
from headwater.core.reader import RecordsWithSplitIds, SplitReader
from headwater.core.retry import Backoff, retrying
from headwater.core.split import SplitRange
from headwater.enumerators.postgres.connection import PostgresConnection, connect
from headwater.enumerators.postgres.ctid_ranges import TableSplit
from headwater.enumerators.postgres.settings import PostgresSettings
from headwater.enumerators.postgres.snapshot import import_snapshot
from headwater.enumerators.postgres.table import TableDescription
from headwater.enumerators.postgres.table_parts import check_columns, check_files
from headwater.readers.postgres.copy_emitter import CopiedRows
from headwater.readers.postgres.copy_stream import CopyStream
from headwater.readers.postgres.types import PostgresColumn


def copy_statement(columns: Sequence[PostgresColumn], source: str) -> str:
    """Return the statement that sends rows in binary form.

    Args:
        columns: of each row.
        source: the rest behind ``FROM``: a table, and which of its rows.
    """
    selected = ", ".join(each.sql for each in columns)
    # Names are quoted, and nothing else is the user's.
    return f"COPY (SELECT {selected} FROM {source}) TO STDOUT (FORMAT binary)"  # noqa: S608


class CopyReader(SplitReader[CopiedRows, TableSplit, int]):
    """Reads ranges of tables by COPY, in one transaction, over one connection.

    Args:
        settings: of the server.
        columns: those of a table that are read.
        backoff: how long a server that is away is asked for a connection.
    """

    def __init__(
        self,
        settings: PostgresSettings,
        columns: Callable[[TableDescription], Sequence[PostgresColumn]],
        backoff: Backoff,
    ) -> None:
        self._settings = settings
        self._backoff = backoff
        self._columns_of = columns
        self._ranges: deque[SplitRange[TableSplit, int]] = deque()
        self._connection: PostgresConnection | None = None
        self._stream: CopyStream | None = None
        self._columns: Sequence[PostgresColumn] = ()

    def handle_splits_changes(self, added: Sequence[SplitRange[TableSplit, int]]) -> None:
        self._ranges.extend(added)

    def fetch(self) -> RecordsWithSplitIds[CopiedRows]:
        current = self._ranges[0]
        path = current.split.path
        if current.start >= current.stop:
            self._ranges.popleft()
            return RecordsWithSplitIds(finished=frozenset({path}))
        try:
            stream = self._stream or self._open(current)
            rows = stream.rows()
        except SourceError:
            # The rest of this answer would be taken for the answer to the next question.
            self._disconnect()
            raise
        if rows is not None:
            return RecordsWithSplitIds(
                records={path: [CopiedRows(current.split.table.full_name, self._columns, rows)]}
            )
        stream.close()
        self._stream = None
        self._ranges.popleft()
        return RecordsWithSplitIds(finished=frozenset({path}))

    def close(self) -> None:
        self._disconnect()

    def _open(self, current: SplitRange[TableSplit, int]) -> CopyStream:
        table = current.split.table
        self._columns = self._columns_of(table)
        if self._connection is None:
            self._connect(current.split)
        assert self._connection is not None, "it was just opened"
        check_files(self._connection, current.split.part, table.full_name)
        check_columns(self._connection, table)
        self._stream = CopyStream(
            self._connection,
            copy_statement(self._columns, current.split.rows_sql(current.start, current.stop)),
            len(self._columns),
            split=table.full_name,
            timeout_ms=self._settings.read_timeout_ms,
        )
        return self._stream

    def _connect(self, split: TableSplit) -> None:
        """Begin a transaction that reads the snapshot of a split: all splits of a batch have the same."""
        self._connection = retrying(
            lambda: connect(self._settings, application=split.snapshot.application),
            backoff=self._backoff,
            clock=SystemClock(),
            cancelled=Event(),
            what=f"a connection for {split.split_id}",
        )
        import_snapshot(self._connection, split.snapshot, split=split.split_id)

    def _disconnect(self) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None
        if self._connection is not None:
            with suppress(Exception):
                self._connection.close()
            self._connection = None
