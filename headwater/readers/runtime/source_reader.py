"""A task in planned mode: fetch, emit, advance (FLIP-27 ``SourceReaderBase`` for ranges with an end)."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from typing import Any, Protocol

import pyarrow as pa

from headwater.core.emitter import RecordEmitter, SplitState
from headwater.core.errors import ContractError
from headwater.core.jsons import JsonValue
from headwater.core.planned_source import PlannedSource
from headwater.core.split import SplitPath, SplitRange
from headwater.core.task_notes import TaskNotes
from headwater.readers.runtime.batches import check_schema
from headwater.readers.runtime.loss_reports import LossReports
from headwater.readers.runtime.task_reports import RangeEnd, ReadCounter, ReportAddress, report_ends


def read_ranges(
    source: PlannedSource[Any, Any, Any],
    ranges: Sequence[SplitRange[Any, Any]],
    reports_to: ReportAddress | None = None,
    take_end: Callable[[RangeEnd], None] | None = None,
    notes: TaskNotes | None = None,
) -> Generator[pa.RecordBatch, None, None]:
    """Yield the rows of these ranges.

    Each record comes once, the splits in any order, the records of a split in theirs. Of several ranges of
    one split each is read after the one before. A range ends early behind a record that says so
    (`PlannedSource.end_condition`). Splits that leave notes are read first, one after the other.

    Runs on an executor, inside one task, on its thread. Everything is closed when the iterator ends, also
    when it is left early (LIMIT) or fails.

    Args:
        source: the source.
        ranges: of its splits.
        reports_to: whom to tell of records that are gone, and at the end how much was read, and which splits
            ended; None in a batch read, where nothing is counted.
        take_end: called with each range when it is read, if splits may end at records.
        notes: of the query; None where nobody asks for any.

    Raises:
        SourceError: the errors of reader and emitter.
        ContractError: the reader named a split that it was not given, or finished one before all its records
            were there; or a batch does not have the source's schema.
        StateLocationError: a split leaves a note, and the state location cannot be used.
    """
    losses = LossReports(reports_to)
    ends: list[RangeEnd] = []
    with closing(ReadCounter(reports_to, source.time_column)) as counter:

        def read(
            wave: Sequence[SplitRange[Any, Any]], take_note: Callable[[JsonValue], None] = _no_note
        ) -> Generator[pa.RecordBatch, None, None]:
            return _read(source, wave, losses, counter, take_end=take_end or ends.append, take_note=take_note)

        for batches in _readings(source, ranges, notes, read):
            with closing(batches):
                for batch in batches:
                    counter.add(batch)
                    yield batch
    # Only where all is read: a task that is left early does not know.
    if ends and reports_to is not None:
        report_ends(ends, reports_to)


class _Read(Protocol):
    """Reads ranges of different splits."""

    def __call__(
        self, wave: Sequence[SplitRange[Any, Any]], take_note: Callable[[JsonValue], None] = ...
    ) -> Generator[pa.RecordBatch, None, None]: ...


def _readings(
    source: PlannedSource[Any, Any, Any],
    ranges: Sequence[SplitRange[Any, Any]],
    notes: TaskNotes | None,
    read: _Read,
) -> Iterator[Generator[pa.RecordBatch, None, None]]:
    """Yield generators of rows, each to be used up before the next."""
    if notes is not None:
        # Loaded by the tasks that need it.
        from headwater.readers.runtime.noted_split import read_noted_split

        for each in ranges:
            if source.leaves_note(each.split):
                yield read_noted_split(source, each, notes, partial(read, [each]))
        ranges = [each for each in ranges if not source.leaves_note(each.split)]
    for wave in _waves(ranges):
        yield read(wave)


def _no_note(_: JsonValue) -> None:
    """Take the note of a split that leaves none here."""


def _read(
    source: PlannedSource[Any, Any, Any],
    ranges: Sequence[SplitRange[Any, Any]],
    losses: LossReports,
    counter: ReadCounter,
    *,
    take_end: Callable[[RangeEnd], None],
    take_note: Callable[[JsonValue], None],
) -> Generator[pa.RecordBatch, None, None]:
    """Yield the rows of ranges of different splits, through one reader."""
    schema = source.schema()
    emitter = source.create_emitter()
    states = {split_range.split.path: SplitState(split_range) for split_range in ranges}
    ended: dict[SplitPath, SplitState[Any, Any]] = {}
    with closing(source.create_reader()) as reader:
        reader.report_losses_to(losses)
        emitter.report_losses_to(losses)
        reader.handle_splits_changes(ranges)
        while states:
            began = time.monotonic()
            fetched = reader.fetch()
            counter.fetched({*fetched.records, *fetched.finished}, time.monotonic() - began)
            states.update((path, SplitState(split_range)) for path, split_range in fetched.bound.items())
            for path, records in fetched.records.items():
                state = _state_of(path, states, ended)
                for batch in _emitted(emitter, records, state):
                    yield check_schema(source, schema, batch, path)
                if state.has_ended and path in states:
                    ended[path] = states.pop(path)
                    reader.handle_splits_removal([path])
            # After the records: a split is finished behind its last one.
            for path in fetched.finished - ended.keys():
                del states[path]
            for note in fetched.notes.values():
                take_note(note)
        for batch in emitter.flush():
            yield check_schema(source, schema, batch, ())
    if source.end_condition is not None:
        for each in ranges:
            end = [ended[each.split.path].position] if each.split.path in ended else None
            take_end(RangeEnd(each.split.path, each.start, each.stop, end))


def _state_of(path: SplitPath, *states_of: Mapping[SplitPath, SplitState[Any, Any]]) -> SplitState[Any, Any]:
    for states in states_of:
        if path in states:
            return states[path]
    raise ContractError(
        f"SplitReader.fetch returned records of split {'-'.join(path)}, which it was not given or has "
        "finished"
    )


def _emitted(
    emitter: RecordEmitter[Any, Any, Any], records: Sequence[Any], state: SplitState[Any, Any]
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of records up to the one that ends their split."""
    for record in records:
        if state.has_ended:
            return
        yield from emitter.emit(record, state)


def _waves(ranges: Sequence[SplitRange[Any, Any]]) -> list[list[SplitRange[Any, Any]]]:
    """Group ranges so that no split comes twice in a group, keeping the order of a split's ranges."""
    waves: list[list[SplitRange[Any, Any]]] = []
    counts: dict[SplitPath, int] = {}
    for split_range in ranges:
        at = counts.get(split_range.split.path, -1) + 1
        counts[split_range.split.path] = at
        if at == len(waves):
            waves.append([])
        waves[at].append(split_range)
    return waves
