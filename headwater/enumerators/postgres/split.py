"""The log of a database as a split: its positions are LSNs."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any, Final

from headwater.core.errors import OffsetError, SourceError
from headwater.core.jsons import JsonObject, JsonValue
from headwater.core.split import Split, SplitPath
from headwater.enumerators.postgres.settings import SOURCE

WAL_PATH: Final[SplitPath] = ("wal",)
NEVER: Final = 1 << 62
"""Behind every LSN: nothing of a table is read yet."""


@dataclass(frozen=True, slots=True)
class LogTable:
    """A table whose changes are read.

    Attributes:
        oid: of the table.
        key: its primary key; empty if it has none.
        membership: in the publication, when the split was made (`publication.membership`); empty if it is not
            known.
        since: its changes are read from this LSN on: where the table joined the query, or how far the query
            had read when another one joined.
        waits_for: nothing of it is read before all transactions before this one are over; 0: they are.
    """

    oid: int
    key: tuple[str, ...] = ()
    membership: str = ""
    since: int = 0
    waits_for: int = 0

    def to_json(self) -> JsonObject:
        return {
            "table": self.oid,
            "key": list(self.key),
            **({"membership": self.membership} if self.membership else {}),
            **({"since": self.since} if self.since else {}),
            **({"waitsFor": self.waits_for} if self.waits_for else {}),
        }

    @staticmethod
    def from_json(fields: Any) -> LogTable:
        return LogTable(
            oid=int(fields["table"]),
            key=tuple(str(name) for name in fields["key"]),
            membership=str(fields.get("membership", "")),
            since=int(fields.get("since", 0)),
            waits_for=int(fields.get("waitsFor", 0)),
        )


@dataclass(frozen=True, slots=True)
class Commit:
    """The end of a transaction.

    Attributes:
        lsn: where its commit record begins.
        time_ms: when it was committed, by the server's clock, in ms since 1970.
    """

    lsn: int
    time_ms: int


@dataclass(frozen=True, slots=True)
class WalSplit(Split):
    """The changes of tables that a replication slot gives. Unbounded.

    A position is an LSN: all transactions whose commit record begins before it are read. The server calls
    that place the final LSN of a transaction. A range may begin and end at any LSN, and holds whole
    transactions.

    Attributes:
        slot: the replication slot.
        system_id: of the database system, as ``IDENTIFY_SYSTEM`` says it.
        timeline: of that system when the split was logged.
        tables: whose changes are read, one at least.
        sync: how often the tables were read anew since the query began: the column ``_sync``.
        rules: the sights of the tables' chunks, by name (`ChunkRules`); None: no chunk holds any change.
        held: the slot is not confirmed beyond this LSN, and no log deleted: changes of a table from there on
            are read later; 0 for nothing.
        log: the folder of the slot's durable log (`staged_log.StagedLog`); empty where the slot itself is
            read.
    """

    slot: str
    system_id: str
    timeline: int
    tables: tuple[LogTable, ...]
    sync: int = 0
    rules: str | None = None
    held: int = 0
    log: str = ""

    def joining(self) -> list[LogTable]:
        """Return the tables that joined the query, and whose rows are to be read before any change."""
        return [each for each in self.tables if each.since == NEVER and not each.waits_for]

    def without(self, oids: Collection[int]) -> WalSplit:
        """Return the log without some tables, which are not all of them."""
        return replace(self, tables=tuple(each for each in self.tables if each.oid not in oids))

    def confirmed(self, position: int) -> int:
        """Return up to where the slot is confirmed when all before a position is committed."""
        return min(self.held, position) if self.held else position

    @property
    def path(self) -> SplitPath:
        return WAL_PATH

    def to_json(self) -> JsonObject:
        first, *others = self.tables
        return {
            "slot": self.slot,
            "system_id": self.system_id,
            "timeline": self.timeline,
            **first.to_json(),
            **({"sync": self.sync} if self.sync else {}),
            **({"rules": self.rules} if self.rules else {}),
            **({"others": [each.to_json() for each in others]} if others else {}),
            **({"held": self.held} if self.held else {}),
            **({"log": self.log} if self.log else {}),
        }

    @staticmethod
    def from_json(raw: JsonValue) -> WalSplit:
        """Return the inverse of `to_json`.

        Raises:
            OffsetError: a field is missing or is something else.
        """
        fields: Any = raw
        try:
            return WalSplit(
                slot=str(fields["slot"]),
                system_id=str(fields["system_id"]),
                timeline=int(fields["timeline"]),
                tables=tuple(LogTable.from_json(each) for each in (fields, *fields.get("others", ()))),
                sync=int(fields.get("sync", 0)),
                rules=fields.get("rules"),
                held=int(fields.get("held", 0)),
                log=str(fields.get("log", "")),
            )
        except (TypeError, KeyError, ValueError) as error:
            raise OffsetError(
                f"the checkpoint's entry for the log of source 'postgres' is damaged: {error}"
            ) from error


def several_were_read(split: WalSplit) -> SourceError:
    """Return the error of a query of one table whose checkpoint has rows of several."""
    return SourceError(
        f"the checkpoint has read {len(split.tables)} tables, and the query names one, whose rows have other "
        "columns: set option tables, also for one of them, or start with a new checkpointLocation and a new "
        "slot",
        source=SOURCE,
        split=split.split_id,
    )


def lsn_text(lsn: int) -> str:
    """Return an LSN as PostgreSQL writes it: ``0/1A2B3C4``."""
    return f"{lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}"


def lsn_of(text: str) -> int:
    """Return the inverse of `lsn_text`."""
    high, _, low = text.partition("/")
    return int(high, 16) << 32 | int(low, 16)
