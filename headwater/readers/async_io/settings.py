"""The settings of an operator: capacity, timeout, retries, failures, limits, cache.

They are immutable values, checked when they are made, and pickled to the tasks.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Hashable
from dataclasses import dataclass

from headwater.core.retry import backoff_ms
from headwater.readers.async_io.function import InputRow, Result
from headwater.readers.async_io.setting_checks import check, check_function, check_number, check_whole
from headwater.readers.async_io.shared_cache import SharedCache


class OutputMode(enum.Enum):
    """In which order results come out."""

    ORDERED = "ordered"  # as the rows went in
    UNORDERED = "unordered"  # as they complete; between two watermarks, where there are watermarks
    # Rows of the same key are called one after the other and come out in that order; keys do not wait for
    # each other.
    KEYED = "keyed"


class OnFailure(enum.Enum):
    """The treatment of a row whose call failed for good."""

    FAIL = "fail"  # the operator raises `AsyncCallError`; the task fails
    NULL = "null"  # its result is a `Failure`, which the driver shows as nulls
    DROP = "drop"  # it has no result; metrics count it
    ERROR_COLUMN = "error_column"  # its result is a `Failure`, which the driver shows as a column


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """Ask again after a failure. Each row has its own attempts and waits; the timeout spans all of them.

    A wait is never shorter than the failure itself asks for: by the header ``Retry-After`` of an exception of
    aiohttp, httpx, requests or urllib, or by an attribute ``retry_after`` of any exception, in seconds or a
    timedelta.

    Attributes:
        attempts: calls in all, the first included.
        first_ms: wait after the first attempt.
        multiplier: each further wait is this many times the one before.
        most_ms: no wait is longer than this.
        jitter: each wait is shortened by up to this share, at random, so that many rows do not ask in step.
        on_error: tells which exceptions are worth another attempt. None: all.
        on_result: tells which results are not to be believed yet; after the last attempt such a result
            counts. None: every result is believed.
    """

    attempts: int
    first_ms: int
    multiplier: float = 1.0
    most_ms: int = 60_000
    jitter: float = 0.0
    on_error: Callable[[BaseException], bool] | None = None
    on_result: Callable[[Result], bool] | None = None

    def __post_init__(self) -> None:
        check_whole(self.attempts, "attempts", 1)
        check_whole(self.first_ms, "first_ms", 0)
        check_whole(self.most_ms, "most_ms", 0)
        check_number(self.multiplier, "multiplier")
        check(self.multiplier >= 1, "multiplier", f"must be at least 1, is {self.multiplier}")
        check_number(self.jitter, "jitter")
        check(0 <= self.jitter <= 1, "jitter", f"must lie between 0 and 1, is {self.jitter}")
        check_function(self.on_error, "on_error")
        check_function(self.on_result, "on_result")

    @staticmethod
    def fixed(
        attempts: int,
        delay_ms: int,
        *,
        jitter: float = 0.0,
        on_error: Callable[[BaseException], bool] | None = None,
        on_result: Callable[[Result], bool] | None = None,
    ) -> RetryPolicy:
        """Return a policy that always waits the same time."""
        return RetryPolicy(
            attempts=attempts,
            first_ms=delay_ms,
            most_ms=delay_ms,
            jitter=jitter,
            on_error=on_error,
            on_result=on_result,
        )

    @staticmethod
    def exponential(
        attempts: int,
        first_ms: int,
        most_ms: int = 60_000,
        multiplier: float = 2.0,
        jitter: float = 0.2,
        *,
        on_error: Callable[[BaseException], bool] | None = None,
        on_result: Callable[[Result], bool] | None = None,
    ) -> RetryPolicy:
        """Return a policy that waits longer and longer."""
        return RetryPolicy(
            attempts=attempts,
            first_ms=first_ms,
            most_ms=most_ms,
            multiplier=multiplier,
            jitter=jitter,
            on_error=on_error,
            on_result=on_result,
        )

    def wait_s(self, attempts: int, random: float) -> float:
        """Return the wait after this many attempts (at least one). ``random`` lies between 0 and 1."""
        wait_ms = backoff_ms(
            attempts,
            self.first_ms,
            self.most_ms,
            multiplier=self.multiplier,
            jitter=self.jitter,
            random=random,
        )
        return wait_ms / 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Batching:
    """How rows are gathered for one bulk look-up.

    Attributes:
        size: rows per call at most.
        linger_ms: how long a call that is not full waits for more rows. 0: it leaves with the
            rows of one feed.
        most_bytes: bytes of Arrow per call at most, for an `AsyncArrowFunction`; a row that is larger goes
            alone.
    """

    size: int
    linger_ms: int = 0
    most_bytes: int = 8 << 20

    def __post_init__(self) -> None:
        check_whole(self.size, "batch size", 1)
        check_whole(self.most_bytes, "most_bytes", 1)
        check_whole(self.linger_ms, "linger_ms", 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLimit:
    """A token bucket: calls (attempts included) per second in the long run.

    Attributes:
        requests_per_s: tokens that come each second.
        burst: tokens the bucket holds: calls that may start at once after a quiet time.
        weight: how many tokens the call for a row takes, for services that count more than calls (tokens of
            a text, units of a table); of a bulk call its rows are added up; an `AsyncArrowFunction`'s weight
            is asked with its Arrow batch. None: one each call.
    """

    requests_per_s: float
    burst: int = 1
    weight: Callable[[InputRow], float] | None = None

    def __post_init__(self) -> None:
        check_number(self.requests_per_s, "requests_per_s")
        check(self.requests_per_s > 0, "requests_per_s", f"must be positive, is {self.requests_per_s}")
        check_whole(self.burst, "burst", 1)
        check_function(self.weight, "weight")


@dataclass(frozen=True, slots=True, kw_only=True)
class CircuitBreakerSettings:
    """When to leave a failing service alone.

    Attributes:
        failures: failed attempts in a row after which the circuit opens.
        pause_ms: how long it stays open; calls then fail at once with `CircuitOpenError`.
        probes: calls let through after the pause, one at a time; when all succeed the circuit closes, when
            one fails it opens again.
    """

    failures: int = 20
    pause_ms: int = 5_000
    probes: int = 1

    def __post_init__(self) -> None:
        check_whole(self.failures, "failures", 1)
        check_whole(self.pause_ms, "pause_ms", 0)
        check_whole(self.probes, "probes", 1)


def whole_row(row: Hashable) -> Hashable:
    """Return the row itself: the key where nothing less is given."""
    return row


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheSettings:
    """Remember results by key, and ask once for equal keys that are in flight at the same time.

    Attributes:
        key: the part of a row on which its result depends; the default is all of it.
        size: entries at most; the least recently used leave first. 0: remember nothing, only share calls in
            flight.
        ttl_ms: how long a result counts. None: for ever.
        negative_ttl_ms: how long "no rows" counts. None: as long as any other result. 0: never.
        shared: a cache outside the process, asked for keys that this one does not know.
    """

    key: Callable[[InputRow], Hashable] = whole_row
    size: int = 10_000
    ttl_ms: int | None = None
    negative_ttl_ms: int | None = None
    shared: SharedCache | None = None

    def __post_init__(self) -> None:
        check_function(self.key, "cache key")
        check_whole(self.size, "cache size", 0)
        if self.ttl_ms is not None:
            check_whole(self.ttl_ms, "ttl_ms", 1)
        if self.negative_ttl_ms is not None:
            check_whole(self.negative_ttl_ms, "negative_ttl_ms", 0)
        is_cache = self.shared is None or isinstance(self.shared, SharedCache)
        check(is_cache, "shared", f"must be a SharedCache, and is {self.shared!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class AsyncSettings:
    """All settings of one operator, which is one task.

    Attributes:
        mode: the order of results.
        key: KEYED only: rows of equal keys are asked in order.
        capacity: calls that run at the same time, at most; with batching, bulk calls.
        queue_size: rows and watermarks taken in and not yet given out, at most: waiting, asked, or done
            behind others. Several times the capacity, so that the loop never waits for the next row, nor a
            slow call in ordered mode for long stops the others. None: 8 x capacity x batch size, at least
            1024. As small as ``capacity``, it is Flink's capacity.
        timeout_ms: from the start of a row's first attempt to its result, over all attempts and waits. None:
            no timeout.
        describe_row: names a row in an error by its key columns; the default names none, since a row may hold
            values that must not be logged.
        block_warning_ms: the watchdog names a function that keeps the loop from turning for longer than this.
        open_timeout_ms: how long the function's own `open` may take.
        close_timeout_ms: how long closing waits for cancelled calls and for the function's own `close`.
        seed: of the jitter; None: a random one.
    """

    mode: OutputMode = OutputMode.UNORDERED
    key: Callable[[InputRow], Hashable] | None = None
    capacity: int = 100
    queue_size: int | None = None
    timeout_ms: int | None = 300_000
    retry: RetryPolicy | None = None
    on_failure: OnFailure = OnFailure.FAIL
    batching: Batching | None = None
    rate_limit: RateLimit | None = None
    circuit_breaker: CircuitBreakerSettings | None = None
    cache: CacheSettings | None = None
    describe_row: Callable[[InputRow], str] | None = None
    block_warning_ms: int = 1_000
    open_timeout_ms: int = 60_000
    close_timeout_ms: int = 10_000
    seed: int | None = None

    def __post_init__(self) -> None:
        check_whole(self.capacity, "capacity", 1)
        if self.queue_size is not None:
            check_whole(self.queue_size, "queue_size", 1)
        check(
            self.timeout_ms is None or self.timeout_ms > 0,
            "timeout_ms",
            f"must be positive, is {self.timeout_ms}; None means no timeout",
        )
        # Else waiting, which looks that often whether the loop turns, would be a loop without a pause.
        check_whole(self.block_warning_ms, "block_warning", 1)
        check_whole(self.close_timeout_ms, "close_timeout", 0)
        check(
            (self.mode is OutputMode.KEYED) == (self.key is not None),
            "key",
            "is needed in keyed mode, and means nothing in the others",
        )
        check(
            self.mode is not OutputMode.KEYED or self.batching is None,
            "batching",
            "rows of a key go one by one in keyed mode: leave one of the two",
        )

    @property
    def most_rows(self) -> int:
        """How many rows the operator holds at most."""
        if self.queue_size is not None:
            return self.queue_size
        size = self.batching.size if self.batching else 1
        return max(1024, 8 * self.capacity * size)

    @property
    def queue_capacity(self) -> int:
        """How many elements the queue holds at most: rows, or with batching lists of rows."""
        if self.batching is None:
            return self.most_rows
        return max(1, self.most_rows // self.batching.size)
