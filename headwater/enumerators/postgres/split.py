"""The log of a database as a split: its positions are LSNs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from headwater.core.errors import OffsetError
from headwater.core.jsons import JsonObject, JsonValue
from headwater.core.split import Split, SplitPath

WAL_PATH: Final[SplitPath] = ("wal",)


@dataclass(frozen=True, slots=True)
class LogTable:
    """A table whose changes are read.

    Attributes:
        oid: of the table.
        key: its primary key; empty if it has none.
        membership: in the publication, when the split was made (`publication.membership`); empty if it is not
            known.
    """

    oid: int
    key: tuple[str, ...] = ()
    membership: str = ""

    def to_json(self) -> JsonObject:
        return {"table": self.oid, "key": list(self.key), "membership": self.membership}

    @staticmethod
    def from_json(fields: Any) -> LogTable:
        key = tuple(str(name) for name in fields["key"])
        return LogTable(int(fields["table"]), key, str(fields.get("membership", "")))


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

    A position is an LSN: all transactions whose commit record begins before it are read. That is what the
    server calls the final LSN of a transaction. A range may begin and end at any LSN, and holds whole
    transactions.

    Attributes:
        slot: the replication slot.
        system_id: of the database system, as ``IDENTIFY_SYSTEM`` says it.
        timeline: of that system when the split was logged.
        table: the oid of the first table.
        key: its primary key; empty if it has none.
        sync: how often the table was read anew since the query began: the column ``_sync``.
        rules: the sights of the table's chunks, by name (`ChunkRules`); None: no chunk holds any change.
        membership: of the first table, as in `LogTable`.
        others: the tables beside the first one.
        log: the folder of the durable log that has what the slot gave (`staged_log.StagedLog`); empty where
            the slot itself is read.
    """

    slot: str
    system_id: str
    timeline: int
    table: int
    key: tuple[str, ...] = ()
    sync: int = 0
    rules: str | None = None
    membership: str = ""
    others: tuple[LogTable, ...] = ()
    log: str = ""

    @staticmethod
    def of(slot: str, system_id: str, timeline: int, tables: Sequence[LogTable]) -> WalSplit:
        """Return the log of tables, as a query begins with it."""
        first, *others = tables
        return WalSplit(
            slot,
            system_id,
            timeline,
            first.oid,
            first.key,
            membership=first.membership,
            others=tuple(others),
        )

    @property
    def tables(self) -> tuple[LogTable, ...]:
        """All tables."""
        return LogTable(self.table, self.key, self.membership), *self.others

    @property
    def path(self) -> SplitPath:
        return WAL_PATH

    def to_json(self) -> JsonObject:
        return {
            "slot": self.slot,
            "system_id": self.system_id,
            "timeline": self.timeline,
            "table": self.table,
            "key": list(self.key),
            **({"sync": self.sync} if self.sync else {}),
            **({"rules": self.rules} if self.rules else {}),
            **({"membership": self.membership} if self.membership else {}),
            **({"others": [each.to_json() for each in self.others]} if self.others else {}),
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
                table=int(fields["table"]),
                key=tuple(str(name) for name in fields["key"]),
                sync=int(fields.get("sync", 0)),
                rules=fields.get("rules"),
                membership=str(fields.get("membership", "")),
                others=tuple(LogTable.from_json(each) for each in fields.get("others", ())),
                log=str(fields.get("log", "")),
            )
        except (TypeError, KeyError, ValueError) as error:
            raise OffsetError(
                f"the checkpoint's entry for the log of source 'postgres' is damaged: {error}"
            ) from error


def lsn_text(lsn: int) -> str:
    """Return an LSN as PostgreSQL writes it: ``0/1A2B3C4``."""
    return f"{lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}"


def lsn_of(text: str) -> int:
    """Return the inverse of `lsn_text`."""
    high, _, low = text.partition("/")
    return int(high, 16) << 32 | int(low, 16)
