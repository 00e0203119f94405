"""One snapshot for all tasks of a batch read: a process of its own holds the transaction that exports it.

PostgreSQL forgets an exported snapshot with the transaction that exported it, and Spark's planner process may
end a minute after it has planned, long before the last task has begun. So the transaction belongs to a
process that the planner starts. It ends

* when no task has read for a while: it looks which sessions there are;
* with the Spark application: whoever ends Spark's Python workers ends it too;
* when it loses its connection.

A task that comes later finds no snapshot, and fails. It never reads another one.
"""

from __future__ import annotations

import os
import pickle
import secrets
import signal
import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, Final

from headwater.core.errors import HeadwaterError, SourceError, UnknownSplitError
from headwater.enumerators.postgres.connection import (
    APPLICATION,
    PostgresConnection,
    mapped_errors,
)
from headwater.enumerators.postgres.settings import SOURCE, PostgresSettings

_PROGRAM: Final = "headwater.enumerators.postgres.snapshot_holder"

BEGIN: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"


@dataclass(frozen=True, slots=True)
class ExportedSnapshot:
    """A snapshot that other sessions read.

    Attributes:
        identifier: for ``SET TRANSACTION SNAPSHOT``.
        visible: its ``pg_current_snapshot()``: which transactions it sees. A session that imported it has
            the same.
        application: the ``application_name`` of the sessions of tasks, by which the holder sees them.
        holder: the id of its process, on the driver.
    """

    identifier: str
    visible: str
    application: str
    holder: int


@dataclass(frozen=True, slots=True)
class HeldSnapshot:
    """The task of the process that holds a snapshot.

    Attributes:
        settings: of the server.
        application: the ``application_name`` of the sessions of tasks.
        idle_ms: ends after this time without a task that reads.
        watched: the process with which it ends.
    """

    settings: PostgresSettings
    application: str
    idle_ms: int
    watched: int


def export_snapshot(settings: PostgresSettings, *, idle_ms: int) -> ExportedSnapshot:
    """Export a snapshot that outlives this process. Blocks until it is there.

    Args:
        settings: of the server.
        idle_ms: how long it is held after the last task that read it.

    Raises:
        SourceError: the server refuses.
        TransientSourceError: it is away.
    """
    task = HeldSnapshot(settings, f"{APPLICATION} {secrets.token_hex(6)}", idle_ms, _watched())
    _reap()
    questions, asking = os.pipe()
    answering, answers = os.pipe()
    try:
        # A fresh interpreter, no fork: this process has threads. It stays in this process's group, which
        # Spark ends as a whole. The settings go through a pipe: others see command lines.
        pid = os.posix_spawn(
            sys.executable,
            [sys.executable, "-P", "-m", _PROGRAM],
            # Spark adds to the path of a worker the files that a job brings along.
            {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            file_actions=[(os.POSIX_SPAWN_DUP2, questions, 0), (os.POSIX_SPAWN_DUP2, answers, 1)],
        )
    finally:
        os.close(questions)
        os.close(answers)
    _started.add(pid)
    # One that ended before it read has said why by its answer, or by its error.
    with suppress(BrokenPipeError), os.fdopen(asking, "wb") as pipe:
        pickle.dump(task, pipe)
    with os.fdopen(answering, "rb") as pipe:
        answer = _answer(pipe)
    if isinstance(answer, HeadwaterError):
        raise answer
    return answer


def end_snapshot(snapshot: ExportedSnapshot) -> None:
    """End the process that holds a snapshot, which nobody will read. On the driver."""
    with suppress(ProcessLookupError):
        os.kill(snapshot.holder, signal.SIGTERM)


def import_snapshot(connection: PostgresConnection, snapshot: ExportedSnapshot, *, split: str) -> None:
    """Begin a transaction that reads an exported snapshot, and prove that it does.

    Args:
        connection: without a transaction.
        snapshot: exported by another session, which holds it still.
        split: that is read, for errors.

    Raises:
        UnknownSplitError: the snapshot is held no longer.
        SourceError: the server reads another one, or refuses.
    """
    import psycopg
    from psycopg import sql

    with mapped_errors("a transaction", split=split):
        connection.execute(BEGIN)
        try:
            connection.execute(
                sql.SQL("SET TRANSACTION SNAPSHOT {}").format(sql.Literal(snapshot.identifier))
            )
        except (psycopg.errors.InvalidParameterValue, psycopg.errors.UndefinedObject) as error:
            raise UnknownSplitError(
                f"the snapshot of this DataFrame is not held any more: no task has read it for longer than "
                f"option snapshotIdleTimeout, or the server was restarted ({error}). load() the table again",
                source=SOURCE,
                split=split,
            ) from None
        row = connection.execute("SELECT pg_current_snapshot()::text").fetchone()
    if row is None or row[0] != snapshot.visible:
        raise SourceError(
            f"the session reads another snapshot ({row and row[0]}) than was exported ({snapshot.visible}): "
            "the address in option url must be that of one server, and of no pooler",
            source=SOURCE,
            split=split,
        )


_started: set[int] = set()
"""The processes that this one started and whose end it has not noticed yet."""


def _reap() -> None:
    """Notice which processes have ended: the system keeps the entry of each until then."""
    for pid in list(_started):
        with suppress(ChildProcessError):
            if os.waitpid(pid, os.WNOHANG) == (0, 0):
                continue
        _started.discard(pid)


def _watched() -> int:
    """Return the process with which a holder ends: Spark's daemon leads the group of its workers."""
    leader = os.getpgrp()
    return leader if is_alive(leader) else os.getpid()


def is_alive(pid: int) -> bool:
    """Whether there is a process of this id."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _answer(pipe: IO[bytes]) -> ExportedSnapshot | HeadwaterError:
    try:
        # The output of the process that this one started.
        answer: ExportedSnapshot | HeadwaterError = pickle.load(pipe)  # noqa: S301
    except EOFError:
        return SourceError("the process that was to export a snapshot ended: see its error", source=SOURCE)
    return answer
