"""``hw.export_metrics``: metrics of queries, for Prometheus and OpenTelemetry.

Prometheus scrapes through its own client library; an application's OpenTelemetry reader observes through the
API.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from headwater.connector.program_arguments import (
    cannot_listen,
    checked_mapping,
    checked_port,
    checked_session,
    checked_text,
    misfit,
)
from headwater.connector.readable import readable
from headwater.core.clock import wall_ms
from headwater.core.errors import OptionError
from headwater.core.imports import importing
from headwater.tools.monitoring.metrics import Metric, metrics_of
from headwater.tools.monitoring.query_history import QueryHistories
from headwater.tools.monitoring.query_watcher import QueryWatcher

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from opentelemetry.metrics import CallbackOptions, MeterProvider, Observation
    from prometheus_client.core import Metric as Family
    from pyspark.sql import SparkSession

    from headwater.connector.async_io.metrics import AsyncMetrics

_UNITS: Final = {"": "1", "seconds": "s", "bytes": "By"}
"""The units of OpenTelemetry (UCUM)."""


class PrometheusExport:
    """The address that Prometheus scrapes. It answers at once, on a thread of the client library.

    Args:
        collect: returns the metrics as they are; called at each scrape.
        host: the address to listen at.
        port: 0 for any that is free.

    Attributes:
        url: the address to scrape.

    Raises:
        MissingDependencyError: prometheus-client is not installed.
        OptionError: the port is taken, or one of the two is of another type.
    """

    def __init__(self, collect: Callable[[], Sequence[Metric]], host: str, port: int) -> None:
        with importing("an export of metrics to Prometheus", extra="prometheus", everywhere=False):
            from prometheus_client import CollectorRegistry, start_http_server
        checked_text(host, "host")
        checked_port(port, "prometheus_port")
        # A registry of its own: the global one has what else runs in this process.
        registry = CollectorRegistry()
        registry.register(_Collector(collect))
        try:
            self._server, self._thread = start_http_server(port, addr=host, registry=registry)
        except OSError as error:
            raise cannot_listen(error, host, port, "prometheus_port") from error
        self.url = f"http://{host}:{self._server.server_port}/metrics"

    def close(self) -> None:
        """Answer no more. Idempotent."""
        if self._thread.is_alive():
            self._server.shutdown()
            self._server.server_close()
            self._thread.join()


class _Collector:
    """Collects for the client library at each scrape.

    Args:
        collect: returns the metrics.
    """

    def __init__(self, collect: Callable[[], Sequence[Metric]]) -> None:
        self._collect = collect

    def collect(self) -> Iterator[Family]:
        """Yield the metrics as the library has them."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        for metric in self._collect():
            kind = CounterMetricFamily if metric.kind == "counter" else GaugeMetricFamily
            family = kind(metric.full_name, metric.description, labels=metric.labels)
            for labels, value in metric.samples.items():
                family.add_metric(labels, value)
            yield family

    def describe(self) -> Sequence[Family]:
        """Return nothing: names need not be known before the first scrape."""
        return ()


class OtelExport:
    """One observable instrument for each metric: ``headwater.lag``, in the units of UCUM.

    Args:
        collect: returns the metrics as they are; called at each collection, once for each instrument.
        provider: None for the global one.

    Raises:
        MissingDependencyError: opentelemetry-api is not installed.
    """

    def __init__(self, collect: Callable[[], Sequence[Metric]], provider: MeterProvider | None) -> None:
        with importing("an export of metrics to OpenTelemetry", extra="otel", everywhere=False):
            from opentelemetry.metrics import get_meter
        self._collect = collect
        # Instruments cannot be taken back: after the end they observe nothing. One thread sets, others read.
        self._is_closed = False
        meter = get_meter("headwater", meter_provider=provider)
        for metric in collect():
            create: Any = (
                meter.create_observable_counter if metric.kind == "counter" else meter.create_observable_gauge
            )
            create(
                f"headwater.{metric.name}",
                callbacks=[self._observing(metric.name)],
                unit=_UNITS[metric.unit],
                description=metric.description,
            )

    def close(self) -> None:
        """Observe nothing from here on. Idempotent."""
        self._is_closed = True

    def _observing(self, name: str) -> Callable[[CallbackOptions], Iterator[Observation]]:
        def observe(_: CallbackOptions) -> Iterator[Observation]:
            from opentelemetry.metrics import Observation

            if self._is_closed:
                return
            metric = next(each for each in self._collect() if each.name == name)
            for labels, value in metric.samples.items():
                yield Observation(value, dict(zip(metric.labels, labels, strict=True)))

        return observe


class MetricsExport:
    """The metrics of a session on their way outside, until `stop`. Made by `export_metrics`.

    Attributes:
        url: the address that Prometheus scrapes; None without it.
    """

    def __init__(
        self,
        spark: SparkSession,
        address: tuple[str, int] | None,
        otel: bool | MeterProvider,
        calls: Mapping[str, AsyncMetrics],
        *,
        per_split: bool,
    ) -> None:
        self._calls = dict(calls)
        self._per_split = per_split
        self._histories = QueryHistories(wall_ms)
        self._streams = spark.streams
        self._prometheus = None if address is None else PrometheusExport(self._metrics, *address)
        provider = None if isinstance(otel, bool) else otel
        self._otel = None if otel is False else OtelExport(self._metrics, provider)
        self.url = None if self._prometheus is None else self._prometheus.url
        self._watcher = QueryWatcher(self._histories)
        # Last: it is told of each query that starts from here on.
        self._streams.addListener(self._watcher)

    def __repr__(self) -> str:
        where = [self.url or "", "" if self._otel is None else "OpenTelemetry"]
        return f"MetricsExport({', '.join(filter(None, where))})"

    def stop(self) -> None:
        """Export no more. Idempotent."""
        with suppress(Exception):  # the session may have ended before, each kind of it in another way
            self._streams.removeListener(self._watcher)
        for export in (self._prometheus, self._otel):
            if export is not None:
                export.close()

    def __enter__(self) -> Self:
        """Return itself; leaving the block stops it."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _metrics(self) -> list[Metric]:
        calls = {name: metrics.value for name, metrics in self._calls.items()}
        return metrics_of(self._histories, calls, per_split=self._per_split)


@readable
def export_metrics(
    spark: SparkSession,
    *,
    prometheus_port: int | None = None,
    otel: bool | MeterProvider = False,
    host: str = "127.0.0.1",
    calls: Mapping[str, AsyncMetrics] | None = None,
    per_split: bool = True,
) -> MetricsExport:
    """Export metrics of a session's queries: lag, rows, bytes, triggers, retries, losses, asynchronous calls.

    ::

        hw.export_metrics(spark, prometheus_port=9404)    # http://127.0.0.1:9404/metrics
        hw.export_metrics(spark, otel=True)               # to the application's meter provider

    All streaming queries that report from here on, of headwater and others; lag and losses are known of
    sources of headwater only. It lives in the driver's process, and ends with `MetricsExport.stop` or with
    the process.

    Args:
        spark: a session, classic or of Spark Connect.
        prometheus_port: where Prometheus scrapes; 0 for any port that is free; None for no Prometheus.
        otel: whether instruments are made in the global meter provider of OpenTelemetry, or the provider.
        host: the address to listen at; ``0.0.0.0`` for all of this machine. There is no encryption.
        calls: the metrics of asynchronous I/O to export, by a name for each operator.
        per_split: whether lag and event time of each split are among them: one time series for each.

    Raises:
        MissingDependencyError: the extra ``prometheus`` or ``otel`` is not installed.
        OptionError: neither of the two is wanted, the port is taken, or an argument is of another type.
    """
    checked_session(spark)
    if prometheus_port is None and otel is False:
        raise OptionError("say where to: prometheus_port=9404, or otel=True", option="prometheus_port")
    if not isinstance(otel, bool) and not hasattr(otel, "get_meter"):
        raise misfit("otel", "True, False or a MeterProvider", otel)
    address = None if prometheus_port is None else (host, prometheus_port)
    return MetricsExport(spark, address, otel, checked_mapping(calls or {}, "calls"), per_split=per_split)
