"""Queries over Kafka without Spark.

The real coordinator, reader and emitter, and a list in place of the offset log.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

import pyarrow as pa

from headwater.connector.planned.coordinator import PlannedCoordinator
from headwater.connector.planned.planning import ReadTask
from headwater.connector.sources.configured import ConfiguredPlannedSource
from headwater.connector.sources.kafka.configure import configure_kafka
from headwater.connector.sources.kafka.source import KafkaSource
from headwater.core.jsons import JsonObject
from headwater.core.source import Boundedness


def configure(
    options: dict[str, str], mode: Boundedness | None, *, discovery_interval_ms: int = 0
) -> ConfiguredPlannedSource:
    """Make the source of these options, keys lower-cased as Spark does it.

    New partitions are looked for at every step.
    """
    made = configure_kafka({key.lower(): value for key, value in options.items()}, mode)
    assert isinstance(made.source, KafkaSource)
    return replace(
        made,
        source=replace(
            made.source, lookup=replace(made.source.lookup, discovery_interval_ms=discovery_interval_ms)
        ),
    )


def batch(bootstrap_servers: str, **options: str) -> pa.Table:
    """What `spark.read` would return.

    Underscores in names stand for dots; ``kafka.bootstrap.servers`` is there.
    """
    rows, _ = batch_and_tasks(bootstrap_servers, **options)
    return rows


def batch_and_tasks(bootstrap_servers: str, **options: str) -> tuple[pa.Table, list[ReadTask[Any, Any]]]:
    """The rows of a batch read, and how it was cut."""
    configured = configure(
        {"kafka.bootstrap.servers": bootstrap_servers, **_dotted(options)}, Boundedness.BOUNDED
    )
    coordinator = _coordinator(configured)
    try:
        tasks = coordinator.plan_all()
    finally:
        coordinator.close()
    return _read(configured, tasks), tasks


class Query:
    """A streaming query: each `step` is a micro-batch; `log` holds the offsets, and outlives `restart`."""

    def __init__(self, bootstrap_servers: str, *, discovery_interval_ms: int = 0, **options: str) -> None:
        self.options = {"kafka.bootstrap.servers": bootstrap_servers, **_dotted(options)}
        self.log: list[JsonObject] = []
        self._configured = configure(
            self.options, Boundedness.CONTINUOUS_UNBOUNDED, discovery_interval_ms=discovery_interval_ms
        )
        self._coordinator = _coordinator(self._configured)

    def step(self) -> pa.Table | None:
        """Plan, log and read a batch; None if there is nothing to do."""
        start = self.log[-1] if self.log else self._coordinator.initial_offset()
        end = self._coordinator.plan_next(start, limited=True)
        if end is start:
            return None
        self.log.append(json.loads(json.dumps(end)))
        return _read(self._configured, self._coordinator.tasks(start, self.log[-1]))

    def plan(self) -> bool:
        """Plan and log a batch without reading it; return whether there is anything to do."""
        start = self.log[-1] if self.log else self._coordinator.initial_offset()
        end = self._coordinator.plan_next(start, limited=True)
        if end is not start:
            self.log.append(json.loads(json.dumps(end)))
        return end is not start

    def report(self) -> JsonObject:
        """What progress reports show of the heads."""
        latest = self._coordinator.latest()
        assert latest is not None
        return latest

    def available_now(self) -> None:
        """Begin an AvailableNow run."""
        self._coordinator.prepare_for_available_now()

    def flush_group(self) -> None:
        """Wait until the positions of committed batches are committed to the group."""
        self._coordinator._driver.request(lambda enumerator: enumerator.notify_end_of_input())

    def replay(self) -> pa.Table:
        """Read the last batch once more, as after a crash."""
        start = self.log[-2] if len(self.log) > 1 else self._coordinator.initial_offset()
        return _read(self._configured, self._coordinator.tasks(start, self.log[-1]))

    def restart(self, **changes: str) -> None:
        """Go on from the log in a new process, with other options."""
        self.close()
        self.options |= _dotted(changes)
        self._configured = configure(self.options, Boundedness.CONTINUOUS_UNBOUNDED)
        self._coordinator = _coordinator(self._configured)

    def close(self) -> None:
        self._coordinator.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def places(rows: pa.Table | None) -> list[tuple[int, int]]:
    """Partition and offset of each row, sorted."""
    assert rows is not None
    return sorted(
        zip(
            rows.column("partition").to_numpy().tolist(),
            rows.column("offset").to_numpy().tolist(),
            strict=True,
        )
    )


def values(rows: pa.Table | None) -> list[Any]:
    """The values, in the order of partitions and offsets."""
    assert rows is not None
    return (
        rows.sort_by([("topic", "ascending"), ("partition", "ascending"), ("offset", "ascending")])
        .column("value")
        .to_pylist()
    )


def _coordinator(configured: ConfiguredPlannedSource) -> PlannedCoordinator[Any, Any]:
    return PlannedCoordinator(configured.source, configured.limits, configured.hints, configured.backoff)


def _read(configured: ConfiguredPlannedSource, tasks: Sequence[ReadTask[Any, Any]]) -> pa.Table:
    """Read tasks as an executor would: from pickles."""
    executor, tasks = pickle.loads(pickle.dumps((configured, tasks)))
    return pa.Table.from_batches(
        [rows for task in tasks for rows in executor.read_task(task)], executor.source.schema()
    )


def _dotted(options: dict[str, str]) -> dict[str, str]:
    return {name.replace("_", "."): value for name, value in options.items()}
