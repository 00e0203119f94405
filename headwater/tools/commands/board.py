"""``headwater board CHECKPOINT...``: the board of queries that run elsewhere, from their checkpoints."""

from __future__ import annotations

import argparse
import json
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, TypeAlias

from headwater.connector.spark.lag import lag_of
from headwater.connector.spark.reported_offsets import positions_by_split, reported_offset
from headwater.core.clock import wall_ms
from headwater.core.errors import HeadwaterError
from headwater.core.jsons import JsonObject, JsonValue
from headwater.tools.commands.checkpoint_folder import (
    CheckpointFolder,
    FolderError,
    add_storage_options,
    open_folder,
)
from headwater.tools.commands.logged_positions import LoggedPositions, kafka_ends, positions_by_source
from headwater.tools.commands.offset_log import OffsetLogEntry
from headwater.tools.commands.spark_checkpoint import CheckpointError, SparkCheckpoint
from headwater.tools.monitoring.batch_report import BatchReport, split_reports
from headwater.tools.monitoring.board import DEFAULT_PORT
from headwater.tools.monitoring.board_server import BoardServer
from headwater.tools.monitoring.board_view import ViewRequest, board_view
from headwater.tools.monitoring.query_history import QueryHistories

AskEnds: TypeAlias = Callable[[Iterable[str]], Mapping[str, int]]
"""Returns where splits of Kafka end, by their ids."""

_FIRST_BATCHES: Final = 60
"""How many of the batches that are there at first are read: one request each on an object store."""


@dataclass(frozen=True, slots=True)
class _Logged:
    """An entry of the offset log, for all its sources.

    Attributes:
        positions: of each split, by its id.
        kept: the splits that are out of sight.
        kafka: the splits of Kafka.
    """

    positions: Mapping[str, JsonValue]
    kept: frozenset[str]
    kafka: frozenset[str]


class CheckpointWatcher:
    """Keeps the history of one query, which may run anywhere or not at all. Used by one thread.

    How long a batch took and how many rows it read does not stand there: ``rows`` are positions.

    Args:
        histories: where it writes.
        folder: the query's ``checkpointLocation``.
        ask_ends: None where no broker is known; then no lag is either.
    """

    def __init__(self, histories: QueryHistories, folder: CheckpointFolder, ask_ends: AskEnds | None) -> None:
        self._histories = histories
        self._name = str(folder)
        self._checkpoint = SparkCheckpoint(folder)
        self._ask_ends = ask_ends
        self._seen: tuple[list[int], int] = ([], -1)
        self._last = -1
        self._before: Mapping[str, JsonValue] = {}
        self._after: _Logged = _Logged({}, frozenset(), frozenset())

    def look(self) -> None:
        """Take new batches. An error of reading is shown on the board, and the next call tries again."""
        message = ""
        reports: list[BatchReport] = []
        # Not under the lock of the histories: a page must not wait for a store or a broker.
        try:
            reports = self._news()
        except (CheckpointError, FolderError, HeadwaterError) as error:
            message = str(error)
        with self._histories.changing(self._name, self._name) as history:
            history.state = "logged"
            history.message = message
            for report in reports:
                history.add(report)

    def _news(self) -> list[BatchReport]:
        numbers = self._checkpoint.batches()
        logged, committed = numbers
        if numbers == self._seen:
            # The head moves while nothing is logged.
            entry = self._checkpoint.entry(self._last)
            return (
                [self._report(self._last, entry, is_done=self._last <= committed)] if self._ask_ends else []
            )
        reports = []
        # The last one again: it may be committed since.
        new = [batch_id for batch_id in logged if batch_id >= self._last]
        for batch_id in new[-_FIRST_BATCHES:]:
            entry = self._checkpoint.entry(batch_id)
            if batch_id > self._last:
                self._before = self._after.positions
                self._after = _logged(entry)
                self._last = batch_id
            is_newest = batch_id == logged[-1]
            reports.append(self._report(batch_id, entry, is_done=batch_id <= committed, ask=is_newest))
        self._seen = numbers
        return reports

    def _report(
        self, batch_id: int, entry: OffsetLogEntry, *, is_done: bool, ask: bool = True
    ) -> BatchReport:
        end = self._after
        ends = self._ask_ends(end.kafka) if ask and self._ask_ends and end.kafka else {}
        lags = {
            split: max(0, ends[split] - position)
            for split, position in end.positions.items()
            if split in ends and isinstance(position, int)
        }
        offsets = [(reported_offset(text), None) for text in entry.offsets.values()]
        lag = lag_of(self._name, batch_id, 0.0, offsets)
        splits = split_reports(self._before, end.positions, lags, {}, end.kept)
        moved = [each.moved for each in splits.values() if each.moved is not None]
        return BatchReport(
            batch_id,
            _time_ms(entry, "batchTimestampMs") or 0,
            rows=sum(moved) if moved else None,
            splits=splits,
            lag=lag and replace(lag, splits=lags),
            watermark_ms=_time_ms(entry, "batchWatermarkMs"),
            committed=is_done,
        )


def _logged(entry: OffsetLogEntry) -> _Logged:
    positions: dict[str, JsonValue] = {}
    unavailable: set[str] = set()
    kafka: set[str] = set()
    for logged in positions_by_source(entry).values():
        positions |= _positions(logged)
        unavailable |= logged.kept
        if "kafka" in logged.source:
            kafka |= logged.positions.keys()
    return _Logged(positions, frozenset(unavailable), frozenset(kafka))


def _positions(logged: LoggedPositions) -> Mapping[str, JsonValue]:
    # In barrier mode an offset has the positions before its epoch.
    return logged.positions or positions_by_split(reported_offset(logged.raw))


def _time_ms(entry: OffsetLogEntry, name: str) -> int | None:
    """Return a time of the entry, in ms since 1970; None where there is none."""
    try:
        return int(json.loads(entry.metadata)[name]) or None
    except (ValueError, TypeError, KeyError):
        return None


_EVERY_S: Final = 2.0


def add_board(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line ``headwater``."""
    parser = commands.add_parser(
        "board",
        help="show queries on a page in the browser, from their checkpoints",
        description="Shows what queries have logged in their checkpoints on a page in the browser, live, "
        "until Ctrl-C. The queries need not run here, or at all. Changes nothing.",
    )
    parser.add_argument("paths", nargs="+", metavar="CHECKPOINT", help="a query's checkpointLocation")
    parser.add_argument("--port", type=int, default=DEFAULT_PORT, help=f"0 for any ({DEFAULT_PORT})")
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        help="where to listen; others than this host need the token (127.0.0.1)",
    )
    parser.add_argument("--broker", metavar="HOST:PORT", help="ask this Kafka how far behind partitions are")
    add_storage_options(parser)
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    histories = QueryHistories(wall_ms)

    def view(request: ViewRequest) -> JsonObject:
        return board_view(histories, request, {}, wall_ms())

    ask_ends = partial(kafka_ends, arguments.broker) if arguments.broker else None
    try:
        folders = [open_folder(path, arguments.storage_options, writes=False) for path in arguments.paths]
        server = BoardServer(view, host=arguments.host, port=arguments.port, token=None)
    except (FolderError, HeadwaterError) as error:
        sys.stderr.write(f"headwater board: {error}\n")
        return 1
    watchers = [CheckpointWatcher(histories, folder, ask_ends) for folder in folders]
    with closing(server), suppress(KeyboardInterrupt):
        sys.stdout.write(f"{server.url}\n")
        sys.stdout.flush()
        _watch(watchers)
    return 0


def _watch(watchers: list[CheckpointWatcher]) -> None:
    never = threading.Event()
    while True:
        for watcher in watchers:
            watcher.look()
        never.wait(_EVERY_S)
