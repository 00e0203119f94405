"""Offsets of Spark's own Kafka source: which are, what they say, and where their batches begin."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.connector.planned.offsets import PlannedOffsetCodec
from headwater.connector.sources.kafka.split_serializer import (
    KafkaSplitSerializer,
    from_spark,
    spark_starts,
    to_spark,
)
from headwater.core.errors import DataLossError, OffsetError
from headwater.core.split import SplitPath
from headwater.enumerators.kafka.split import KafkaPartitionSplit

A: SplitPath = ("a", "0")
B: SplitPath = ("a", "1")
C: SplitPath = ("b", "0")
names = st.text("abc.-_019", min_size=1, max_size=6)


@given(st.dictionaries(st.tuples(names, st.integers(0, 10_000)), st.integers(0, 2**62), min_size=1))
def test_positions_go_to_spark_and_come_back(positions: dict[tuple[str, int], int]) -> None:
    text = to_spark({(topic, str(partition)): at for (topic, partition), at in positions.items()})
    assert from_spark(json.loads(text)) == {
        KafkaPartitionSplit(topic, partition): at for (topic, partition), at in positions.items()
    }


def test_the_text_is_compact_and_in_the_order_of_partitions() -> None:
    assert to_spark({("b", "10"): 1, ("b", "9"): 2, ("a", "0"): 3}) == '{"a":{"0":3},"b":{"9":2,"10":1}}'


NO_OFFSETS: list[Any] = [
    None,
    7,
    "text",
    [],
    {},
    {"logOffset": 3},
    {"a": {}},
    {"a": {"0": -1}},
    {"a": {"0": True}},
    {"a": {"0": 1.0}},
    {"a": {"0": "1"}},
    {"a": {"x": 1}},
    {"a": {"0": 1}, "b": 2},
]


@pytest.mark.parametrize("logged", NO_OFFSETS, ids=json.dumps)
def test_what_other_sources_log_is_none_and_is_refused_with_what_to_do(logged: Any) -> None:
    assert from_spark(logged) is None
    with pytest.raises(OffsetError, match="belongs to another source") as refused:
        PlannedOffsetCodec[KafkaPartitionSplit, int](KafkaSplitSerializer()).decode(logged)
    assert "Start it again, or give this query a checkpointLocation of its own" in str(refused.value)


def test_topics_may_be_called_as_fields_of_headwaters_offsets_are() -> None:
    codec: PlannedOffsetCodec[KafkaPartitionSplit, int] = PlannedOffsetCodec(KafkaSplitSerializer())
    decoded = codec.decode({"source": {"0": 5}, "version": {"0": 1}})
    assert decoded is not None
    assert decoded.adopted
    assert decoded.positions == {("source", "0"): 5, ("version", "0"): 1}
    assert decoded.splits[("source", "0")] == KafkaPartitionSplit("source", 0, None)


def test_a_batch_begins_where_the_one_before_ended_and_an_added_partition_at_0() -> None:
    assert spark_starts({A: 3}, {A: 9, B: 4}, fail_on_data_loss=True) == {A: 3, B: 0}


@pytest.mark.parametrize(
    ("before", "after", "said", "starts"),
    [
        ({A: 3, C: 8}, {A: 9}, "topic 'b', partition 0: it was gone when the batch was planned", {A: 3}),
        ({A: 3, C: 8}, {A: 9, C: 2}, "topic 'b', partition 0: it ended at offset 2", {A: 3, C: 2}),
    ],
    ids=["gone", "shorter"],
)
def test_what_spark_takes_for_data_loss_is_an_error_or_a_warning(
    before: dict[SplitPath, int],
    after: dict[SplitPath, int],
    said: str,
    starts: dict[SplitPath, int],
    caplog: pytest.LogCaptureFixture,
) -> None:
    with pytest.raises(DataLossError, match=said) as refused:
        spark_starts(before, after, fail_on_data_loss=True)
    assert "Set failOnDataLoss=false to read the rest of it" in str(refused.value)
    assert refused.value.position == 8
    with caplog.at_level(logging.WARNING):
        assert spark_starts(before, after, fail_on_data_loss=False) == starts
    assert "topic 'b', partition 0, offset 8: it" in caplog.text
