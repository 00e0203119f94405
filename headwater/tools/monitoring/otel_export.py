"""Metrics for OpenTelemetry, through its API: observed when the application's reader collects."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from headwater.core.imports import importing
from headwater.tools.monitoring.metrics import Metric

if TYPE_CHECKING:
    from opentelemetry.metrics import CallbackOptions, MeterProvider, Observation

_UNITS: Final = {"": "1", "seconds": "s", "bytes": "By"}


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
                description=metric.told,
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
