"""How far a query is with the rows that were there: the enumerator's state, as offsets have it."""

from __future__ import annotations

from collections.abc import Mapping
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
"""What a query reads of a table."""


class Phase(StrEnum):
    """What a query does."""

    WAITING = "waiting"
    """It waits for transactions: those that ran when the table came into the publication."""
    CHUNKS = "chunks"
    """It reads the rows that are there."""
    LIVE = "live"
    """It reads changes, some of which the rows of chunks hold already."""
    DONE = "done"
    """It reads changes that no chunk holds."""


@dataclass(frozen=True, slots=True)
class InitialState:
    """The state of a query. Never changed: each round makes the next one of the one that is logged.

    Attributes:
        phase: of the query.
        query: the folder of its rules.
        wal: the log, as it is read afterwards.
        table: the table, and where the stream begins.
        row_bytes: about how many bytes a row has.
        table_rows: about how many rows the table had when the query began.
        rows: how many those chunks had that are read and committed.
        waits_for: all transactions before this one must be over.
        waits: how often it has to wait.
        next_low: where the next chunk begins; None for the first one.
        next_number: of the next chunk.
        is_cut: whether the last chunk was assigned.
        rules: the name of the chunks' sights; None before the first note.
        high: behind it no change is in a chunk.
    """

    phase: Phase
    query: str
    wal: WalSplit
    table: ChunkedTable
    row_bytes: int = 100
    table_rows: int = 0
    rows: int = 0
    waits_for: int = 0
    waits: int = 0
    next_low: Bound | None = None
    next_number: int = 0
    is_cut: bool = False
    rules: str | None = None
    high: int = 0

    def to_json(self) -> JsonValue:
        """Return the state as an offset has it: of the chunks how many there were, once they are read."""
        state: JsonObject = {"phase": self.phase.value, "query": self.query}
        if self.phase is Phase.DONE:
            return {**state, "next": [self.next_number, None], "rows": self.rows}
        state |= {"wal": self.wal.to_json(), "table": self.table.to_json(), "rowBytes": self.row_bytes}
        if self.rows:
            state["rows"] = self.rows
        if self.phase is Phase.WAITING:
            state |= {"waitsFor": self.waits_for, "waits": self.waits}
        else:
            low: JsonValue = None if self.next_low is None else list(self.next_low)
            state |= {"next": [self.next_number, low], "isCut": self.is_cut}
        if not self.is_cut:
            state["tableRows"] = self.table_rows
        if self.rules is not None:
            state |= {"rules": self.rules, "high": self.high}
        return state

    @staticmethod
    def from_json(raw: Any) -> InitialState:
        """Return the inverse of `to_json`.

        Raises:
            OffsetError: it is damaged, or from a later version.
        """
        try:
            phase = Phase(raw["phase"])
            number, low = raw.get("next", (0, None))
            if phase is Phase.DONE:
                nothing = WalSplit("", "", 0, 0)
                return InitialState(
                    phase,
                    raw["query"],
                    nothing,
                    ChunkedTable(0, False, (), "", 0, 0),
                    rows=raw.get("rows", 0),
                    next_number=number,
                    is_cut=True,
                )
            return InitialState(
                phase=phase,
                query=raw["query"],
                wal=WalSplit.from_json(raw["wal"]),
                table=ChunkedTable.from_json(raw["table"]),
                row_bytes=raw["rowBytes"],
                table_rows=raw.get("tableRows", 0),
                rows=raw.get("rows", 0),
                waits_for=raw.get("waitsFor", 0),
                waits=raw.get("waits", 0),
                next_low=None if low is None else tuple(low),
                next_number=number,
                is_cut=raw.get("isCut", phase is Phase.LIVE),
                rules=raw.get("rules"),
                high=raw.get("high", 0),
            )
        except (TypeError, KeyError, ValueError) as error:
            raise OffsetError("the checkpoint's state of source 'postgres' is damaged") from error

    def with_chunk(self, high: Bound | None) -> tuple[InitialState, ChunkSplit]:
        """Return the state after the next chunk is assigned, and that chunk."""
        chunk = ChunkSplit(self.next_number, self.next_low, high, self.table)
        return replace(self, next_low=high, next_number=self.next_number + 1, is_cut=high is None), chunk

    def splits_left(self, chunk_rows: int) -> int:
        """Return how many chunks are about to be cut still: at least one, as long as the last one is not."""
        return 0 if self.is_cut else max(1, -(-self.table_rows // chunk_rows) - self.next_number)

    def live(self) -> InitialState:
        """Return the state after the last chunk is read: the log goes by the chunks' sights."""
        return replace(self, phase=Phase.LIVE, wal=replace(self.wal, rules=self.rules))


def rules_with(
    rules: ChunkRules, chunks: Mapping[SplitPath, ChunkSplit], notes: Mapping[SplitPath, JsonValue]
) -> ChunkRules:
    """Return rules with the chunks of one more batch, in the order of their numbers.

    Args:
        rules: of all chunks before.
        chunks: of the batch.
        notes: the sight of each; None for one that the sink never read.
    """
    for path, chunk in sorted(chunks.items(), key=lambda item: item[1].number):
        note: Any = notes[path]
        sight, high = (None, 0) if note is None else (note["snapshot"], note["high"])
        rules = rules.plus(chunk.low, sight, high)
    return rules


def rows_in(notes: Mapping[SplitPath, JsonValue]) -> int:
    """Return how many rows the chunks of these notes had; those of earlier versions do not say it."""
    contents: list[Any] = [note for note in notes.values() if note is not None]
    return sum(note.get("rows", 0) for note in contents)
