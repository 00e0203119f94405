"""Our source in this process: batch reads and streaming queries as Spark runs them, without Spark."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import pyarrow as pa
from pyspark.sql.types import StructType

from tests.parity.golden.local_reads import LocalBatch, LocalStream
from tests.parity.results import Failure, Positions, Row, Step, failure_of, normal_positions, row_of
from tests.parity.sources import Query, Source
from tests.patience import PATIENCE_S

__all__ = ["LocalSource"]

_SETTINGS: Mapping[str, str] = {"spark.sql.session.timeZone": "UTC"}


@dataclass
class LocalFrame:
    """What ``load()`` returns: planned once, when it is first read.

    Attributes:
        schema: of its rows.
    """

    options: Mapping[str, str]
    _batch: LocalBatch | None = field(default=None, init=False)

    @property
    def schema(self) -> StructType:
        return self._planned.schema

    def tables(self) -> list[pa.Table]:
        """Return what each task reads."""
        return self._planned.tables()

    @property
    def _planned(self) -> LocalBatch:
        if self._batch is None:
            self._batch = LocalBatch(self.options, None, _SETTINGS)
        return self._batch


class LocalSource(Source):
    """Ours, as a scenario sees it that asks for nothing that only Spark has."""

    def load(self, **options: Any) -> Any:
        return LocalFrame(self.local_options(options))

    def rows(self, df: Any) -> list[Row]:
        return _rows(df.tables(), self.prefix)

    def rows_by_task(self, **options: Any) -> list[list[Row]]:
        return [_rows([table], self.prefix) for table in self.load(**options).tables()]

    def stream(self, **options: Any) -> Query:
        query = LocalQuery(self, options)
        self._queries.append(query)
        return query

    def local_options(self, options: Mapping[str, Any]) -> dict[str, str]:
        """Return the options of a read, without the name of Spark's format."""
        return {name: value for name, value in self._options(options).items() if name}


class LocalQuery(Query):
    """A streaming query in this process. Its checkpoint is in memory, and outlives its stops."""

    def __init__(self, source: LocalSource, options: Mapping[str, Any]) -> None:
        super().__init__(source, source.folder, options)
        self._ours = source
        self._log: list[Any] = []
        self._committed = 0
        self._stream: LocalStream | None = None
        self._initial: Any = None

    def start(self, **trigger: Any) -> None:
        options = self._ours.local_options(self.options)
        self._stream = LocalStream(options, None, _SETTINGS, reads_all="once" in trigger)
        if "availableNow" in trigger:
            self._stream.reader.prepareForTriggerAvailableNow()
        self._initial = self._stream.initial_offset()

    def step(self) -> Step | Failure:
        return self._until_nothing_is_new(self._run)

    def wait_for_rows(self, count: int) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while sum(map(len, self._batches.values())) < count:
            assert time.monotonic() < deadline, f"there are no {count} rows"
            self._run()
            time.sleep(0.05)

    def stop(self) -> None:
        if self._stream is not None:
            self._stream.close()
        self._stream = None

    @property
    def logged(self) -> int:
        return len(self._log)

    @property
    def positions(self) -> Positions:
        if not self._log:
            return normal_positions(self._initial, self._ours.prefix) if self._initial else {}
        return normal_positions(self._log[-1], self._ours.prefix)

    def _to_its_end(self, **trigger: Any) -> Step | Failure:
        self.stop()

        def run() -> None:
            self.start(**trigger)
            self._run(once="once" in trigger)

        try:
            return self._until_nothing_is_new(run)
        finally:
            self.stop()

    def _until_nothing_is_new(self, run: Callable[[], None]) -> Step | Failure:
        try:
            run()
        except Exception as error:  # noqa: BLE001 - the error is the result
            self.stop()
            return failure_of(error)
        return self._step()

    def _run(self, *, once: bool = False) -> None:
        """Run batches until nothing is new: first the one that was logged and not committed."""
        if self._stream is None:
            self.start()
        stream = cast("LocalStream", self._stream)
        if len(self._log) > self._committed:
            self._execute(stream)
            if once:
                return
        # A first batch is logged even if nothing is there.
        while (end := stream.latest_offset(self._start(len(self._log)))) != self._start(len(self._log)) or (
            not self._log
        ):
            self._log.append(end)
            if len(self._log) > 1:
                stream.reader.commit(self._log[-2])
            self._execute(stream)
            if once:
                return

    def _start(self, number: int) -> Any:
        return self._log[number - 1] if number else self._initial

    def _execute(self, stream: LocalStream) -> None:
        number = len(self._log) - 1
        partitions = stream.reader.partitions(self._start(number), self._log[number])
        self.before_batch(number)
        self._batches[number] = _rows([stream.table(partitions)], self._ours.prefix)
        self._committed = len(self._log)


def _rows(tables: list[pa.Table], prefix: str) -> list[Row]:
    found = []
    for table in tables:
        times = table["timestamp"].cast(pa.int64())
        columns = table.set_column(table.column_names.index("timestamp"), "timestamp", times)
        found += [row_of(_plain(row), prefix) for row in columns.to_pylist()]
    return sorted(found, key=lambda row: row[2:5])


def _plain(row: Mapping[str, Any]) -> Row:
    *cells, headers = (*row.values(), None) if "headers" not in row else row.values()
    if "headers" not in row:
        return tuple(cells)
    return (*cells, headers and [(each["key"], each["value"]) for each in headers])
