"""A query over audited tables of which something is killed in each run: a task, the driver, the server."""

from __future__ import annotations

import enum
import itertools
import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self
from unittest.mock import patch

import psycopg

from headwater.core.errors import DeadlineError, HeadwaterError
from headwater.core.task_notes import TaskNote, TaskNotes
from headwater.readers.runtime.partitions.segment_log import SegmentLog
from headwater.testing import MicroBatchEngine
from headwater.testing.engine import CrashError, Step
from local_postgres import LocalPostgres
from tests.connector.sources.postgres.audited import AuditedTable, Writer
from tests.connector.sources.postgres.changes import attached

WRITERS: Final = 4
_NUMBERS = itertools.count()


class Kill(enum.Enum):
    """What is killed, and where."""

    TASK_BEFORE_NOTE = "a task that has read a chunk, before its note"
    TASK_AFTER_NOTE = "a task that has read a chunk, after its note"
    TASK_WITH_ROWS = "a task whose first rows are handed on"
    HOST = "a host, whose connection holds the slot and is never ended"
    PLANNED = "the driver before a batch is logged"
    LOGGED = "the driver after a batch is logged"
    READ_PARTLY = "the driver while a task reads"
    READ = "the driver before the sink commits"
    WRITTEN = "the driver between the commits of sink and log"
    COMMITTED = "the driver after a batch is committed"
    SECOND_DRIVER = "a driver whose checkpoint another one has"
    SERVER = "the server, at any step"
    SEGMENT = "the receiver before a segment is durable"
    CONFIRM = "the receiver between a durable segment and what it confirms"

    @property
    def is_of_receiver(self) -> bool:
        """Whether there must be a receiver: with ``transport=staged``."""
        return self in {Kill.SEGMENT, Kill.CONFIRM}


_AT_NOTES: Final = frozenset({Kill.TASK_BEFORE_NOTE, Kill.TASK_AFTER_NOTE})


class _Engine(MicroBatchEngine):
    """A query in which other processes than the driver may die."""

    server: LocalPostgres
    killed = Kill.LOGGED
    deaths = 0
    is_over = False
    """What was to die has died: the run ends with the batch, and writers go on before the next one."""

    def _crashes(self, step: Step, number: int) -> bool:
        if not super()._crashes(step, number):
            return False
        if self.is_over:
            return True
        self.deaths += 1
        if self.killed in {Kill.SERVER, Kill.TASK_WITH_ROWS}:
            self.is_over = True
            self._crash = (Step.COMMITTED, number)
        if self.killed is Kill.SERVER:
            self.server.kill()
            self.server.start()
        return self.killed is not Kill.SERVER

    def _read(self, configured: Any, task: Any, number: int) -> Iterator[dict[str, Any]]:
        try:
            # The rows of an attempt that died are dropped.
            return iter([*super()._read(configured, task, number)])
        except CrashError:
            if self.killed not in {*_AT_NOTES, Kill.TASK_WITH_ROWS}:
                raise
            self.deaths += self.killed in _AT_NOTES
        return super()._read(configured, task, number)


class KilledQuery:
    """A query with writers at work, of which something is killed in each run.

    A context manager, which drops the slot at the end.

    Args:
        server: it is on. Nobody else has it.
        folder: the state location.
        rng: draws.
        kills: what may be killed.
        rows: how many each table has at the beginning.
        options: of the source, beside those that are needed.
    """

    def __init__(
        self,
        server: LocalPostgres,
        folder: Path,
        rng: random.Random,
        kills: Sequence[Kill],
        rows: Sequence[int],
        **options: str,
    ) -> None:
        self._server = server
        self._rng = rng
        self._kills = kills
        name = f"killed_{next(_NUMBERS)}"
        self.tables = [AuditedTable(server, f"{name}_{number}") for number in range(len(rows))]
        for table, count in zip(self.tables, rows, strict=True):
            table.fill(count)
        each = WRITERS // len(rows)
        self._writers = [
            Writer(table, server, number, each, rng) for table in self.tables for number in range(each)
        ]
        self.slot = f"slot_{name}"
        self.publication = f"pub_{name}"
        self.options = {
            "url": server.conninfo,
            "slot": self.slot,
            "publication": self.publication,
            "createPublication": "true",
            "startingPosition": "initial",
            "stateLocation": str(folder),
            "chunkRows": str(rng.choice([5, 20, 70])),
            "snapshotTasks": "1",
            **options,
        }
        self.engine = _Engine.of("postgres", self.options)
        self.engine.server = server
        self.killed: Counter[Kill] = Counter()
        self._left: psycopg.Connection[Any] | None = None

    def write_and_run(self, runs: int) -> None:
        """Let writers act, and then run the query, of which something is killed; so many times."""
        for _ in range(runs):
            for writer in self._rng.sample(self._writers, self._rng.randrange(1, WRITERS + 1)):
                writer.act(self._rng.randrange(1, 12))
            self._run(self._rng.choice(self._kills))

    def end_transactions(self) -> None:
        """End what writers have begun."""
        for writer in self._writers:
            writer.end()

    def finish(self) -> None:
        """Bring everything that there is, and compare it with what triggers have noted."""
        self.end_transactions()
        self.engine.run()
        if self.options["transport"] == "staged":
            # Its log ends with the last change: the next one lies behind what the chunks saw.
            self._writers[0].act(20)
            self.end_transactions()
            self.engine.run()
        rows = self.engine.rows
        killed = ", ".join(f"{count} {kill.name}" for kill, count in self.killed.items() if count)
        print(f"{self.options['transport']}: {len(rows)} rows of {len(self.tables)} tables; killed: {killed}")
        assert killed
        for table in self.tables:
            of_table = table.rows_of_several(rows) if "tables" in self.options else rows
            assert table.wrong_keys(of_table) == []

    def _run(self, kill: Kill) -> None:
        engine = self.engine
        engine.killed = kill
        engine.is_over = kill in {*_AT_NOTES, Kill.HOST, Kill.SECOND_DRIVER}
        deaths = engine.deaths
        at = len(engine.offsets) - self._rng.choice([0, 0, 1])
        if kill is Kill.SECOND_DRIVER:
            self._run_beside_another(at)
            engine.deaths += 1
        elif kill is Kill.HOST:
            if self._left is not None:
                self._left.close()  # the last run may not have asked for the slot
            reader = f"headwater wal {self._rng.choice(['0-1', 'of another'])}"
            self._left = attached(self._server, self.slot, self.publication, reader)
            engine.run(crash_after=Step.COMMITTED, in_batch=at)
            engine.deaths += 1
        elif kill.is_of_receiver:
            self._run_with_receiver(kill)
        else:
            steps = {Kill.TASK_WITH_ROWS: Step.READ_PARTLY, Kill.SERVER: self._rng.choice([*Step])}
            step = steps.get(kill) or Step.__members__.get(kill.name, Step.COMMITTED)
            with _noting_dies(kill):
                engine.run(crash_after=step, in_batch=at)
        if kill is Kill.SERVER:
            for writer in self._writers:
                writer.end(lost=True)
        self.killed[kill] += engine.deaths - deaths

    def _run_with_receiver(self, kill: Kill) -> None:
        """Let the receiver die, and its driver with it."""
        try:
            with _receiver_dies(kill, self._rng.randrange(3) if self.killed[kill] else 0):
                self.engine.run()
        except ConnectionAbortedError:
            self.engine.deaths += 1

    def _run_beside_another(self, at: int) -> None:
        """Let a second driver take the checkpoint of one that has planned; then the first one goes on."""
        engine = self.engine
        if engine._committed < len(engine.offsets):
            # A driver plans nothing before what is logged is committed.
            engine.run(crash_after=Step.COMMITTED)
        with closing(engine._configure().create_coordinator()) as first:
            start = json.loads(engine.offsets[engine._committed - 1])
            first.prepare_for_available_now()
            first.plan_next(start, limited=True)
            # Until an offset names a log each has its own, and the first one may hold the slot.
            self.options["retryDeadline"] = "5s"
            with suppress(DeadlineError):
                engine.run(crash_after=Step.COMMITTED, in_batch=at)
            del self.options["retryDeadline"]
            with suppress(HeadwaterError):  # it has lost the log, or what chunks saw
                first.plan_next(start, limited=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for writer in self._writers:
            writer.end(lost=True)
        if self._left is not None:
            self._left.close()
        self.tables[0].drop_slot(self.slot)


def _noting_dies(kill: Kill) -> AbstractContextManager[object]:
    """Let the first task that reads a chunk die at its note."""
    publish = TaskNotes.publish
    is_dead = False

    def dying(notes: TaskNotes, name: str, note: TaskNote) -> TaskNote:
        nonlocal is_dead
        dies = not is_dead and note.attempt is not None
        is_dead |= dies
        if dies and kill is Kill.TASK_BEFORE_NOTE:
            raise CrashError
        found = publish(notes, name, note)
        if dies:
            raise CrashError
        return found

    if kill not in _AT_NOTES:
        return nullcontext()
    return patch.object(TaskNotes, "publish", dying)


@contextmanager
def _receiver_dies(kill: Kill, segments: int) -> Iterator[None]:
    """Let the receiver die at a segment, after so many others."""
    append = SegmentLog.append
    left = segments

    def dying(log: SegmentLog, batches: Any) -> int:
        nonlocal left
        left -= 1
        if left < 0 and kill is Kill.SEGMENT:
            raise ConnectionAbortedError("killed")
        number = append(log, batches)
        if left < 0:
            raise ConnectionAbortedError("killed")
        return number

    with patch.object(SegmentLog, "append", dying):
        yield
