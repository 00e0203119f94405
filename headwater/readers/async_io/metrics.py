"""What an operator counts. Written by the loop's thread, read by any."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

__all__ = ["Metrics", "MetricsSnapshot"]

_PER_DOUBLING = 4  # buckets: a percentile is right to within a fifth
_BUCKETS = 36 * _PER_DOUBLING  # up to 19 hours


@dataclass(frozen=True, slots=True)
class MetricsSnapshot:
    """Counts since the operator was opened. Snapshots of tasks are added up with ``+``.

    Attributes:
        requests: calls of the user's function, each attempt and each bulk call one; not what a shared cache
            answered.
        in_flight: calls running now.
        peak_in_flight: the most calls that ever ran at once; added up over tasks, a bound.
        retries: attempts after the first.
        timeouts: rows that had no result within the timeout.
        failures: rows whose call failed for good, timeouts without substitute included.
        cache_hits: rows answered from the cache, shared caches included.
        joined: rows answered by a call in flight for an equal key.
        rejected: attempts that the circuit breaker did not let through.
        blocked: how often the watchdog found the loop blocked.
        latencies: attempts by duration, on a logarithmic scale; see `percentile_ms`.
    """

    requests: int = 0
    in_flight: int = 0
    peak_in_flight: int = 0
    retries: int = 0
    timeouts: int = 0
    failures: int = 0
    cache_hits: int = 0
    joined: int = 0
    rejected: int = 0
    blocked: int = 0
    latencies: tuple[int, ...] = (0,) * _BUCKETS

    def __add__(self, other: MetricsSnapshot) -> MetricsSnapshot:
        counts = {
            field.name: getattr(self, field.name) + getattr(other, field.name)
            for field in fields(self)
            if field.name != "latencies"
        }
        return MetricsSnapshot(
            **counts, latencies=tuple(map(sum, zip(self.latencies, other.latencies, strict=True)))
        )

    def percentile_ms(self, share: float) -> float:
        """Return the duration in ms that this share of the attempts did not exceed; 0 if there was none.

        Args:
            share: between 0 and 1, 0.99 for the 99th percentile.
        """
        wanted, seen = share * sum(self.latencies), 0
        for bucket, count in enumerate(self.latencies):
            seen += count
            if count and seen >= wanted:
                return (2 ** ((bucket + 1) / _PER_DOUBLING) - 1) / 1000
        return 0.0

    def __str__(self) -> str:
        counts = ", ".join(
            f"{field.name} {getattr(self, field.name)}" for field in fields(self) if field.name != "latencies"
        )
        percentiles = ", ".join(
            f"p{round(share * 100)} {self.percentile_ms(share):.1f} ms" for share in (0.5, 0.95, 0.99)
        )
        return f"{counts}, {percentiles}"


class Metrics:
    """The counters themselves; names as in `MetricsSnapshot`."""

    __slots__ = (
        "_latencies",
        "blocked",
        "cache_hits",
        "failures",
        "in_flight",
        "joined",
        "peak_in_flight",
        "rejected",
        "requests",
        "retries",
        "timeouts",
    )

    def __init__(self) -> None:
        self.requests = self.in_flight = self.peak_in_flight = self.retries = self.timeouts = (
            self.failures
        ) = 0
        self.cache_hits = self.joined = self.rejected = self.blocked = 0
        self._latencies = [0] * _BUCKETS

    def call_began(self) -> None:
        """Count a call that starts now."""
        self.requests += 1
        self.in_flight += 1
        self.peak_in_flight = max(self.peak_in_flight, self.in_flight)

    def call_ended(self, seconds: float) -> None:
        """Count a call that ended, however it ended, after so many seconds."""
        self.in_flight -= 1
        self._latencies[min(int(math.log2(seconds * 1e6 + 1) * _PER_DOUBLING), _BUCKETS - 1)] += 1

    def snapshot(self) -> MetricsSnapshot:
        """Return the counts as they are now."""
        counts = {
            field.name: getattr(self, field.name)
            for field in fields(MetricsSnapshot)
            if field.name != "latencies"
        }
        return MetricsSnapshot(**counts, latencies=tuple(self._latencies))
