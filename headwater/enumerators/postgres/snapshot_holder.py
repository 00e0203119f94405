"""The process that holds a snapshot (`headwater.enumerators.postgres.snapshot`).

Run as a program with a pickled `HeldSnapshot` on its standard input, which answers with the snapshot, or with
an error, on its standard output.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import time
from contextlib import closing, suppress
from typing import Any, Final

from headwater.core.errors import HeadwaterError, SourceError
from headwater.enumerators.postgres.connection import (
    APPLICATION,
    PostgresConnection,
    connect,
    mapped_errors,
)
from headwater.enumerators.postgres.snapshot import BEGIN, ExportedSnapshot, HeldSnapshot, is_alive

_LOOK_S: Final = 2.0
"""How often it looks whether it is wanted still."""

_EXPORT: Final = "SELECT pg_export_snapshot(), pg_current_snapshot()::text"
_READERS: Final = "SELECT count(*) FROM pg_stat_activity WHERE application_name = %s"


def main() -> None:
    """Hold a snapshot until nobody reads it."""
    # A terminal's Ctrl-C is for the driver, which takes this process along.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    task: HeldSnapshot = pickle.load(sys.stdin.buffer)  # noqa: S301 - of the process that started this one
    try:
        connection = connect(task.settings, application=f"{APPLICATION} snapshot")
        with mapped_errors("the export of a snapshot"):
            connection.execute(BEGIN)
            identifier, visible = _row(connection, _EXPORT)
    except HeadwaterError as error:
        _tell(error)
        return
    _tell(ExportedSnapshot(identifier, visible, task.application, os.getpid()))
    # Where the connection is lost, so is the snapshot: its tasks say so.
    with suppress(SourceError), closing(connection), mapped_errors("a look at the sessions"):
        _hold(connection, task)


def _tell(answer: ExportedSnapshot | HeadwaterError) -> None:
    pickle.dump(answer, sys.stdout.buffer)
    sys.stdout.close()


def _hold(connection: PostgresConnection, task: HeldSnapshot) -> None:
    read_at = time.monotonic()
    while is_alive(task.watched):
        time.sleep(min(_LOOK_S, task.idle_ms / 1_000))
        # The views of statistics are fixed for a transaction, unless it is told to look again.
        _row(connection, "SELECT pg_stat_clear_snapshot()")
        if _row(connection, _READERS, task.application)[0]:
            read_at = time.monotonic()
        elif time.monotonic() - read_at > task.idle_ms / 1_000:
            return


def _row(connection: PostgresConnection, query: str, *values: object) -> Any:
    row = connection.execute(query, values).fetchone()
    assert row is not None, "these queries have a row"
    return row


if __name__ == "__main__":
    main()
