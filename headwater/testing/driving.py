"""Drives a split reader and an emitter by hand, as a task's loop does, and looks at every answer."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from headwater.core.barrier_reader import BarrierSplitReader, EpochRecords
from headwater.core.emitter import SplitState
from headwater.core.jsons import JsonValue
from headwater.core.reader import SplitReader
from headwater.core.source import Source
from headwater.core.split import SplitRange
from headwater.testing.contracts import keeps

_MOST_EMPTY_FETCHES = 1_000
_PATIENCE_S = 20
_NUDGE_S = 0.05


@dataclass
class Reading:
    """The result of one range.

    Attributes:
        rows: in order.
        positions: after each raw record, with the number of rows up to it.
        is_finished: whether the reader called the split finished; otherwise it called it caught up, or the
            reading was stopped.
    """

    rows: list[dict[str, Any]] = field(default_factory=list)
    positions: list[tuple[JsonValue, int]] = field(default_factory=list)
    is_finished: bool = False


def read_range(
    source: Source[Any, Any, Any], split_range: SplitRange[Any, Any], most_records: int | None = None
) -> Reading:
    """Read one range with a reader of its own.

    In barrier mode no more than ``most_records``, then the split is removed.
    """
    reading = Reading()
    path = split_range.split.path
    with closing(source.create_reader()) as reader:
        emitter = source.create_emitter()
        state: SplitState[Any, Any] = SplitState(split_range)
        reader.handle_splits_changes([split_range])
        for _ in range(_MOST_EMPTY_FETCHES):
            fetched = reader.fetch()
            ended = path in fetched.finished or (
                isinstance(fetched, EpochRecords) and path in fetched.caught_up
            )
            keeps(
                SplitReader.fetch,
                set(fetched.records) <= {path},
                f"speaks only of splits that it was given, not of {sorted(fetched.records)}",
            )
            for record in fetched.records.get(path, ()):
                _emit(source, emitter, record, state, reading)
                if most_records is not None and len(reading.positions) >= most_records:
                    if isinstance(reader, BarrierSplitReader) and not ended:
                        reader.handle_splits_removal([path])
                    return reading
            if ended:
                reading.rows += [row for batch in emitter.flush() for row in batch.to_pylist()]
                reading.is_finished = path in fetched.finished
                return reading
    keeps(
        SplitReader.fetch,
        False,
        f"comes to an end: split {split_range.split.split_id} neither finished nor caught up in "
        f"{_MOST_EMPTY_FETCHES} fetches",
    )
    raise AssertionError


def _emit(
    source: Source[Any, Any, Any], emitter: Any, record: object, state: SplitState[Any, Any], reading: Reading
) -> None:
    schema = source.schema()
    for batch in emitter.emit(record, state):
        keeps(
            Source.schema,
            batch.schema.equals(schema),
            f"is the schema of every batch; it says\n{schema}\nand a batch of {state.split.split_id} has\n"
            f"{batch.schema}",
        )
        reading.rows += batch.to_pylist()
    reading.positions.append((state.position, len(reading.rows)))


def with_patience(
    call: Callable[[], object], contract: Any, subject: str, meanwhile: Callable[[], object] = lambda: None
) -> None:
    """Run a call that may hang on a thread.

    Args:
        call: the call.
        contract: the contract that is broken where it hangs.
        subject: the call, for the message.
        meanwhile: is called again and again until the call has ended.
    """
    failed: list[BaseException] = []

    def run() -> None:
        try:
            call()
        except BaseException as error:  # noqa: BLE001 - raised below, on the test's thread
            failed.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    for _ in range(round(_PATIENCE_S / _NUDGE_S)):
        meanwhile()
        thread.join(_NUDGE_S)
        if not thread.is_alive():
            break
    keeps(contract, not thread.is_alive(), f"{subject} did not return within {_PATIENCE_S} s")
    for error in failed:
        raise error
