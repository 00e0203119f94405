"""Task notes: the result of the first reading of a split, kept in the state location; that reading counts.

For splits that another reading would find otherwise, and of which the enumerator must know something that
only a task can see: the rows of a table as one transaction sees them, and which transaction that was.

The task that reads such a split keeps its rows aside, then puts its note if there is none
(`headwater.core.state_store.StateStore.put_if_absent`), and only then hands rows to Spark. The first note
wins, and the rows beside it are the rows of the split: retries, speculation, second scans of the same batch
and replays serve these. So whoever has seen a row of the split has seen one of the note's.

The enumerator gets the notes of a batch when it is committed
(`headwater.core.enumerator.PlannedSplitEnumerator.handle_task_notes`). A split whose note is not there then
was not read by the sink, and no row of it was handed to anybody. It is sealed: no later attempt wins.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from headwater.core.errors import StateLocationError
from headwater.core.jsons import JsonObject, JsonValue, dumps
from headwater.core.split import SplitRange
from headwater.core.state_store import StateStore

_ROOT: Final = "notes"
_DIGEST_BYTES: Final = 16


@dataclass(frozen=True, slots=True)
class TaskNote:
    """The note that counts for a split, and the name of the attempt whose rows count with it.

    Attributes:
        content: as the reader gave it (`headwater.core.reader.RecordsWithSplitIds.notes`).
        attempt: names its staged rows; None: the batch was committed before anybody had read the split.
        segments: how many objects its rows are in.
    """

    content: JsonValue
    attempt: str | None
    segments: int = 0


_SEALED: Final = TaskNote(None, None)


@dataclass(frozen=True, slots=True)
class TaskNotes:
    """The notes of one query. Any process and thread may use it; each method asks the store.

    Attributes:
        store: at the state location.
        query: the name of the query's folder, which the coordinator draws once in the life of a checkpoint.
    """

    store: StateStore
    query: str

    def find(self, name: str) -> TaskNote | None:
        """Return the note that counts, None if there is none yet.

        Raises:
            StateLocationError: the store cannot be reached, or the note is damaged.
        """
        data = self.store.get(self._path(name))
        return None if data is None else self._decoded(name, data)

    def publish(self, name: str, note: TaskNote) -> TaskNote:
        """Put a note if there is none; return the one that counts. Its rows are durable before."""
        head: JsonObject = {"attempt": note.attempt, "note": note.content, "segments": note.segments}
        return self._decoded(name, self.store.put_if_absent(self._path(name), dumps(head).encode()))

    def seal(self, name: str) -> TaskNote:
        """Return the note that counts when a batch is committed; let nobody publish one later."""
        return self.find(name) or self.publish(name, _SEALED)

    def put_rows(self, name: str, attempt: str, number: int, data: bytes) -> None:
        """Keep one object with rows of an attempt; return once it is durable."""
        self.store.put_if_absent(self._rows(name, attempt, number), data)

    def rows(self, name: str, note: TaskNote) -> Iterator[bytes]:
        """Yield the objects with the rows of the note that counts, in order.

        Raises:
            StateLocationError: one is not there.
        """
        for number in range(note.segments):
            rows = self._rows(name, str(note.attempt), number)
            data = self.store.get(rows)
            if data is None:
                raise StateLocationError(
                    f"{rows} is gone, and with it rows of a batch that is not committed: restore "
                    "stateLocation from the backup that was taken with the checkpoint, or begin with a new "
                    "checkpoint",
                    location=str(self.store),
                )
            yield data

    def prune(self, needed: Iterable[str]) -> int:
        """Delete all notes and rows but those of these names; return how many objects are left."""
        names = set(needed)
        listed = self.store.list(f"{_ROOT}/{self.query}")
        unneeded = [each for each in listed if each.partition("-")[0] not in names]
        self.store.delete_all(f"{_ROOT}/{self.query}/{each}" for each in unneeded)
        return len(listed) - len(unneeded)

    def _path(self, name: str) -> str:
        return f"{_ROOT}/{self.query}/{name}"

    def _rows(self, name: str, attempt: str, number: int) -> str:
        return f"{self._path(name)}-{attempt}-{number:06d}"

    def _decoded(self, name: str, data: bytes) -> TaskNote:
        try:
            fields: dict[str, Any] = json.loads(data)
            return TaskNote(fields["note"], fields["attempt"], fields["segments"])
        except (ValueError, KeyError, TypeError) as error:
            raise StateLocationError(
                f"{self._path(name)} is not a note that headwater wrote: restore stateLocation from the "
                "backup that was taken with the checkpoint",
                location=str(self.store),
            ) from error


def note_name(split_range: SplitRange[Any, Any], definition: JsonValue) -> str:
    """Return the name of a range's note: the same wherever the same range is read.

    Args:
        split_range: a whole split.
        definition: the split as an offset has it (`headwater.core.source.Source.serialize_splits`). Another
            split of the same path has another note.
    """
    path: Sequence[str] = split_range.split.path
    content = dumps([list(path), definition, split_range.start, split_range.stop])
    return hashlib.blake2b(content.encode(), digest_size=_DIGEST_BYTES).hexdigest()


def new_name() -> str:
    """Return a name that nobody else has, for a query or an attempt."""
    return secrets.token_hex(8)
