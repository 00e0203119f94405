"""The source of a stream that may begin with the rows that are there."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast
from zlib import crc32

from headwater.connector.sources.postgres.stream_source import PostgresStreamSource
from headwater.core.clock import SystemClock
from headwater.core.enumerator import Checkpoint, PlannedSplitEnumerator, PlannedSplitEnumeratorContext
from headwater.core.errors import OptionError
from headwater.core.imports import importing
from headwater.core.jsons import JsonObject, JsonValue, dumps
from headwater.core.split import SplitPath
from headwater.core.state_store import StateStore
from headwater.enumerators.postgres.chunk_rules import RulesStore
from headwater.enumerators.postgres.chunks import ChunkSplit, chunk_from_json, chunks_to_json
from headwater.enumerators.postgres.connection import PostgresConnection
from headwater.enumerators.postgres.initial import InitialEnumerator
from headwater.enumerators.postgres.initial_questions import ChunkSettings, InitialQuestions
from headwater.enumerators.postgres.initial_state import InitialState, TableSplits
from headwater.enumerators.postgres.publication import published_columns
from headwater.enumerators.postgres.resync import ResyncingEnumerator
from headwater.enumerators.postgres.split import WAL_PATH, WalSplit, several_were_read
from headwater.enumerators.postgres.staged_log import StagedLog
from headwater.enumerators.postgres.stream_settings import (
    SlotTransport,
    StartingPosition,
)
from headwater.enumerators.postgres.table import TableDescription

if TYPE_CHECKING:
    import pyarrow as pa

    from headwater.readers.postgres.change_rows import ChangeRows
    from headwater.readers.postgres.json_rows import JsonRows
    from headwater.readers.postgres.merge_rule import MergeRule
    from headwater.readers.postgres.snapshot_and_log import SnapshotAndLogEmitter, SnapshotAndLogReader
    from headwater.readers.postgres.types import PostgresColumn

_CHUNKS: Final = "chunks"


@dataclass(frozen=True, kw_only=True)
class PostgresTableStream(PostgresStreamSource):
    """A table's rows in chunks, then its changes; with `latest` and `slot` its changes alone.

    Where a query has a checkpoint, that says how far it is with the rows, and not the option.

    Attributes:
        chunks: how the table is cut, and where notes are; None without a state location.
    """

    chunks: ChunkSettings | None = None

    @property
    def note_store(self) -> StateStore | None:
        return None if self.chunks is None else self.chunks.store

    def is_bounded(self, split: TableSplits) -> bool:
        return isinstance(split, ChunkSplit)

    def leaves_note(self, split: TableSplits) -> bool:
        return isinstance(split, ChunkSplit)

    def part_of(self, split: TableSplits) -> int:
        """Each state of the log is a part of its own: a run reads on when tables have joined."""
        return 0 if isinstance(split, ChunkSplit) else 1 + crc32(dumps(split.to_json()).encode())

    def create_enumerator(self, context: PlannedSplitEnumeratorContext[Any, int]) -> Any:
        is_initial = self.stream.starting_position is StartingPosition.INITIAL
        return self._enumerator(context, reads_rows=is_initial)

    def restore_enumerator(
        self, context: PlannedSplitEnumeratorContext[Any, int], checkpoint: Checkpoint[Any, int]
    ) -> PlannedSplitEnumerator[Any, int]:
        self.check_checkpoint(checkpoint)
        return self._enumerator(context, reads_rows=checkpoint.state is not None)

    def check_checkpoint(self, checkpoint: Checkpoint[Any, int]) -> None:
        """Make sure that what was read are rows of this form.

        Raises:
            SourceError: they were rows of several tables.
        """
        split = checkpoint.splits.get(WAL_PATH, InitialState.from_json(checkpoint.state).wal)
        if len(split.tables) > 1:
            raise several_were_read(split)

    def create_reader(self) -> Any:
        with importing("the postgres source", extra="postgres"):
            from headwater.readers.postgres.chunk_reader import ChunkReader
            from headwater.readers.postgres.snapshot_and_log import SnapshotAndLogReader
            from headwater.readers.postgres.staged_wal_reader import StagedWalReader
        chunks = ChunkReader(self.settings, self._chunk_columns, self.backoff)
        is_staged = self.stream.transport is SlotTransport.STAGED
        log = StagedWalReader(self._settings_of_chunks().store) if is_staged else super().create_reader()
        reader: SnapshotAndLogReader = SnapshotAndLogReader(chunks, log)
        return reader

    def create_emitter(self) -> Any:
        with importing("the postgres source", extra="postgres"):
            from headwater.readers.postgres.snapshot_and_log import SnapshotAndLogEmitter
        emitter: SnapshotAndLogEmitter = SnapshotAndLogEmitter(self._row_form(), self._log_emitter())
        return emitter

    def _row_form(self) -> ChangeRows | JsonRows:
        """Return the form of rows that were there."""
        return self._rows(self._planned_columns())

    def serialize_splits(self, splits: Iterable[TableSplits]) -> JsonValue:
        every = list(splits)
        chunks = [each for each in every if isinstance(each, ChunkSplit)]
        logs = [each for each in every if isinstance(each, WalSplit)]
        definitions = cast("JsonObject", super().serialize_splits(logs))
        return {**definitions, **({_CHUNKS: chunks_to_json(chunks)} if chunks else {})}

    def deserialize_splits(
        self, paths: Iterable[SplitPath], definitions: JsonValue
    ) -> Mapping[SplitPath, Any]:
        every = list(paths)
        splits: dict[SplitPath, Any] = dict(
            super().deserialize_splits([path for path in every if path == WAL_PATH], definitions)
        )
        written = cast("Mapping[str, Any]", definitions or {}).get(_CHUNKS)
        splits |= {path: chunk_from_json(path, written) for path in every if path != WAL_PATH}
        return splits

    def _rules_of(self, split: WalSplit) -> Mapping[int, MergeRule]:
        """Return which changes the rows of chunks hold. In a task; asks the store."""
        if split.rules is None:
            return {}
        from headwater.readers.postgres.merge_rule import MergeRule

        rules = RulesStore(self._settings_of_chunks().store).get(split.rules, split.tables[0].oid)
        return {oid: MergeRule(each, self._key_types()) for oid, each in rules.items()}

    def _key_types(self) -> Mapping[str, pa.DataType] | None:
        """Return the types of the columns of rows; None where rows have texts."""
        return {each.name: each.arrow_type for each in self._planned_columns()}

    def _enumerator(
        self, context: PlannedSplitEnumeratorContext[Any, int], *, reads_rows: bool
    ) -> PlannedSplitEnumerator[Any, int]:
        """Return the enumerator of a query that reads rows that are there, or the log alone."""
        if self.stream.resyncs:
            return ResyncingEnumerator(context, partial(self._initial, reads_rows=reads_rows))
        if reads_rows:
            return self._initial(context, reads_rows=True)
        return self._log_enumerator(context, self._staged_log())

    def _initial(
        self, context: PlannedSplitEnumeratorContext[Any, int], *, reads_rows: bool
    ) -> InitialEnumerator:
        chunks = self._settings_of_chunks()
        log = self._staged_log()
        questions = InitialQuestions(
            self.settings,
            self.stream,
            chunks,
            self.tables,
            check=self.check_table,
            native=self._native,
            staged=log,
        )
        return InitialEnumerator(
            context,
            chunks,
            questions,
            lambda joins_rows: self._log_enumerator(context, log, reads_rows=joins_rows),
            reads_rows=reads_rows,
            staged=log,
        )

    def _staged_log(self) -> StagedLog | None:
        if self.stream.transport is SlotTransport.DIRECT:
            return None
        with importing("the postgres source", extra="postgres"):
            from headwater.readers.postgres.wal_receiver import WalReceiver
        store = self._settings_of_chunks().store
        return WalReceiver(store, self.settings, self.stream.publication, self.backoff, SystemClock())

    def _settings_of_chunks(self) -> ChunkSettings:
        if self.chunks is None:
            raise OptionError(
                "is required: the folder that the query began with, where the rows of chunks are until they "
                "are committed. Or set startingPosition=latest for a query "
                "without a checkpoint",
                option="stateLocation",
            )
        return self.chunks

    def _native(self, table: TableDescription) -> Collection[str]:
        return {each.name for each in self._known_columns(table) if each.is_native}

    def _chunk_columns(
        self, connection: PostgresConnection, table: TableDescription
    ) -> Sequence[PostgresColumn]:
        """Return how the rows of a chunk are read: the columns that the query knows, then those to rescue."""
        from headwater.readers.postgres.types import column_of

        columns = self._known_columns(table)
        if not self._rescues:
            return columns
        names = set(published_columns(connection, table, self.stream) or ())
        others = names - {each.name for each in columns}
        return [*columns, *(column_of(each, as_text=True) for each in table.columns if each.name in others)]

    def _known_columns(self, table: TableDescription) -> list[PostgresColumn]:
        """Return how the columns of the planned schema are read from the table itself.

        Raises:
            OptionError: the table has not a column of this name and type.
        """
        from headwater.readers.postgres.types import column_of

        as_text = self._as_text(table)
        there = {each.name: each for each in table.columns}
        columns = []
        for planned in self._planned_columns():
            name = planned.name
            if name not in there:
                if self._may_change:
                    continue
                raise OptionError(
                    f"the query plans with column {name!r}, which {table.full_name} has lost: start it again"
                )
            column = column_of(there[name], as_text=name in as_text)
            if not column.arrow_type.equals(planned.arrow_type):
                raise OptionError(
                    f"the query plans with column {name!r} as {planned.arrow_type}; in {table.full_name} it "
                    f"is {column.type_name} now, which is read as {column.arrow_type}: start it again"
                )
            columns.append(column)
        return columns
