"""The options of the Kafka source, and its columns as Spark's types, among which options choose.

Names, defaults and meanings are Spark's; a few options are our own. `headwater.readers.kafka.columns` has the
columns as Arrow types. With these a query is analysed without pyarrow and numpy, which take longer to load
than everything else that this step needs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from headwater.connector.formats.options import FORMAT_OPTIONS
from headwater.connector.formats.settings import PartSettings
from headwater.connector.options import OptionTable, ParsedOptions
from headwater.connector.planned.admission import ReadLimits
from headwater.connector.planned.event_time_options import EVENT_TIME_OPTIONS, IDLE_TIMEOUT
from headwater.connector.planned.options import DURATION_OPTIONS, LimitOptions
from headwater.connector.planned.planning import PlanningHints
from headwater.connector.sources.kafka.offset_options import OffsetOptions
from headwater.core.errors import OptionError
from headwater.core.options import Option, boolean, integer, json_object, names, option, text
from headwater.core.source import Boundedness
from headwater.enumerators.kafka.lookup_settings import LookupSettings, Subscription
from headwater.readers.formats.format import first_clash, is_spread, part_of
from headwater.readers.kafka.settings import KafkaReadSettings

KAFKA_TYPE: Final = StructType(
    [
        StructField("key", BinaryType()),
        StructField("value", BinaryType()),
        StructField("topic", StringType()),
        StructField("partition", IntegerType()),
        StructField("offset", LongType()),
        StructField("timestamp", TimestampType()),
        StructField("timestampType", IntegerType()),
        StructField(
            "headers",
            ArrayType(StructType([StructField("key", StringType()), StructField("value", BinaryType())])),
        ),
    ]
)
"""All columns in Spark's order; ``headers`` comes last, and only where it is asked for."""

_COLUMNS: Final = Option(
    "columns",
    names,
    None,
    "Only these columns, in this order: what is not asked for is not decoded, copied or handed over. With "
    "`valueFormat` or `keyFormat`, `value.*` and `key.*` are all columns of the value and the key.",
    shown_default="all",
)
_INCLUDE_HEADERS: Final = Option("includeHeaders", boolean, False, "Whether there is a column `headers`.")

COLUMN_OPTIONS: Final = (_COLUMNS, _INCLUDE_HEADERS)


def chosen_columns(options: ParsedOptions, decoded: Collection[str]) -> tuple[str, ...]:
    """Return the names of the columns as Spark spells them, in the order that was asked for.

    Args:
        options: the user's.
        decoded: ``key``, ``value`` or both, if a format decodes them: ``key.*`` and ``value.*`` stand for all
            of their columns then.

    Raises:
        OptionError: there is no such column, or one comes twice.
    """
    every = KAFKA_TYPE.names
    columns = options[_COLUMNS]
    if columns is None:
        return tuple(every if options[_INCLUDE_HEADERS] else every[:-1])
    by_lower = {name.lower(): name for name in [*every, *(f"{part}.*" for part in decoded)]}
    if unknown := [name for name in columns if name.lower() not in by_lower]:
        part = part_of(unknown[0].lower())
        needs = f" without option '{part}Format'" if part in {"key", "value"} else ""
        raise OptionError(
            f"{unknown[0]!r} is not a column of the kafka source{needs}; there are "
            f"{', '.join(by_lower.values())}",
            option=_COLUMNS.name,
        )
    names = tuple(by_lower[name.lower()] for name in columns)
    if twice := [name for at, name in enumerate(names) if name in names[:at]]:
        raise OptionError(f"{twice[0]!r} comes twice", option=_COLUMNS.name)
    return names


def row_type(columns: Sequence[str], parts: Mapping[str, PartSettings]) -> StructType:
    """Return the schema of a row: that of `headwater.readers.kafka.columns.row_schema`, for Spark.

    Raises:
        OptionError: two columns have one name, or a prefix counts for nothing.
    """
    for part, settings in parts.items():
        if settings.prefix and f"{part}.*" not in columns:
            raise OptionError(f"requires '{part}.*' in option 'columns'", option=f"{part}Prefix")
    fields: list[tuple[StructField, str]] = []
    for name in columns:
        part = part_of(name)
        fields += [(field, part) for field in _fields(name, parts.get(part))]
    if clash := first_clash((field.name, part) for field, part in fields):
        name, one, other = clash
        raise OptionError(
            f"two columns are called {name!r}, one of {one!r} and one of {other!r}: set a prefix that tells "
            "them apart",
            option=f"{other if f'{other}.*' in columns else one}Prefix",
        )
    return StructType([field for field, _ in fields])


def _fields(column: str, part: PartSettings | None) -> Sequence[StructField]:
    if part is None:
        return [KAFKA_TYPE[column]]
    if is_spread(column):
        return [StructField(part.prefix + field.name, field.dataType) for field in part.columns.fields]
    return [StructField(column, part.columns.fields[0].dataType if part.is_single_value else part.columns)]


_one_number = integer(1)


def offsets_per_trigger(raw: str) -> int | Mapping[str, int]:
    """A whole number of at least 1 for all topics, or a JSON object with one for each of some topics."""
    if not raw.strip().startswith("{"):
        return _one_number(raw)
    limits = json_object(raw)
    for topic, limit in limits.items():
        if type(limit) is not int or limit < 1:
            raise ValueError(f"must be a whole number of at least 1 for topic {topic!r}, not {limit!r}")
    if not limits:
        raise ValueError("must name a topic, or be a number")
    return limits


def topic_weights(raw: str) -> Mapping[str, float]:
    """A JSON object with a number above 0 for each of some topics."""
    weight_of = json_object(raw)
    for topic, weight in weight_of.items():
        if type(weight) not in (int, float) or not 0 < weight < float("inf"):
            raise ValueError(f"must be a number above 0 for topic {topic!r}, not {weight!r}")
    if not weight_of:
        raise ValueError("must name a topic")
    return weight_of


_STREAM: Final = Boundedness.CONTINUOUS_UNBOUNDED


class KafkaPlanningHints(PlanningHints):
    """How a batch is cut into tasks, by the names and in the words of Kafka."""

    min_tasks: int = option(
        "minPartitions",
        "Cut large partitions until a batch has about so many tasks.",
        default=1,
        parse=integer(1),
        shown_default="",
    )
    max_rows_per_task: int | None = option(
        "maxRecordsPerPartition",
        "No task is planned for more records than this.",
        default=None,
        parse=integer(1),
    )
    parallelism: int | None = option(
        "parallelism",
        "How many tasks the cluster runs at once (executors times their cores). A batch read, and a "
        "micro-batch whose rows take time, has a task for each partition, but no more than this; one of few "
        "and cheap rows has fewer. By default what the environment variable says, which "
        "`hw.recommended_environment(parallelism=...)` sets; else a task for each partition.",
        default=None,
        parse=integer(1),
        shown_default="`HEADWATER_PARALLELISM`",
    )


class KafkaLimitOptions(LimitOptions):
    """The limits of a batch, by the names and in the words of Kafka."""

    max_rows: int | Mapping[str, int] | None = option(
        "maxOffsetsPerTrigger",
        "No batch is planned for more offsets than this; shared in proportion to the backlog. Or JSON with a "
        'limit for each of some topics: `{"orders": 100000}`.',
        default=None,
        parse=offsets_per_trigger,
        only=_STREAM,
        kind="whole_number_or_json",
    )
    max_bytes: int | None = option(
        "maxBytesPerTrigger",
        "No batch is planned for more bytes than this, by estimate: the average record of a topic is the "
        "size of its logs on disk (compressed or not) over their span of offsets, looked up once a minute; "
        "1,000 bytes where the cluster does not tell.",
        default=None,
        parse=integer(1),
        only=_STREAM,
    )
    min_rows: int | None = option(
        "minOffsetsPerTrigger",
        "A batch waits until so many offsets are there (not under AvailableNow and Once) ...",
        default=None,
        parse=integer(1),
        only=_STREAM,
    )
    weights: Mapping[str, float] | None = option(
        "topicWeights",
        "JSON with weights by which topics share the limits of a batch, 1 for those that are not named, so "
        'that a flood in one does not starve the others: `{"orders": 5, "clicks": 1}`.',
        default=None,
        parse=topic_weights,
        only=_STREAM,
        kind="json",
        after="maxOffsetsPerTrigger",
    )


def with_weights(limits: ReadLimits, options: KafkaLimitOptions, *, aligned: bool) -> ReadLimits:
    """Return limits that topics share by weight.

    Args:
        limits: of a batch.
        options: with the weights.
        aligned: whether batches are aligned by event time.

    Raises:
        OptionError: nothing is shared, or not by weight.
    """
    if options.weights is None:
        return limits
    if limits.max_rows is None and limits.max_bytes is None and limits.target is None:
        raise options.refusal(
            "weights",
            "needs a limit that topics share: maxOffsetsPerTrigger as one number, maxBytesPerTrigger or "
            "targetBatchDuration",
        )
    if aligned:
        raise options.refusal(
            "weights",
            "cannot be used with maxEventTimeSkew: there the time decides how much of each topic is read",
        )
    return replace(limits, weights=options.weights)


def check_topics(names: Iterable[str], subscription: Subscription, field: str) -> None:
    """Check that the topics that an option of `KafkaLimitOptions` names are read.

    Raises:
        OptionError: one of them is not.
    """
    for topic in names:
        topics = subscription.topics
        if not (subscription.selects(topic, 0) if topics is None else topic in topics):
            raise KafkaLimitOptions.refusal(field, f"names topic {topic!r}, which this query does not read")


KAFKA_OPTIONS: Final = OptionTable(
    [
        *OffsetOptions.options(),
        *COLUMN_OPTIONS,
        *FORMAT_OPTIONS,
        *KafkaReadSettings.options(),
        *LookupSettings.options(),
        *KafkaPlanningHints.options(),
        *KafkaLimitOptions.options(),
        *DURATION_OPTIONS,
        *EVENT_TIME_OPTIONS,
        IDLE_TIMEOUT,
        Option(
            "groupIdPrefix",
            text,
            None,
            "Taken for compatibility: no consumer group is joined.",
            shown_default="`spark-kafka-source`",
        ),
    ],
    prefixes=("kafka.",),
    others=(
        "kafka.bootstrap.servers (required)\n"
        "    The brokers, as host:port with commas between them. Other properties of\n"
        "    Kafka's clients have such names, too."
    ),
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
