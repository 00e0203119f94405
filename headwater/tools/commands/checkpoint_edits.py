"""``headwater checkpoint rewind | skip PATH``: the next start goes on at other positions.

Both change the end of the last committed batch in the offset log, which is where the next one begins. The
ids of batches do not go back: a sink that remembers them, as Spark's file sink and Delta do, would leave out
a batch whose id it has seen.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from headwater.core.jsons import JsonValue
from headwater.tools.commands.checkpoint_command import add_checkpoint_command, logged_batch
from headwater.tools.commands.checkpoint_folder import FolderError
from headwater.tools.commands.logged_positions import (
    LoggedPositions,
    kafka_ends,
    logged_positions,
    positions_by_source,
)
from headwater.tools.commands.offset_forms import json_of
from headwater.tools.commands.offset_log import VOID, OffsetLogEntry
from headwater.tools.commands.spark_checkpoint import CheckpointError, SparkCheckpoint, refuse_ends
from headwater.tools.commands.text_table import text_table

_WIDEST = 300
"""Names of splits are not cut: a topic may have 249 characters."""


def add_edits(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the commands to those of ``headwater checkpoint``. The query must not run beside them."""
    rewind = add_checkpoint_command(
        commands,
        "rewind",
        "read again what came after an earlier batch",
        "Sets the positions back to those after an earlier batch, so that the next start reads everything "
        "behind it again. The sink, the state of the query and its watermark do not go back: see what the "
        "command says before it writes. Without --yes it writes nothing.",
        _rewind,
    )
    rewind.add_argument("--to-batch", type=int, required=True, metavar="ID", help="a batch in the offset log")
    skip = add_checkpoint_command(
        commands,
        "skip",
        "leave out records of one split, for example one that cannot be read",
        "Sets the position of one split forward, so that the next start does not read what lies before it. "
        "For positions that are numbers. Without --yes it writes nothing.",
        _skip,
    )
    skip.add_argument(
        "--split", required=True, metavar="SPLIT", help="as `headwater checkpoint positions` has it"
    )
    skip.add_argument("--to", type=int, required=True, metavar="POSITION", help="the next record to read")
    skip.add_argument(
        "--broker", metavar="HOST:PORT", help="ask this Kafka where the partition ends, and skip no further"
    )
    skip.add_argument("--source", metavar="ID", help="in a query with several sources: its number or name")
    for parser in (rewind, skip):
        parser.add_argument(
            "--yes", action="store_true", help="write; a copy is kept in PATH/headwater-backup"
        )


def _rewind(checkpoint: SparkCheckpoint, arguments: argparse.Namespace) -> Iterator[str]:
    numbers = checkpoint.batches()
    last = checkpoint.last_committed()
    if arguments.to_batch < 0:
        raise CheckpointError(
            "--to-batch is the id of a batch that was read. To read from the very beginning, begin a query "
            "with a new checkpoint, and startingOffsets=earliest or what its source has for it"
        )
    target = logged_batch(arguments.to_batch, numbers[0])
    if target == last:
        raise CheckpointError(f"batch {target} is the last one: there is nothing behind it")
    now = checkpoint.entry(last)
    then = checkpoint.entry(target)
    if now.offsets.keys() != then.offsets.keys():
        raise CheckpointError(f"the query had other sources in batch {target}: {', '.join(then.offsets)}")
    for entry in (now, then):
        for name, logged in entry.offsets.items():
            require_positions(name, logged)
    yield from _compared(positions_by_source(then), positions_by_source(now))
    yield f"the next start, batch {last + 1}, reads again what batches {target + 1} to {last} have read"
    yield (
        "the sink does not go back: rows that it has stay there, and come again. Nor do the state of the "
        "query (aggregates count rows again, duplicates are dropped) and its watermark (rows that are late "
        "for it are dropped)"
    )
    offsets = {name: without_starts(logged) for name, logged in then.offsets.items()}
    # The batch before gets the same positions: should somebody take back the last commit, it is a batch of
    # nothing, and not one that goes backwards.
    changed = {
        batch_id: checkpoint.entry(batch_id).with_offsets(offsets)
        for batch_id in (last - 1, last)
        if batch_id > target
    }
    yield from _write(checkpoint, changed, numbers, arguments)


def _skip(checkpoint: SparkCheckpoint, arguments: argparse.Namespace) -> Iterator[str]:
    numbers = checkpoint.batches()
    logged, committed = numbers
    batches = {batch_id: checkpoint.entry(batch_id) for batch_id in logged if batch_id >= committed}
    name = _source(arguments.source, batches[logged[-1]])
    for entry in batches.values():
        require_positions(name, entry.offsets[name])
        refuse_ends(name, entry.offsets[name])
    beginning = _beginning(name, arguments.split, batches, committed)
    if not isinstance(beginning.position, int):
        raise CheckpointError(f"{arguments.split} is at {beginning.position!r}, which is no number")
    if arguments.to <= beginning.position:
        raise CheckpointError(
            f"{arguments.split} is at {beginning.position} already, and --to must lie behind it"
        )
    if logged[-1] > committed:
        _require_before_end(name, arguments, logged[-1], batches[logged[-1]])
    yield from _within_end(arguments, positions_by_source(batches[logged[-1]])[name].source)
    left_out = f"{arguments.to - beginning.position:,} positions from {beginning.position} on are left out"
    yield f"{arguments.split} goes on at {arguments.to}: {left_out}"
    edit = with_start if beginning.is_new else with_position
    entry = batches[beginning.batch_id]
    changed = entry.with_offsets({name: edit(entry.offsets[name], arguments.split, arguments.to)})
    yield from _write(checkpoint, {beginning.batch_id: changed}, numbers, arguments)


def _within_end(arguments: argparse.Namespace, kind: str) -> Iterator[str]:
    """Say if nothing is known of the end of the split.

    Raises:
        CheckpointError: the position is behind it: the query would fail, or read nothing until records get
            there.
    """
    if "kafka" not in kind.lower():
        yield f"whether {arguments.split} has a record {arguments.to} is not known here"
    elif not arguments.broker:
        yield f"whether {arguments.split} has a record {arguments.to} is not known: give --broker to look"
    else:
        end = kafka_ends(arguments.broker, [arguments.split]).get(arguments.split)
        if end is None:
            raise CheckpointError(f"the broker at {arguments.broker} has no partition {arguments.split}")
        if arguments.to > end:
            raise CheckpointError(f"{arguments.split} ends at {end}: skip to there at the most")


@dataclass(frozen=True)
class _Beginning:
    """Where the log says that the next batch, or the one that is pending, begins for a split.

    Attributes:
        batch_id: the entry that says so.
        position: the position.
        is_new: whether the entry is that of the pending batch itself, in which the split is new.
    """

    batch_id: int
    position: object
    is_new: bool


def _beginning(name: str, split: str, batches: Mapping[int, OffsetLogEntry], committed: int) -> _Beginning:
    ids: set[str] = set()
    for batch_id, entry in batches.items():
        positions = positions_by_source(entry)[name].positions
        if batch_id == committed and split in positions:
            return _Beginning(batch_id, positions[split], is_new=False)
        start = start_in(entry.offsets[name], split) if batch_id > committed else None
        if start is not None:
            return _Beginning(batch_id, start, is_new=True)
        ids.update(positions)
    if split in ids:
        raise CheckpointError(
            f"batch {max(batches)} is pending, and Spark's Kafka source does not log where {split} begins in "
            "it: begin a query with a new checkpoint and startingOffsets"
        )
    raise CheckpointError(f"source {name} has no split {split!r}, but {', '.join(sorted(ids))}")


def _require_before_end(
    name: str, arguments: argparse.Namespace, batch_id: int, entry: OffsetLogEntry
) -> None:
    end = positions_by_source(entry)[name].positions.get(arguments.split)
    if isinstance(end, int) and arguments.to > end:
        raise CheckpointError(
            f"batch {batch_id} is pending, and will be read again as it is logged: to {end} of "
            f"{arguments.split}. Skip to {end} at the most; once that batch is committed, skip more"
        )


def _source(name: str | None, entry: OffsetLogEntry) -> str:
    if name is None and len(entry.offsets) == 1:
        return next(iter(entry.offsets))
    if name is None or name not in entry.offsets:
        raise CheckpointError(
            f"{'there is no source ' + repr(name) if name else 'say which source, with --source'}: this "
            f"query has {', '.join(sorted(entry.offsets))}"
        )
    return name


def _compared(then: Mapping[str, LoggedPositions], now: Mapping[str, LoggedPositions]) -> Iterator[str]:
    for name, position in now.items():
        earlier = then[name]
        yield f"source {name}: {position.source}"
        rows = [
            (split, position.positions.get(split, "unknown"), earlier.positions.get(split, "new again"))
            for split in sorted({*position.positions, *earlier.positions})
        ]
        yield from (f"  {line}" for line in text_table(("split", "now", "then"), rows, widest_cell=_WIDEST))


def _write(
    checkpoint: SparkCheckpoint,
    changed: Mapping[int, OffsetLogEntry],
    numbers: tuple[list[int], int],
    arguments: argparse.Namespace,
) -> Iterator[str]:
    if not arguments.yes:
        yield "nothing was written: stop the query, and say --yes"
        return
    backup = checkpoint.back_up(sorted(changed))
    restoring = f"to go back: {checkpoint.restoring(backup)}"
    try:
        checkpoint.replace(changed, numbers)
    except FolderError as error:
        raise FolderError(f"{error}; start this command again, or {restoring}") from error
    yield "done"
    yield restoring


_FILES = "files"


def require_positions(name: str, logged: str) -> None:
    """Refuse a source that cannot go on from positions that were changed by hand.

    Raises:
        CheckpointError: with the reason.
    """
    if logged == VOID:
        raise CheckpointError(f"source {name} has no offset yet: there is nothing to change")
    positions = logged_positions(logged)
    value = json_of(logged)
    source = value.get("source") if isinstance(value, dict) else None
    if source == _FILES:
        raise CheckpointError(
            f"source {name} reads files: which ones were read is kept at its stateLocation too, and does not "
            "go back. To read files again start a query with a new checkpoint, and modifiedAfter or a pattern"
        )
    if source is not None and isinstance(value, dict) and "positions" not in value:
        raise CheckpointError(
            f"source {name} is {positions.source}, in barrier mode: its positions lie in manifests beside "
            "the checkpoint, and staged rows are released once they are read. They cannot be changed "
            "from here"
        )
    if not positions.positions:
        raise CheckpointError(
            f"source {name} is neither headwater's nor Spark's Kafka source: {logged[:200]}"
        )


def without_starts(logged: str) -> str:
    """Return an offset that stands for a batch of nothing behind one with the same positions."""
    value = json_of(logged)
    if not (isinstance(value, dict) and "starts" in value):
        return logged
    rest = {name: part for name, part in value.items() if name != "starts"}
    ends = value.get("ends")
    if isinstance(ends, dict):
        # The next plan looks at the ranges of that batch, from where they began: a record may have ended one.
        rest["ends"] = {**ends, "since": _merged(ends.get("since", {}), value["starts"])}
    # As PySpark writes what a source returns.
    return json.dumps(rest)


def _merged(nested: JsonValue, other: JsonValue) -> JsonValue:
    if not isinstance(nested, dict) or not isinstance(other, dict):
        return other
    shared = {name: _merged(nested[name], other[name]) for name in nested.keys() & other.keys()}
    return dict(sorted({**nested, **other, **shared}.items()))


def with_position(logged: str, split: str, position: int) -> str:
    """Return an offset behind which one split goes on at another position. The split is in it."""
    value = json_of(logged)
    assert isinstance(value, dict)
    if "positions" not in value:
        return json.dumps(_replaced(value, split, position), separators=(",", ":"))
    return _with_parts(value, ("positions", "kept"), split, position)


def with_start(logged: str, split: str, position: int) -> str:
    """Return an offset of a batch that begins at another position of a split that is new in it."""
    value = json_of(logged)
    assert isinstance(value, dict)
    return _with_parts(value, ("starts",), split, position)


def _with_parts(value: dict[str, JsonValue], parts: tuple[str, ...], split: str, position: int) -> str:
    changed = {name: _replaced(value[name], split, position) for name in parts if name in value}
    # As PySpark writes what a source returns: Spark compares offsets as texts.
    return json.dumps({**value, **changed})


def start_in(logged: str, split: str) -> JsonValue:
    """Return where the batch begins for a split that was new in it; None if it was there before."""
    value = json_of(logged)
    starts = value.get("starts", {}) if isinstance(value, dict) else {}
    return dict(_leaves(starts)).get(split)


def _replaced(node: JsonValue, split: str, position: int, path: tuple[str, ...] = ()) -> JsonValue:
    if "-".join(path) == split and not (isinstance(node, dict) and "position" not in node):
        return {**node, "position": position} if isinstance(node, dict) else position
    if not isinstance(node, dict):
        return node
    return {name: _replaced(below, split, position, (*path, name)) for name, below in node.items()}


def _leaves(node: JsonValue, path: tuple[str, ...] = ()) -> Mapping[str, JsonValue]:
    if not isinstance(node, dict):
        return {"-".join(path): node}
    return {key: leaf for name, below in node.items() for key, leaf in _leaves(below, (*path, name)).items()}
