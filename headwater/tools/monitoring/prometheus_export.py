"""Metrics for Prometheus, with its own client library: collected when it scrapes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from headwater.connector.program_arguments import checked_port, checked_text
from headwater.core.errors import OptionError
from headwater.core.imports import importing
from headwater.tools.monitoring.metrics import Metric

if TYPE_CHECKING:
    from prometheus_client.core import Metric as Family


class PrometheusExport:
    """The address that Prometheus scrapes. It answers at once, on a thread of the client library.

    Args:
        collect: returns the metrics as they are; called at each scrape.
        host: the address to listen at.
        port: 0 for any that is free.

    Attributes:
        url: what to scrape.

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
            raise OptionError(
                f"cannot listen at {host}, port {port}: {error.strerror or error}. Give another port, or 0 "
                "for any that is free",
                option="prometheus_port",
            ) from error
        self.url = f"http://{host}:{self._server.server_port}/metrics"

    def close(self) -> None:
        """Answer no more. Idempotent."""
        if self._thread.is_alive():
            self._server.shutdown()
            self._server.server_close()
            self._thread.join()


class _Collector:
    """What the client library asks at each scrape.

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
            family = kind(metric.full_name, metric.told, labels=metric.labels)
            for labels, value in metric.samples.items():
                family.add_metric(labels, value)
            yield family

    def describe(self) -> Sequence[Family]:
        """Return nothing: names need not be known before the first scrape."""
        return ()
