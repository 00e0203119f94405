"""Asynchronous barrier snapshots at one node: which channels are read, and when the state is copied."""

from __future__ import annotations

import enum

from headwater.core.clock import Clock
from headwater.core.epoch import AlignmentMode
from headwater.readers.runtime.epoch.task import EpochMetrics


class Cut(enum.Enum):
    """The next step of the epoch."""

    NOTHING = "nothing"
    """Read on."""

    OVERTAKE = "overtake"
    """Let the barrier overtake in the channels where it is missing; copy the state and the elements behind.

    The epoch is over.
    """

    COMPLETE = "complete"
    """All barriers came: copy the state. The epoch is over."""


class BarrierHandler:
    """Flink's ``CheckpointBarrierHandler`` for one epoch. One thread, no I/O, no waiting.

    A channel whose barrier was read gives nothing more (`PipelinedSubpartition`): that is the blocking of an
    aligned barrier.

    Args:
        channels: how many there are.
        mode: see `AlignmentMode`.
        timeout_ms: for ALIGNED: the time from the trigger after which it goes on as UNALIGNED; None: never.
        clock: time.
        metrics: gets start delay and alignment time.
    """

    def __init__(
        self,
        channels: int,
        mode: AlignmentMode,
        *,
        timeout_ms: int | None,
        clock: Clock,
        metrics: EpochMetrics,
    ) -> None:
        self._pending = set(range(channels))
        self._mode = mode
        self._timeout_ms = timeout_ms if mode is AlignmentMode.ALIGNED else None
        self._clock = clock
        self._metrics = metrics
        self._first_ms: int | None = None
        self._is_over = False

    @property
    def pending(self) -> frozenset[int]:
        """The channels whose barrier has not come."""
        return frozenset(self._pending)

    def on_trigger(self) -> Cut:
        """The barrier is due and on its way. UNALIGNED does not wait for it to come through."""
        return self._overtake() if self._mode is AlignmentMode.UNALIGNED else Cut.NOTHING

    def on_barrier(self, channel: int, triggered_ms: int) -> Cut:
        """A barrier was read. A second one of the same channel, or one after its end, changes nothing."""
        return self._arrived(channel, triggered_ms)

    def on_end_of_partition(self, channel: int) -> Cut:
        """A channel is finished: it counts as one whose barrier came, once.

        Channels finish where an epoch is not cut, but all of its splits are done.
        """
        return self._arrived(channel, None)

    def on_time(self, triggered_ms: int) -> Cut:
        """Time has passed since the trigger.

        After the time-out of the alignment the barrier overtakes, however far it has come.
        """
        return self._overtake() if self.left_ms(triggered_ms) == 0 else Cut.NOTHING

    def left_ms(self, triggered_ms: int) -> int | None:
        """Return the time until the alignment times out; None if it never does."""
        if self._timeout_ms is None or self._is_over:
            return None
        return max(0, triggered_ms + self._timeout_ms - self._clock.monotonic_ms())

    def _arrived(self, channel: int, triggered_ms: int | None) -> Cut:
        if channel not in self._pending or self._is_over:
            return Cut.NOTHING
        self._pending.discard(channel)
        now_ms = self._clock.monotonic_ms()
        if triggered_ms is not None and self._first_ms is None:
            self._first_ms = now_ms
            self._metrics.start_delay_ms = now_ms - triggered_ms
        if not self._pending:
            return self._complete(Cut.COMPLETE)
        return Cut.NOTHING

    def _overtake(self) -> Cut:
        return Cut.NOTHING if self._is_over else self._complete(Cut.OVERTAKE)

    def _complete(self, cut: Cut) -> Cut:
        self._is_over = True
        if self._first_ms is not None:
            self._metrics.alignment_ms = self._clock.monotonic_ms() - self._first_ms
        return cut
