"""The objects of a segment log: what they hold, and under which numbers they lie."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass
from typing import Any, Final

from headwater.core.errors import StateLocationError
from headwater.core.jsons import JsonObject, dumps
from headwater.core.state_store import StateStore

TAKEN_OVER: Final = "taken-over"
ROWS: Final = "rows"
BEGIN: Final = "begin"
"""The object beside the records that says from which number on none is released."""


@dataclass(frozen=True, slots=True)
class SegmentRecord:
    """One object of the log: a line of JSON, then Arrow batches.

    Attributes:
        kind: `ROWS`, or `TAKEN_OVER`.
        attempt: who wrote it.
        body: the batches; empty where an attempt took over.
    """

    kind: str
    attempt: str
    body: bytes = b""

    def encode(self) -> bytes:
        """Return the object, unlike that of any other record."""
        # The random id makes every record unlike every other one, also of the same attempt. So a writer that
        # reads back what lies under a number knows whether it is its own.
        head: JsonObject = {
            "kind": self.kind,
            "attempt": self.attempt,
            "id": uuid.uuid4().hex,
            "bytes": len(self.body),
        }
        return dumps(head).encode() + b"\n" + self.body

    @classmethod
    def decode(cls, data: bytes, name: str) -> SegmentRecord:
        """Return the record that an object holds.

        Raises:
            StateLocationError: it is not what was written.
        """
        line, _, body = data.partition(b"\n")
        try:
            head: dict[str, Any] = json.loads(line)
            record = cls(head["kind"], head["attempt"], body)
            whole = len(body) == head["bytes"]
        except (ValueError, KeyError, TypeError) as error:
            raise StateLocationError(f"{name} is not a segment that headwater wrote") from error
        if not whole:
            raise StateLocationError(f"{name} is cut short: it holds {len(body)} of {head['bytes']} bytes")
        return record


def record_name(folder: str, number: int) -> str:
    """Return where a record lies."""
    return f"{folder}/{number:012d}"


def first_kept(store: StateStore, folder: str) -> int:
    """Return the mark of the last release, 0 if there was none."""
    mark = store.get(f"{folder}/{BEGIN}")
    if mark is not None:
        return int(mark)
    if store.get(record_name(folder, 0)) is not None:
        return 0
    # Before there were marks, records were released without one. What lies before a gap was put by a fenced
    # attempt where all was released already: it does not count.
    numbers = listed_numbers(store, folder)
    first = max(0, len(numbers) - 1)
    while first > 0 and numbers[first - 1] == numbers[first] - 1:
        first -= 1
    return numbers[first] if numbers else 0


def listed_numbers(store: StateStore, folder: str) -> list[int]:
    """Return the numbers of the records that are listed, in order."""
    return [int(name) for name in store.list(folder) if name != BEGIN]
