"""A task in planned mode: fetch, emit, advance (FLIP-27 ``SourceReaderBase`` for ranges with an end)."""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from contextlib import closing
from typing import Any

import pyarrow as pa

from headwater.core.emitter import SplitState
from headwater.core.errors import ContractError
from headwater.core.source import Source
from headwater.core.split import SplitPath, SplitRange
from headwater.readers.runtime.batches import check_schema
from headwater.readers.runtime.loss_reports import LossReports
from headwater.readers.runtime.task_reports import ReadCounter, ReportAddress


def read_ranges(
    source: Source[Any, Any, Any],
    ranges: Sequence[SplitRange[Any, Any]],
    reports_to: ReportAddress | None = None,
) -> Generator[pa.RecordBatch, None, None]:
    """Yield the rows of these ranges.

    Each record comes once, the splits in any order, the records of a split in theirs. Of several ranges of
    one split each is read after the one before.

    Runs on an executor, inside one task, on its thread. Everything is closed when the iterator ends, also
    when it is left early (LIMIT) or fails.

    Args:
        source: the source.
        ranges: of its splits.
        reports_to: whom to tell of records that are gone, and at the end how much was read; None in a batch
            read, where nothing is counted.

    Raises:
        SourceError: the errors of reader and emitter.
        ContractError: the reader named a split that it was not given, or finished one before all its records
            were there; or a batch does not have the source's schema.
    """
    losses = LossReports(reports_to)
    with closing(ReadCounter(reports_to, source.time_column)) as counter:
        for wave in _waves(ranges):
            with closing(_read(source, wave, losses, counter)) as batches:
                for batch in batches:
                    counter.add(batch)
                    yield batch


def _read(
    source: Source[Any, Any, Any],
    ranges: Sequence[SplitRange[Any, Any]],
    losses: LossReports,
    counter: ReadCounter,
) -> Generator[pa.RecordBatch, None, None]:
    """Yield the rows of ranges of different splits, through one reader."""
    schema = source.schema()
    emitter = source.create_emitter()
    states = {split_range.split.path: SplitState(split_range) for split_range in ranges}
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
                if path not in states:
                    raise ContractError(
                        f"SplitReader.fetch returned records of split {'-'.join(path)}, which it was not "
                        "given or has finished"
                    )
                for record in records:
                    for batch in emitter.emit(record, states[path]):
                        yield check_schema(source, schema, batch, path)
            # After the records: a split is finished behind its last one.
            for path in fetched.finished:
                del states[path]
        for batch in emitter.flush():
            yield check_schema(source, schema, batch, ())


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
