"""The loop of a task.

Fetch, emit, advance (Flink's ``SourceReaderBase``, as far as a range with a known end needs it).
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from typing import Any

import pyarrow as pa

from headwater.core.emitter import RecordEmitter, SplitState
from headwater.core.errors import ContractError
from headwater.core.reader import SplitReader
from headwater.core.source import Source
from headwater.core.split import Path, SplitRange

__all__ = ["check_schema", "read_ranges"]


def read_ranges(
    source: Source[Any, Any, Any], ranges: Sequence[SplitRange[Any, Any]]
) -> Generator[pa.RecordBatch, None, None]:
    """Yield the rows of these ranges.

    Each record once, splits in any order, the records of a split in theirs.

    Runs on an executor, inside one task, on its thread. Everything is closed when the iterator ends, also
    when it is left early (LIMIT) or fails. A range of a split that another range of this task reads too is
    read after it.

    Raises:
        SourceError: what reader and emitter raise.
        ContractError: the reader named a split that it was not given, or finished one before all its records
            were there; or a batch does not have the source's schema.
    """
    for wave in _waves(ranges):
        with closing(source.create_reader()) as reader:
            yield from _read(
                source,
                reader,
                source.create_emitter(),
                {piece.split.path: SplitState(piece) for piece in wave},
                wave,
            )


def _read(
    source: Source[Any, Any, Any],
    reader: SplitReader[Any, Any, Any],
    emitter: RecordEmitter[Any, Any, Any],
    states: dict[Path, SplitState[Any, Any]],
    ranges: Sequence[SplitRange[Any, Any]],
) -> Iterator[pa.RecordBatch]:
    schema = source.schema()
    reader.handle_splits_changes(ranges)
    while states:
        fetched = reader.fetch()
        for path, records in fetched.records.items():
            if path not in states:
                raise ContractError(
                    f"SplitReader.fetch returned records of split {'-'.join(path)}, which it was not given or has finished"
                )
            for record in records:
                for batch in emitter.emit(record, states[path]):
                    yield check_schema(source, schema, batch, path)
        for path in fetched.finished:
            del states[path]
    for batch in emitter.flush():
        yield check_schema(source, schema, batch, ())


def check_schema(
    source: Source[Any, Any, Any], schema: pa.Schema, batch: pa.RecordBatch, path: Path
) -> pa.RecordBatch:
    """Return a batch that has the schema of its source.

    Spark would read another one as garbage, or fail without saying whose it is.

    Raises:
        ContractError: it has another one.
    """
    if not batch.schema.equals(schema):
        whose = f"split {'-'.join(path)} of source {source.name!r}" if path else f"source {source.name!r}"
        raise ContractError(
            f"RecordEmitter.emit: a batch of {whose} has not the schema that Source.schema says:\n{batch.schema}\nis not\n{schema}"
        )
    return batch


def _waves(ranges: Sequence[SplitRange[Any, Any]]) -> list[list[SplitRange[Any, Any]]]:
    """Group ranges so that no split comes twice in a group, keeping the order of a split's ranges."""
    waves: list[list[SplitRange[Any, Any]]] = []
    seen: dict[Path, int] = {}
    for piece in ranges:
        at = seen.get(piece.split.path, -1) + 1
        seen[piece.split.path] = at
        if at == len(waves):
            waves.append([])
        waves[at].append(piece)
    return waves
