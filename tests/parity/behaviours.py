"""The behaviours that the suites of Spark's own Kafka source test, and where they are tested here.

Names are those of Spark's tests, as of Spark's master in November 2026, put together where they differ in one
parameter only. A behaviour without a meaning here has a reason in place of tests.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["SUITES", "Behaviour"]


@dataclass(frozen=True)
class Behaviour:
    """What one test of Spark's shows.

    Attributes:
        name: of Spark's test.
        tests: functions in ``tests/parity`` that show it on both sources.
        reason: why it has no meaning here, where there are no tests.
    """

    name: str
    tests: tuple[str, ...] = ()
    reason: str = ""


def shown(name: str, *tests: str) -> Behaviour:
    return Behaviour(name, tests)


def without(name: str, reason: str) -> Behaviour:
    return Behaviour(name, reason=reason)


IMPLEMENTATION = "chooses between two implementations inside of Spark; both give the same"
OWN_FILE = (
    "is about a file of Spark's own checkpoint layout; taking such a checkpoint over is tested elsewhere"
)
GROUPS = "a consumer group is joined by Spark's deprecated way to fetch offsets only, which is off by default"
NEWER = "is newer than Spark 4.2, which runs here; tested alone in `tests/connector/sources/kafka/`"
CONTINUOUS = "continuous processing: refused, see the differences"
LOCALITY = "the choice of executors: a source in Python cannot ask for one"
LIFE = "test_from_its_start_over_restarts"

SUITES: dict[str, tuple[Behaviour, ...]] = {
    "KafkaMicroBatchSourceSuite": (
        without("async progress tracking", "a way of the engine, allowed with Spark's own Kafka sink only"),
        shown(
            "Trigger.AvailableNow",
            "test_available_now_reads_what_is_there_when_it_starts",
        ),
        shown(
            "Query with Trigger.AvailableNow should throw error when topic partitions got unavailable, and "
            "when offset(s) in planned topic partitions got unavailable, during subsequent batches",
            "test_available_now_over_a_topic_that_is_created_anew",
        ),
        shown("(de)serialization of initial offsets", "test_nothing_there_yet"),
        shown(
            "SPARK-26718 Rate limit set to Long.Max should not overflow integer during end offset "
            "calculation",
            "test_a_most_that_no_arithmetic_may_overflow",
        ),
        shown(
            "maxOffsetsPerTrigger",
            "test_the_most_offsets_are_shared_as_the_backlog_is",
            "test_another_most_after_a_restart",
            "test_once_knows_no_limit",
        ),
        shown(
            "minOffsetsPerTrigger",
            "test_fewer_than_the_minimum_wait_but_not_those_of_the_first_batch_of_a_start",
            "test_no_longer_than_the_longest_delay",
            "test_once_knows_no_limit",
        ),
        shown("compositeReadLimit", "test_a_minimum_and_a_maximum", "test_once_knows_no_limit"),
        shown("input row metrics", "test_rows_that_a_query_counts"),
        shown(
            "subscribing topic by pattern with topic deletions",
            "test_a_topic_of_a_pattern_goes_and_another_comes",
        ),
        shown(
            "SPARK-41375: empty partitions should not record to latest offset",
            "test_a_pattern_whose_only_topic_is_deleted",
        ),
        shown(
            "subscribe topic by pattern with topic recreation between batches",
            "test_a_topic_that_was_created_anew_and_is_shorter",
            "test_a_topic_that_was_created_anew_and_is_longer",
        ),
        without("topic-level offsets tolerate a new topic matching subscribePattern after the start", NEWER),
        without(
            "ensure that initial offset are written with an extra byte in the beginning (SPARK-19517)",
            OWN_FILE,
        ),
        without("deserialization of initial offset written by Spark 2.1.0 (SPARK-19517)", OWN_FILE),
        without("deserialization of initial offset written by future version", OWN_FILE),
        shown("KafkaSource with watermark", "test_a_watermark_over_the_timestamp"),
        shown(
            "delete a topic when a Spark job is running",
            "test_a_task_whose_topic_is_created_anew_before_it_reads",
        ),
        shown(
            "SPARK-22956: currentPartitionOffsets should be set when no new data comes in",
            "test_a_union_goes_on_when_one_of_the_two_has_nothing_new",
        ),
        without("allow group.id prefix", GROUPS),
        without("allow group.id override", GROUPS),
        shown(
            "ensure stream-stream self-join generates only one offset in log and correct metrics",
            "test_a_self_join_has_one_offset_and_reads_once_where_the_exchange_is_reused",
        ),
        shown(
            "read Kafka transactional messages: read_committed, read_uncommitted",
            "test_what_a_stream_sees_of_transactions",
        ),
        shown(
            "SPARK-25495: FetchedData.reset should reset all fields",
            "test_rows_that_are_written_while_a_batch_is_planned_come_in_the_next_one",
        ),
        shown(
            "SPARK-27494: read kafka record containing null key/values", "test_headers_nulls_and_empty_bytes"
        ),
        shown("SPARK-30656: minPartitions", "test_pieces"),
        shown(
            "SPARK-56243: malformed record timestamp throws detailed error",
            "test_a_timestamp_that_no_timestamp_column_holds",
        ),
        without(
            "V1 Source is used when disabled through SQLConf, V2 Source is used by default", IMPLEMENTATION
        ),
        shown("minPartitions is supported", "test_pieces", "test_of_a_batch", "test_of_a_stream"),
        without("default config of includeHeader doesn't break existing query from Spark 2.4", OWN_FILE),
        shown(
            "test custom metrics - with rate limit, no rate limit, corner cases, SPARK-57438",
            "test_metrics_of_the_source",
        ),
        shown("cannot stop Kafka stream", LIFE),
        shown(
            "assign, subscribing topic by name, by pattern: from latest offsets, earliest offsets, specific "
            "offsets, specific timestamps, global timestamp (failOnDataLoss: true, false)",
            LIFE,
        ),
        without("subscribing topics from topic-level offsets", NEWER),
        shown(
            "subscribing topic by name, by pattern from specific timestamps, global timestamp with "
            "non-matching starting offset",
            "test_a_start_that_no_record_reaches",
            "test_a_start_that_no_record_reaches_at_the_latest_goes_on_there",
        ),
        shown(
            "SPARK-53560: no crash looping during uncommitted batch retry in AvailableNow trigger",
            "test_available_now_again_after_a_failed_batch_and_a_new_partition",
        ),
        shown("bad source options", "test_of_a_stream"),
        shown("unsupported kafka configs", "test_of_a_batch", "test_of_a_stream"),
        shown("get offsets from case insensitive parameters", "test_rows"),
        shown(
            "Kafka column types",
            "test_the_schema",
            "test_headers_nulls_and_empty_bytes",
            "test_times_of_all_kinds",
        ),
        shown("stress test with multiple topics and partitions", "test_streams_over_changing_topics"),
    ),
    "KafkaRelationSuite": (
        shown("explicit earliest to latest offsets", "test_rows", "test_latest_is_the_latest_of_each_run"),
        shown("default starting and ending offsets", "test_rows"),
        shown("explicit offsets", "test_rows", "test_a_given_end_stays"),
        shown("default starting and ending offsets with headers", "test_headers_nulls_and_empty_bytes"),
        shown(
            "timestamp provided for starting and ending; for starting, offset for ending; for ending, offset "
            "for starting; one of the two not provided; global timestamp provided for starting and ending",
            "test_rows",
        ),
        shown("no matched offset for timestamp - startingOffsets", "test_errors"),
        shown("preferences on offset related options", "test_rows"),
        shown("no matched offset for timestamp - endingOffsets", "test_rows"),
        shown("reuse same dataframe in query", "test_two_uses_of_one_frame"),
        shown("test late binding start offsets", "test_earliest_is_the_earliest_of_each_run"),
        shown("bad batch query options", "test_of_a_batch"),
        shown(
            "read Kafka transactional messages: read_committed, read_uncommitted",
            "test_transactions_that_end_between_two_runs",
            "test_transactions",
        ),
        shown("SPARK-30656: minPartitions", "test_an_rdd_of_pieces_too", "test_pieces"),
        shown("topic-partition for start offset and end offset must match", "test_errors"),
        shown("unresolved start offset greater than end offset", "test_errors"),
        shown("resolved start offset greater than end offset (without latest, with latest)", "test_errors"),
        without(
            "V1 Source is used when set through SQLConf, V2 Source is used when set through SQLConf",
            IMPLEMENTATION,
        ),
    ),
    "KafkaDontFailOnDataLossSuite": (
        shown(
            "failOnDataLoss=false should not return duplicated records: microbatch v1, v2",
            "test_records_that_retention_deleted",
        ),
        without(
            "failOnDataLoss=false should not return duplicated records: continuous processing", CONTINUOUS
        ),
        shown(
            "failOnDataLoss=false should not return duplicated records: batch v1, v2",
            "test_a_batch_read_of_records_that_are_gone",
        ),
        shown(
            "stress test for failOnDataLoss=false",
            "test_a_task_whose_topic_is_created_anew_before_it_reads",
            "test_streams_over_changing_topics",
        ),
    ),
    "ConsumerStrategySuite": (
        without("createAdmin must create admin properly", "makes a client of the JVM"),
        shown(
            "AssignStrategy.assignedTopicPartitions must give back all assigned", "test_assigned_partitions"
        ),
        shown(
            "AssignStrategy.assignedTopicPartitions must skip invalid partitions",
            "test_an_assigned_partition_that_does_not_exist",
        ),
        shown("SubscribeStrategy.assignedTopicPartitions must give back all assigned", "test_names"),
        shown(
            "SubscribePatternStrategy.assignedTopicPartitions must give back all assigned",
            "test_a_pattern_is_searched_in_the_name",
        ),
    ),
    "KafkaOffsetReaderSuite": (
        shown(
            "isolationLevel must give back default isolation level when not set, READ_UNCOMMITTED when set, "
            "READ_COMMITTED when set",
            "test_transactions",
        ),
        shown(
            "isolationLevel must throw exception when invalid isolation level set",
            "test_an_isolation_level_that_is_none",
        ),
        shown(
            "SPARK-30656: getOffsetRangesFromUnresolvedOffsets - using specific offsets, special offsets, "
            "multiple topic partitions; getOffsetRangesFromResolvedOffsets",
            "test_pieces",
            "test_an_rdd_of_pieces_too",
        ),
        shown(
            "SPARK-48383: START_OFFSET_DOES_NOT_MATCH_ASSIGNED error class",
            "test_errors",
            "test_starts_must_name_the_partitions_that_are_read",
        ),
        shown("KAFKA_TIMESTAMP_OFFSET_DOES_NOT_MATCH_ASSIGNED error class", "test_errors"),
    ),
    "KafkaOffsetRangeCalculatorSuite": (
        shown(
            "with no minPartition: N TopicPartitions to N offset ranges, empty ranges ignored", "test_rows"
        ),
        shown(
            "with minPartition: N TopicPartitions to N offset ranges; 1 TopicPartition to N offset ranges; N "
            "skewed TopicPartitions to M offset ranges; SPARK-30656: ignore empty ranges and split the rest; "
            "N very skewed TopicPartitions to M offset ranges; minPartitions less than the length of topic "
            "partitions; range inexact multiple of minPartitions; empty ranges ignored; SPARK-28489: never "
            "drop offsets; SPARK-36576: 0, 1 and 2 small unsplit ranges and 3, 2 and 1 large split ranges",
            "test_pieces",
        ),
        without("N TopicPartitions to N offset ranges with executors", LOCALITY),
        without("SPARK-46798: locations set when ranges unsplit, not set when ranges split", LOCALITY),
    ),
}
NOT_SUITES_OF_THE_SOURCE = {
    "KafkaContinuousSourceSuite, KafkaContinuousTest": CONTINUOUS,
    "KafkaDelegationTokenSuite, KafkaSecurityHelperSuite": (
        "delegation tokens of Spark's own token provider; the SASL mechanisms themselves are tested in "
        "`tests/enumerators/kafka/client/`"
    ),
    "FetchedDataPoolSuite, InternalKafkaConsumerPoolSuite, KafkaDataConsumerSuite": (
        "the JVM's pool of consumers"
    ),
    "InternalKafkaProducerPoolSuite, KafkaSinkSuite": "a sink for Kafka, which headwater is not",
    "KafkaRealTimeModeSuite and its sisters": "real-time mode, which sources in Python do not have",
}
"""Spark's other suites, and why they are not here."""
