"""``headwater peek SOURCE -o key=value``: the splits and first rows of a source, without Spark."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from headwater.connector.sources.configured import ConfiguredSource
from headwater.connector.sources.registry import source_factory
from headwater.core.errors import HeadwaterError
from headwater.core.source import Boundedness
from headwater.core.split import SplitRange
from headwater.tools.commands.text_table import text_table

_MOST_SPLITS: Final = 10


def add_peek(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line ``headwater``."""
    parser = commands.add_parser(
        "peek",
        help="show what a source has: schema, splits, first rows, rows per second; without Spark",
        description="Reads a source as spark.read would, but in this process: prints the schema, the splits "
        "with the positions from which and to which they are read, the first rows, and how many rows "
        "a second come from it into this one process.",
        epilog="Exit status: 0 if it could be read, 1 if not, 2 for a mistake in this command line.",
    )
    parser.add_argument(
        "source",
        metavar="SOURCE",
        help="what .option('source', ...) takes: kafka, demo, package.module:Class",
    )
    parser.add_argument(
        "-o",
        "--option",
        action="append",
        default=[],
        type=key_and_value,
        metavar="KEY=VALUE",
        help="an option of the source, as .option(...) takes it; may be repeated",
    )
    parser.add_argument(
        "--rows", type=whole_number, default=10, metavar="N", help="how many rows to show (10)"
    )
    parser.add_argument(
        "--seconds",
        type=_seconds,
        default=3.0,
        metavar="S",
        help="how long to go on reading, to count rows per second (3); the source may have fewer rows",
    )
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    # As `python -m` does: a class of the user is found where the user is.
    sys.path.insert(0, str(Path.cwd()))
    try:
        for line in peek(arguments.source, dict(arguments.option), arguments.rows, arguments.seconds):
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()
    except HeadwaterError as error:
        sys.stderr.write(f"headwater peek: {error}\n")
        return 1
    return 0


def peek(source: str, options: Mapping[str, str], rows: int, seconds: float) -> Iterator[str]:
    """Yield lines about the content of a source, as they become known.

    Opens connections while it is iterated, and has closed them when it ends or is closed.

    Args:
        source: as in the option ``source``.
        options: the others.
        rows: how many rows to show.
        seconds: how long to read at the most.

    Raises:
        HeadwaterError: the source cannot be made or read; of the kind that a batch read would fail with.
    """
    configured = configured_for_batch(source, options)
    yield "schema:"
    yield from (f"  {field.name} {field.type}" for field in configured.schema())
    with closing(configured.create_coordinator()) as coordinator:
        tasks = coordinator.plan_all()
        ranges = [each for task in tasks for each in task.ranges]
        yield f"splits: {len({each.split.split_id for each in ranges})}"
        yield from (f"  {_shown_range(each)}" for each in ranges[:_MOST_SPLITS])
        if len(ranges) > _MOST_SPLITS:
            yield f"  and {len(ranges) - _MOST_SPLITS} more"
        yield from _rows(configured, tasks, rows, seconds)


def configured_for_batch(source: str, options: Mapping[str, str]) -> ConfiguredSource:
    """Return a source as a batch read has it, its schema inferred where it has to be.

    Raises:
        HeadwaterError: of the kind that a batch read would fail with.
    """
    lowered = {key.lower(): value for key, value in options.items()}
    factory = source_factory(source)
    # Spark asks for the schema first and tells the source what it was: the same here.
    unbound = factory(lowered, None)
    schema = unbound.schema()
    inferred = {key.lower(): value for key, value in unbound.inferred.items()}
    configured = factory({**lowered, **inferred}, Boundedness.BOUNDED)
    return configured.with_schema(schema, given=False)


class _Tally:
    """The rows read so far: the first ones, and how many there were.

    Args:
        rows: how many rows to keep.
    """

    def __init__(self, rows: int) -> None:
        self._missing = rows
        self.first: list[tuple[object, ...]] = []
        self.count = 0

    def add(self, batch: pa.RecordBatch) -> None:
        self.count += batch.num_rows
        # As values, not as Arrow: a batch is valid until the next one is asked for.
        columns = batch.slice(0, self._missing).to_pydict()
        self.first += zip(*columns.values(), strict=True)
        self._missing = max(0, self._missing - batch.num_rows)


def _rows(configured: ConfiguredSource, tasks: Sequence[Any], rows: int, seconds: float) -> Iterator[str]:
    """Read until the time is over; yield the first rows, and how fast all of them came."""
    began = time.monotonic()
    tally = _Tally(rows)
    is_whole = True
    with closing(_batches(configured, tasks)) as batches:
        for batch in batches:
            tally.add(batch)
            if time.monotonic() - began > seconds:
                is_whole = False
                break
    took = time.monotonic() - began
    yield "first rows:"
    yield from (f"  {line}" for line in text_table(configured.schema().names, tally.first))
    more = "all there are" if is_whole else "there are more"
    yield f"rows: {tally.count:,} in {took:.2f} s, {tally.count / took:,.0f} rows/s; {more}"


def _batches(configured: ConfiguredSource, tasks: Sequence[Any]) -> Generator[pa.RecordBatch, None, None]:
    for task in tasks:
        with closing(configured.read_task(task)) as batches:
            yield from batches


def _shown_range(part: SplitRange[Any, Any]) -> str:
    start, stop = part.shown_ends
    return f"{part.split.split_id}: from {start} to {stop}"


def key_and_value(text: str) -> tuple[str, str]:
    """Return name and value of an argument such as ``subscribe=orders``."""
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise argparse.ArgumentTypeError(f"must be KEY=VALUE, such as subscribe=orders, not {text!r}")
    return key, value


def whole_number(text: str) -> int:
    """Return the number that an argument is."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"must be a whole number, not {text!r}")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"must be a number of seconds above 0, not {text!r}")
    return seconds
