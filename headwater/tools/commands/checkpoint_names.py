"""``headwater checkpoint name PATH --name ID=NAME``: the sources of a query that exists get names.

With names sources can be added and removed later, which Spark refuses for a checkpoint that began without
them. State, watermark and commits stay; entries of the offset log are written in version 2, and what
Spark keeps for a source is copied to its name.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Mapping
from typing import Final

from headwater.tools.commands.checkpoint_command import add_checkpoint_command
from headwater.tools.commands.checkpoint_folder import FolderError
from headwater.tools.commands.logged_positions import positions_by_source
from headwater.tools.commands.offset_log import SOURCE_EVOLUTION, LayoutError, OffsetLogEntry
from headwater.tools.commands.peek import key_and_value
from headwater.tools.commands.spark_checkpoint import CheckpointError, SparkCheckpoint

_NAME: Final = re.compile(r"[A-Za-z0-9_]+")
"""What Spark takes for the name of a source."""


def add_name(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to those of ``headwater checkpoint``. The query must not run beside it."""
    parser = add_checkpoint_command(
        commands,
        "name",
        "give the sources of a query names, so that sources can be added and removed",
        "Rewrites the offset log of a query whose sources have no names (layout v1, or v2 with numbers) as "
        "Spark writes it for sources with names. Spark goes on from it with the same names in the query, "
        "and from then on sources can be added and removed. Without --yes it writes nothing.",
        _name,
    )
    parser.add_argument(
        "--name",
        action="append",
        default=[],
        type=key_and_value,
        metavar="ID=NAME",
        help="the name of a source, by its number (0 is the first one in the query); for each of them",
    )
    parser.add_argument("--yes", action="store_true", help="write; a copy is kept in PATH/headwater-backup")


def _name(checkpoint: SparkCheckpoint, arguments: argparse.Namespace) -> Iterator[str]:
    numbers = checkpoint.batches()
    entries = {batch_id: checkpoint.entry(batch_id) for batch_id in numbers[0]}
    last = entries[numbers[0][-1]]
    for source, positions in sorted(positions_by_source(last).items()):
        splits = ", ".join(list(positions.positions)[:5])
        yield f"source {source}: {positions.source}{': ' if splits else ''}{splits}"
    if not arguments.name and not arguments.yes:
        yield "name each of them: --name ID=NAME"
        return
    names = _checked(last, dict(arguments.name), count=len(arguments.name))
    changed = {
        batch_id: _named(batch_id, entry, names)
        for batch_id, entry in entries.items()
        if entry.offsets.keys() != set(names.values())
    }
    for source, name in names.items():
        yield f'source {source} becomes .name("{name}")'
    if not arguments.yes:
        yield "nothing was written: stop the query, and say --yes"
        return
    yield from _write(checkpoint, changed, numbers, names)
    if len(changed) < len(entries):
        yield (
            "and the same with the folders before it in headwater-backup: this command was interrupted, and "
            "had changed the other entries then"
        )


def _checked(last: OffsetLogEntry, names: Mapping[str, str], *, count: int) -> dict[str, str]:
    """Return the names in the order of the sources.

    Raises:
        CheckpointError: the sources have names already, or these are not one for each.
    """
    sources = list(last.offsets)
    if not all(source.isdecimal() for source in sources):
        raise CheckpointError(f"its sources have names: {', '.join(sources)}")
    sources.sort(key=int)
    arguments = " ".join(f"--name {source}=..." for source in sources)
    if names.keys() != set(sources) or count != len(sources):
        raise CheckpointError(f"each source needs one name, because Spark takes all or none: {arguments}")
    for source, name in names.items():
        if not _NAME.fullmatch(name):
            raise CheckpointError(
                f"{name!r} of source {source} is no name: Spark takes ASCII letters, digits and underscores"
            )
        if name.isdecimal():
            raise CheckpointError(f"{name!r} of source {source} is no name but a number: take a word")
    if len(set(names.values())) < len(names):
        raise CheckpointError(f"two sources cannot have one name: {', '.join(names.values())}")
    return {source: names[source] for source in sources}


def _named(batch_id: int, entry: OffsetLogEntry, names: Mapping[str, str]) -> OffsetLogEntry:
    if entry.offsets.keys() != names.keys():
        raise CheckpointError(f"the query had other sources in batch {batch_id}: {', '.join(entry.offsets)}")
    try:
        return entry.with_names(names)
    except LayoutError as error:
        raise CheckpointError(f"offsets/{batch_id} {error}") from error


def _write(
    checkpoint: SparkCheckpoint,
    changed: Mapping[int, OffsetLogEntry],
    numbers: tuple[list[int], int],
    names: Mapping[str, str],
) -> Iterator[str]:
    backup = checkpoint.back_up(sorted(changed))
    restoring = f"to go back: {checkpoint.restoring(backup)}"
    try:
        # Before the log names them: a copy that nobody reads does no harm.
        for source, name in names.items():
            checkpoint.copy_source_log(source, name)
        checkpoint.replace(changed, numbers)
    except FolderError as error:
        raise FolderError(f"{error}; start this command again, or {restoring}") from error
    yield f"done; start the query with these names and {SOURCE_EVOLUTION}=true, in a Spark that knows both"
    yield restoring
