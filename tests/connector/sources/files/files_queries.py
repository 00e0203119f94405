"""The files source without Spark: plan, log, read, as a query would."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self

import pyarrow as pa

from headwater.connector.planned.coordinator import PlannedCoordinator
from headwater.connector.planned.planning import ReadTask
from headwater.connector.sources.configured import ConfiguredPlannedSource
from headwater.connector.sources.files.source import FilesSource, configure_files
from headwater.connector.sources.spark_schema import bind_schema, spark_schema
from headwater.core.jsons import JsonObject
from headwater.core.source import Boundedness
from headwater.readers.runtime.source_reader import read_ranges

VALUE = pa.schema([pa.field("value", pa.string())])
NOW_S = 1_800_000_000
Drop = Callable[..., Path]
"""Moves a whole file into the inbox: its name, its modification time in seconds, its text."""


def configure(
    options: dict[str, str], mode: Boundedness, schema: pa.Schema | None = None
) -> ConfiguredPlannedSource:
    """Make the source of these options as Spark would.

    The schema is inferred by one instance and bound to another.
    """
    options = {key.lower(): value for key, value in options.items()}
    asked = schema if schema is not None else configure_files(options, None).source.schema()
    return bind_schema(configure_files(options, mode), spark_schema(asked, "files"), given=schema is not None)


def batch(schema: pa.Schema | None = None, **options: str) -> pa.Table:
    """What `spark.read` would return."""
    return batch_and_tasks(schema, **options)[0]


def batch_and_tasks(
    schema: pa.Schema | None = None, **options: str
) -> tuple[pa.Table, list[ReadTask[Any, Any]]]:
    """The rows of a batch read, and how it was cut."""
    configured = configure(options, Boundedness.BOUNDED, schema)
    coordinator = _coordinator(configured)
    try:
        tasks = coordinator.plan_all()
    finally:
        coordinator.close()
    return read(configured, tasks), tasks


class Query:
    """A streaming query: each `step` is a micro-batch; `log` holds the offsets, and outlives `restart`."""

    def __init__(
        self, schema: pa.Schema | None = None, *, available_now: bool = False, **options: str
    ) -> None:
        self.options = options
        self.log: list[JsonObject] = []
        self._schema = schema
        self._open(available_now=available_now)

    def step(self, *, limited: bool = True) -> pa.Table | None:
        """Plan, log and read a batch; None if there is nothing to do."""
        start = self.log[-1] if self.log else self.coordinator.initial_offset()
        end = self.coordinator.plan_next(start, limited=limited)
        if end is start:
            return None
        self.log.append(json.loads(json.dumps(end)))
        return read(self._configured, self.coordinator.tasks(start, self.log[-1]))

    def replay(self) -> pa.Table:
        """Read the last batch once more, as after a crash."""
        start = self.log[-2] if len(self.log) > 1 else self.coordinator.initial_offset()
        return read(self._configured, self.coordinator.tasks(start, self.log[-1]))

    def restart(
        self, schema: pa.Schema | None = None, *, available_now: bool = False, **changes: str
    ) -> None:
        """Go on from the log in a new process, with other options."""
        self.close()
        self.options |= changes
        self._schema = schema or self._schema
        self._open(available_now=available_now)

    def close(self) -> None:
        self.coordinator.close()

    def _open(self, *, available_now: bool) -> None:
        self._configured = configure(self.options, Boundedness.CONTINUOUS_UNBOUNDED, self._schema)
        self.coordinator = _coordinator(self._configured)
        if available_now:
            self.coordinator.prepare_for_available_now()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def read(configured: ConfiguredPlannedSource, tasks: Sequence[ReadTask[Any, Any]]) -> pa.Table:
    """Read tasks as an executor would: from pickles."""
    source, tasks = pickle.loads(pickle.dumps((configured.source, tasks)))
    assert isinstance(source, FilesSource)
    return pa.Table.from_batches(
        [rows for task in tasks for rows in read_ranges(source, task.ranges, task.reports_to)],
        source.schema(),
    )


def text(inbox: Path, **options: Any) -> Query:
    """A query on the lines of the files in a folder."""
    return Query(VALUE, format="text", path=str(inbox), **options)


def values(rows: pa.Table | None) -> list[str]:
    """The column of a text file."""
    assert rows is not None
    return [str(value) for value in rows.column("value").to_pylist()]


def _coordinator(configured: ConfiguredPlannedSource) -> PlannedCoordinator[Any, Any]:
    return PlannedCoordinator(configured.source, configured.limits, configured.hints, configured.backoff)
