"""The exported metrics of queries: names, units and values, for any library.

Those of sources are declared in `headwater.core.metrics`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from headwater.connector.spark.lag import QueryLag
from headwater.core.metrics import SOURCE_METRICS, MetricKind
from headwater.readers.async_io.metrics import MetricsSnapshot
from headwater.tools.monitoring.batch_report import BatchReport
from headwater.tools.monitoring.query_history import QueryHistories, QueryHistory

Unit: TypeAlias = Literal["", "seconds", "bytes"]
"""Base units, as the conventions of Prometheus want them."""

_SCALES: Final[Mapping[str, tuple[int, Unit]]] = {
    "": (1, ""),
    "ms": (1000, "seconds"),
    "bytes": (1, "bytes"),
}
"""What values of a source are divided by, and their unit then."""

_Value: TypeAlias = float | Mapping[str, float] | None

_CALL_COUNTS: Final = {
    "requests": "Calls of the function, each attempt one.",
    "retries": "Attempts after the first.",
    "timeouts": "Rows without a result within the timeout.",
    "failures": "Rows whose call failed for good.",
    "cache_hits": "Rows answered from the cache.",
    "joined": "Rows answered by a call in flight for an equal key.",
    "rejected": "Attempts that the circuit breaker did not let through.",
}
_QUANTILES: Final = (0.5, 0.95, 0.99)


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric.

    Attributes:
        name: without prefix, unit and suffix.
        kind: a counter only grows while a query is watched; a gauge is the present value.
        description: one sentence.
        unit: of its values; empty for counts.
        labels: their names.
        samples: values, by those of the labels.
    """

    name: str
    kind: MetricKind
    description: str
    unit: Unit = ""
    labels: tuple[str, ...] = ("query",)
    samples: dict[tuple[str, ...], float] = field(default_factory=dict)

    @property
    def full_name(self) -> str:
        """The name with prefix and unit, as Prometheus wants it; its library adds ``_total`` to counters."""
        return "_".join(filter(None, ["headwater", self.name, self.unit]))


@dataclass(frozen=True, slots=True)
class _Measure:
    """How a metric is read off a query.

    Attributes:
        name, kind, description, unit: as of the metric.
        read: returns the value, or the values by those of ``label``; None or nothing where it is not known.
        label: that it has beside the query.
    """

    name: str
    kind: MetricKind
    description: str
    read: Callable[[QueryHistory], _Value]
    unit: Unit = ""
    label: str = ""

    def metric(self, queries: Iterable[QueryHistory]) -> Metric:
        """Return the metric of these queries."""
        labels = ("query", self.label) if self.label else ("query",)
        samples: dict[tuple[str, ...], float] = {}
        for query in queries:
            value = self.read(query)
            if isinstance(value, Mapping):
                samples |= {(query.name, label): each for label, each in value.items()}
            elif value is not None:
                samples[query.name,] = value
        return Metric(self.name, self.kind, self.description, self.unit, labels, samples)


def metrics_of(
    histories: QueryHistories, calls: Mapping[str, MetricsSnapshot], *, per_split: bool
) -> list[Metric]:
    """Return all metrics as they are now. A metric without a value is there all the same.

    Args:
        histories: of the queries.
        calls: the counts of operators of asynchronous I/O, by their names.
        per_split: whether those of single splits are among them.
    """
    with histories.reading() as active:
        # A name stands for one query: a running one, else the newest. Two would be the same time series.
        queries = {each.name: each for each in sorted(active, key=_is_running)}
        measures = [each for each in _MEASURES if per_split or each.label != "split"]
        metrics = [each.metric(queries.values()) for each in measures]
        of_sources = {name: query.metrics(histories.now_ms) for name, query in queries.items()}
    return [*metrics, *_of_sources(of_sources), *_of_calls(calls)]


def _is_running(query: QueryHistory) -> bool:
    return query.state not in ("failed", "stopped")


def _now(read: Callable[[BatchReport], _Value]) -> Callable[[QueryHistory], _Value]:
    """Read the present value, which is unknown of a query that has ended."""
    return lambda query: read(query.last) if query.last and _is_running(query) else None


def _of_lag(read: Callable[[QueryLag], _Value]) -> Callable[[QueryHistory], _Value]:
    return lambda query: read(query.last.lag) if query.last and query.last.lag else None


def _seconds(ms: float | None) -> float | None:
    return None if ms is None else ms / 1000


def _in_epochs(name: str) -> Callable[[BatchReport], _Value]:
    return lambda batch: sum(epoch.get(name, 0) for epoch in batch.epochs) if batch.epochs else None


def _lost_rows(lag: QueryLag) -> _Value:
    return {"planning": lag.lost_rows, "task": lag.lost_at_least_rows}


def _split_lags(batch: BatchReport) -> _Value:
    return {split: report.lag for split, report in batch.splits.items() if report.lag is not None}


def _split_fronts(batch: BatchReport) -> _Value:
    splits = batch.splits.items()
    return {split: report.front_ms / 1000 for split, report in splits if report.front_ms is not None}


def _steps(query: QueryHistory) -> _Value:
    return {step: ms / 1000 for step, ms in query.totals.steps_ms.items()}


_MEASURES: Final = (
    _Measure("query_running", "gauge", "1 while the query runs, 0 after it has ended.", _is_running),
    _Measure("query_failures", "counter", "How often it ended with an error.", lambda query: query.failures),
    _Measure("rows", "counter", "Rows that were read.", lambda query: query.totals.rows),
    _Measure("batches", "counter", "Batches that were reported.", lambda query: query.totals.batches),
    _Measure(
        "trigger", "counter", "Time in the steps of triggers, by Spark's names.", _steps, "seconds", "step"
    ),
    _Measure(
        "last_trigger",
        "gauge",
        "How long the last trigger took.",
        _now(lambda batch: _seconds(batch.duration_ms)),
        "seconds",
    ),
    _Measure(
        "lag",
        "gauge",
        "Positions between what was read and the heads, over all splits.",
        _now(lambda batch: batch.total_lag),
    ),
    _Measure("splits", "gauge", "Splits that the query reads.", _now(lambda batch: len(batch.splits))),
    _Measure(
        "lost_rows",
        "counter",
        "Rows gone before they were read, since the checkpoint was new; those that tasks found are at least.",
        _of_lag(_lost_rows),
        label="stage",
    ),
    _Measure(
        "lost_splits", "counter", "Whole splits that are not read.", _of_lag(lambda lag: lag.lost_splits)
    ),
    _Measure(
        "late_rows",
        "counter",
        "Rows of splits found late that are older than what was read.",
        _of_lag(lambda lag: lag.late_rows),
    ),
    _Measure(
        "event_time_skew",
        "gauge",
        "How far apart in event time the splits are.",
        _now(lambda batch: _seconds(batch.lag.skew_ms) if batch.lag and batch.lag.fronts_ms else None),
        "seconds",
    ),
    _Measure(
        "watermark_timestamp",
        "gauge",
        "The watermark, since 1970.",
        _now(lambda batch: _seconds(batch.watermark_ms)),
        "seconds",
    ),
    _Measure(
        "async_carried_calls",
        "gauge",
        "Asynchronous calls in flight between batches.",
        _now(lambda batch: batch.calls_carried),
    ),
    _Measure(
        "checkpoint_state",
        "gauge",
        "Manifests of the last complete checkpoint, in barrier mode.",
        _now(_in_epochs("state_bytes")),
        "bytes",
    ),
    _Measure(
        "checkpoint_in_flight",
        "gauge",
        "The most that a task kept in flight for it, in barrier mode.",
        _now(_in_epochs("in_flight_bytes")),
        "bytes",
    ),
    _Measure(
        "split_lag",
        "gauge",
        "Positions between what was read of a split and its head.",
        _now(_split_lags),
        label="split",
    ),
    _Measure(
        "split_event_time_timestamp",
        "gauge",
        "How far a split is read in event time, since 1970.",
        _now(_split_fronts),
        "seconds",
        "split",
    ),
)


def _of_sources(values: Mapping[str, Mapping[str, int]]) -> Iterator[Metric]:
    """Yield the metrics of the sources of each query, by its name."""
    for name, each in SOURCE_METRICS.items():
        scale, unit = _SCALES[each.unit]
        samples: dict[tuple[str, ...], float] = {
            (query,): of_query[name] / scale for query, of_query in values.items() if name in of_query
        }
        yield Metric(each.exported, each.kind, each.description, unit, samples=samples)
    own: dict[tuple[str, ...], float] = {
        (query, name): value
        for query, of_query in values.items()
        for name, value in of_query.items()
        if name not in SOURCE_METRICS
    }
    yield Metric(
        "source_counter",
        "counter",
        "The counters of plugins (`hw.count`).",
        labels=("query", "counter"),
        samples=own,
    )


def _of_calls(calls: Mapping[str, MetricsSnapshot]) -> Iterator[Metric]:
    for name, description in _CALL_COUNTS.items():
        samples: dict[tuple[str, ...], float] = {
            (operator,): getattr(counts, name) for operator, counts in calls.items()
        }
        yield Metric(f"async_{name}", "counter", description, labels=("operator",), samples=samples)
    quantiles: dict[tuple[str, ...], float] = {
        (operator, str(share)): counts.percentile_ms(share) / 1000
        for operator, counts in calls.items()
        for share in _QUANTILES
    }
    description = "How long attempts took: what this share of them did not exceed."
    yield Metric("async_latency", "gauge", description, "seconds", ("operator", "quantile"), quantiles)
