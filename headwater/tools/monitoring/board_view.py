"""The content of the board's page, as JSON: all queries in short, and one of them in full."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import pairwise
from typing import Any, Final, Literal, TypeAlias, cast, get_args

from headwater.core.jsons import JsonObject, JsonValue
from headwater.core.metrics import SOURCE_METRICS
from headwater.tools.monitoring.batch_report import BatchReport, SplitReport
from headwater.tools.monitoring.query_history import QueryHistories, QueryHistory

SplitOrder: TypeAlias = Literal["lag", "rate", "front", "split"]

_PAGE: Final = 50
"""How many splits are shown at once: a page with thousands of them would be slow."""

_POINTS: Final = 60
_RANKS: Final = {"failed": 0, "stopped": 2}
"""Which queries stand first, by their states: a failed one before those at work (1)."""
_TREND: Final = 6
"""How many of the last batches tell whether a query catches up."""
_LOST_SHOWN: Final = 20
_POSITION_CHARACTERS: Final = 200


@dataclass(frozen=True, slots=True)
class ViewRequest:
    """The part of it that a page asks for.

    Attributes:
        query: the id of the query to show in full; the first one if there is none of this id.
        order: of its splits.
        find: only splits whose id holds this text.
        first: the number of the first split to show.
    """

    query: str = ""
    order: SplitOrder = "lag"
    find: str = ""
    first: int = 0

    @classmethod
    def parse(cls, parameters: Mapping[str, str]) -> ViewRequest:
        """Return the request in the parameters of a URL. Invalid ones are skipped."""
        order = parameters.get("order", "lag")
        first = parameters.get("first", "0")
        return cls(
            parameters.get("query", ""),
            cast("SplitOrder", order) if order in get_args(SplitOrder) else "lag",
            parameters.get("find", ""),
            int(first) if first.isascii() and first.isdecimal() and len(first) < 10 else 0,
        )


def board_view(
    histories: QueryHistories, request: ViewRequest, calls: Mapping[str, Mapping[str, float]], now_ms: int
) -> JsonObject:
    """Return the present content of a page.

    Args:
        histories: of the queries.
        request: the part of it.
        calls: the counts of asynchronous I/O, by the name of the operator.
        now_ms: in ms since 1970.
    """
    failures = histories.failures()
    with histories.reading() as active:
        queries = sorted(active, key=lambda each: (_RANKS.get(each.state, 1), each.name))
        selected = next((each for each in queries if each.query_id == request.query), None)
        selected = selected or (queries[0] if queries else None)
        return {
            "now_ms": now_ms,
            "queries": [_query(each) for each in queries],
            "shown": None if selected is None else _details(selected, request, now_ms),
            "calls": [{"name": name, **counts} for name, counts in calls.items()],
            "failures": [cast("JsonObject", asdict(each)) for each in reversed(failures)],
        }


def rates(batches: Sequence[BatchReport], count: Callable[[BatchReport], int | None]) -> list[float | None]:
    """Return how much a second came in up to each batch: since the one before it began.

    That is how fast it came, and not how fast Spark is when it works. None where it is not known, as for the
    first of several batches; a single one is held against its own duration.

    Args:
        batches: consecutive ones, the oldest first.
        count: of a batch: its rows or bytes.
    """
    if len(batches) == 1:
        return [_per_second(count(batches[0]), batches[0].duration_ms or 0)]
    since = [_per_second(count(end), end.started_ms - start.started_ms) for start, end in pairwise(batches)]
    return [None, *since] if batches else []


def _query(history: QueryHistory) -> JsonObject:
    batches = list(history.batches)[-_POINTS:]
    last = history.last
    lag = last.lag if last else None
    rows_per_second = rates(batches, lambda batch: batch.rows)
    written_per_second = rates(batches, lambda batch: batch.written)
    return {
        "id": history.query_id,
        "name": history.name,
        "state": history.state,
        "runs": history.runs,
        "started_ms": history.started_ms,
        "heard_ms": history.heard_ms,
        "rows": history.rows,
        "failures": history.failures,
        "message": history.message,
        "batch_id": last.batch_id if last else None,
        "splits": len(last.splits) if last else 0,
        "lag": last.total_lag if last else None,
        "unit": lag.unit if lag else "",
        "snapshot": _snapshot(batches),
        # Rows that were read and bytes that were not do not add up.
        "arrival_rate": None if lag and lag.unit else _arrival_rate(batches),
        "caught_up_ms": _caught_up_ms(batches),
        "rate": 0.0 if history.state == "idle" else rows_per_second[-1] if rows_per_second else None,
        "duration_ms": last.duration_ms if last else None,
        "watermark_ms": last.watermark_ms if last else None,
        "front_ms": last.front_ms if last else None,
        "skew_ms": lag.skew_ms if lag else 0,
        "held_back_by": lag.held_back_by if lag else None,
        "late_rows": lag.late_rows if lag else 0,
        "calls_carried": last.calls_carried if last else 0,
        "lost_rows": lag.lost_rows if lag else 0,
        "lost_at_least_rows": lag.lost_at_least_rows if lag else 0,
        "lost_splits": lag.lost_splits if lag else 0,
        "last_rows": last.rows if last else None,
        "last_written": last.written if last else None,
        "written_rate": written_per_second[-1] if written_per_second and history.state != "idle" else None,
        "rates": list(rows_per_second),
        "lags": [batch.total_lag for batch in batches],
    }


def _arrival_rate(batches: Sequence[BatchReport]) -> float | None:
    """Return the rows a second that came into the source lately: those read, and the growth of the lag."""
    recent = batches[-_TREND:]
    if len(recent) < 2 or recent[0].total_lag is None or recent[-1].total_lag is None:
        return None
    read = sum(batch.rows or 0 for batch in recent[1:])
    came = read + recent[-1].total_lag - recent[0].total_lag
    return _per_second(max(0, came), recent[-1].started_ms - recent[0].started_ms)


def _caught_up_ms(batches: Sequence[BatchReport]) -> int | None:
    """Return the time until nothing is left to read, as the lag fell lately; None if it did not fall."""
    recent = batches[-_TREND:]
    return _zero_in_ms(recent, [batch.total_lag for batch in recent])


def _snapshot(batches: Sequence[BatchReport]) -> JsonObject | None:
    """Return how far the query is with its bounded splits, and when it has read them; None without any."""
    recent = batches[-_TREND:]
    progress = [batch.lag.snapshot if batch.lag else None for batch in recent]
    if not progress or progress[-1] is None:
        return None
    left_ms = _zero_in_ms(recent, [each.left if each else None for each in progress])
    return {**asdict(progress[-1]), "left_ms": left_ms}


def _zero_in_ms(batches: Sequence[BatchReport], values: Sequence[int | None]) -> int | None:
    """Return when a value is 0 if it falls as it did over these batches; None if it did not fall."""
    if len(values) < 2 or values[0] is None or values[-1] is None:
        return None
    if values[-1] == 0:
        return 0
    fallen = values[0] - values[-1]
    return None if fallen <= 0 else values[-1] * (batches[-1].started_ms - batches[0].started_ms) // fallen


def _details(history: QueryHistory, request: ViewRequest, now_ms: int) -> JsonObject:
    last = history.last
    lost = last.lag.lost_ranges if last and last.lag else ()
    return {
        "id": history.query_id,
        "sources": list(last.sources) if last else [],
        "sink": last.sink if last else "",
        "batches": [_batch(batch) for batch in list(history.batches)[-_POINTS:]],
        "epochs": [dict(epoch) for epoch in last.epochs] if last else [],
        "splits": _splits(history, request),
        "metrics": _metrics(history.metrics(now_ms)),
        "lost": [dict(each) for each in reversed(lost[-_LOST_SHOWN:])],
    }


def _metrics(values: Mapping[str, int]) -> list[JsonValue]:
    """Return the metrics of the sources: those of the table, in its order, and then those of plugins."""
    own = [name for name in sorted(values) if name not in SOURCE_METRICS]
    shown: list[JsonValue] = []
    for name in [*(each for each in SOURCE_METRICS if each in values), *own]:
        metric = SOURCE_METRICS.get(name)
        unit, about = (metric.unit, metric.description) if metric else ("", "Counted by the source.")
        shown.append({"name": name, "value": values[name], "unit": unit, "about": about})
    return shown


def _batch(batch: BatchReport) -> JsonObject:
    return {
        "batch_id": batch.batch_id,
        "started_ms": batch.started_ms,
        "duration_ms": batch.duration_ms,
        "phases_ms": dict(batch.phases_ms),
        "rows": batch.rows,
        "committed": batch.committed,
    }


def _splits(history: QueryHistory, request: ViewRequest) -> JsonObject:
    batches = list(history.batches)[-_POINTS:]
    if not batches:
        return {"total": 0, "found": 0, "first": 0, "rows": [], "most_lag": 0, "most_rate": 0}
    reports = batches[-1].splits
    rate = {split: rates(batches[-2:], partial(_moved, split))[-1] for split in reports}
    pattern = request.find.casefold()
    matches = [split for split in reports if pattern in split.casefold()]
    matches.sort(key=lambda split: _rank(request.order, split, reports[split], rate[split]))
    first = request.first if request.first < len(matches) else 0
    return {
        "total": len(reports),
        "found": len(matches),
        "first": first,
        "rows": [_split(split, batches, rate[split]) for split in matches[first : first + _PAGE]],
        "most_lag": max((each.lag or 0 for each in reports.values()), default=0),
        "most_rate": max((each or 0 for each in rate.values()), default=0),
    }


def _split(split: str, batches: Sequence[BatchReport], rate: float | None) -> JsonObject:
    report = batches[-1].splits[split]
    history = [batch.splits.get(split) for batch in batches]
    return {
        "split": split,
        "position": _shown_position(report.position),
        "lag": report.lag,
        "rate": rate,
        "front_ms": report.front_ms,
        "kept": report.kept,
        "lags": [each.lag if each else None for each in history],
        "rates": list(rates(batches, partial(_moved, split))),
    }


def _rank(order: SplitOrder, split: str, report: SplitReport, rate: float | None) -> tuple[float, str]:
    """Return the sort key of splits: the most important come first."""
    match order:
        case "lag":
            return -(report.lag if report.lag is not None else -1), split
        case "rate":
            return -(rate if rate is not None else -1), split
        case "front":  # the split that holds up the others
            return report.front_ms if report.front_ms is not None else float("inf"), split
        case "split":
            return 0, split


def _moved(split: str, batch: BatchReport) -> int | None:
    report = batch.splits.get(split)
    return report.moved if report else None


def _per_second(count: int | None, lasted_ms: int) -> float | None:
    return round(count * 1000 / lasted_ms, 1) if count is not None and lasted_ms > 0 else None


def _shown_position(position: Any) -> JsonValue:
    if isinstance(position, int):
        return position
    text = position if isinstance(position, str) else json.dumps(position)
    return text if len(text) <= _POSITION_CHARACTERS else f"{text[:_POSITION_CHARACTERS]}..."
