"""The sights of all chunks of tables, as one object in the state location: the merge rule of the stream."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from headwater.core.errors import OffsetError
from headwater.core.jsons import JsonObject, JsonValue, dumps
from headwater.core.state_store import StateStore, get_segment, put_segment, segment_name
from headwater.enumerators.postgres.visibility import NothingSeen, Sight, TransactionSnapshot

_ROOT: Final = "postgres-rules"

Bound = tuple[str, ...]
"""The values of a key, as the server writes them."""


@dataclass(frozen=True, slots=True)
class ChunkRules:
    """The chunks of a table in the order of its key, and the sight of each. Never changed once it is stored.

    Attributes:
        key: the names of the key's columns; empty where one chunk is all of the table.
        lows: where each chunk but the first begins. The first one begins before all keys.
        sights: the sight of each chunk, in the server's words; None for one that the sink never read.
        high: no transaction whose commit record begins there or later is visible in any chunk.
        types: the oids of the key's types, below domains; empty if they are not known.
    """

    key: tuple[str, ...] = ()
    lows: tuple[Bound, ...] = ()
    sights: tuple[str | None, ...] = ()
    high: int = 0
    types: tuple[int, ...] = ()

    def plus(self, low: Bound | None, sight: str | None, high: int) -> ChunkRules:
        """Return the rules with one more chunk behind the last one."""
        lows = self.lows if low is None else (*self.lows, low)
        return replace(self, lows=lows, sights=(*self.sights, sight), high=max(self.high, high))

    def sight_of(self, chunk: int) -> Sight:
        """Return the sight of a chunk."""
        snapshot = self.sights[chunk]
        return NothingSeen() if snapshot is None else TransactionSnapshot.parse(snapshot)

    def to_json(self, numbers: Mapping[str, int]) -> JsonObject:
        """Return the rules as the object has them.

        Args:
            numbers: the number of each sight in the object.
        """
        sights: list[JsonValue] = [None if each is None else numbers[each] for each in self.sights]
        lows: list[JsonValue] = [list(each) for each in self.lows]
        return {
            "key": list(self.key),
            "types": list(self.types),
            "lows": lows,
            "sights": sights,
            "high": self.high,
        }

    @staticmethod
    def from_json(fields: Mapping[str, Any], snapshots: Sequence[str]) -> ChunkRules:
        """Return the inverse of `to_json`."""
        return ChunkRules(
            tuple(fields["key"]),
            tuple(map(tuple, fields["lows"])),
            tuple(None if each is None else snapshots[each] for each in fields["sights"]),
            fields["high"],
            tuple(fields.get("types", ())),
        )


def encode_rules(tables: Mapping[int, ChunkRules]) -> bytes:
    """Return the object with the rules of tables, by oids. Chunks of the same snapshot share its text."""
    snapshots = sorted({each for rules in tables.values() for each in rules.sights if each is not None})
    numbers = {each: at for at, each in enumerate(snapshots)}
    written: JsonObject = {str(oid): rules.to_json(numbers) for oid, rules in tables.items()}
    return dumps({"tables": written, "snapshots": list(snapshots), "version": 2}).encode()


def decode_rules(data: bytes, table: int) -> dict[int, ChunkRules]:
    """Return the inverse of `encode_rules`.

    Args:
        data: the object.
        table: whose rules are in an object of earlier versions, which knew one.

    Raises:
        OffsetError: it is of a later version.
    """
    fields: dict[str, Any] = json.loads(data)
    if fields["version"] not in {1, 2}:
        raise OffsetError(
            f"the chunks of this checkpoint were stored by a later version of headwater (layout "
            f"{fields['version']}): go back to it"
        )
    tables = {table: fields} if fields["version"] == 1 else fields["tables"]
    return {int(oid): ChunkRules.from_json(each, fields["snapshots"]) for oid, each in tables.items()}


@dataclass(frozen=True, slots=True)
class RulesStore:
    """Rules at the state location, each under a name made of its content. Every method blocks.

    Attributes:
        store: the state location.
    """

    store: StateStore

    def put(self, query: str, tables: Mapping[int, ChunkRules]) -> str:
        """Keep rules in the folder of a query; return their name once they are durable."""
        data = encode_rules(tables)
        name = segment_name(f"{query}/", data)
        put_segment(self.store, _ROOT, name, data)
        return name

    def get(self, name: str, table: int) -> dict[int, ChunkRules]:
        """Return rules by their name.

        Args:
            name: of the object.
            table: the first table of the query.

        Raises:
            OffsetError: they are not there: it is not known which changes the rows of the snapshot hold.
        """
        data = get_segment(self.store, _ROOT, name)
        if data is None:
            raise OffsetError(
                f"the checkpoint needs {_ROOT}/{name} at the stateLocation, and it is not there: give the "
                "stateLocation that the query began with, or begin with a new checkpointLocation and slot"
            )
        return decode_rules(data, table)

    def prune(self, query: str, needed: str | None) -> None:
        """Delete all rules of a query but the ones of this name."""
        listed = [f"{query}/{each}" for each in self.store.list(f"{_ROOT}/{query}")]
        self.store.delete_all(f"{_ROOT}/{each}" for each in listed if each != needed)
