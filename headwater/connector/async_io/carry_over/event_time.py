"""Which rows may be carried over so that the watermark behind the operator passes none of them.

A watermark set behind the operator is the latest time that came out, less a delay. A row that is carried over
comes out in a later batch; if it is older than the watermark is by then, Spark drops it as late. So only rows
are carried over that are less than the delay older than the latest row that ever came in. A batch waits for
all others, and no row that comes out is later than the oldest carried one plus the delay.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql.types import TimestampType

from headwater.connector.async_io.schemas import check_columns
from headwater.core.errors import OptionError
from headwater.core.options import duration_ms

_DELAY_KEY = "spark.watermarkDelayMs"  # Spark's mark on a column that has a watermark
_WITH_STATE = (
    "Aggregate",
    "Deduplicate",
    "Distinct",
    "FlatMapGroupsIn",
    "FlatMapGroupsWithState",
    "StreamStreamJoin",
    "TransformWithState",
)


@dataclass(frozen=True)
class EventTime:
    """A time column, and how far the watermark stays behind its latest value.

    Attributes:
        column: of type timestamp.
        delay_ms: as in Spark's ``withWatermark``.
    """

    column: str
    delay_ms: int

    def latest_ms(self, rows: pa.RecordBatch, before_ms: int | None) -> int | None:
        """Return the latest time of rows, or the one before, if that is later. None: no row has a time."""
        latest = pc.max(rows.column(self.column).cast(pa.int64())).as_py()
        if latest is None:
            return before_ms
        # Rounded down, as Spark does it.
        return max(latest // 1000, before_ms) if before_ms is not None else latest // 1000

    def may_wait(self, rows: pa.RecordBatch, latest_ms: int | None) -> bool:
        """Return whether rows may be carried over when the latest time of all rows ever is known."""
        if latest_ms is None:
            return True
        earliest = pc.min(rows.column(self.column).cast(pa.int64())).as_py()
        # A row at the watermark is late.
        return earliest is None or earliest > (latest_ms - self.delay_ms) * 1000


def event_time_of(df: DataFrame, event_time: str | None, delay: str | None) -> EventTime | None:
    """Return ``event_time`` and ``delay`` as checked; None if they are not given.

    Raises:
        OptionError: one is given without the other, or does not fit; or the input has a watermark and they
            are missing.
    """
    watermarked = watermarked_columns(df)
    if event_time is None and delay is None:
        if watermarked:
            raise OptionError(
                f"on input with a watermark (of {watermarked[0]!r}) needs event_time= and delay= too: rows "
                "that are carried over would come behind the watermark, and be dropped as late",
                option="carry_over",
            )
        return None
    if event_time is None or delay is None:
        missing = "event_time" if event_time is None else "delay"
        raise OptionError("must be given too: event_time and delay go together", option=missing)
    [column] = check_columns(df, [event_time], "event_time")
    # Spark's windows are structs.
    if not isinstance(df.schema[column].dataType, TimestampType) and column not in watermarked:
        raise OptionError(f"must be a timestamp, and {column!r} is not", option="event_time")
    try:
        return EventTime(column, duration_ms(delay))
    except (ValueError, AttributeError) as error:
        raise OptionError(f"must be a duration such as '10 minutes': {delay!r}", option="delay") from error


def watermarked_columns(df: DataFrame) -> list[str]:
    """Return the columns of a frame that have a watermark."""
    return [field.name for field in df.schema if _DELAY_KEY in field.metadata]


def check_watermarks(df: DataFrame, column: str, *, may_be_others: bool) -> None:
    """Check that the watermark of the input is the one that the output is to have.

    Args:
        df: the input.
        column: the one of the output.
        may_be_others: whether no row is carried over, so that none can be late for the watermark of another
            column; there is one then.

    Raises:
        OptionError: it is of another column.
    """
    watermarked = watermarked_columns(df)
    if may_be_others and column not in watermarked:
        is_of = f"it is {', '.join(map(repr, watermarked))}" if watermarked else "the input has lost it"
        raise OptionError(
            f"must be the column with the input's watermark, behind operators with state; {is_of}",
            option="event_time",
        )
    if not may_be_others and (others := [name for name in watermarked if name != column]):
        raise OptionError(
            f"is {column!r}, and the input has a watermark of {others[0]!r}: rows that are carried over "
            "would be late for it",
            option="event_time",
        )


def has_stateful_watermark(df: DataFrame) -> bool:
    """Return whether a frame's watermark has gone through an operator with state, such as a window.

    Rows that leave a window are at the watermark at once. None of them can be carried over without being
    late, and Spark allows no second watermark behind them.
    """
    analyzed = df._jdf.queryExecution().analyzed()  # noqa: SLF001 - PySpark shows no plan
    names = _node_names(analyzed)
    return "EventTimeWatermark" in names and any(name.startswith(_WITH_STATE) for name in names)


def _node_names(plan: Any) -> set[str]:
    """Return the class names of the nodes of a plan of the JVM that are part of a stream."""
    if not plan.isStreaming():
        return set()
    child_list = plan.children()
    children = [child_list.apply(index) for index in range(child_list.size())]
    name = str(plan.getClass().getSimpleName())
    if name == "Join" and all(child.isStreaming() for child in children):
        name = "StreamStreamJoin"
    return {name}.union(*map(_node_names, children))
