"""Task notes on the driver: read when a batch is committed, told to the enumerator, deleted a batch later."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, Generic

from headwater.connector.planned.offsets import PlannedOffset
from headwater.connector.planned.planning import ReadTask
from headwater.core.errors import ContractError, OptionError
from headwater.core.jsons import JsonObject, JsonValue
from headwater.core.planned_source import PlannedSource
from headwater.core.source import Boundedness
from headwater.core.split import PositionT, SplitPath, SplitRange, SplitT
from headwater.core.task_notes import TaskNote, TaskNotes, new_name, note_name

_READERS: Final = 8


class BatchNotes(Generic[SplitT, PositionT]):
    """The notes of a query's batches (`headwater.core.task_notes`). On Spark's thread.

    Splits that leave notes are read whole in the batch that they are assigned to: the offset of that batch
    alone says which notes it has.

    Args:
        source: of the query.
    """

    def __init__(self, source: PlannedSource[Any, SplitT, PositionT]) -> None:
        self._source = source
        self._store = source.note_store if source.boundedness is not Boundedness.BOUNDED else None
        self._query: str | None = None
        # Whether there may be objects of batches before the last one.
        self._may_have_old = True
        self._last: JsonObject | None = None

    def query_of(self, offset: PlannedOffset[SplitT, PositionT] | None) -> str | None:
        """Return the name of the query's notes, to be logged with the next offset; None: it has none."""
        if self._store is None:
            return None
        logged = offset.notes if offset is not None else None
        # Drawn once: a plan that never came to be logged left no note.
        self._query = logged or self._query or new_name()
        return self._query

    def folder(self, offset: PlannedOffset[SplitT, PositionT]) -> TaskNotes | None:
        """Return where the tasks of a batch leave notes; None: nowhere."""
        if offset.notes is None or not self._ranges(offset):
            return None
        return self._of(offset.notes)

    def check_whole(
        self, tasks: Sequence[ReadTask[SplitT, PositionT]], offset: PlannedOffset[SplitT, PositionT]
    ) -> None:
        """Refuse tasks that read a part of a split that leaves a note.

        Raises:
            ContractError: the source has cut one.
        """
        whole = {each.split.path: each for each in self._ranges(offset)}
        for each in (each for task in tasks for each in task.ranges):
            if whole.get(each.split.path, each) != each:
                raise ContractError(
                    f"PlannedSource.cut of {self._source.name!r}: split {each.split.split_id} leaves a note, "
                    "so it must stay whole"
                )

    def committed(
        self, start: JsonObject, offset: PlannedOffset[SplitT, PositionT] | None
    ) -> Mapping[SplitPath, JsonValue]:
        """Return the notes of a committed batch, by path; delete those of the batches before it. May block.

        That this offset is logged proves that the notes of earlier batches are in the state of an enumerator
        that it holds: nobody asks for them any more. Asks the store once for the same offset.

        Args:
            start: the offset as Spark has it.
            offset: the same, decoded; None for the genesis.

        Raises:
            StateLocationError: the state location cannot be used.
        """
        if offset is None or offset.notes is None or start == self._last:
            return {}
        notes = self._of(offset.notes)
        ranges = self._ranges(offset)
        names = [note_name(each, self._source.serialize_splits([each.split])) for each in ranges]
        sealed: Sequence[TaskNote] = []
        if names:
            # Several at once: object stores answer late.
            with ThreadPoolExecutor(_READERS, "headwater-notes") as pool:
                sealed = list(pool.map(notes.seal, names))
        if names or self._may_have_old:
            self._may_have_old = notes.prune(names) > 0
        self._last = start
        return {each.split.path: note.content for each, note in zip(ranges, sealed, strict=True)}

    def _of(self, query: str) -> TaskNotes:
        if self._store is None:
            raise OptionError(
                "the checkpoint keeps rows of its snapshot there; give the one that the query began with",
                option="stateLocation",
            )
        return TaskNotes(self._store, query)

    def _ranges(self, offset: PlannedOffset[SplitT, PositionT]) -> list[SplitRange[SplitT, PositionT]]:
        ranges = [
            SplitRange(offset.splits[path], start, offset.positions[path])
            for path, start in sorted(offset.starts.items())
            if start != offset.positions[path] and self._source.leaves_note(offset.splits[path])
        ]
        for each in ranges:
            if not self._source.is_bounded(each.split):
                raise ContractError(
                    f"PlannedSource.leaves_note of {self._source.name!r}: split {each.split.split_id} is not "
                    "bounded, so more than one range of it may be read"
                )
        return ranges
