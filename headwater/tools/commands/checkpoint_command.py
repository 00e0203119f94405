"""The common part of the commands of ``headwater checkpoint`` about one checkpoint."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from typing import TypeAlias

from headwater.core.errors import HeadwaterError
from headwater.tools.commands.checkpoint_folder import FolderError, add_storage_options, open_folder
from headwater.tools.commands.spark_checkpoint import CheckpointError, SparkCheckpoint

CheckpointCommand: TypeAlias = Callable[[SparkCheckpoint, argparse.Namespace], Iterator[str]]
"""Does its work, and yields the lines that a user reads."""


def add_checkpoint_command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    summary: str,
    description: str,
    command: CheckpointCommand,
    *,
    writes: bool = True,
) -> argparse.ArgumentParser:
    """Add a command that takes the path of a checkpoint, and return its parser.

    Its exit status is 1 where the checkpoint cannot be read or is not fit for it.

    Args:
        commands: those of ``headwater checkpoint``.
        name: of the command.
        summary: for the list of commands.
        description: for the help of the command.
        command: the function.
        writes: whether it may replace files: not every file system can.
    """
    parser = commands.add_parser(name, help=summary, description=description)
    parser.add_argument("path", metavar="PATH", help="the query's checkpointLocation: a folder, or s3a://...")
    add_storage_options(parser)
    parser.set_defaults(run=lambda arguments: _run(name, command, arguments, writes=writes))
    return parser


def logged_batch(batch_id: int, logged: list[int]) -> int:
    """Return a batch that a user named.

    Raises:
        CheckpointError: the offset log does not have it (Spark keeps the last 100).
    """
    if batch_id not in logged:
        raise CheckpointError(f"the offset log has no batch {batch_id}, but {logged[0]} to {logged[-1]}")
    return batch_id


def _run(name: str, command: CheckpointCommand, arguments: argparse.Namespace, *, writes: bool) -> int:
    try:
        folder = open_folder(arguments.path, arguments.storage_options, writes=writes)
        checkpoint = SparkCheckpoint(folder)
        for line in command(checkpoint, arguments):
            sys.stdout.write(f"{line}\n")
    except (CheckpointError, FolderError, HeadwaterError) as error:
        sys.stderr.write(f"headwater checkpoint {name}: {arguments.path}: {error}\n")
        return 1
    return 0
