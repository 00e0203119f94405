"""``hw.export_metrics``: what queries do, for Prometheus and OpenTelemetry."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from headwater.connector.program_arguments import checked_mapping, checked_session, misfit
from headwater.connector.readable import readable
from headwater.core.errors import OptionError
from headwater.tools.monitoring.board import now_ms
from headwater.tools.monitoring.metrics import Metric, metrics_of
from headwater.tools.monitoring.otel_export import OtelExport
from headwater.tools.monitoring.prometheus_export import PrometheusExport
from headwater.tools.monitoring.query_history import QueryHistories
from headwater.tools.monitoring.query_watcher import QueryWatcher

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from opentelemetry.metrics import MeterProvider
    from pyspark.sql import SparkSession

    from headwater.connector.async_io.metrics import AsyncMetrics


class MetricsExport:
    """The metrics of a session on their way outside, until `stop`. Made by `export_metrics`.

    Attributes:
        url: what Prometheus scrapes; None without it.
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
        self._histories = QueryHistories(now_ms)
        self._streams = spark.streams
        self._prometheus = None if address is None else PrometheusExport(self._metrics, *address)
        provider = None if isinstance(otel, bool) else otel
        self._otel = None if otel is False else OtelExport(self._metrics, provider)
        self.url = None if self._prometheus is None else self._prometheus.url
        self._watcher = QueryWatcher(self._histories)
        # Last: it is told of each query that starts from here on.
        self._streams.addListener(self._watcher)

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
    """Export what a session's queries do: lag, rows, bytes, triggers, retries, losses, asynchronous calls.

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
