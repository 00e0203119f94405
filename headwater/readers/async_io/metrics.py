"""The counts of an operator."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, fields
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

_PER_DOUBLING = 4  # buckets: a percentile is right to within a fifth
_BUCKETS = 36 * _PER_DOUBLING  # up to 19 hours
_AT_ONCE = 1024


@dataclass(frozen=True, slots=True)
class MetricsSnapshot:
    """Counts since the operator was opened. Snapshots of tasks are added up with ``+``.

    Attributes:
        requests: calls of the user's function, each attempt and each bulk call one; not those that a shared
            cache answered.
        in_flight: calls running now.
        peak_in_flight: the most calls that ever ran at once; added up over tasks, a bound.
        retries: attempts after the first.
        timeouts: rows that had no result within the timeout.
        failures: rows whose call failed for good, timeouts without substitute included.
        cache_hits: rows answered from the cache, shared caches included.
        joined: rows answered by a call in flight for an equal key.
        rejected: attempts that the circuit breaker did not let through.
        blocked: how often the watchdog found the loop blocked.
        left_behind: threads that were inside a call that did not return when their task closed.
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
    left_behind: int = 0
    latencies: tuple[int, ...] = (0,) * _BUCKETS

    def __add__(self, other: MetricsSnapshot) -> MetricsSnapshot:
        theirs = other.counts()
        sums = {name: count + theirs[name] for name, count in self.counts().items()}
        latencies = tuple(map(sum, zip(self.latencies, other.latencies, strict=True)))
        return MetricsSnapshot(**sums, latencies=latencies)

    def counts(self) -> dict[str, int]:
        """Return all counts but the latencies, by name."""
        return {name: getattr(self, name) for name in _COUNTS}

    def percentiles_ms(self) -> dict[str, float]:
        """Return the usual percentiles of the latencies: ``p50``, ``p95`` and ``p99``, in ms."""
        return {f"p{round(share * 100)}": self.percentile_ms(share) for share in (0.5, 0.95, 0.99)}

    def percentile_ms(self, share: float) -> float:
        """Return the duration in ms that this share of the attempts did not exceed; 0 if there was none.

        Args:
            share: between 0 and 1, 0.99 for the 99th percentile.
        """
        rank = share * sum(self.latencies)
        total = 0
        for bucket, count in enumerate(self.latencies):
            total += count
            if count and total >= rank:
                return (2 ** ((bucket + 1) / _PER_DOUBLING) - 1) / 1000
        return 0.0

    def __str__(self) -> str:
        counts = ", ".join(f"{name} {count}" for name, count in self.counts().items())
        percentiles = ", ".join(f"{name} {ms:.1f} ms" for name, ms in self.percentiles_ms().items())
        return f"{counts}, {percentiles}"


_COUNTS = tuple(each.name for each in fields(MetricsSnapshot) if each.name != "latencies")


class Latencies:
    """Durations on a logarithmic scale. Added by one thread, the loop's; counted by any.

    A logarithm for each call would cost more than all else that is counted: many are sorted in at once.
    """

    def __init__(self) -> None:
        # In one attribute: another thread sees a duration in one of the two, never in both or in neither.
        self._counted_and_new: tuple[tuple[int, ...], list[float]] = ((0,) * _BUCKETS, [])

    def add(self, seconds: float) -> None:
        """Add a duration."""
        counts, new = self._counted_and_new
        new.append(seconds)
        if len(new) >= _AT_ONCE:
            self._counted_and_new = (_sorted_in(counts, new), [])

    def counts(self) -> tuple[int, ...]:
        """Return how many durations are in each bucket."""
        counts, new = self._counted_and_new
        # A copy: the loop's thread may append meanwhile.
        return _sorted_in(counts, list(new))


def _sorted_in(counts: tuple[int, ...], seconds: list[float]) -> tuple[int, ...]:
    """Return the counts with some more durations."""
    doublings = pc.log2(pc.add(pc.multiply(pa.array(seconds, pa.float64()), 1e6), 1))
    buckets: Any = pc.min_element_wise(
        pc.floor(pc.multiply(doublings, _PER_DOUBLING)), pa.scalar(_BUCKETS - 1.0)
    )
    more = Counter(buckets.to_pylist())
    return tuple(count + more[bucket] for bucket, count in enumerate(counts))


@dataclass(slots=True, eq=False)
class Metrics:
    """The counters themselves; names as in `MetricsSnapshot`.

    Written by the loop's thread, but ``blocked`` and ``left_behind``, which the task's thread writes. Read by
    any: a snapshot may be a few calls behind.
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
    left_behind: int = 0
    latencies: Latencies = field(default_factory=Latencies)

    def call_began(self) -> None:
        """Count a call that starts now."""
        self.requests += 1
        self.in_flight += 1
        if self.in_flight > self.peak_in_flight:  # `max` takes three times as long  # noqa: PLR1730
            self.peak_in_flight = self.in_flight

    def call_ended(self, seconds: float) -> None:
        """Count a call that ended, however it ended, and its time."""
        self.in_flight -= 1
        self.latencies.add(seconds)

    def count_shared_hits(self, hits: int, rows: int) -> None:
        """Count the rows of a call that a shared cache answered, out of the rows that it was asked for."""
        self.cache_hits += hits
        if hits == rows:
            # The call was counted as a request when it began; the service was not asked after all.
            self.requests -= 1

    def snapshot(self) -> MetricsSnapshot:
        """Return the counts as they are now."""
        counts: dict[str, int] = {name: getattr(self, name) for name in _COUNTS}
        return MetricsSnapshot(**counts, latencies=self.latencies.counts())
