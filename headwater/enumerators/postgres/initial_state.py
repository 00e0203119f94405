"""How far a query is with the rows that were there: the enumerator's state, as offsets have it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, TypeAlias

from headwater.core.errors import OffsetError
from headwater.core.jsons import JsonObject, JsonValue
from headwater.core.split import SplitPath
from headwater.enumerators.postgres.chunk_rules import Bound, ChunkRules
from headwater.enumerators.postgres.chunks import ChunkedTable, ChunkSplit
from headwater.enumerators.postgres.split import WalSplit

TableSplits: TypeAlias = ChunkSplit | WalSplit
"""The splits of a table: chunks, then the log."""


class Phase(StrEnum):
    """The phases of a query that begins with the rows that are there."""

    WAITING = "waiting"
    """It waits for transactions: those that ran when the table came into the publication."""
    CHUNKS = "chunks"
    """It reads the rows that are there."""
    LIVE = "live"
    """It reads changes, some of which the rows of chunks hold already."""
    DONE = "done"
    """It reads changes that no chunk holds."""


@dataclass(frozen=True, slots=True)
class TableProgress:
    """How far a table is.

    Attributes:
        table: the table, and where its stream begins.
        row_bytes: about how many bytes a row has.
        rows: about how many rows it had when the query began.
        low: where the next chunk begins; None for the first one.
        chunks: how many were assigned.
        is_cut: whether the last one was.
    """

    table: ChunkedTable
    row_bytes: int = 100
    rows: int = 0
    low: Bound | None = None
    chunks: int = 0
    is_cut: bool = False

    def splits_left(self, chunk_rows: int) -> int:
        """Return how many chunks are about to be cut still: at least one, as long as the last one is not."""
        return 0 if self.is_cut else max(1, -(-self.rows // chunk_rows) - self.chunks)

    def to_json(self) -> JsonObject:
        """Return the progress as an offset has it."""
        fields: JsonObject = {
            "table": self.table.to_json(),
            "rowBytes": self.row_bytes,
            "chunks": self.chunks,
        }
        if self.is_cut:
            return {**fields, "isCut": True}
        return {**fields, "tableRows": self.rows, "low": None if self.low is None else list(self.low)}

    @staticmethod
    def from_json(fields: Any) -> TableProgress:
        """Return the inverse of `to_json`."""
        low = fields.get("low")
        return TableProgress(
            ChunkedTable.from_json(fields["table"]),
            fields["rowBytes"],
            fields.get("tableRows", 0),
            None if low is None else tuple(low),
            fields["chunks"],
            fields.get("isCut", False),
        )


@dataclass(frozen=True, slots=True)
class InitialState:
    """The state of a query. Never changed: each round makes the next one of the one that is logged.

    Attributes:
        phase: of the query.
        query: the folder of its rules; empty for a query that has never read the rows of tables.
        wal: the log, as it is read afterwards.
        start: from there on.
        tables: whose rows are read.
        rows: how many those chunks had that are read and committed.
        waits_for: all transactions before this one must be over.
        waits: how often it has to wait.
        next_number: of the next chunk.
        rules: the name of the chunks' sights; None before the first note.
        high: behind it no change is in a chunk.
    """

    phase: Phase
    query: str
    wal: WalSplit
    start: int = 0
    tables: tuple[TableProgress, ...] = ()
    rows: int = 0
    waits_for: int = 0
    waits: int = 0
    next_number: int = 0
    rules: str | None = None
    high: int = 0

    @property
    def is_cut(self) -> bool:
        """Whether the last chunk of each table was assigned."""
        return all(each.is_cut for each in self.tables)

    @property
    def row_bytes(self) -> int:
        """About how many bytes a row has, where rows are large."""
        return max((each.row_bytes for each in self.tables), default=100)

    def to_json(self) -> JsonValue:
        """Return the state as an offset has it: of the chunks how many there were, once they are read."""
        if not self.query:
            return None
        state: JsonObject = {"phase": self.phase.value, "query": self.query, "next": self.next_number}
        if self.rows or self.phase is Phase.DONE:
            state["rows"] = self.rows
        if self.phase is Phase.DONE:
            return state
        state |= {"wal": self.wal.to_json(), "start": self.start}
        state["tables"] = [each.to_json() for each in self.tables]
        if self.phase is Phase.WAITING:
            state |= {"waitsFor": self.waits_for, "waits": self.waits}
        if self.rules is not None:
            state |= {"rules": self.rules, "high": self.high}
        return state

    @staticmethod
    def from_json(raw: Any) -> InitialState:
        """Return the inverse of `to_json`.

        Raises:
            OffsetError: it is damaged, or from a later version.
        """
        if raw is None:
            return InitialState.done()
        try:
            phase = Phase(raw["phase"])
            fields = raw if isinstance(raw.get("next"), int) else _of_one_table(raw, phase)
            if phase is Phase.DONE:
                return InitialState.done(raw["query"], rows=raw.get("rows", 0), chunks=fields["next"])
            return InitialState(
                phase=phase,
                query=raw["query"],
                wal=WalSplit.from_json(raw["wal"]),
                start=fields["start"],
                tables=tuple(TableProgress.from_json(each) for each in fields["tables"]),
                rows=raw.get("rows", 0),
                waits_for=raw.get("waitsFor", 0),
                waits=raw.get("waits", 0),
                next_number=fields["next"],
                rules=raw.get("rules"),
                high=raw.get("high", 0),
            )
        except (TypeError, KeyError, ValueError) as error:
            raise OffsetError("the checkpoint's state of source 'postgres' is damaged") from error

    @staticmethod
    def done(query: str = "", *, rows: int = 0, chunks: int = 0) -> InitialState:
        """Return the state of a query that reads changes which no chunk holds.

        Args:
            query: as in the attributes.
            rows: of its chunks.
            chunks: how many there were.
        """
        nothing = WalSplit("", "", 0, ())
        return InitialState(Phase.DONE, query, nothing, rows=rows, next_number=chunks)

    def with_start(self, start: int) -> InitialState:
        """Return the state of a query whose stream begins elsewhere."""
        tables = tuple(replace(each, table=replace(each.table, start=start)) for each in self.tables)
        return replace(self, start=start, tables=tables)

    def with_chunk(self, high: Bound | None) -> tuple[InitialState, ChunkSplit]:
        """Return the state after the next chunk is assigned, and that chunk: of the first table that has one.

        Args:
            high: where it ends; None at the end of the table.
        """
        at = next(at for at, each in enumerate(self.tables) if not each.is_cut)
        table = self.tables[at]
        chunk = ChunkSplit(self.next_number, table.low, high, table.table)
        advanced = replace(table, low=high, chunks=table.chunks + 1, is_cut=high is None)
        tables = (*self.tables[:at], advanced, *self.tables[at + 1 :])
        return replace(self, tables=tables, next_number=self.next_number + 1), chunk

    def without(self, oids: Collection[int]) -> InitialState:
        """Return the state of a query that reads no more rows of some tables."""
        tables = tuple(each for each in self.tables if each.table.oid not in oids)
        if not tables:
            # All that had joined: the log goes on as if they had not.
            return InitialState.done(self.query, rows=self.rows, chunks=self.next_number)
        return replace(self, tables=tables, wal=self.wal.without(oids))

    def splits_left(self, chunk_rows: int) -> int:
        """Return how many chunks are about to be cut still."""
        return sum(each.splits_left(chunk_rows) for each in self.tables)

    def live(self) -> InitialState:
        """Return the state after the last chunk is read: the log goes by the chunks' sights."""
        return replace(self, phase=Phase.LIVE, wal=replace(self.wal, rules=self.rules))

    def joined(self, split: WalSplit, position: int) -> tuple[WalSplit, int]:
        """Return the log after tables have joined it, and where it is read on: with their first change.

        Args:
            split: the log without them.
            position: as far as it is read.
        """
        joined = {each.table.oid for each in self.tables}
        tables = tuple(
            replace(each, since=self.start if each.oid in joined else max(each.since, position))
            for each in split.tables
        )
        return replace(split, tables=tables, rules=self.rules, held=0), min(self.start, position)


def _of_one_table(raw: Any, phase: Phase) -> Any:
    """Return the fields of a state as earlier versions wrote it, which knew one table."""
    number, low = raw.get("next", (0, None))
    if phase is Phase.DONE:
        return {"next": number}
    is_cut = raw.get("isCut", phase is Phase.LIVE)
    return {
        "next": number,
        "start": raw["table"]["start"],
        "tables": [{**raw, "low": low, "chunks": number, "isCut": is_cut}],
    }


def rules_with(
    rules: Mapping[int, ChunkRules],
    chunks: Mapping[SplitPath, ChunkSplit],
    notes: Mapping[SplitPath, JsonValue],
) -> dict[int, ChunkRules]:
    """Return the rules of tables with the chunks of one more batch, in the order of their numbers.

    Args:
        rules: of all chunks before, by the oids of their tables.
        chunks: of the batch.
        notes: the sight of each; None for one that the sink never read.
    """
    result = dict(rules)
    for path, chunk in sorted(chunks.items(), key=lambda item: item[1].number):
        note: Any = notes[path]
        sight, high = (None, 0) if note is None else (note["snapshot"], note["high"])
        table = chunk.table
        names = tuple(each.name for each in table.key)
        rule = result.get(table.oid, ChunkRules(names, types=tuple(each.type_oid for each in table.key)))
        result[table.oid] = rule.plus(chunk.low, sight, high)
    return result


def rows_in(notes: Mapping[SplitPath, JsonValue]) -> int:
    """Return how many rows the chunks of these notes had. Notes of earlier versions do not say it."""
    contents: list[Any] = [note for note in notes.values() if note is not None]
    return sum(note.get("rows", 0) for note in contents)
