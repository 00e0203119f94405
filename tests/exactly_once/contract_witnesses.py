"""For each row of `docs/contracts.md`: the path on which Spark runs it under kills, by which functions."""

from __future__ import annotations

__all__ = ["WITNESSES"]

_HTTP = "http"
_THREADS = "http connections=3"
_UNALIGNED = "http barrierMode=unaligned"
_TIMEOUT = "http alignmentTimeout"
_SHARED = "http shareScans"
_TWICE = "http united with itself"
_BAD_PAGES = "http with bad pages"
_CLEANED = "http in a cleaned folder"
_CHANGED = "http aligned, then unaligned"
_TWO = "http twice at once"
_EVENT_TIME = "http maxEventTimeSkew"
_ROUNDS = "http incrementalField"
_ASKING = "http asyncFunction"
_LATE = "http checkpointTimeout"
_MQTT = "mqtt"
_KILLS = "tests/exactly_once/test_{}_kills.py"

WITNESSES: dict[str, tuple[str, ...]] = {
    "`ALIGNED` with": (_TIMEOUT, "BarrierHandler.on_time"),
    "`ALIGNED`": (_HTTP, "BarrierHandler.on_barrier", "FirstReading._snapshot"),
    "`UNALIGNED`": (_UNALIGNED, "FirstReading._overtake", "StateParts._rows_aside"),
    "R1 ": (_HTTP, "EpochProgress.add_found", "EpochProgress.state"),
    "R2 ": (_THREADS, "EmitterNode.emit"),
    "R3 ": (_HTTP, "EmitterNode.emit"),
    "R4 ": (_HTTP, "Dataflow.poll"),
    "R5 ": (_HTTP, "PartitionBuffer.recycle"),
    "R6 ": (_HTTP, "EpochProgress.done"),
    "R7 ": (_HTTP, "EpochProgress.snapshot"),
    "R8 ": (_TWICE, "SecondReading._rows", "Replay.is_at_stop"),
    "R9 ": (_HTTP, "FirstReading._look", "BarrierTrigger.fire"),
    "R10 ": (_THREADS, "SplitFetcher._put_barrier", "BarrierTrigger.end"),
    "R11 ": (_HTTP, "Dataflow.wait"),
    "R12 ": (_BAD_PAGES, "_names", "EpochReader._release"),
    "R13 ": (_HTTP, "EpochReader._run"),
    "R15 ": (_HTTP, "SplitFetcherManager._take"),
    "R16 ": (_HTTP, "EpochProgress._add", "EpochProgress.done"),
    "F1 ": (_THREADS, "SplitFetcher.step"),
    "F2 ": (_HTTP, "SplitFetcher.step"),
    "F3 ": (_HTTP, "SplitFetcher.wake_up"),
    "F4 ": (_HTTP, "SplitFetcher.wake_up"),
    "F5 ": (_HTTP, "SplitFetcher._hand_over"),
    "F6 ": (_HTTP, "SplitFetcher._accept"),
    "F10 ": (_HTTP, "SplitFetcherManager.close"),
    "F11 ": (_HTTP, "EmitterNode._done"),
    "F12 ": (_TWICE, "SplitFetcher._remove"),
    "F13 ": (_TWICE, "SplitFetcher._let_fetch"),
    "F14 ": (_HTTP, "SplitFetcher.finish"),
    "Q1 ": (_HTTP, "BufferPool.request", "BufferPool.wake_up"),
    "Q2 ": (_HTTP, "PipelinedSubpartition.add"),
    "Alignment by event time": (
        _EVENT_TIME,
        "AlignedNode.admitted",
        "SplitAlignment.admits",
        "EpochAlignment.admitted",
    ),
    "Lists that change": (
        _ROUNDS,
        "SegmentLog.take_over",
        "SegmentLogView.segments",
        "IncrementalEnumerator._first_position",
    ),
    "A listing that is older": (_ROUNDS, "SegmentLog.end", "SegmentLog.begin", "first_kept"),
    "Source events": (_HTTP, "EpochProgress.add_events", "OriginWaits.take", "OriginWaits.event"),
    "testReleasingReader": (_HTTP, "PipelinedSubpartitionView.release"),
    "testReleaseIsIdempotent": (_HTTP, "PipelinedSubpartition.release"),
    "testRecycleBufferAndConsumerOnFailure": (_CLEANED, "SharingReader._give_up"),
    "testIsReleasedChecksParent": (_HTTP, "PipelinedSubpartition.release"),
    "testConcurrent{": (_THREADS, "PipelinedSubpartition.add", "PipelinedSubpartition.poll"),
    "testCleanupReleasedPartition": (_HTTP, "PipelinedSubpartition.release"),
    "testBasicPipelined": (_HTTP, "PipelinedSubpartition.poll"),
    "testBarrierOvertaking": (_UNALIGNED, "PipelinedSubpartition.overtake"),
    "testResumeBlocked": (_HTTP, "PipelinedSubpartition.poll"),
    "testCreateReaderBeforeFinished": (_SHARED, "SharedScans.find"),
    "testRead10Consumers": (_SHARED, "_SharedReading.__iter__"),
    "testReleasePartitionAndGetNext": (_SHARED, "_SharedReading.close"),
    "Consumers notified": (_SHARED, "SharingReader._share"),
    "testAddOn...Partition": (_HTTP, "PipelinedResultPartition.add"),
    "testBlockingPartitionIsConsumable": (_SHARED, "_SharedReading.__iter__"),
    "testIsAvailableOrNot": (_HTTP, "BufferPool._take"),
    "Recovered state": (_UNALIGNED, "RestoredRows.batches", "StateParts.rows"),
    "RequestMoreThanAvailable": (_HTTP, "BufferPool.close"),
    "DestroyDuringBlocking": (_HTTP, "BufferPool.request"),
    "ConcurrentRequestRecycle": (_THREADS, "BufferPool.recycle"),
    "PIPELINED_PERSISTENT": (_MQTT, "SegmentLog.take_over", "SegmentLog.view_after"),
    "BLOCKING in use": (_SHARED, "SharingReader._share", "_SharedReading.__iter__"),
    "SingleChannelWithBarriers": (_THREADS, "BarrierHandler.on_barrier"),
    "Single- and Multi": (_HTTP, "FirstReading._look"),
    "Metrics": (_UNALIGNED, "BarrierHandler._complete", "CompletedCheckpoint.stats"),
    "StartAlignmentWithClosed": (_THREADS, "BarrierHandler.on_end_of_partition"),
    "DeduplicateChannels": (_THREADS, "BarrierHandler.on_end_of_partition", "BarrierTrigger.end"),
    "Unaligned": (_UNALIGNED, "FirstReading._overtake", "FirstReading._capture"),
    "Time-out before": (_TIMEOUT, "BarrierHandler.left_ms"),
    "Alternation of modes": (_CHANGED, "FirstReading._overtake", "BarrierHandler.on_barrier"),
    "Requests in flight": (
        _ASKING,
        "FirstReading.patience_ms",
        "EpochReader._restore_calls",
        "batches_with_calls",
    ),
    "Random barriers": (_THREADS, "BarrierHandler.on_trigger", "BarrierHandler.on_barrier"),
    "Between two turns": (_HTTP, "BarrierTrigger.fetched"),
    "Cycles": (_HTTP, "FeedbackLoop.cut", "WaitingQueue.take"),
    "TriggerAndConfirm": (_HTTP, "CheckpointCoordinator.trigger", "CheckpointCoordinator.complete"),
    "TriggerAndDecline": (_HTTP, "ClaimWatch.at_work", "CheckpointCoordinator._collect"),
    "SuccessfulCheckpoint": (_HTTP, "CheckpointCoordinator.trigger"),
    "CheckpointTimeoutIsolated": (_LATE, "CheckpointCoordinator._warn_of_timeout", "_Publisher.publish"),
    "HandleMessagesForNonExisting": (_TWO, "CheckpointCoordinator.epochs", "CheckpointCoordinator.prune"),
    "a restore without": (_CHANGED, "CheckpointCoordinator._check_opened"),
    "StateCleanup": (_TWO, "CheckpointCoordinator.prune"),
    "PeriodicScheduling": (_HTTP, "DueSplits.due"),
    "ExternalizedCheckpoints": (_TWO, "CheckpointCoordinator.prune"),
    "PartitionableState": (_HTTP, "epoch_tasks", "deal_waiting"),
    "StatsTracker": (_HTTP, "CompletedCheckpoint.stats"),
    "the whole protocol": (_HTTP, "ClaimProtocol.try_acquire", "_Publisher.publish", "settle"),
    "A message is durable": (_MQTT, "Stager.stage"),
    "A second delivery": (_MQTT, "RecentKeys.first_deliveries", "KeyWindows.last"),
    "A receiver that was replaced": (_MQTT, "Stager.take_over", "Stager.check"),
    "Task notes": (_KILLS.format("postgres_initial"),),
    "The state location of a query in planned": (_KILLS.format("postgres_initial"),),
    "Bounded and unbounded": (_KILLS.format("hybrid"),),
    "The enumerator's worker": (_KILLS.format("driver"),),
    "The split assignment tracker": (_KILLS.format("driver"),),
    "Gauges": (_KILLS.format("postgres"),),
    "`Forgets`": (_KILLS.format("nats"),),
    "`Retires`": (_KILLS.format("kinesis"),),
    "`ReadsAhead`": (_KILLS.format("redis"),),
    "`OrdersSplits`": (_KILLS.format("kinesis"),),
}
"""By the beginning of the row's first cell: the path, and functions that its kill run has called.

Or a test of its own, with another source.
"""
