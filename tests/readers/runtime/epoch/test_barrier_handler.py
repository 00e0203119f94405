"""Alignment, decided without threads.

The cases of Flink's barrier handler tests that an epoch of one barrier leaves.
"""

from __future__ import annotations

import random

import pytest

from headwater.core.clock import ManualClock
from headwater.core.epoch import AlignmentMode
from headwater.readers.runtime.epoch.barrier_handler import BarrierHandler, Cut
from headwater.readers.runtime.epoch.task import EpochMetrics


class Handled:
    """A handler with its clock and metrics; barriers are triggered at time 0."""

    def __init__(
        self, channels: int, mode: AlignmentMode = AlignmentMode.ALIGNED, timeout_ms: int | None = None
    ) -> None:
        self.clock = ManualClock()
        self.metrics = EpochMetrics()
        self.handler = BarrierHandler(
            channels, mode, timeout_ms=timeout_ms, clock=self.clock, metrics=self.metrics
        )

    def barrier(self, channel: int) -> Cut:
        return self.handler.on_barrier(channel, 0)


def test_single_channel_with_barriers() -> None:
    h = Handled(1)
    h.clock.advance(7)
    assert h.barrier(0) is Cut.COMPLETE
    assert (h.metrics.start_delay_ms, h.metrics.alignment_ms) == (7, 0)


def test_multi_channel_with_barriers_waits_for_all() -> None:
    h = Handled(3)
    assert [h.barrier(1), h.barrier(0)] == [Cut.NOTHING, Cut.NOTHING]
    assert h.handler.pending == {2}
    assert h.barrier(2) is Cut.COMPLETE


def test_metrics_are_start_delay_and_alignment_time() -> None:
    h = Handled(2)
    h.clock.advance(10)
    h.barrier(0)
    h.clock.advance(25)
    h.barrier(1)
    assert (h.metrics.start_delay_ms, h.metrics.alignment_ms) == (10, 25)


def test_deduplicate_channels_with_both_barrier_and_end_of_partition() -> None:
    h = Handled(2)
    h.handler.on_end_of_partition(0)
    assert h.handler.on_end_of_partition(0) is Cut.NOTHING
    assert h.barrier(0) is Cut.NOTHING
    assert h.barrier(1) is Cut.COMPLETE


def test_start_alignment_with_closed_channels() -> None:
    h = Handled(3)
    h.handler.on_end_of_partition(2)
    assert [h.barrier(0), h.barrier(1)] == [Cut.NOTHING, Cut.COMPLETE]


def test_end_of_stream_while_checkpoint() -> None:
    h = Handled(2)
    h.barrier(0)
    assert h.handler.on_end_of_partition(1) is Cut.COMPLETE


def test_all_channels_end_without_any_barrier() -> None:
    h = Handled(2)
    assert [h.handler.on_end_of_partition(0), h.handler.on_end_of_partition(1)] == [Cut.NOTHING, Cut.COMPLETE]
    assert (h.metrics.start_delay_ms, h.metrics.alignment_ms) == (0, 0)


@pytest.mark.parametrize("mode", AlignmentMode)
def test_nothing_means_anything_after_the_end(mode: AlignmentMode) -> None:
    h = Handled(1, mode, 5)
    h.barrier(0)
    h.clock.advance(100)
    assert {h.barrier(0), h.handler.on_trigger(), h.handler.on_time(0), h.handler.on_end_of_partition(0)} == {
        Cut.NOTHING
    }


def test_unaligned_overtakes_at_the_trigger_in_every_channel_without_a_barrier() -> None:
    h = Handled(3, AlignmentMode.UNALIGNED)
    h.barrier(1)
    assert h.handler.on_trigger() is Cut.OVERTAKE
    assert h.handler.pending == {0, 2}


def test_aligned_does_not_overtake_at_the_trigger() -> None:
    assert Handled(2).handler.on_trigger() is Cut.NOTHING


def test_timeout_alignment_before_first_barrier() -> None:
    h = Handled(2, timeout_ms=10)
    h.clock.advance(10)
    assert h.handler.on_time(0) is Cut.OVERTAKE
    assert h.handler.pending == {0, 1}


def test_timeout_alignment_after_processing_barrier() -> None:
    h = Handled(2, timeout_ms=10)
    h.barrier(0)
    h.clock.advance(9)
    assert (h.handler.on_time(0), h.handler.left_ms(0)) == (Cut.NOTHING, 1)
    h.clock.advance(1)
    assert h.handler.on_time(0) is Cut.OVERTAKE
    assert h.handler.pending == {1}
    assert h.metrics.alignment_ms == 10


def test_timeout_alignment_after_received_end_of_partition() -> None:
    h = Handled(2, timeout_ms=10)
    h.handler.on_end_of_partition(0)
    h.clock.advance(10)
    assert h.handler.on_time(0) is Cut.OVERTAKE


def test_aligned_never_timeoutable() -> None:
    h = Handled(2)
    h.clock.advance(1 << 40)
    assert (h.handler.on_time(0), h.handler.left_ms(0)) == (Cut.NOTHING, None)


def test_only_an_aligned_barrier_times_out() -> None:
    h = Handled(2, AlignmentMode.UNALIGNED, 10)
    h.clock.advance(100)
    assert h.handler.on_time(0) is Cut.NOTHING


def test_no_active_timeout_after_last_barrier() -> None:
    h = Handled(1, timeout_ms=10)
    h.barrier(0)
    h.clock.advance(10)
    assert (h.handler.on_time(0), h.handler.left_ms(0)) == (Cut.NOTHING, None)


@pytest.mark.parametrize("mode", AlignmentMode)
def test_an_epoch_is_cut_once_in_any_order_of_barriers_ends_and_time(
    mode: AlignmentMode, rng: random.Random
) -> None:
    for _ in range(300):
        channels = rng.randint(1, 5)
        h = Handled(channels, mode, rng.choice([None, 3]))
        signals = [("barrier", channel) for channel in range(channels)] + [
            ("end", rng.randrange(channels)) for _ in range(rng.randint(0, 2))
        ]
        rng.shuffle(signals)
        cuts: list[Cut] = []
        for kind, channel in signals:
            cuts.append(h.barrier(channel) if kind == "barrier" else h.handler.on_end_of_partition(channel))
            h.clock.advance(rng.randint(0, 1))
            cuts.append(h.handler.on_time(0))
            if rng.random() < 0.2:
                cuts.append(h.handler.on_trigger())
        assert sum(cut in {Cut.COMPLETE, Cut.OVERTAKE} for cut in cuts) == 1
