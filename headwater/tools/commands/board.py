"""``headwater board CHECKPOINT...``: the board of queries that run elsewhere, from their checkpoints."""

from __future__ import annotations

import argparse
import sys
import threading
from contextlib import closing, suppress
from functools import partial
from typing import Final

from headwater.core.errors import HeadwaterError
from headwater.core.jsons import JsonObject
from headwater.tools.commands.checkpoint_folder import FolderError, open_folder
from headwater.tools.commands.checkpoint_watcher import CheckpointWatcher
from headwater.tools.commands.convert import json_object
from headwater.tools.commands.kafka_ends import kafka_ends
from headwater.tools.monitoring.board import DEFAULT_PORT, now_ms
from headwater.tools.monitoring.board_server import BoardServer
from headwater.tools.monitoring.board_view import ViewRequest, board_view
from headwater.tools.monitoring.query_history import QueryHistories

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
    parser.add_argument(
        "--storage-options",
        type=json_object,
        default={},
        metavar="JSON",
        help="for an object store: options of its fsspec file system",
    )
    parser.set_defaults(run=_run)


def _run(given: argparse.Namespace) -> int:
    histories = QueryHistories(now_ms)

    def view(request: ViewRequest) -> JsonObject:
        return board_view(histories, request, {}, now_ms())

    ask_ends = partial(kafka_ends, given.broker) if given.broker else None
    try:
        folders = [open_folder(path, given.storage_options) for path in given.paths]
        server = BoardServer(view, host=given.host, port=given.port, token=None)
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
