"""What the enumerator makes of a look: assignments, departures, and loss that is an error or a warning."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import pytest

from headwater.core.enumerator import Checkpoint, KeptSplit, PlannedSplitEnumeratorContext
from headwater.core.errors import DataLossError
from headwater.core.jsons import JsonValue
from headwater.core.split import SplitPath
from headwater.enumerators.kafka.client.metadata import EARLIEST
from headwater.enumerators.kafka.enumerator import KafkaSplitEnumerator
from headwater.enumerators.kafka.lookup_settings import LookupSettings, TopicNames
from headwater.enumerators.kafka.offsets_initializer import OffsetsInitializer
from headwater.enumerators.kafka.split import ClusterView, KafkaPartitionSplit
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
        self.losses: dict[SplitPath, list[tuple[int, int]]] = {}

    def call_async(self, call: Callable[[], T], handler: Callable[[T], None], *, what: str) -> None:
        handler(call())

    def assign_splits(self, starts: Mapping[SplitPath, tuple[KafkaPartitionSplit, int]]) -> None:
        self.assigned = dict(starts)

    def retire_splits(self, paths: Sequence[SplitPath], reason: str) -> None:
        self.retired.update(dict.fromkeys(paths, reason))

    def keep_splits(self, paths: Sequence[SplitPath], reason: str) -> None:
        self.out_of_sight.update(dict.fromkeys(paths, reason))

    def positions(self) -> Mapping[SplitPath, int]:
        raise AssertionError("asked only with maxEventTimeSkew")

    def report_losses(self, losses: Mapping[SplitPath, tuple[int, int]]) -> None:
        for path, lost in losses.items():
            self.losses.setdefault(path, []).append(lost)

    def report_lost_splits(self, split_ids: Sequence[str]) -> None:
        raise AssertionError("a topic is never lost as a whole")


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

    def sees(
        self,
        view: ClusterView,
        positions: dict[SplitPath, int] | None = None,
        kept: dict[SplitPath, int] | None = None,
        state: JsonValue = None,
        ended: frozenset[SplitPath] = frozenset(),
    ) -> Context:
        def look(*_: Any, **__: Any) -> ClusterView:
            return view

        self.enumerator._lookup.look = look  # type: ignore[method-assign]
        self.context.losses = {}
        self.enumerator.refresh(
            None
            if positions is None
            else Checkpoint(
                {path: SPLITS[path] for path in positions},
                positions,
                state,
                {path: KeptSplit(SPLITS[path], position, 1) for path, position in (kept or {}).items()},
                ended,
            )
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
        ", offset 7: the topic was deleted and created anew (its id is now id-2); records may have been lost",
        {B: (ANEW, 0)},
        {B: [(7, 7)]},
        id="created anew",
    ),
    pytest.param(
        ClusterView(SPLITS, {}, {A: 9, B: 2}, {B: 2}),
        ", offset 7: the log ends at offset 2: it was truncated, or created anew, "
        "or never reached where reading was to begin; records may have been lost",
        {B: (SPLITS[B], 2)},
        {B: [(7, 7)]},
        id="truncated",
    ),
    pytest.param(
        ClusterView(SPLITS, {}, {A: 9, B: 20}, earliest={A: 0, B: 12}),
        ", offsets 7 to 11 were lost: the log now begins at offset 12: retention or an administrator "
        "removed them",
        {B: (SPLITS[B], 12)},
        {B: [(7, 12)]},
        id="removed",
    ),
]
WAYS = "Set failOnDataLoss=false to go on with what is there, or start with a new checkpointLocation"
MIRROR = "a mirror that keeps offsets can be gone over to with acceptNewTopicIds=true, for one start. "


@pytest.mark.parametrize(("view", "what", "assigned", "lost"), LOSSES)
def test_loss_is_an_error_that_names_topic_partition_offset_and_the_ways_out(
    view: ClusterView, what: str, assigned: Any, lost: Any
) -> None:
    with pytest.raises(DataLossError) as caught:
        Harness().sees(view, {A: 3, B: 7})
    mirror = f"If this is another cluster: {MIRROR}" if "created anew (" in what else ""
    assert str(caught.value) == (
        f"topic 'orders', partition 1{what}. {mirror}{WAYS} [source kafka, split orders-1, position 7]"
    )


@pytest.mark.parametrize(("view", "what", "assigned", "lost"), LOSSES)
def test_or_a_warning_and_a_new_beginning_behind_what_is_counted(
    view: ClusterView, what: str, assigned: Any, lost: Any, caplog: pytest.LogCaptureFixture
) -> None:
    harness = Harness(fail_on_data_loss=False)
    with caplog.at_level(logging.WARNING):
        context = harness.sees(view, {A: 3, B: 7})
        assert (context.assigned, context.retired, context.losses) == (assigned, {}, lost)
        harness.sees(view, {A: 3, B: 7})
    assert [record.getMessage() for record in caplog.records] == [
        f"topic 'orders', partition 1{what}; going on"
    ]


def test_a_first_position_beyond_the_end_is_one_too() -> None:
    view = ClusterView(SPLITS, {A: 3, B: 9}, {A: 9, B: 2}, {B: 2})
    with pytest.raises(
        DataLossError, match=r"never reached where reading was to begin.*split orders-1, position 9\]"
    ):
        Harness().sees(view)
    assert Harness(fail_on_data_loss=False).sees(view).assigned == {A: (SPLITS[A], 3), B: (SPLITS[B], 2)}


def test_a_first_position_before_the_log_is_one_too() -> None:
    view = ClusterView(SPLITS, {A: 3, B: 1}, {A: 9, B: 9}, earliest={A: 2, B: 4})
    with pytest.raises(DataLossError, match="partition 1, offsets 1 to 3 were lost: the log now begins at"):
        Harness().sees(view)
    context = Harness(fail_on_data_loss=False).sees(view)
    assert context.assigned == {A: (SPLITS[A], 3), B: (SPLITS[B], 4)}
    assert context.losses == {B: [(1, 4)]}


def test_what_was_unread_when_the_topic_was_seen_last_is_lost_with_it() -> None:
    harness = Harness(fail_on_data_loss=False)
    harness.sees(ClusterView(SPLITS, {}, {A: 9, B: 20}), {A: 3, B: 7})
    anew = ClusterView({A: SPLITS[A], B: ANEW}, {B: 4}, {A: 9, B: 6}, earliest={B: 4})
    context = harness.sees(anew, {A: 3, B: 7})
    assert context.losses == {B: [(7, 20), (0, 4)]}
    assert context.assigned == {B: (ANEW, 4)}


class TestALostBeginning:
    VIEW = ClusterView(SPLITS, {B: 7}, {A: 9, B: 10}, earliest={B: 7})

    def test_of_a_partition_that_was_added_is_a_loss(self) -> None:
        with pytest.raises(
            DataLossError, match="offsets 0 to 6 were lost: the partition was added, and its log begins at"
        ):
            Harness().sees(self.VIEW, {A: 3})
        context = Harness(fail_on_data_loss=False).sees(self.VIEW, {A: 3})
        assert (context.assigned, context.losses) == ({B: (SPLITS[B], 7)}, {B: [(0, 7)]})

    def test_that_went_after_the_partition_was_found_counts_too(self) -> None:
        view = ClusterView(SPLITS, {B: 0}, {A: 9, B: 10}, earliest={B: 7})
        context = Harness(fail_on_data_loss=False).sees(view, {A: 3})
        assert (context.assigned, context.losses) == ({B: (SPLITS[B], 7)}, {B: [(0, 7)]})

    def test_of_a_partition_that_was_added_to_a_topic_out_of_sight_is_a_loss(self) -> None:
        with pytest.raises(DataLossError, match="offsets 0 to 6 were lost: the partition was added"):
            Harness().sees(self.VIEW, {}, kept={A: 3})

    def test_of_a_topic_that_is_new_to_the_query_is_none_and_is_said(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        other = KafkaPartitionSplit("other", 0, "id-9")
        view = ClusterView({A: SPLITS[A], other.path: other}, {other.path: 7}, {A: 9, other.path: 10})
        context = Harness().sees(view, {A: 3})
        assert (context.assigned, context.losses) == ({other.path: (other, 7)}, {})
        assert "the topic is new to this query, and its log begins at offset 7" in caplog.text


def test_a_partition_that_is_added_to_a_topic_all_of_which_has_ended_has_lost_its_beginning() -> None:
    view = ClusterView(SPLITS, {B: 2}, {A: 9, B: 4})
    with pytest.raises(DataLossError, match="partition 1, offsets 0 to 1 were lost: the partition was added"):
        Harness().sees(view, {A: 3}, ended=frozenset({A}))
    context = Harness(fail_on_data_loss=False).sees(view, {A: 3}, ended=frozenset({A}))
    assert (context.assigned, context.losses) == ({B: (SPLITS[B], 2)}, {B: [(0, 2)]})


class TestOutOfSight:
    HALF = ClusterView({A: SPLITS[A]}, {}, {A: 9})

    def test_some_are_an_error_that_says_how_it_goes_on(self) -> None:
        with pytest.raises(DataLossError) as caught:
            Harness().sees(self.HALF, {A: 3, B: 7})
        assert str(caught.value) == (
            "partitions that this query reads are not in sight (1: orders-1): they were deleted, or this "
            "user may not see them. A restart goes on at their positions when they are back. Set "
            "failOnDataLoss=false to go on without them meanwhile, deselect them by option, or start with "
            "a new checkpointLocation [source kafka, split orders-1, position 7]"
        )

    def test_or_a_warning_and_their_positions_are_kept(self, caplog: pytest.LogCaptureFixture) -> None:
        harness = Harness(fail_on_data_loss=False)
        for _ in range(2):
            context = harness.sees(self.HALF, {A: 3, B: 7})
            assert (context.assigned, context.retired) == ({}, {})
            assert context.out_of_sight == {B: "it is not in sight"}
        assert caplog.text.count("going on without them, their positions are kept") == 1

    def test_all_that_have_not_ended_at_a_record_are_some(self) -> None:
        with pytest.raises(DataLossError, match=r"not in sight [(]1: orders-1[)]"):
            Harness().sees(self.HALF, {A: 3, B: 7}, ended=frozenset({A}))
        context = Harness(fail_on_data_loss=False).sees(self.HALF, {A: 3, B: 7}, ended=frozenset({A}))
        assert (context.assigned, context.out_of_sight) == ({}, {B: "it is not in sight"})

    def test_all_are_no_change_and_the_state_stays(self) -> None:
        harness = Harness()
        harness.sees(ClusterView(SPLITS, {}, {A: 3, B: 7}, row_bytes={"orders": 9}), {A: 3, B: 7})
        context = harness.sees(ClusterView({}, {}, {}, cluster_id="c"), {A: 3, B: 7})
        assert (context.assigned, context.retired, context.out_of_sight) == ({}, {}, {})
        assert harness.enumerator.snapshot_state() == {"cluster_id": "c", "row_bytes": {"orders": 9}}
        assert harness.enumerator.heads() == {}

    @pytest.mark.parametrize("fail_on_data_loss", [True, False])
    def test_back_with_the_same_id_they_go_on(self, fail_on_data_loss: bool) -> None:
        harness = Harness(fail_on_data_loss=fail_on_data_loss)
        context = harness.sees(ClusterView(SPLITS, {}, {A: 3, B: 9}, earliest={B: 2}), {A: 3}, kept={B: 7})
        assert (context.assigned, context.losses) == ({B: (SPLITS[B], 7)}, {})

    def test_back_behind_what_retention_removed_is_a_loss(self) -> None:
        context = Harness(fail_on_data_loss=False).sees(
            ClusterView(SPLITS, {}, {A: 3, B: 9}, earliest={B: 8}), {A: 3}, kept={B: 7}
        )
        assert (context.assigned, context.losses) == ({B: (SPLITS[B], 8)}, {B: [(7, 8)]})

    def test_back_with_another_id_is_a_loss(self) -> None:
        view = ClusterView({A: SPLITS[A], B: ANEW}, {B: 0}, {A: 9, B: 2})
        with pytest.raises(DataLossError, match="created anew"):
            Harness().sees(view, {A: 3}, kept={B: 7})
        context = Harness(fail_on_data_loss=False).sees(view, {A: 3}, kept={B: 7})
        assert (context.assigned, context.losses) == ({B: (ANEW, 0)}, {B: [(7, 7)]})

    def test_a_partition_that_the_topic_has_no_more_after_it_was_created_anew_leaves_for_good(self) -> None:
        anew = KafkaPartitionSplit("orders", 0, "id-2")
        context = Harness(fail_on_data_loss=False).sees(ClusterView({A: anew}, {A: 0}, {A: 1}), {A: 3, B: 7})
        assert context.assigned == {A: (anew, 0)}
        assert context.retired == {B: "the topic was created anew without it"}
        assert context.losses == {A: [(3, 3)], B: [(7, 7)]}

    def test_still_out_of_sight_after_a_restart_is_said_and_no_error(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        context = Harness().sees(self.HALF, {A: 3}, kept={B: 7})
        assert (context.assigned, context.retired, context.out_of_sight) == ({}, {}, {})
        assert "(1: orders-1)" in caplog.text

    def test_what_is_no_longer_subscribed_is_forgotten(self) -> None:
        context = Harness(subscribed="other").sees(ClusterView({}, {}, {}), {}, kept={A: 3})
        assert context.retired == {A: "it is no longer subscribed"}


MIRRORED = {path: KafkaPartitionSplit("orders", int(path[1]), "id-2") for path in (A, B)}


class TestAMirror:
    def test_another_cluster_is_named_in_the_error_with_the_option(self) -> None:
        view = ClusterView(MIRRORED, {A: 0, B: 0}, {A: 9, B: 9}, cluster_id="two")
        with pytest.raises(
            DataLossError,
            match=r"This is another cluster than the checkpoint's \(one -> two\): a mirror that keeps "
            r"offsets can be gone over to with acceptNewTopicIds=true, for one start\. Set failOnDataLoss",
        ):
            Harness().sees(view, {A: 3, B: 7}, state={"cluster_id": "one"})

    def test_accepted_it_goes_on_at_the_positions_and_both_ids_are_said(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        view = ClusterView(
            MIRRORED, {}, {A: 3, B: 9}, earliest={A: 1, B: 0}, cluster_id="two", accepted={A, B}
        )
        harness = Harness()
        context = harness.sees(view, {A: 3, B: 7}, state={"cluster_id": "one"})
        assert context.assigned == {A: (MIRRORED[A], 3), B: (MIRRORED[B], 7)}
        assert (context.losses, context.retired) == ({}, {})
        assert harness.enumerator.snapshot_state() == {"cluster_id": "two"}
        assert [record.getMessage() for record in caplog.records] == [
            "this is another cluster than the checkpoint's (one -> two)",
            (
                "acceptNewTopicIds: topic 'orders' goes on at its positions; its id was id-1 and is now "
                "id-2; this is another cluster than the checkpoint's (one -> two)"
            ),
        ]

    @pytest.mark.parametrize("fail_on_data_loss", [True, False])
    @pytest.mark.parametrize(
        ("view", "borders"),
        [
            (
                ClusterView(MIRRORED, {}, {A: 3, B: 5}, {B: 5}, earliest={A: 0, B: 2}, accepted={A, B}),
                "begins at offset 2 and ends at 5",
            ),
            (
                ClusterView(MIRRORED, {}, {A: 3, B: 20}, earliest={A: 0, B: 8}, accepted={A, B}),
                "begins at offset 8 and ends at 20",
            ),
        ],
    )
    def test_a_position_outside_of_the_log_is_an_error_that_names_both_borders(
        self, view: ClusterView, borders: str, fail_on_data_loss: bool
    ) -> None:
        with pytest.raises(
            DataLossError, match=f"acceptNewTopicIds cannot go on at offset 7: the log {borders}"
        ):
            Harness(fail_on_data_loss=fail_on_data_loss).sees(view, {A: 3, B: 7})
