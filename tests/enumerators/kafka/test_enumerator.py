"""What the enumerator makes of a look: assignments, departures, and loss that is an error or a warning."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import pytest

from headwater.core.enumerator import Checkpoint, PlannedSplitEnumeratorContext
from headwater.core.errors import DataLossError
from headwater.core.split import SplitPath
from headwater.enumerators.kafka.client.metadata import EARLIEST
from headwater.enumerators.kafka.enumerator import KafkaSplitEnumerator
from headwater.enumerators.kafka.lookup import ClusterView
from headwater.enumerators.kafka.lookup_settings import LookupSettings
from headwater.enumerators.kafka.offsets_initializer import OffsetsInitializer
from headwater.enumerators.kafka.split import KafkaPartitionSplit
from headwater.enumerators.kafka.subscription import TopicNames
from tests.enumerators.kafka.client.listeners import client

T = TypeVar("T")
A: SplitPath = ("orders", "0")
B: SplitPath = ("orders", "1")
SPLITS = {A: KafkaPartitionSplit("orders", 0, "id-1"), B: KafkaPartitionSplit("orders", 1, "id-1")}
ANEW = KafkaPartitionSplit("orders", 1, "id-2")


class Context(PlannedSplitEnumeratorContext[KafkaPartitionSplit, int]):
    """Runs calls at once, and remembers what it was told."""

    def __init__(self) -> None:
        self.assigned: dict[SplitPath, tuple[KafkaPartitionSplit, int]] = {}
        self.retired: dict[SplitPath, str] = {}
        self.out_of_sight: dict[SplitPath, str] = {}
        self.losses: dict[SplitPath, tuple[int, int]] = {}

    def call_async(self, call: Callable[[], T], handler: Callable[[T], None], *, what: str) -> None:
        handler(call())

    def assign_splits(self, starts: Mapping[SplitPath, tuple[KafkaPartitionSplit, int]]) -> None:
        self.assigned = dict(starts)

    def retire_splits(self, paths: Sequence[SplitPath], reason: str) -> None:
        self.retired.update(dict.fromkeys(paths, reason))

    def keep_splits(self, paths: Sequence[SplitPath], reason: str) -> None:
        self.out_of_sight.update(dict.fromkeys(paths, reason))

    def report_losses(self, losses: Mapping[SplitPath, tuple[int, int]]) -> None:
        self.losses.update(losses)


class Harness:
    """An enumerator that sees what the test says."""

    def __init__(self, *, fail_on_data_loss: bool = True, subscribed: str = "orders") -> None:
        self.context = Context()
        settings = LookupSettings(
            client=client("nowhere:9092"),
            subscription=TopicNames(frozenset({subscribed})),
            starting=OffsetsInitializer("startingOffsets", EARLIEST),
            ending=None,
        )
        self.enumerator = KafkaSplitEnumerator(self.context, settings, fail_on_data_loss=fail_on_data_loss)

    def sees(self, view: ClusterView, positions: dict[SplitPath, int] | None = None) -> Context:
        def look(*_: Any, **__: Any) -> ClusterView:
            return view

        self.enumerator._lookup.look = look  # type: ignore[method-assign]
        self.enumerator.refresh(
            None
            if positions is None
            else Checkpoint({path: SPLITS[path] for path in positions}, positions, None)
        )
        return self.context


def test_everything_is_assigned_as_long_as_nothing_is_logged() -> None:
    harness = Harness()
    context = harness.sees(ClusterView(SPLITS, {A: 3, B: 0}, {A: 9, B: 0}, row_bytes={"orders": 120}))
    assert context.assigned == {A: (SPLITS[A], 3), B: (SPLITS[B], 0)}
    assert harness.enumerator.heads() == {A: 9, B: 0}
    assert harness.enumerator.snapshot_state() == {"row_bytes": {"orders": 120}}


def test_afterwards_only_what_the_checkpoint_does_not_hold() -> None:
    context = Harness().sees(ClusterView(SPLITS, {B: 0}, {A: 9, B: 4}), {A: 3})
    assert (context.assigned, context.retired) == ({B: (SPLITS[B], 0)}, {})


def test_what_is_no_longer_subscribed_leaves_and_is_no_loss() -> None:
    context = Harness(subscribed="other").sees(ClusterView({}, {}, {}), {A: 3})
    assert context.retired == {A: "it is no longer subscribed"}


LOSSES = [
    pytest.param(
        ClusterView({A: SPLITS[A], B: ANEW}, {B: 0}, {A: 9, B: 2}),
        "the topic was deleted and created anew (its id is now id-2)",
        {B: (ANEW, 0)},
        {},
        id="created anew",
    ),
    pytest.param(
        ClusterView(SPLITS, {}, {A: 9, B: 2}, {B: 2}),
        "the log ends at offset 2: it was truncated, or created anew, "
        "or never reached where reading was to begin",
        {B: (SPLITS[B], 2)},
        {},
        id="truncated",
    ),
    pytest.param(
        ClusterView({A: SPLITS[A]}, {}, {A: 9}),
        "the topic or partition was deleted",
        {},
        {B: "the topic or partition was deleted"},
        id="deleted",
    ),
]


@pytest.mark.parametrize(("view", "why", "assigned", "retired"), LOSSES)
def test_loss_is_an_error_that_names_topic_partition_offset_and_two_ways_out(
    view: ClusterView, why: str, assigned: Any, retired: Any
) -> None:
    with pytest.raises(DataLossError) as caught:
        Harness().sees(view, {A: 3, B: 7})
    assert str(caught.value) == (
        f"topic 'orders', partition 1: {why}; records may have been lost. "
        "Set failOnDataLoss=false to go on with what is there, "
        "or start with a new checkpointLocation [source kafka, split orders-1, position 7]"
    )


@pytest.mark.parametrize(("view", "why", "assigned", "retired"), LOSSES)
def test_or_a_warning_and_a_new_beginning(
    view: ClusterView, why: str, assigned: Any, retired: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        context = Harness(fail_on_data_loss=False).sees(view, {A: 3, B: 7})
    assert (context.assigned, context.retired) == (assigned, retired)
    assert [record.getMessage() for record in caplog.records] == [
        f"topic 'orders', partition 1, offset 7: {why}; going on, records may have been lost"
    ]


def test_a_first_position_beyond_the_end_is_one_too() -> None:
    view = ClusterView(SPLITS, {A: 3, B: 9}, {A: 9, B: 2}, {B: 2})
    with pytest.raises(
        DataLossError, match=r"never reached where reading was to begin.*split orders-1, position 9\]"
    ):
        Harness().sees(view)
    assert Harness(fail_on_data_loss=False).sees(view).assigned == {A: (SPLITS[A], 3), B: (SPLITS[B], 2)}
