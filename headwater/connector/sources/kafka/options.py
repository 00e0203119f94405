"""The options of the Kafka source: Spark's names, defaults and meanings, and a few of our own."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from headwater.connector.formats.options import FORMAT_OPTIONS
from headwater.connector.options import (
    Option,
    OptionTable,
    boolean,
    duration_ms,
    integer,
    positive_duration_ms,
    text,
)
from headwater.connector.planned.event_time_options import EVENT_TIME_OPTIONS, IDLE_TIMEOUT
from headwater.connector.planned.options import (
    DURATION_OPTIONS,
    MAX_BYTES,
    MAX_DELAY,
    MIN_PARTITIONS,
    PARALLELISM,
)
from headwater.connector.sources.kafka.columns import COLUMN_OPTIONS
from headwater.connector.sources.kafka.offset_options import OFFSET_OPTIONS
from headwater.connector.sources.kafka.topic_limits import offsets_per_trigger, weights
from headwater.core.source import Boundedness

_STREAM: Final = Boundedness.CONTINUOUS_UNBOUNDED

_MOST_INFLATED_BYTES: Final = 2_000_000_000
"""Arrow's offsets have 31 bits, and a batch may share its chunk with smaller ones."""


FAIL_ON_DATA_LOSS: Final = Option(
    "failOnDataLoss",
    boolean,
    True,
    "Whether records that are gone before they were read fail the query; otherwise a warning names what is "
    "missing, and a stream counts it (`hw.LagListener`).",
)
ACCEPT_NEW_TOPIC_IDS: Final = Option(
    "acceptNewTopicIds",
    boolean,
    False,
    "For one start, after a move to a mirrored cluster that keeps the offsets of records: a topic that has "
    "another id than in the checkpoint is the same one, and goes on at its positions.",
    only=_STREAM,
)
MAX_RECORDS_PER_PARTITION: Final = Option(
    "maxRecordsPerPartition", integer(1), None, "No task is planned for more records than this."
)
MAX_OFFSETS: Final = Option(
    "maxOffsetsPerTrigger",
    offsets_per_trigger,
    None,
    "No batch is planned for more offsets than this; shared in proportion to the backlog. Or JSON with a "
    'limit for each of some topics: `{"orders": 100000}`.',
    only=_STREAM,
)
TOPIC_WEIGHTS: Final = Option(
    "topicWeights",
    weights,
    None,
    "JSON with weights by which topics share the limits of a batch, 1 for those that are not named, so that "
    'a flood in one does not starve the others: `{"orders": 5, "clicks": 1}`.',
    only=_STREAM,
)
MIN_OFFSETS: Final = Option(
    "minOffsetsPerTrigger",
    integer(1),
    None,
    "A batch waits until so many offsets are there (not under AvailableNow and Once) ...",
    only=_STREAM,
)


def _inflated_bytes(raw: str) -> int:
    size = integer(1)(raw)
    if size > _MOST_INFLATED_BYTES:
        raise ValueError(f"must not be more than {_MOST_INFLATED_BYTES}")
    return size


MAX_INFLATED: Final = Option(
    "maxInflatedBatchBytes",
    _inflated_bytes,
    1 << 30,
    "A compressed record batch that is larger than this when it is decompressed is an error. Memory is taken "
    "as the records need it: a Python worker needs about three times as much as its largest batch.",
    shown_default="`1073741824`",
)
POLL_TIMEOUT: Final = Option(
    "kafkaConsumer.pollTimeoutMs",
    positive_duration_ms,
    120_000,
    "How long a task waits for a cluster that gives nothing before it fails (and Spark retries it). "
    "An answer that would mean loss is given the 3 s after which it is believed, whatever is set here.",
)
COMMIT_TO_GROUP: Final = Option(
    "commitOffsetsToGroup",
    text,
    None,
    "Commit the positions of committed batches to this consumer group, for tools that show lag: see "
    "[consumer-groups.md](consumer-groups.md). The group must have no members.",
    only=_STREAM,
)
NUM_RETRIES: Final = Option(
    "fetchOffset.numRetries",
    integer(),
    3,
    "How often an odd answer about offsets is asked for again before it is believed.",
)
RETRY_INTERVAL: Final = Option(
    "fetchOffset.retryIntervalMs", duration_ms, 1_000, "How long to wait in between."
)

KAFKA_OPTIONS: Final = OptionTable(
    [
        *OFFSET_OPTIONS,
        *COLUMN_OPTIONS,
        *FORMAT_OPTIONS,
        FAIL_ON_DATA_LOSS,
        ACCEPT_NEW_TOPIC_IDS,
        replace(MIN_PARTITIONS, help="Cut large partitions until a batch has about so many tasks."),
        MAX_RECORDS_PER_PARTITION,
        replace(
            PARALLELISM,
            help="How many tasks the cluster runs at once (executors times their cores). A batch read, and a "
            "micro-batch whose rows take time, has a task for each partition, but no more than this; one of "
            "few and cheap rows has fewer. By default what the environment variable says, which "
            "`hw.recommended_environment(parallelism=...)` sets; else a task for each partition.",
            shown_default="`HEADWATER_PARALLELISM`",
        ),
        MAX_OFFSETS,
        TOPIC_WEIGHTS,
        replace(
            MAX_BYTES,
            help="No batch is planned for more bytes than this, by estimate: the average record of a topic "
            "is the size of its logs on disk (compressed or not) over their span of offsets, looked up once "
            "a minute; 1,000 bytes where the cluster does not tell.",
        ),
        *DURATION_OPTIONS,
        MIN_OFFSETS,
        MAX_DELAY,
        *EVENT_TIME_OPTIONS,
        IDLE_TIMEOUT,
        Option(
            "groupIdPrefix",
            text,
            None,
            "Taken for compatibility: no consumer group is joined.",
            shown_default="`spark-kafka-source`",
        ),
        MAX_INFLATED,
        COMMIT_TO_GROUP,
        POLL_TIMEOUT,
        NUM_RETRIES,
        RETRY_INTERVAL,
    ],
    prefixes=("kafka.",),
    other_words={
        **dict.fromkeys(("topic", "topics", "topicname"), "subscribe"),
        **dict.fromkeys(("pattern", "topicpattern", "topicspattern"), "subscribePattern"),
        **dict.fromkeys(
            ("bootstrap", "bootstrapservers", "broker", "brokerlist", "brokers"), "kafka.bootstrap.servers"
        ),
        **dict.fromkeys(("host", "hosts", "port", "server", "servers", "url"), "kafka.bootstrap.servers"),
        **dict.fromkeys(("consumergroup", "group", "groupid"), "kafka.group.id"),
        **dict.fromkeys(("offset", "offsets", "startfrom", "startingposition"), "startingOffsets"),
        **dict.fromkeys(("limit", "maxrecordspertrigger", "maxrowspertrigger"), "maxOffsetsPerTrigger"),
        **dict.fromkeys(("user", "username"), "kafka.sasl.username"),
        "format": "valueFormat",
        "password": "kafka.sasl.password",
        "schema": "valueSchema",
        "skew": "maxEventTimeSkew",
    },
)
"""The table that parses, and that `docs/options.md` shows."""
