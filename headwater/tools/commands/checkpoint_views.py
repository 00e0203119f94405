"""``headwater checkpoint show | positions | diff PATH``: the content of a checkpoint of Spark, in words."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Final

from headwater.tools.commands.checkpoint_command import (
    CheckpointCommand,
    add_checkpoint_command,
    logged_batch,
)
from headwater.tools.commands.logged_positions import LoggedPositions, kafka_ends, positions_by_source
from headwater.tools.commands.offset_log import OffsetLogEntry
from headwater.tools.commands.spark_checkpoint import SparkCheckpoint
from headwater.tools.commands.text_table import text_table

_MOST_BATCHES: Final = 10
_RAW: Final = 200
_WIDEST: Final = 300
"""Names of splits are not cut: a topic may have 249 characters."""


def add_views(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the commands to those of ``headwater checkpoint``.

    They change nothing, and may run beside a query.
    """
    show = _add(commands, "show", "the last batches: when, how far, and what the next start will do", _show)
    show.add_argument("--batches", type=int, default=_MOST_BATCHES, metavar="N", help="how many (10)")
    positions = _add(commands, "positions", "the position of each split", _positions)
    positions.add_argument(
        "--batch", type=int, metavar="ID", help="after which batch; without it, the last one"
    )
    positions.add_argument(
        "--broker", metavar="HOST:PORT", help="ask this Kafka how far behind each partition is"
    )
    diff = _add(commands, "diff", "how far each split came between two batches", _diff)
    diff.add_argument("before", type=int, metavar="BEFORE", help="the id of a batch")
    diff.add_argument("after", type=int, metavar="AFTER", help="the id of a later one")


def _add(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    summary: str,
    view: CheckpointCommand,
) -> argparse.ArgumentParser:
    description = f"Shows {summary}. Changes nothing."
    return add_checkpoint_command(commands, name, f"show {summary}", description, view, writes=False)


def _show(checkpoint: SparkCheckpoint, arguments: argparse.Namespace) -> Iterator[str]:
    logged, committed = checkpoint.batches()
    shown_ids = logged[-max(1, arguments.batches) :]
    rows = []
    previous: Mapping[str, LoggedPositions] = {}
    for batch_id in logged[-max(1, arguments.batches) - 1 :]:
        entry = checkpoint.entry(batch_id)
        positions = positions_by_source(entry)
        if batch_id in shown_ids:
            state = "committed" if batch_id <= committed else "pending"
            came = "; ".join(_came(name, each, previous.get(name)) for name, each in positions.items())
            rows.append((batch_id, _planned_at(entry), _watermark(entry), state, came))
        previous = positions
    yield from text_table(
        ("batch", "planned (UTC)", "watermark (UTC)", "state", "sources"), rows, widest_cell=120
    )
    last = logged[-1]
    if committed < last:
        yield f"the next start reads batch {last} again, exactly as it is logged, and goes on behind it"
    else:
        yield f"the next start plans batch {last + 1}, from the positions of batch {last}"


def _came(name: str, positions: LoggedPositions, previous: LoggedPositions | None) -> str:
    moved = positions.moved_since(previous)
    splits = f", {len(positions.positions)} splits" if positions.positions else ""
    out_of_sight = f", {len(positions.kept)} of them out of sight" if positions.kept else ""
    return f"{name}: {positions.source}{splits}{out_of_sight}{'' if moved is None else f', {moved:+,}'}"


def _positions(checkpoint: SparkCheckpoint, arguments: argparse.Namespace) -> Iterator[str]:
    logged, _ = checkpoint.batches()
    batch_id = logged[-1] if arguments.batch is None else logged_batch(arguments.batch, logged)
    for name, positions in positions_by_source(checkpoint.entry(batch_id)).items():
        yield f"source {name}: {positions.source}, after batch {batch_id}"
        if not positions.positions:
            yield f"  positions are not known from the offset log: {positions.raw[:_RAW]}"
            continue
        ends = (
            kafka_ends(arguments.broker, positions.positions)
            if arguments.broker and "kafka" in positions.source
            else {}
        )
        names = ("split", "position", *(("end", "behind") if ends else ()), "")
        rows = [_position_row(split, positions, ends) for split in sorted(positions.positions)]
        yield from (f"  {line}" for line in text_table(names, rows, widest_cell=_WIDEST))


def _position_row(split: str, positions: LoggedPositions, ends: Mapping[str, int]) -> tuple[object, ...]:
    position = positions.positions[split]
    remark = "out of sight" if split in positions.kept else ""
    if not ends:
        return split, position, remark
    end = ends.get(split)
    behind = end - position if end is not None and isinstance(position, int) else "unknown"
    return split, position, "unknown" if end is None else end, behind, remark


def _diff(checkpoint: SparkCheckpoint, arguments: argparse.Namespace) -> Iterator[str]:
    logged, _ = checkpoint.batches()
    starts = positions_by_source(checkpoint.entry(logged_batch(arguments.before, logged)))
    ends = positions_by_source(checkpoint.entry(logged_batch(arguments.after, logged)))
    for name, positions in ends.items():
        names = ("split", "before", "after", "moved")
        earlier = starts.get(name, LoggedPositions("nothing yet", {}))
        kinds = positions.source
        # A checkpoint that was moved goes on with another source.
        if name in starts and earlier.source != kinds:
            kinds = f"{earlier.source}, then {kinds}"
        yield f"source {name}: {kinds}, from batch {arguments.before} to batch {arguments.after}"
        rows = [
            (
                split,
                earlier.positions.get(split),
                positions.positions.get(split),
                _moved(split, earlier, positions),
            )
            for split in sorted({*earlier.positions, *positions.positions})
        ]
        yield from (f"  {line}" for line in text_table(names, rows, widest_cell=_WIDEST))


def _moved(split: str, earlier: LoggedPositions, later: LoggedPositions) -> str:
    start = earlier.positions.get(split)
    stop = later.positions.get(split)
    if start is None:
        return "new"
    if stop is None:
        return "gone"
    if isinstance(start, int) and isinstance(stop, int):
        return f"{stop - start:+,}"
    return "same" if start == stop else "changed"


def _planned_at(entry: OffsetLogEntry) -> str:
    return _time(entry, "batchTimestampMs")


def _watermark(entry: OffsetLogEntry) -> str:
    return _time(entry, "batchWatermarkMs")


def _time(entry: OffsetLogEntry, name: str) -> str:
    try:
        value = json.loads(entry.metadata)[name]
        moment = datetime.fromtimestamp(value / 1000, UTC) if value else None
    except (ValueError, TypeError, KeyError, OverflowError):
        return "unknown"
    return "none" if moment is None else f"{moment:%Y-%m-%d %H:%M:%S}"
