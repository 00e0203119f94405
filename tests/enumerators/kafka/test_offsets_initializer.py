from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import pytest

from headwater.core.errors import OptionError, SourceError
from headwater.enumerators.kafka.client.metadata import EARLIEST, LATEST, TopicPartition
from headwater.enumerators.kafka.offsets_initializer import (
    AtTimestamp,
    CommittedBy,
    OffsetsInitializer,
    check_timestamps,
)

A = TopicPartition("t", 0)
B = TopicPartition("t", 1)


class Answers:
    """Stands in for the cluster: the log of A is 5 to 20 and has records until time 100; B is empty.

    Remembers the questions.
    """

    def __init__(self) -> None:
        self.asked: list[dict[TopicPartition, int]] = []

    def list_offsets(self, specs: Mapping[TopicPartition, int]) -> dict[TopicPartition, int | None]:
        self.asked.append(dict(specs))
        return {tp: self._offset(tp, spec) for tp, spec in specs.items()}

    def _offset(self, tp: TopicPartition, spec: int) -> int | None:
        if spec in (EARLIEST, LATEST):
            return 0 if tp == B else 5 if spec == EARLIEST else 20
        return 10 if tp == A and spec <= 100 else None


def resolve(initializer: OffsetsInitializer, cluster: Answers | None = None) -> dict[TopicPartition, int]:
    initializer.check([A, B])
    return initializer.resolve(cluster or Answers(), [A, B])  # type: ignore[arg-type]


@pytest.mark.parametrize(("everywhere", "found"), [(EARLIEST, {A: 5, B: 0}), (LATEST, {A: 20, B: 0})])
def test_one_word_for_all(everywhere: int, found: dict[TopicPartition, int]) -> None:
    assert resolve(OffsetsInitializer("startingOffsets", everywhere)) == found


def test_offsets_by_partition_are_taken_as_they_are_and_nobody_is_asked_for_them() -> None:
    cluster = Answers()
    assert resolve(OffsetsInitializer("startingOffsets", None, {A: 7, B: LATEST}), cluster) == {A: 7, B: 0}
    assert [specs for specs in cluster.asked if specs] == [{B: LATEST}]


@pytest.mark.parametrize(
    ("partitions", "message"),
    [
        (
            {A: 1},
            (
                r"option 'startingOffsets': must name every partition that is read; missing: t-1 "
                r"\(-2 is earliest, -1 latest\)"
            ),
        ),
        (
            {A: 1, B: 1, TopicPartition("u", 0): 1},
            "option 'startingOffsets': names partitions that are not read or do not exist: u-0",
        ),
        ({A: 1, B: 1, **{TopicPartition("u", i): 1 for i in range(7)}}, "u-0, u-1, u-2, u-3, u-4 and 2 more"),
    ],
)
def test_exactly_the_partitions_that_are_read_must_be_named(
    partitions: dict[TopicPartition, int], message: str
) -> None:
    with pytest.raises(OptionError, match=message):
        resolve(OffsetsInitializer("startingOffsets", None, partitions))


def test_a_word_for_a_topic_is_for_all_partitions_that_it_has() -> None:
    both = OffsetsInitializer("startingOffsets", None, {TopicPartition("u", 0): 9}, topics={"t": EARLIEST})
    selected = [A, B, TopicPartition("u", 0)]
    both.check(selected)
    found = both.resolve(Answers(), selected)  # type: ignore[arg-type]
    assert found == {A: 5, B: 0, TopicPartition("u", 0): 9}


def test_an_end_is_open_where_the_user_named_it_for_the_topic_or_the_partition() -> None:
    both = OffsetsInitializer("endingOffsets", None, {TopicPartition("u", 0): 9}, topics={"t": LATEST})
    assert [both.leaves_open(tp, LATEST) for tp in (A, B, TopicPartition("u", 0))] == [True, True, False]
    assert not OffsetsInitializer("startingOffsets", CommittedBy("g")).leaves_open(A, EARLIEST)


@pytest.mark.parametrize(
    ("topics", "message"),
    [
        (
            {"t": EARLIEST, "u": LATEST},
            "option 'startingOffsets': names topics that are not read or do not exist: u",
        ),
        ({"u": LATEST}, "must name every partition that is read; missing: t-0, t-1"),
    ],
)
def test_exactly_the_topics_that_are_read_must_be_named(topics: dict[str, int], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        resolve(OffsetsInitializer("startingOffsets", topics=topics))


def test_a_timestamp_is_the_first_record_at_or_after_it() -> None:
    assert resolve(
        OffsetsInitializer("startingOffsetsByTimestamp", None, {A: AtTimestamp(50), B: EARLIEST})
    ) == {A: 10, B: 0}


def test_no_record_at_or_after_it_is_an_error_that_names_partition_timestamp_and_way_out() -> None:
    with pytest.raises(
        SourceError,
        match=r"startingTimestamp: topic 't', partition 1 has no record at or after the timestamp 50; "
        r"set startingOffsetsByTimestampStrategy",
    ):
        resolve(OffsetsInitializer("startingTimestamp", AtTimestamp(50)))


@pytest.mark.parametrize(("no_match", "found"), [("latest", {A: 20, B: 0}), ("earliest", {A: 5, B: 0})])
def test_or_the_latest_or_earliest_offset(no_match: str, found: dict[TopicPartition, int]) -> None:
    initializer: Any = partial(OffsetsInitializer, "startingTimestamp", AtTimestamp(500))
    assert resolve(initializer(no_match=no_match)) == found


def test_latest_is_asked_for_before_the_timestamp_so_that_no_record_falls_between() -> None:
    cluster = Answers()
    resolve(OffsetsInitializer("startingTimestamp", AtTimestamp(500), no_match="latest"), cluster)
    assert cluster.asked == [{A: LATEST, B: LATEST}, {A: 500, B: 500}]


START, END = "startingOffsetsByTimestamp", "endingOffsetsByTimestamp"


def test_a_time_after_the_one_at_the_end_names_both_and_the_partition() -> None:
    starting = OffsetsInitializer(START, partitions={A: AtTimestamp(1), B: AtTimestamp(3)})
    ending = OffsetsInitializer(END, partitions={A: AtTimestamp(2), B: AtTimestamp(2)})
    with pytest.raises(
        OptionError, match=f"'{START}'.*'t', partition 1 begins at the timestamp 3, but {END} ends it at 2"
    ):
        check_timestamps(starting, ending)


def test_one_time_after_the_one_at_the_end() -> None:
    starting = OffsetsInitializer("startingTimestamp", AtTimestamp(3))
    with pytest.raises(OptionError, match="the batch begins at the timestamp 3, but endingTimestamp ends it"):
        check_timestamps(starting, OffsetsInitializer("endingTimestamp", AtTimestamp(2)))


@pytest.mark.parametrize("end", [EARLIEST, LATEST, AtTimestamp(3), AtTimestamp(4)])
def test_times_in_order_and_ends_that_are_no_times_are_let_through(end: int | AtTimestamp) -> None:
    check_timestamps(OffsetsInitializer(START, AtTimestamp(3)), OffsetsInitializer(END, end))
    check_timestamps(
        OffsetsInitializer(START, partitions={A: AtTimestamp(3)}),
        OffsetsInitializer(END, partitions={A: end}),
    )
