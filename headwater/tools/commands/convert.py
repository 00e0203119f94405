"""``headwater checkpoint convert PATH --to headwater|spark-kafka``: a Kafka query changes its source.

The query keeps its checkpoint: state, watermark, commits and the sink's log are Spark's, and stay as they
are. Only the positions of its Kafka sources are written in the form of the other source.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping
from typing import Any, Final

from headwater.core.errors import OffsetError
from headwater.tools.commands.checkpoint_folder import FolderError, add_storage_options, open_folder
from headwater.tools.commands.offset_forms import (
    Conversion,
    Kept,
    KeptPositionsError,
    OffsetForm,
    form_of,
    to_headwater,
    to_spark_kafka,
)
from headwater.tools.commands.offset_log import OffsetLogEntry
from headwater.tools.commands.spark_checkpoint import (
    CheckpointError,
    PendingBatchError,
    SparkCheckpoint,
    refuse_ends,
)

_FORMATS: Final = {
    OffsetForm.HEADWATER: 'format("headwater").option("source", "kafka")',
    OffsetForm.SPARK_KAFKA: 'format("kafka")',
}
_OPPOSITE: Final = {
    OffsetForm.HEADWATER: OffsetForm.SPARK_KAFKA,
    OffsetForm.SPARK_KAFKA: OffsetForm.HEADWATER,
}


def add_convert(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to those of ``headwater checkpoint``."""
    parser = commands.add_parser(
        "convert",
        help="write the positions of a checkpoint in the form of the other Kafka source, in place",
        description=(
            "Rewrites the last committed offset of a query that reads Kafka, and the one before it, in "
            "place, so that the query goes on with the other source. State, watermark, commits and the "
            "sink's log stay. Stop the query first. A copy of what is rewritten is kept in "
            "PATH/headwater-backup. "
            "From Spark's source to headwater no conversion is needed: headwater takes its checkpoints as "
            "they are."
        ),
        epilog=(
            "Exit status: 0 if the checkpoint is in the wanted form now, 1 if it is not (the message says "
            "why and what to do), 2 for a mistake in this command line."
        ),
    )
    parser.add_argument("path", metavar="PATH", help="the query's checkpointLocation: a folder, or s3a://...")
    parser.add_argument(
        "--to",
        required=True,
        choices=[form.value for form in _OPPOSITE],
        help="which source the query will have: headwater's, or Spark's own",
    )
    parser.add_argument(
        "--source",
        action="append",
        default=[],
        metavar="ID",
        help="in a query with several sources: which one to convert, by its number (0 is the first) or its "
        "name; may be repeated",
    )
    parser.add_argument(
        "--kept",
        choices=[each.value for each in Kept],
        help="what to do with positions of partitions that were out of sight: Spark's source fails with "
        "failOnDataLoss=true if one of them is still away (include), or reads it from its earliest record "
        "when it is back (drop)",
    )
    parser.add_argument("--dry-run", action="store_true", help="say what would be done, and do nothing")
    add_storage_options(parser)
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    to = OffsetForm(arguments.to)
    unavailable = Kept(arguments.kept) if arguments.kept else None
    try:
        convert(
            arguments.path,
            to,
            arguments.source,
            unavailable,
            arguments.storage_options,
            dry_run=arguments.dry_run,
        )
    except PendingBatchError as error:
        return _refused(arguments.path, f"{error}. {_after_pending(to, error)}")
    except (CheckpointError, FolderError, OffsetError) as error:
        return _refused(arguments.path, str(error))
    return 0


def _refused(path: str, why: str) -> int:
    sys.stderr.write(f"headwater checkpoint convert: {path}: {why}\n")
    return 1


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


def convert(
    path: str,
    to: OffsetForm,
    sources: Iterable[str],
    unavailable: Kept | None,
    storage_options: Mapping[str, Any],
    *,
    dry_run: bool,
) -> None:
    """Rewrite a checkpoint, and report on stdout.

    Args:
        path: the checkpoint.
        to: the wanted form.
        sources: the ids of the sources to convert; none for the only one that can be.
        unavailable: the treatment of positions of unavailable partitions.
        storage_options: for an object store.
        dry_run: whether to report only, and change nothing.

    Raises:
        CheckpointError: the checkpoint cannot be converted as it is, or not without another argument.
        FolderError: it cannot be read or written.
        OffsetError: an offset of headwater cannot be read.
    """
    checkpoint = SparkCheckpoint(open_folder(path, storage_options))
    numbers = checkpoint.batches()
    last = checkpoint.last_committed()
    # Spark reads the entry before the last one too, should somebody take back the last commit.
    entries = {batch_id: checkpoint.entry(batch_id) for batch_id in (last, last - 1) if batch_id >= 0}
    names = _chosen(entries[last], to, list(sources))
    changed = {}
    for batch_id, entry in entries.items():
        to_convert = [name for name in names if _form(entry, name) is _OPPOSITE[to]]
        for name in to_convert:
            refuse_ends(name, entry.offsets[name])
        conversions = {name: _converted(entry.offsets[name], to, unavailable) for name in to_convert}
        if conversions:
            changed[batch_id] = entry.with_offsets(
                {name: conversion.text for name, conversion in conversions.items()}
            )
        for name, conversion in conversions.items():
            _say(f"batch {batch_id}, source {name}, to {to.value}: {'; '.join(conversion.notes)}")
    if not changed:
        _say(f"nothing to do: batch {last} is in the form of {to.value} already")
    elif dry_run:
        _say("nothing was written (--dry-run)")
    else:
        _rewrite(checkpoint, changed, numbers, to)


def _rewrite(
    checkpoint: SparkCheckpoint,
    changed: Mapping[int, OffsetLogEntry],
    numbers: tuple[list[int], int],
    to: OffsetForm,
) -> None:
    backup = checkpoint.back_up(sorted(changed))
    restoring = f"to go back: {checkpoint.restoring(backup)}"
    try:
        checkpoint.replace(changed, numbers)
    except FolderError as error:
        raise FolderError(
            f"{error}; start this command again, which goes on where it stopped, or {restoring}"
        ) from error
    _say(f"done; start the query with {_FORMATS[to]} and the same checkpointLocation")
    _say(restoring)


def _chosen(entry: OffsetLogEntry, to: OffsetForm, sources: list[str]) -> list[str]:
    """Return which sources of a query are to be in the wanted form."""
    forms = {name: _form(entry, name) for name in entry.offsets}
    listed = ", ".join(f"{name} ({form.value})" for name, form in forms.items())
    for name in sources:
        if name not in forms:
            raise CheckpointError(f"there is no source {name!r}; this query has {listed}")
        if forms[name] is OffsetForm.OTHER:
            raise CheckpointError(
                f"source {name} is neither headwater's Kafka source nor Spark's: it logged "
                f"{entry.offsets[name][:200]}"
            )
    if sources:
        return sources
    opposite = [name for name, form in forms.items() if form is _OPPOSITE[to]]
    if len(opposite) > 1:
        several = " ".join(f"--source {name}" for name in opposite)
        raise CheckpointError(
            f"this query has several sources that can be converted: {listed}. Say which: {several}, or fewer"
        )
    if not opposite and to not in forms.values():
        raise CheckpointError(
            f"no source of this query is headwater's Kafka source or Spark's; it has {listed}: "
            + "; ".join(offset[:200] for offset in entry.offsets.values())
        )
    return opposite or [name for name, form in forms.items() if form is to]


def _form(entry: OffsetLogEntry, name: str) -> OffsetForm:
    return form_of(entry.offsets[name]) if name in entry.offsets else OffsetForm.OTHER


def _converted(logged: str, to: OffsetForm, unavailable: Kept | None) -> Conversion:
    if to is OffsetForm.HEADWATER:
        return to_headwater(logged)
    try:
        return to_spark_kafka(logged, unavailable)
    except KeptPositionsError as error:
        raise CheckpointError(
            f"the offset keeps positions of partitions that are out of sight: {error}. With --kept include "
            "Spark's source goes on at them, and fails with failOnDataLoss=true while one is away; with "
            "--kept drop it reads them from their earliest record when they are back, so records may come "
            "twice"
        ) from error


def _after_pending(to: OffsetForm, error: PendingBatchError) -> str:
    present = _FORMATS[_OPPOSITE[to]]
    advice = (
        f"Start the query once more with {present}, for example with trigger(availableNow=True), let it end, "
        "and try again"
    )
    if to is OffsetForm.HEADWATER and error.batch_id > 0:
        advice += f"; or start it with {_FORMATS[to]} as it is, which takes over a pending batch too"
    return advice + "."
